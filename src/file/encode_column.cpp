// Encoding of single columns; see the header.
#include "file/encode_column.h"

#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "codec/trees.h"
#include "core/dispatch.h"
#include "file/format.h"
#include "file/packed_widths.h"

namespace basalt::format_v1 {

namespace {

// Strings whose bytes are not kept longer than they are needed.
constexpr size_t kLongBytes = 16 << 20;

// A string under a NULL repeats its neighbour only where that is short: repeating pays in dictionaries and runs, which
// hold short strings, and would double a column of long texts.
constexpr size_t kMaxRepeatedString = 32;
// Parameters live in the metadata, which is read whole: larger ones (a constant string of megabytes) go to streams.
constexpr size_t kMaxParameterBytes = 4096;

void fill_fixed(Column& column) {
  dispatch_width(width_of(physical_of(column.type)), [&](auto tag) {
    using T = decltype(tag);
    T* values = column.values.as<T>();
    uint64_t first = 0;
    while (first < column.length && !column.is_valid(first)) ++first;
    T last = first < column.length ? values[first] : T{0};
    for (uint64_t row = 0; row < column.length; ++row) {
      if (column.is_valid(row)) {
        last = values[row];
      } else {
        values[row] = last;
      }
    }
  });
}

void fill_strings(Column& column) {
  Buffer bytes;
  bytes.reserve(column.bytes.size());
  Buffer offsets(column.offsets.size());
  auto* to = offsets.as<int64_t>();
  to[0] = 0;
  uint64_t first = 0;
  while (first < column.length && !column.is_valid(first)) ++first;
  std::string_view last = first < column.length ? column.string_at(first) : std::string_view();
  for (uint64_t row = 0; row < column.length; ++row) {
    if (column.is_valid(row)) last = column.string_at(row);
    if (column.is_valid(row) || last.size() <= kMaxRepeatedString) bytes.append(last.data(), last.size());
    to[row + 1] = static_cast<int64_t>(bytes.size());
  }
  column.bytes = std::move(bytes);
  column.offsets = std::move(offsets);
}

void fill_nulls(Column& column) {
  if (column.null_count == 0) return;
  switch (column.type.kind) {
    case TypeKind::kList:
    case TypeKind::kStruct: return;
    case TypeKind::kUtf8:
    case TypeKind::kBinary: fill_strings(column); return;
    default: fill_fixed(column);
  }
}

Buffer list_lengths(const Column& column) {
  Buffer lengths(static_cast<size_t>(column.length * sizeof(uint32_t)));
  const int64_t* offsets = column.offsets.as<int64_t>();
  if (static_cast<uint64_t>(offsets[column.length]) > kMaxElements) {
    throw Error(ErrorCode::kUnsupported, "a list has more than 2^31 - 1 elements");
  }
  for (uint64_t i = 0; i < column.length; ++i) {
    lengths.as<uint32_t>()[i] = static_cast<uint32_t>(offsets[i + 1] - offsets[i]);
  }
  return lengths;
}

size_t largest_parameter(const Node& node) {
  size_t largest = node.params.size();
  for (const Node& child : node.children) largest = std::max(largest, largest_parameter(child));
  return largest;
}

// What lies before a node in preorder.
struct Preorder {
  uint32_t nodes = 0;
  uint32_t streams = 0;
  uint32_t checksums = 0;
  uint32_t params = 0;

