// Verification of whole files. Chunks are checked in parallel but in the order of their places, so that the first fault
// in file order is the one that is told.
#include "basalt/file/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <optional>

#include "basalt/core/error.h"
#include "codec/dict/decoded_entries.h"
#include "codec/dict/distinct.h"
#include "codec/dict/layout.h"
#include "core/bitmap.h"
#include "core/dispatch.h"
#include "core/utf8.h"
#include "file/column_metadata.h"
#include "file/format.h"
#include "file/memory_gate.h"

namespace basalt {

namespace {

[[noreturn]] void fail(const std::string& reason) { throw Error(ErrorCode::kCorrupt, reason); }

// Whether the entries of every dictionary in a tree ascend strictly: comparisons of codes lean on it, reading does not.
void check_dictionaries(const NodeView& node) {
  for (const NodeView& child : node.children) check_dictionaries(child);
  if (node.codec == nullptr || node.codec->name() != "dict") return;
  const NodeView& entries = node.children[dict::kEntries];
  if (entries.type == Physical::kBytes) {
    StringRows rows;
    dict::decode_entries(entries, rows);
    for (size_t i = 1; i < rows.size(); ++i) {
      if (rows.at(i - 1) >= rows.at(i))
        fail(fmt::format("entries {} and {} of its dictionary do not ascend", i - 1, i));
    }
    return;
  }
  const std::unique_ptr<Reader> reader = open_reader(entries);
  dispatch_width(width_of(entries.type), [&](auto tag) {
    using T = decltype(tag);
    T values[kTileRows];
    T before{};
    for (uint32_t tile = 0; tile < tile_count(entries.count); ++tile) {
      reader->decode_tile(tile, values);
      for (uint32_t i = 0; i < rows_in_tile(entries.count, tile); ++i) {
        const uint64_t entry = uint64_t{tile} * kTileRows + i;
        if (entry > 0 && order_key(before, entries.type) >= order_key(values[i], entries.type)) {
          fail(fmt::format("entries {} and {} of its dictionary do not ascend", entry - 1, entry));
        }
        before = values[i];
      }
    }
  });
}

// Whether statistics tell the truth about rows [begin, end) of a column.
class Checker {
 public:
  Checker(const Column& column, const Statistics& stats, uint64_t begin, uint64_t end)
      : column_(column), stats_(stats), begin_(begin), end_(end) {}

  void check(const std::string& place) const {
    uint64_t nulls = 0;
    for (uint64_t row = begin_; row < end_; ++row) nulls += !column_.is_valid(row);
    if (nulls != stats_.null_count) {
      fail(fmt::format("{} has {} NULLs but its statistics say {}", place, nulls, stats_.null_count));
    }
    switch (column_.type.kind) {
      case TypeKind::kList:
      case TypeKind::kStruct: return;
      case TypeKind::kUtf8:
      case TypeKind::kBinary: check_strings(place); return;
      default: dispatch_typed(physical_of(column_.type), [&](auto tag) { check_fixed<decltype(tag)>(place); });
    }
  }

 private:
  [[noreturn]] static void fail_bounds(const std::string& place) {
    fail(place + " holds values beyond the bounds in its statistics");
  }

  void check_strings(const std::string& place) const {
    bool min_met = stats_.min.null || !stats_.min_exact;
    bool max_met = stats_.max.null || !stats_.max_exact;
    bool any = false;
    for (uint64_t row = begin_; row < end_; ++row) {
      if (!column_.is_valid(row)) continue;
      const std::string_view text = column_.string_at(row);
      any = true;
      if ((!stats_.min.null && text < stats_.min.bytes) || (!stats_.max.null && text > stats_.max.bytes))
        fail_bounds(place);
      min_met = min_met || text == stats_.min.bytes;
      max_met = max_met || text == stats_.max.bytes;
    }
    if (any && !(min_met && max_met)) fail(place + " does not hold the bounds that its statistics call exact");
  }

