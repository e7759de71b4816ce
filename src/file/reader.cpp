// Opening files and reading encoded chunks. What is read is compared with its checksums and validated before it leaves
// this file, so that everything above works on streams that obey their layouts.
#include "basalt/file/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "basalt/core/error.h"
#include "file/column_metadata.h"
#include "file/footer.h"
#include "file/format.h"
#include "file/load_chunk.h"
#include "file/wrapped.h"

namespace basalt {

using format_v1::ArrayPlace;
using format_v1::DictionaryInfo;
using format_v1::FooterData;

struct File::State {
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<const ColumnInfo> column;
    std::unique_ptr<const DictionaryInfo> dictionary;
  };

  std::shared_ptr<Source> source;  // of a wrapped file, what is in it
  uint64_t bytes = 0;
  std::string name;
  FooterData footer;
  std::vector<const Field*> fields;
  std::vector<std::string> sort_columns;
  std::unique_ptr<Slot[]> slots;
  std::atomic<uint64_t> zone_room{format_v1::kZoneRoom};

  std::string place(uint32_t field_id) const {
    return fmt::format("{}: column {}", name, format_v1::shown_path_of(footer, fields, field_id));
  }
  std::string place(uint32_t field_id, uint32_t chunk) const {
    return fmt::format("{}, chunk {}", place(field_id), chunk);
  }
};

namespace {

// Turns places into a validated view: finds each stream's bytes, compares checksums, builds the tree of nodes.
class ViewBuilder {
 public:
  ViewBuilder(const Source& source, const std::vector<NodePlace>& nodes, const std::vector<uint64_t>& checksums,
              StreamPlace region, ByteView bytes, std::vector<Buffer>& shared)
      : source_(source), nodes_(nodes), checksums_(checksums), region_(region), bytes_(bytes), shared_(shared) {}

  // The region's bytes are not there yet: each block is read when its checksum is due.
  ViewBuilder& reading_into(std::byte* region) {
    unread_ = region;
    return *this;
  }

  NodeView build(TreePlace place = TreePlace::kColumn) {
    NodeView root = next();
    validate_tree(root, place);
    return root;
  }

 private:
  NodeView next() {
    const NodePlace& place = nodes_[node_++];
    if (place.codec == nullptr) {
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("it is encoded with '{}' version {}, which this build does not have", place.codec_name,
                              place.codec_version));
    }
    NodeView view;
    view.codec = place.codec;
    view.type = place.type;
    view.count = place.count;
    view.params = place.params;
    for (const StreamPlace& stream : place.streams) view.streams.push_back(checked(stream));
    for (uint32_t i = 0; i < place.child_count; ++i) view.children.push_back(next());
    return view;
  }

  // Read and summed once, however often it is referred to: different streams lie apart, so that all of them are not
  // more than the file. A second reference must repeat the first one's checksums.
  ByteView checked(const StreamPlace& stream) {
    const size_t first = checksum_;
    checksum_ += static_cast<size_t>(format_v1::checksum_blocks(stream.length));
    if (stream.length == 0) return {};
    const auto known = std::find_if(seen_.begin(), seen_.end(), [&](const Seen& seen) {
      return seen.place.offset == stream.offset && seen.place.length == stream.length;
    });
    if (known != seen_.end()) {
      for (size_t i = first; i < checksum_; ++i)
        compare(checksums_[known->first_checksum + i - first], i, first, stream);
      return known->bytes;
    }
    const ByteView bytes = find(stream);
    for (size_t i = first; i < checksum_; ++i) {
      const uint64_t begin = (i - first) * format_v1::kChecksumBlock;
      const uint64_t length = std::min(format_v1::kChecksumBlock, stream.length - begin);
      compare(unread_ != nullptr && in_region(stream)
                  ? read_and_sum(stream.offset + begin, length)
                  : format_v1::checksum(bytes.data() + begin, static_cast<size_t>(length)),
              i, first, stream);
    }
    seen_.push_back({stream, bytes, first});
    return bytes;
  }

  void compare(uint64_t found, size_t checksum, size_t first, const StreamPlace& stream) const {
    if (found == checksums_[checksum]) return;
    const uint64_t begin = (checksum - first) * format_v1::kChecksumBlock;
    throw Error(ErrorCode::kCorrupt,
                fmt::format("the checksum of the {} bytes at byte {} is wrong",
                            std::min(format_v1::kChecksumBlock, stream.length - begin), stream.offset + begin));
  }