  void skip_own(const Node& node) {
    ++nodes;
    streams += static_cast<uint32_t>(node.streams.size());
    params += static_cast<uint32_t>(node.params.size());
    for (const Buffer& stream : node.streams) checksums += static_cast<uint32_t>(checksum_blocks(stream.size()));
  }
  void skip_tree(const Node& node) {
    skip_own(node);
    for (const Node& child : node.children) skip_tree(child);
  }
};

// The dictionary of a column's tree, if its values have one, and what lies before its entries.
const Node* find_dictionary(const Node& root, Preorder& before) {
  const Node* dict = &root;
  if (root.codec->holds_nulls() && root.children.size() == 2) {
    before.skip_own(root);
    before.skip_tree(root.children[0]);
    dict = &root.children[1];
  }
  if (!dict->codec->holds_entries() || dict->children.size() != 2) return nullptr;
  before.skip_own(*dict);
  before.skip_tree(dict->children[0]);
  return dict;
}

std::optional<DictionaryEntries> read_entries(const Node& dict, const Preorder& before) {
  const NodeView view = view_of(dict.children[1]);
  DictionaryEntries entries;
  entries.count = view.count;
  entries.first_node = before.nodes;
  entries.first_stream = before.streams;
  entries.first_checksum = before.checksums;
  entries.first_param = before.params;
  if (view.count > kMaxDictionaryEntries) return std::nullopt;
  const std::unique_ptr<Reader> reader = open_reader(view);
  const uint32_t width = width_of(view.type);
  entries.values.reserve((view.count + kTileRows) * width);
  entries.values.resize(view.count * width);
  for (uint32_t tile = 0; tile < tile_count(view.count); ++tile) {
    if (width == 0) {
      reader->decode_tile(tile, entries.strings);
    } else {
      reader->decode_tile(tile, entries.values.data() + size_t{tile} * kTileRows * width);
    }
  }
  return entries;
}

void add_checksums(const Buffer& stream, std::vector<uint64_t>& out) {
  for (size_t begin = 0; begin < stream.size(); begin += kChecksumBlock) {
    out.push_back(checksum(stream.data() + begin, std::min<size_t>(kChecksumBlock, stream.size() - begin)));
  }
}

void add_record(const Node& node, EncodedArray& out) {
  out.nodes.push_back(
      {node.count, static_cast<uint32_t>(node.params.size()), static_cast<uint32_t>(node.streams.size())});
  const auto* params = reinterpret_cast<const uint8_t*>(node.params.data());
  out.params.insert(out.params.end(), params, params + node.params.size());
}

// Records of an array that lies in another column's region.
void place_shared(const Node& node, EncodedArray& out) {
  add_record(node, out);
  for (const Buffer& stream : node.streams) {
    out.streams.push_back({0, stream.size()});
    add_checksums(stream, out.checksums);
  }
  for (const Node& child : node.children) place_shared(child, out);
}

void leave_open(const Node& entries, EncodedArray& out) {
  out.entries.push_back({static_cast<uint32_t>(out.nodes.size()), static_cast<uint32_t>(out.streams.size()),
                         static_cast<uint32_t>(out.checksums.size())});
  add_record(entries, out);
  out.streams.resize(out.streams.size() + entries.streams.size());
}

void place_node(Node& node, bool shares_entries, EncodedArray& out) {
  add_record(node, out);
  for (Buffer& stream : node.streams) {
    const size_t offset = static_cast<size_t>(align_up(out.region.size(), kStreamAlignment));
    // An empty stream has no place: it must not make the region longer than its last byte.
    if (stream.empty()) {
      out.streams.push_back({0, 0});
      continue;
    }
    const size_t padding = offset - out.region.size();
    out.region.resize(offset);
    if (padding != 0) std::memset(out.region.data() + offset - padding, 0, padding);
    out.region.append(stream.data(), stream.size());
    out.streams.push_back({offset, stream.size()});
    add_checksums(stream, out.checksums);
    stream = Buffer();
  }
  if (const std::optional<uint32_t> field = node.codec->source_field(node.params)) {
    const auto first = static_cast<uint32_t>(out.streams.size());
    place_shared(node.children.at(0), out);
    out.shared.push_back({first, static_cast<uint32_t>(out.streams.size()) - first, *field});
    return;
  }
  for (size_t i = 0; i < node.children.size(); ++i) {
    if (shares_entries && node.codec->shared_child() == i) {
      leave_open(node.children[i], out);
    } else {
      place_node(node.children[i], shares_entries, out);
    }
  }
}

uint64_t padded_bytes(const Node& node) {
  uint64_t total = 0;
  for (const Buffer& stream : node.streams) total += align_up(stream.size(), kStreamAlignment);
  if (node.codec->source_field(node.params)) return total;
  for (const Node& child : node.children) total += padded_bytes(child);
  return total;
}

}  // namespace

uint64_t own_plain_bytes(const Column& column) {
  uint64_t total = column.values.size() + column.bytes.size() + column.validity.size();
  if (!column.offsets.empty()) total += column.length * 4;
  return total;
}

uint64_t EncodedColumn::memory() const {
  const uint64_t dictionary = entries ? entries->values.size() + entries->strings.bytes.size() : 0;
  return array.region.size() + dictionary;
}

EncodedArray lay_out(Node node, bool shares_entries) {
  EncodedArray out;
  out.tree = tree_of(view_of(node));
  out.region.reserve(static_cast<size_t>(padded_bytes(node)));
  place_node(node, shares_entries, out);
  return out;
}

namespace {

// Walks the records of an array.
struct RecordCursor {
  const EncodedArray& array;
  size_t node = 0;
  size_t param = 0;
  size_t stream = 0;

