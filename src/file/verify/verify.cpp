// Verification of whole files. Chunks are checked in parallel but in the order of their places, so that the first fault
// in file order is the one that is told; what only all chunks together show (the statistics in the footer, dictionaries
// over the whole file, the sort order, bytes that belong to nothing) comes after them.
#include "basalt/file/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <tuple>

#include "basalt/core/error.h"
#include "core/meaning.h"
#include "core/utf8.h"
#include "file/column_metadata.h"
#include "file/format.h"
#include "file/memory_gate.h"
#include "file/packed_widths.h"
#include "file/verify/byte_map.h"
#include "file/verify/chunk_statistics.h"
#include "file/verify/dictionaries.h"
#include "file/verify/reasons.h"
#include "file/verify/sort_order.h"
#include "file/verify/sources.h"
#include "file/verify/unused_fields.h"

namespace basalt {

namespace {

using namespace format_v1;

struct Item {
  uint32_t field = 0;
  uint32_t chunk = 0;
  uint64_t offset = 0;
};

// What the chunks of a column were found to be, added up as they are checked.
struct ColumnTally {
  bool bounded = false;
  bool nan = false;
  bool min_met = false;
  bool max_met = false;
  DistinctSketch sketch;
  std::vector<OrderFacts> orders;  // of every chunk, if the footer claims an order
  std::vector<uint64_t> widths;
  uint64_t values = 0;

  void add(uint32_t chunk, const ChunkFacts& facts, const DistinctSketch& distinct,
           const std::vector<uint64_t>& more_widths) {
    bounded = bounded || facts.bounded;
    nan = nan || facts.nan;
    min_met = min_met || facts.min_met;
    max_met = max_met || facts.max_met;
    values += facts.order.values;
    sketch.merge(distinct);
    if (!orders.empty()) orders[chunk] = facts.order;
    if (widths.size() < more_widths.size()) widths.resize(more_widths.size());
    for (size_t i = 0; i < more_widths.size(); ++i) widths[i] += more_widths[i];
  }
};

class Verifier {
 public:
  Verifier(const File& file, ThreadPool& pool, const VerifyOptions& options)
      : file_(file),
        pool_(pool),
        options_(options),
        limits_{memory_limit(pool, options), options.cancel},
        gate_(limits_.bytes),
        footer_(read_footer(file.source())) {
    // Read a second time: by now it may be another file.
    if (footer_.columns.size() != file.fields().size() || footer_.chunks.size() != file.chunks().size()) fail_changed();
  }

  VerifyReport run() {
    check_header();
    collect();
    if (!metadata_fault_) check_places();
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::tie(a.offset, a.field, a.chunk) < std::tie(b.offset, b.field, b.chunk);
    });
    pool_.parallel_for(items_.size(), [&](uint64_t i) {
      check_cancelled();
      check_item(items_[i]);
      progress();
    });
    // Metadata lies behind all chunks: its fault counts only if they had none.
    if (metadata_fault_) std::rethrow_exception(metadata_fault_);
    pool_.parallel_for(file_.fields().size(), [&](uint64_t field) {
      check_cancelled();
      check_column(static_cast<uint32_t>(field));
    });
    report_.notes = check_unused_of_footer(file_, footer_);
    check_sort_order(file_, footer_.sort_columns, pool_, limits_);
    report_.values = values_;
    return report_;
  }

 private:
  static uint64_t memory_limit(const ThreadPool& pool, const VerifyOptions& options) {
    constexpr uint64_t kPerThread = 16 << 20;  // the largest numbers of a whole chunk
    return options.memory_limit != 0 ? options.memory_limit : std::max(kDecodedLimit, pool.size() * kPerThread);
  }

  [[noreturn]] void fail_changed() const { fail(file_.name() + ": the file has changed since it was opened"); }

  void check_cancelled() const {
    if (options_.cancel != nullptr) options_.cancel->check();
  }

  // Opening a large file does not look at its first bytes, to save a read.
  void check_header() const {
    std::byte header[kHeaderBytes];
    file_.source().read({0, sizeof(header)}, header);
    uint32_t version = 0;
    uint32_t zero = 0;
    std::memcpy(&version, header + 8, 4);
    std::memcpy(&zero, header + 12, 4);
    if (std::memcmp(header, kMagic, sizeof(kMagic)) != 0 || version != file_.format_version() || zero != 0) {
      fail(file_.name() + ": the header at byte 0 is damaged");
    }
  }

  void collect() {
    tallies_.resize(file_.fields().size());
    for (uint32_t field = 0; field < file_.fields().size(); ++field) {
      try {
        const ColumnInfo& info = file_.column(field);
        if (claims_order(file_.statistics(field))) tallies_[field].orders.resize(info.chunks.size());
        for (uint32_t chunk = 0; chunk < info.chunks.size(); ++chunk) {
          items_.push_back({field, chunk, info.chunks[chunk].region.offset});
          ++report_.chunks;
          const size_t before = places_.size();
          report_.bytes += collect_streams(info.chunks[chunk].nodes);
          report_.streams += places_.size() - before;
        }
        if (info.has_dictionary) collect_dictionary(field);
      } catch (const Error&) {
        if (!metadata_fault_) metadata_fault_ = std::current_exception();
      }
    }
  }

  uint64_t collect_streams(const std::vector<NodePlace>& nodes) {
    uint64_t bytes = 0;
    for (const NodePlace& node : nodes) {
      for (const StreamPlace& stream : node.streams) {
        places_.push_back(stream);
        bytes += stream.length;
      }
    }
    return bytes;
  }