  // In pieces that are still in the second-level cache when they are summed.
  uint64_t read_and_sum(uint64_t offset, uint64_t length) {
    constexpr uint64_t kPiece = 256 << 10;
    format_v1::Checksum sum;
    for (uint64_t begin = 0; begin < length; begin += kPiece) {
      const uint64_t piece = std::min(kPiece, length - begin);
      std::byte* to = unread_ + (offset - region_.offset) + begin;
      source_.read({offset + begin, piece}, to);
      sum.add(to, static_cast<size_t>(piece));
    }
    return sum.value();
  }

  bool in_region(const StreamPlace& stream) const {
    return stream.offset >= region_.offset && stream.length <= region_.length &&
           stream.offset - region_.offset <= region_.length - stream.length;
  }

  ByteView find(const StreamPlace& stream) {
    if (in_region(stream)) {
      return bytes_.subspan(static_cast<size_t>(stream.offset - region_.offset), static_cast<size_t>(stream.length));
    }
    Buffer& other = shared_.emplace_back(static_cast<size_t>(stream.length));
    source_.read({stream.offset, stream.length}, other.data());
    return other.view();
  }

  struct Seen {
    StreamPlace place;
    ByteView bytes;
    size_t first_checksum = 0;
  };

  const Source& source_;
  const std::vector<NodePlace>& nodes_;
  const std::vector<uint64_t>& checksums_;
  StreamPlace region_;
  ByteView bytes_;
  std::vector<Buffer>& shared_;
  std::vector<Seen> seen_;  // streams that were read and summed; at most kMaxTreeNodes · kMaxNodeStreams
  std::byte* unread_ = nullptr;
  size_t node_ = 0;
  size_t checksum_ = 0;
};

// An array that lies outside of the chunks: all its streams are fetched together.
EncodedChunk read_array(const Source& source, const ArrayPlace& array) {
  EncodedChunk out;
  StreamPlace region;
  uint64_t end = 0;
  bool first = true;
  for (const NodePlace& node : array.nodes) {
    for (const StreamPlace& stream : node.streams) {
      if (stream.length == 0) continue;
      region.offset = first ? stream.offset : std::min(region.offset, stream.offset);
      end = std::max(end, stream.offset + stream.length);
      first = false;
    }
  }
  uint64_t total = 0;
  for (const NodePlace& node : array.nodes) {
    for (const StreamPlace& stream : node.streams)
      total += format_v1::align_up(stream.length, format_v1::kStreamAlignment);
  }
  // Streams that lie far from each other are fetched one by one.
  region.length = end - region.offset <= 2 * total ? end - region.offset : 0;
  out.bytes.resize(static_cast<size_t>(region.length));
  if (region.length != 0) source.read({region.offset, region.length}, out.bytes.data());
  out.root =
      ViewBuilder(source, array.nodes, array.checksums, region, out.bytes.view(), out.shared).build(TreePlace::kInner);
  return out;
}

