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

void place_node(Node& node, EncodedArray& out) {
  out.nodes.push_back(
      {node.count, static_cast<uint32_t>(node.params.size()), static_cast<uint32_t>(node.streams.size())});
  const auto* params = reinterpret_cast<const uint8_t*>(node.params.data());
  out.params.insert(out.params.end(), params, params + node.params.size());
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
    for (size_t begin = 0; begin < stream.size(); begin += kChecksumBlock) {
      out.checksums.push_back(checksum(stream.data() + begin, std::min<size_t>(kChecksumBlock, stream.size() - begin)));
    }
    stream = Buffer();
  }
  for (Node& child : node.children) place_node(child, out);
}

uint64_t padded_bytes(const Node& node) {
  uint64_t total = 0;
  for (const Buffer& stream : node.streams) total += align_up(stream.size(), kStreamAlignment);
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

EncodedArray lay_out(Node node) {
  EncodedArray out;
  out.tree = tree_of(view_of(node));
  out.region.reserve(static_cast<size_t>(padded_bytes(node)));
  place_node(node, out);
  return out;
}

ColumnEncoder::ColumnEncoder(const Field& field, const Tree* forced, const ArrayEncoder& encoder, Effort effort,
                             Purpose purpose)
    : type_(physical_of(field.type)),
      is_struct_(field.type.kind == TypeKind::kStruct),
      encoder_(encoder),
      chooser_(type_, effort, purpose) {
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
    // "Nothing stored" and the universal tree take two of the four shapes a column may have.
    Tree tree = chooser_.choose(values);
    const auto& shapes = chooser_.shapes();
    const auto end = shapes.begin() + static_cast<ptrdiff_t>(std::min<size_t>(shapes.size(), kMaxShapes - 2));
    return std::find(shapes.begin(), end, tree) != end ? tree : universal_tree(type_);
  }
  if (forced_values_) return values.validity == nullptr ? forced_values_ : forced_nullable_;
  return chooser_.choose(values);
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

EncodedColumn ColumnEncoder::encode(Column& column, uint32_t chunk) {
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
  turn.pass();

  if (!tree) {
    out.statistics = compute_statistics(column);
    return out;
  }
  Node node = encode_values(values, *tree);
  add_packed_widths(view_of(node), out.width_tiles);
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
  out.array = lay_out(std::move(node));
  return out;
}

}  // namespace basalt::format_v1