  NodeView next(const Tree& tree, Physical type) {
    const NodeRecord& record = array.nodes[node++];
    NodeView view;
    view.codec = &get_codec(tree.codec);
    view.type = type;
    view.count = record.count;
    view.params = {reinterpret_cast<const std::byte*>(array.params.data()) + param, record.param_bytes};
    param += record.param_bytes;
    for (uint32_t i = 0; i < record.stream_count; ++i) {
      const StreamRecord& place = array.streams[stream++];
      view.streams.emplace_back(array.region.data() + place.offset, static_cast<size_t>(place.length));
    }
    const std::vector<ChildSlot> slots = view.codec->children(type);
    for (size_t i = 0; i < slots.size(); ++i) view.children.push_back(next(tree.children[i], slots[i].type));
    return view;
  }
};

}  // namespace

namespace {

// Whether it is stored by another column, below its NULLs.
bool is_related(const Node& node) {
  return node.codec->holds_nulls() ? is_related(node.children.back()) : node.codec->needs_source();
}

NodeView without_shared(NodeView node) {
  if (const std::optional<size_t> child = node.codec->shared_child()) {
    node.children.erase(node.children.begin() + static_cast<ptrdiff_t>(*child));
  }
  for (NodeView& child : node.children) child = without_shared(child);
  return node;
}

}  // namespace

NodeView view_of(const EncodedArray& array, Physical type) { return RecordCursor{array}.next(array.tree, type); }

ColumnEncoder::ColumnEncoder(const Field& field, const Tree* forced, const ArrayEncoder& encoder, Effort effort,
                             Purpose purpose, double link_gbs)
    : type_(physical_of(field.type)),
      is_struct_(field.type.kind == TypeKind::kStruct),
      encoder_(encoder),
      chooser_(type_, effort, purpose, link_gbs),
      effort_(effort),
      purpose_(purpose) {
  if (forced == nullptr) return;
  if (is_struct_) {
    if (!holds_nulls(forced->codec)) {
      throw Error(ErrorCode::kInvalidArgument, "a struct has no values to encode: only validity(…) can be given");
    }
    forced_nullable_ = bind_tree(*forced, type_);
    return;
  }
  Tree flags = packed_tree();
  Tree values = *forced;
  if (holds_nulls(forced->codec)) {
    if (!forced->children.empty()) flags = forced->children[0];
    values = forced->children.size() > 1 ? forced->children[1] : default_tree(type_);
  }
  forced_values_ = bind_tree(values, type_);
  forced_nullable_ = bind_tree(with_nulls(flags, values), type_);
}

std::optional<Tree> ColumnEncoder::choose(const Values& values) {
  if (is_struct_) {
    if (values.validity == nullptr) return std::nullopt;
    if (forced_nullable_) return forced_nullable_;
    return choose_beside(values, 1);  // "nothing stored"
  }
  if (forced_values_) return values.validity == nullptr ? forced_values_ : forced_nullable_;
  if (related_ && related_->may_be_used())
    return related_->forced() ? universal_tree(type_) : choose_beside(values, kMostRelatedShapes);
  return chooser_.choose(values);
}

// Of the four shapes that a column may have, others have some, and the universal tree has one.
Tree ColumnEncoder::choose_beside(const Values& values, uint32_t others) {
  Tree tree = chooser_.choose(values);
  const auto& shapes = chooser_.shapes();
  const auto end = shapes.begin() + static_cast<ptrdiff_t>(std::min<size_t>(shapes.size(), kMaxShapes - 1 - others));
  return std::find(shapes.begin(), end, tree) != end ? tree : universal_tree(type_);
}

void ColumnEncoder::relate(std::vector<Tree> trees, bool forced, bool one_chunk) {
  for (Tree& tree : trees) {
    if (holds_nulls(tree.codec) && tree.children.size() == 2) tree = Tree(tree.children[1]);  // they are seen to
    tree = bind_tree(tree, type_);
  }
  related_.emplace(std::move(trees), forced, one_chunk, effort_, purpose_);
}

Node ColumnEncoder::encode_smaller(const Values& values, const Tree& own, const std::optional<Tree>& related) const {
  if (!related) return encode_values(values, own);
  if (related_->forced()) {
    std::optional<Node> node = related_->encode(values, *related, 0);
    return node ? std::move(*node) : encode_values(values, own);
  }
  Node node = encode_values(values, own);
  std::optional<Node> smaller = related_->encode(values, *related, node.encoded_bytes());
  return smaller ? std::move(*smaller) : std::move(node);
}

Node ColumnEncoder::encode_values(const Values& values, const Tree& tree) const {
  try {
    Node node = encoder_(values, tree);
    if (largest_parameter(node) <= kMaxParameterBytes) return node;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
  }
  return encoder_(values, bind_tree(universal_tree(type_), type_));
}

class ColumnEncoder::Turn {
 public:
  Turn(std::atomic<uint32_t>& turn, uint32_t chunk) : turn_(turn), chunk_(chunk) {}
  ~Turn() {
    if (!passed_) pass();
  }
  void wait() {
    for (uint32_t now = turn_.load(); now != chunk_; now = turn_.load()) turn_.wait(now);
  }
  void pass() {
    wait();
    turn_.store(chunk_ + 1);
    turn_.notify_all();
    passed_ = true;
  }