uint32_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<uint32_t> row(b.size() + 1);
  for (uint32_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    uint32_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      const uint32_t swap = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({swap, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

File::File(std::unique_ptr<State> state) : state_(std::move(state)) {}
File::~File() = default;

std::shared_ptr<File> File::open(std::shared_ptr<Source> source) {
  auto state = std::make_unique<State>();
  state->name = source->name();
  state->bytes = source->size();
  source = format_v1::unwrap(std::move(source));
  state->footer = format_v1::read_footer(*source);
  state->source = std::move(source);
  state->fields = flatten(state->footer.schema);
  for (const uint32_t id : state->footer.sort_columns) {
    state->sort_columns.push_back(format_v1::path_of(state->footer, state->fields, id));
  }
  state->slots = std::make_unique<State::Slot[]>(state->fields.size());
  return std::shared_ptr<File>(new File(std::move(state)));
}

std::shared_ptr<File> File::open(const std::string& path) { return open(open_file_source(path)); }

const std::string& File::name() const { return state_->name; }
const Source& File::source() const { return *state_->source; }
uint64_t File::bytes() const { return state_->bytes; }
const Schema& File::schema() const { return state_->footer.schema; }
uint64_t File::rows() const { return state_->footer.rows; }
const std::vector<ChunkInfo>& File::chunks() const { return state_->footer.chunks; }
const std::vector<const Field*>& File::fields() const { return state_->fields; }
uint32_t File::format_version() const { return state_->footer.version; }
const std::string& File::created_by() const { return state_->footer.created_by; }
const std::vector<std::string>& File::sort_columns() const { return state_->sort_columns; }
const std::vector<std::pair<std::string, std::string>>& File::metadata() const { return state_->footer.metadata; }
const Statistics& File::statistics(uint32_t field_id) const { return state_->footer.columns.at(field_id).stats; }
uint32_t File::parent(uint32_t field_id) const { return state_->footer.parents.at(field_id); }
std::string File::path(uint32_t field_id) const { return format_v1::path_of(state_->footer, state_->fields, field_id); }

uint32_t File::find_column(const std::string& name) const {
  const std::vector<Field>& fields = schema().fields;
  for (uint32_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  std::vector<std::pair<uint32_t, std::string>> near;
  for (const Field& field : fields) {
    if (field.name.size() > 256 || name.size() > 256) continue;
    const uint32_t distance = edit_distance(field.name, name);
    if (distance <= std::max<size_t>(2, name.size() / 2)) near.emplace_back(distance, field.name);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string hint;
  for (size_t i = 0; i < std::min<size_t>(near.size(), 3); ++i) hint += (i == 0 ? "" : ", ") + near[i].second;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: there is no column {}{}", this->name(), name,
                                                       hint.empty() ? "" : "; near names: " + hint));
}

const ColumnInfo& File::column(uint32_t field_id) const {
  if (field_id >= state_->fields.size()) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: there is no field {}", name(), field_id));
  }
  State::Slot& slot = state_->slots[field_id];
  std::lock_guard lock(slot.mutex);
  if (!slot.column) {
    const format_v1::Block& block = state_->footer.columns[field_id].metadata;
    const Buffer bytes = format_v1::read_block(
        *state_->source, block,
        "metadata of column " + format_v1::shown_path_of(state_->footer, state_->fields, field_id));
    try {
      slot.column = std::make_unique<const ColumnInfo>(
          format_v1::parse_column({state_->footer, state_->fields, field_id}, bytes.view(), state_->zone_room));
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: the metadata at byte {} is damaged", state_->place(field_id), block.offset));
    }
  }
  return *slot.column;
}

NodeView File::verify_chunk(uint32_t field_id, uint32_t chunk, ByteView region, std::vector<Buffer>& shared) const {
  const ColumnInfo& info = column(field_id);
  if (chunk >= info.chunks.size()) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: there is no chunk {}", state_->place(field_id), chunk));
  }
  const ColumnChunkInfo& place = info.chunks[chunk];
  if (region.size() != place.region.length) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: {} bytes were given for a region of {}", state_->place(field_id, chunk), region.size(),
                            place.region.length));
  }
  if (place.nodes.empty()) {
    NodeView nothing;
    nothing.type = Physical::kNone;
    nothing.count = place.rows;
    return nothing;
  }
  try {
    return ViewBuilder(*state_->source, place.nodes, place.checksums, place.region, region, shared).build();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw error.within(fmt::format("{} at byte {}", state_->place(field_id, chunk), place.region.offset));
  }
}

NodeView load_chunk(const File& file, uint32_t field_id, uint32_t chunk, std::byte* region,
                    std::vector<Buffer>& shared) {
  const ColumnChunkInfo& place = file.column(field_id).chunks.at(chunk);
  const ByteView bytes{region, static_cast<size_t>(place.region.length)};
  // What fits the cache is one request, and so is everything of sources for which a request is expensive.
  if (place.region.length <= format_v1::kChecksumBlock || place.nodes.empty() || !file.source().is_local()) {
    if (place.region.length > 0) file.source().read({place.region.offset, place.region.length}, region);
    return file.verify_chunk(field_id, chunk, bytes, shared);
  }
  try {
    return ViewBuilder(file.source(), place.nodes, place.checksums, place.region, bytes, shared)
        .reading_into(region)
        .build();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw error.within(fmt::format("{}: column {}, chunk {} at byte {}", file.name(), file.column(field_id).path, chunk,
                                   place.region.offset));
  }
}

EncodedChunk File::read_chunk(uint32_t field_id, uint32_t chunk) const {
  return std::move(read_chunks(field_id, chunk, 1)[0]);
}

std::vector<EncodedChunk> File::read_chunks(uint32_t field_id, uint32_t first, uint32_t count) const {
  const ColumnInfo& info = column(field_id);
  if (first > info.chunks.size() || count > info.chunks.size() - first) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: there are no chunks {} to {}", state_->place(field_id), first, first + count));
  }
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < count; ++i) {
    ranges.push_back({info.chunks[first + i].region.offset, info.chunks[first + i].region.length});
  }
  std::vector<Buffer> regions = read_ranges(*state_->source, ranges);
  std::vector<EncodedChunk> out(count);
  for (uint32_t i = 0; i < count; ++i) {
    out[i].bytes = std::move(regions[i]);
    out[i].root = verify_chunk(field_id, first + i, out[i].bytes.view(), out[i].shared);
  }
  return out;
}