  void collect_dictionary(uint32_t field) {
    if (!footer_.columns[field].dictionary) fail_changed();
    const Block& block = *footer_.columns[field].dictionary;
    const std::string& path = file_.column(field).path;
    const Buffer bytes = read_block(file_.source(), block, "dictionary metadata of column " + path);
    try {
      const DictionaryInfo dictionary = parse_dictionary({footer_, file_.fields(), field}, bytes.view());
      collect_streams(dictionary.values.nodes);
      for (const ArrayPlace& map : dictionary.maps) collect_streams(map.nodes);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: column {}: the dictionary metadata at byte {} is damaged", file_.name(), path,
                                     block.offset));
    }
  }

  void check_places() {
    try {
      check_every_byte(file_.source(), footer_, std::move(places_));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo) throw;
      throw error.within(file_.name());
    }
  }

  MemoryGate::Pass enter_gate(const NodeView& root, const DataType& type) {
    const uint64_t decoded = decoded_bytes(root, type, {gate_.limit(), options_.cancel});
    return gate_.enter(decoded, encoded_bytes(root), options_.cancel);
  }

  void check_item(const Item& item) {
    const Field& field = *file_.fields()[item.field];
    const ColumnChunkInfo& info = file_.column(item.field).chunks[item.chunk];
    const EncodedChunk encoded = file_.read_chunk(item.field, item.chunk);
    try {
      const MemoryGate::Pass pass = enter_gate(encoded.root, field.type);
      const bool use_decoder = options_.decoder && field.type.kind != TypeKind::kStruct;
      const DecodeLimits limits{~uint64_t{0}, options_.cancel};  // the gate has seen to it
      const Column column = use_decoder ? options_.decoder(encoded.root, field.type)
                                        : decode_rows(encoded.root, field.type, 0, info.rows, limits);
      if (column.length != info.rows) fail("it decodes to another number of rows");
      check_values(encoded.root);
      check_sources(file_, item.field, item.chunk);
      check_dictionaries(encoded.root, limits_);
      check_children(field, column, item.chunk);
      check_meaning(field, column);
      if (use_decoder) check_utf8(column, 0);
      DistinctSketch sketch;
      const ChunkFacts facts = check_chunk(column, info, file_.statistics(item.field), sketch);
      check_nullable(field, column, item.chunk);
      std::vector<uint64_t> widths;
      add_packed_widths(encoded.root, widths);
      values_ += column.length;
      const std::lock_guard lock(mutex_);
      tallies_[item.field].add(item.chunk, facts, sketch, widths);
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

  void check_meaning(const Field& field, const Column& column) const {
    const Field& map = *file_.fields()[file_.parent(file_.parent(field.id))];
    const bool is_key = map.meaning == Meaning::kMap && map.children[0].children[0].id == field.id;
    if (const char* broken = broken_promise(column, field, is_key)) fail(broken);
  }

  // What lies under a NULL struct may be NULL itself.
  void check_nullable(const Field& field, const Column& column, uint32_t chunk) const {
    if (field.nullable || column.null_count == 0) return;
    for (uint32_t id = field.id; file_.parent(id) != id; id = file_.parent(id)) {
      const uint32_t above = file_.parent(id);
      if (file_.fields()[above]->type.kind != TypeKind::kStruct) break;
      if (file_.column(above).chunks[chunk].stats.null_count != 0) return;
    }
    fail("it holds NULLs, which the schema rules out");
  }

  void check_column(uint32_t field) const {
    check_unused_of_column(file_, footer_, field);
    try {
      check_footer_statistics(field);
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: column {}, in the footer at byte {}", file_.name(), file_.column(field).path,
                                     footer_.offset));
    }
    const ColumnInfo& info = file_.column(field);
    std::vector<uint64_t> widths = tallies_[field].widths;
    widths.resize(info.width_tiles.size());
    if (widths != info.width_tiles) {
      fail(fmt::format("{}: column {}: the counts of packed tiles by width differ from its tiles", file_.name(),
                       info.path));
    }
    check_file_dictionary(file_, field, limits_);
  }

  void check_footer_statistics(uint32_t field) const {
    const Statistics& stats = file_.statistics(field);
    const DataType& type = file_.fields()[field]->type;
    const ColumnTally& tally = tallies_[field];
    check_bound_form(stats, type);
    const bool nested = type.kind == TypeKind::kList || type.kind == TypeKind::kStruct;
    require(!nested || (!claims_order(stats) && stats.distinct == 0),
            "its statistics tell of values, which lists and structs do not have");
    require(tally.nan == stats.has_nan, "its statistics are wrong about whether there is a NaN");
    require(tally.bounded || (stats.min.null && stats.max.null), "its statistics have bounds, but there are no values");
    const bool min_met = stats.min.null || !stats.min_exact || tally.min_met;
    const bool max_met = stats.max.null || !stats.max_exact || tally.max_met;
    require(min_met && max_met, "it does not hold the bounds that its statistics call exact");
    OrderFacts order;
    for (const OrderFacts& chunk : tally.orders) order.append(chunk);
    check_order(stats, order);
    check_distinct(stats, tally.sketch, tally.values);
  }

  std::string place(const Item& item) const {
    return fmt::format("{}: column {}, chunk {} at byte {}", file_.name(), file_.column(item.field).path, item.chunk,
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
  DecodeLimits limits_;  // of what is decoded beside the gate
  MemoryGate gate_;
  FooterData footer_;
  VerifyReport report_;
  std::vector<Item> items_;
  std::vector<StreamPlace> places_;
  std::vector<ColumnTally> tallies_;  // by field; guarded by the mutex as long as chunks are checked
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