 private:
  std::atomic<uint32_t>& turn_;
  uint32_t chunk_;
  bool passed_ = false;
};

void ColumnEncoder::skip(uint32_t chunk) { Turn(turn_, chunk).pass(); }

EncodedColumn ColumnEncoder::encode(Column& column, uint32_t chunk, const std::vector<SourceColumn>& sources) {
  EncodedColumn out;
  Turn turn(turn_, chunk);
  out.rows = column.length;
  out.plain_bytes = own_plain_bytes(column);
  fill_nulls(column);
  Values values;
  values.type = type_;
  values.count = column.length;
  values.data = column.values.data();
  values.validity = column.null_count == 0 ? nullptr : column.validity.as<uint8_t>();
  Buffer lengths;
  if (column.type.kind == TypeKind::kList) {
    lengths = list_lengths(column);
    values.data = lengths.data();
  } else if (type_ == Physical::kBytes) {
    values.offsets = column.offsets.as<int64_t>();
    values.bytes = column.bytes.as<char>();
  }
  turn.wait();
  const std::optional<Tree> tree = choose(values);
  std::optional<Tree> related;
  if (!sources.empty()) values.sources = &sources;
  if (related_ && tree) {
    related = related_->choose(values, [&] { return encode_values(values, *tree).encoded_bytes(); });
  }
  turn.pass();

  if (!tree) {
    out.statistics = compute_statistics(column);
    return out;
  }
  Node node = encode_smaller(values, *tree, related);
  out.encoding = to_string(named_tree_of(view_of(node), sources));
  const bool shares_entries = entries() != nullptr && is_related(node);
  add_packed_widths(shares_entries ? without_shared(view_of(node)) : view_of(node), out.width_tiles);
  Preorder before;
  // A list's values are its lengths: there are no statistics of them, and nobody groups or joins by them.
  const Node* dict = column.type.kind == TypeKind::kList ? nullptr : find_dictionary(node, before);
  if (dict != nullptr) out.entries = read_entries(*dict, before);
  if (out.entries) {
    const ChunkDictionary dictionary{out.entries->count, out.entries->values.data(), &out.entries->strings,
                                     view_of(dict->children[0])};
    out.statistics = compute_statistics(column, &dictionary);
  } else {
    out.statistics = compute_statistics(column);
  }
  if (!wants_entries.load(std::memory_order_relaxed)) out.entries.reset();
  // Laying out copies the streams: of long strings there would be three copies at once.
  if (column.bytes.size() > kLongBytes) column.bytes = Buffer();
  out.array = lay_out(std::move(node), shares_entries);
  return out;
}

}  // namespace basalt::format_v1