namespace {

void add_places(const std::vector<NodePlace>& nodes, std::vector<StreamPlace>& places) {
  for (const NodePlace& node : nodes) places.insert(places.end(), node.streams.begin(), node.streams.end());
}

// The streams of a dictionary and of its column's chunks are equal or apart.
void check_dictionary_places(const DictionaryInfo& dictionary, const ColumnInfo& column) {
  std::vector<StreamPlace> places;
  add_places(dictionary.values.nodes, places);
  for (const ArrayPlace& map : dictionary.maps) add_places(map.nodes, places);
  for (const ColumnChunkInfo& chunk : column.chunks) add_places(chunk.nodes, places);
  format_v1::check_overlaps(std::move(places));
}

const DictionaryInfo& dictionary_of(const File& file, const File::State& state, uint32_t field_id) {
  if (field_id >= state.fields.size() || !state.footer.columns[field_id].dictionary) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: field {} has no dictionary for the whole file", state.name, field_id));
  }
  const ColumnInfo& column = file.column(field_id);
  File::State::Slot& slot = state.slots[field_id];
  std::lock_guard lock(slot.mutex);
  if (!slot.dictionary) {
    const format_v1::Block& block = *state.footer.columns[field_id].dictionary;
    const Buffer bytes = format_v1::read_block(
        *state.source, block,
        "dictionary metadata of column " + format_v1::shown_path_of(state.footer, state.fields, field_id));
    try {
      auto dictionary = std::make_unique<const DictionaryInfo>(
          format_v1::parse_dictionary({state.footer, state.fields, field_id}, bytes.view()));
      check_dictionary_places(*dictionary, column);
      slot.dictionary = std::move(dictionary);
    } catch (const Error& error) {
      throw error.within(
          fmt::format("{}: the dictionary metadata at byte {} is damaged", state.place(field_id), block.offset));
    }
  }
  return *slot.dictionary;
}

// The dictionary below the chunk's NULLs, if it has one.
const NodePlace* dict_node(const std::vector<NodePlace>& nodes, size_t& at) {
  at = 0;
  if (nodes.empty()) return nullptr;
  if (holds_nulls(nodes[0].codec_name) && nodes[0].child_count == 2) {
    at = format_v1::subtree_end(nodes, 1);
  }
  return at < nodes.size() && holds_entries(nodes[at].codec_name) ? &nodes[at] : nullptr;
}

uint64_t entries_of_chunk(const std::vector<NodePlace>& nodes) {
  size_t at = 0;
  const NodePlace* dict = dict_node(nodes, at);
  if (dict == nullptr || dict->child_count != 2) return 0;
  at = format_v1::subtree_end(nodes, at + 1);
  return at < nodes.size() ? nodes[at].count : 0;
}

}  // namespace

EncodedChunk File::read_dictionary(uint32_t field_id) const {
  const DictionaryInfo& info = dictionary_of(*this, *state_, field_id);
  try {
    return read_array(*state_->source, info.values);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw error.within(state_->place(field_id) + ", dictionary");
  }
}

std::vector<uint32_t> File::read_code_map(uint32_t field_id, uint32_t chunk) const {
  const DictionaryInfo& info = dictionary_of(*this, *state_, field_id);
  const ColumnInfo& info_of_column = column(field_id);
  if (chunk >= info.maps.size()) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: there is no chunk {}", state_->place(field_id), chunk));
  }
  try {
    const uint64_t entries = entries_of_chunk(info_of_column.chunks[chunk].nodes);
    const ArrayPlace& place = info.maps[chunk];
    if (place.nodes.empty()) {
      if (entries != info.entries)
        throw Error(ErrorCode::kCorrupt, "the chunk has other entries than the file and no map");
      return {};
    }
    if (place.nodes[0].count != entries) {
      throw Error(ErrorCode::kCorrupt, "the code map has another length than the chunk's dictionary");
    }
    const EncodedChunk array = read_array(*state_->source, place);
    const Column decoded = decode_rows(array.root, DataType{TypeKind::kUInt32, 0, 0, TimeUnit::kMicro}, 0, entries);
    const uint32_t* codes = decoded.values.as<uint32_t>();
    std::vector<uint32_t> map(codes, codes + entries);
    for (size_t i = 0; i < map.size(); ++i) {
      if (map[i] >= info.entries || (i > 0 && map[i] <= map[i - 1])) {
        throw Error(ErrorCode::kCorrupt, "the code map does not ascend inside the dictionary");
      }
    }
    return map;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kIo) throw;
    throw error.within(state_->place(field_id, chunk) + ", code map");
  }
}

}  // namespace basalt