  template <typename T>
  void check_fixed(const std::string& place) const {
    const T* values = column_.values.as<T>();
    T min{};
    T max{};
    if (!stats_.min.null) store_value(stats_.min, &min);
    if (!stats_.max.null) store_value(stats_.max, &max);
    bool any = false;
    bool nan = false;
    bool min_met = stats_.min.null || !stats_.min_exact;
    bool max_met = stats_.max.null || !stats_.max_exact;
    for (uint64_t row = begin_; row < end_; ++row) {
      if (!column_.is_valid(row)) continue;
      const T value = values[row];
      if (value != value) {
        nan = true;
        continue;
      }
      any = true;
      if ((!stats_.min.null && value < min) || (!stats_.max.null && value > max)) fail_bounds(place);
      min_met = min_met || value == min;
      max_met = max_met || value == max;
    }
    if (nan && !stats_.has_nan) fail(place + " holds a NaN that its statistics do not mention");
    if (any && !(min_met && max_met)) fail(place + " does not hold the bounds that its statistics call exact");
  }

  const Column& column_;
  const Statistics& stats_;
  uint64_t begin_;
  uint64_t end_;
};

struct Item {
  uint32_t field = 0;
  uint32_t chunk = 0;
  uint64_t offset = 0;
};

class Verifier {
 public:
  Verifier(const File& file, ThreadPool& pool, const VerifyOptions& options)
      : file_(file), pool_(pool), options_(options), gate_(memory_limit(pool, options)) {}

  VerifyReport run() {
    check_header();
    collect();
    check_places();
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::tie(a.offset, a.field, a.chunk) < std::tie(b.offset, b.field, b.chunk);
    });
    pool_.parallel_for(items_.size(), [&](uint64_t i) {
      if (options_.cancel != nullptr) options_.cancel->check();
      check_chunk(items_[i]);
      progress();
    });
    // Metadata lies behind all chunks: its fault counts only if they had none.
    if (metadata_fault_) std::rethrow_exception(metadata_fault_);
    pool_.parallel_for(file_.fields().size(), [&](uint64_t field) { check_dictionary(static_cast<uint32_t>(field)); });
    report_.values = values_;
    return report_;
  }

 private:
  static uint64_t memory_limit(const ThreadPool& pool, const VerifyOptions& options) {
    constexpr uint64_t kPerThread = 16 << 20;  // the largest numbers of a whole chunk
    return options.memory_limit != 0 ? options.memory_limit : std::max(kDecodedLimit, pool.size() * kPerThread);
  }

  // Opening a large file does not look at its first bytes, to save a read.
  void check_header() const {
    std::byte header[format_v1::kHeaderBytes];
    file_.source().read({0, sizeof(header)}, header);
    uint32_t version = 0;
    uint32_t zero = 0;
    std::memcpy(&version, header + 8, 4);
    std::memcpy(&zero, header + 12, 4);
    if (std::memcmp(header, format_v1::kMagic, sizeof(format_v1::kMagic)) != 0 || version != file_.format_version() ||
        zero != 0) {
      fail(file_.name() + ": the header at byte 0 is damaged");
    }
  }

  void collect() {
    for (uint32_t field = 0; field < file_.fields().size(); ++field) {
      try {
        const ColumnInfo& info = file_.column(field);
        for (uint32_t chunk = 0; chunk < info.chunks.size(); ++chunk) {
          items_.push_back({field, chunk, info.chunks[chunk].region.offset});
          ++report_.chunks;
          for (const NodePlace& node : info.chunks[chunk].nodes) {
            for (const StreamPlace& stream : node.streams) {
              places_.push_back(stream);
              ++report_.streams;
              report_.bytes += stream.length;
            }
          }
        }
      } catch (const Error&) {
        if (!metadata_fault_) metadata_fault_ = std::current_exception();
      }
    }
  }

  // Streams of different columns, too, are equal or apart.
  void check_places() {
    try {
      format_v1::check_overlaps(std::move(places_));
    } catch (const Error& error) {
      throw error.within(file_.name());
    }
  }

  void check_chunk(const Item& item) {
    const Field& field = *file_.fields()[item.field];
    const ColumnChunkInfo& info = file_.column(item.field).chunks[item.chunk];
    const EncodedChunk encoded = file_.read_chunk(item.field, item.chunk);
    try {
      const MemoryGate::Pass pass = gate_.enter(decoded_bytes(encoded.root, field.type), encoded_bytes(encoded.root));
      const bool use_decoder = options_.decoder && field.type.kind != TypeKind::kStruct;
      const DecodeLimits limits{~uint64_t{0}, options_.cancel};  // the gate has seen to it
      const Column column = use_decoder ? options_.decoder(encoded.root, field.type)
                                        : decode_rows(encoded.root, field.type, 0, info.rows, limits);
      if (column.length != info.rows) fail("it decodes to another number of rows");
      check_dictionaries(encoded.root);
      check_children(field, column, item.chunk);
      if (use_decoder) check_utf8(column, 0);
      for (size_t zone = 0; zone < info.zones.size(); ++zone) {
        const uint64_t begin = zone * kZoneRows;
        Checker(column, info.zones[zone], begin, begin + info.zones[zone].rows).check(fmt::format("zone {}", zone));
      }
      values_ += column.length;
    } catch (const Error& error) {
      throw error.within(place(item));
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::kOutOfMemory, place(item) + ": there is not enough memory for its values");
    }
  }

  void check_children(const Field& field, const Column& column, uint32_t chunk) const {
    for (const Field& child : field.children) {
      const uint64_t rows = file_.column(child.id).chunks[chunk].rows;
      const uint64_t wanted = field.type.kind == TypeKind::kList
                                  ? static_cast<uint64_t>(column.offsets.as<int64_t>()[column.length])
                                  : column.length;
      if (rows != wanted) fail(fmt::format("it needs {} rows of {} but there are {}", wanted, child.name, rows));
    }
  }

  // The union of what the chunks hold: ascending, and every chunk's entry is where its map says.
  void check_dictionary(uint32_t field_id) const {
    const ColumnInfo& info = file_.column(field_id);
    if (!info.has_dictionary) return;
    const DataType& type = file_.fields()[field_id]->type;
    const EncodedChunk dictionary = file_.read_dictionary(field_id);
    try {
      const Column entries = decode_rows(dictionary.root, type, 0, dictionary.root.count);
      for (uint32_t chunk = 0; chunk < info.chunks.size(); ++chunk) {
        const EncodedChunk encoded = file_.read_chunk(field_id, chunk);
        const NodeView& root = encoded.root;
        const NodeView& dict = root.codec->name() == "validity" ? root.children.at(1) : root;
        if (dict.codec->name() != "dict") fail(fmt::format("chunk {} has no dictionary of its own", chunk));
        const Column own = decode_rows(dict.children[1], type, 0, dict.children[1].count);
        const std::vector<uint32_t> map = file_.read_code_map(field_id, chunk);
        for (uint64_t i = 0; i < own.length; ++i) {
          if (!same_entry(own, i, entries, map.empty() ? i : map[i])) {
            fail(fmt::format("entry {} of chunk {} differs from the dictionary of the file", i, chunk));
          }
        }
      }
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: column {}, dictionary", file_.name(), info.path));
    }
  }

  static bool same_entry(const Column& a, uint64_t a_row, const Column& b, uint64_t b_row) {
    if (!a.offsets.empty()) return a.string_at(a_row) == b.string_at(b_row);
    const uint32_t width = width_of(physical_of(a.type));
    return std::memcmp(a.values.data() + a_row * width, b.values.data() + b_row * width, width) == 0;
  }

  std::string place(const Item& item) const {
    return fmt::format("{}: column {}, chunk {} at byte {}", file_.name(), file_.path(item.field), item.chunk,
                       item.offset);
  }

  void progress() {
    const uint64_t done = ++done_;
    if (!options_.progress) return;
    std::lock_guard lock(mutex_);
    options_.progress(static_cast<double>(done) / static_cast<double>(items_.size()));
  }

  const File& file_;
  ThreadPool& pool_;
  const VerifyOptions& options_;
  MemoryGate gate_;
  VerifyReport report_;
  std::vector<Item> items_;
  std::vector<StreamPlace> places_;
  std::exception_ptr metadata_fault_;
  std::atomic<uint64_t> values_{0};
  std::atomic<uint64_t> done_{0};
  std::mutex mutex_;
};

}  // namespace

VerifyReport verify_file(const File& file, ThreadPool& pool, const VerifyOptions& options) {
  return Verifier(file, pool, options).run();
}

}  // namespace basalt
