// What every codec offers. A codec turns an array of values into streams, parameters and child arrays, which are
// encoded by further codecs: an encoding is a tree. Decoding goes tile by tile (1024 rows) and never needs the rows
// before.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/codec/device_type.h"
#include "basalt/core/buffer.h"
#include "basalt/core/host_device.h"
#include "basalt/core/types.h"
#include "basalt/encoding/tree.h"

namespace basalt {

class Automaton;  // basalt/codec/string_test.h
class Codec;
class SharedEntries;
struct SourceColumn;

// An array of plain values. Fixed width: `data` holds count values. kBytes: row i is bytes[offsets[i] .. offsets[i+1]).
struct Values {
  Physical type = Physical::kU64;
  uint64_t count = 0;
  const void* data = nullptr;
  const int64_t* offsets = nullptr;
  const char* bytes = nullptr;
  const uint8_t* validity = nullptr;  // bitmap; only the root codec `validity` looks at it; nullptr = all valid
  // Columns of the same rows, which trees name as `@name`; nullptr: none.
  const std::vector<SourceColumn>* sources = nullptr;
  // Whether an encoder may come near the values instead of holding them: what it misses is stored elsewhere (`sum`).
  bool may_miss = false;
  // The function that `map` shares with other chunks, and whether it only learns from these; nullptr: each has its own.
  SharedEntries* entries = nullptr;
  bool only_learns = false;

  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data);
  }
  std::string_view string(uint64_t row) const {
    return {bytes + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])};
  }
};

bool all_equal(const Values& values);  // by bits; validity not looked at

// An encoded array that owns its streams: what encoders return.
struct Node {
  const Codec* codec = nullptr;
  Physical type = Physical::kU64;
  uint64_t count = 0;
  std::vector<std::byte> params;
  std::vector<Buffer> streams;
  std::vector<Node> children;

  uint64_t encoded_bytes() const;  // streams and parameters, children included
};

// The same, viewing streams that somebody else keeps alive: what validators and readers take.
struct NodeView {
  const Codec* codec = nullptr;
  Physical type = Physical::kU64;
  uint64_t count = 0;
  ByteView params;
  std::vector<ByteView> streams;
  std::vector<NodeView> children;
};
NodeView view_of(const Node& node);
Node copy_of(const NodeView& node);
uint64_t encoded_bytes(const NodeView& node);  // streams and parameters, children included
uint64_t own_bytes(const Node& node);          // the same without those of other columns
Tree tree_of(const NodeView& node);

// A column that others of the same rows may be encoded by.
struct SourceColumn {
  std::string name;
  uint32_t field_id = 0;
  NodeView array;  // encoded; NULLs are not part of it
};

constexpr uint32_t tile_count(uint64_t rows) { return static_cast<uint32_t>((rows + kTileRows - 1) / kTileRows); }
constexpr uint32_t rows_in_tile(uint64_t rows, uint32_t tile) {
  const uint64_t left = rows - static_cast<uint64_t>(tile) * kTileRows;
  return left < kTileRows ? static_cast<uint32_t>(left) : kTileRows;
}

// Bytes that values decoded at a time may take where nobody says otherwise, besides those that they are stored in: a
// few bytes of a file may stand for any number of rows. Chunks of our writer keep below it unless a single row, or 8192
// rows together, are larger: these are legal, and need a higher limit where they are stored in much less.
constexpr uint64_t kDecodedLimit = uint64_t{128} << 20;
[[noreturn]] void fail_decoded_limit(uint64_t needed, uint64_t limit);  // throws Error(kOverLimit)

// Rows of variable length, appended by readers.
struct StringRows {
  std::vector<int64_t> offsets{0};
  Buffer bytes;
  uint64_t limit = kDecodedLimit;  // of bytes

  // Asked by readers before they take memory for so many more bytes.
  void check_room(uint64_t more) const {
    if (bytes.size() > limit || more > limit - bytes.size()) fail_decoded_limit(bytes.size() + more, limit);
  }

  size_t size() const { return offsets.size() - 1; }
  void clear() {
    offsets.assign(1, 0);
    bytes.clear();
  }
  std::string_view at(size_t row) const {
    return {bytes.as<char>() + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])};
  }
};

// How a question about a tile's values was answered, the cheapest way first.
enum class Answered : uint8_t {
  kByBounds,  // all rows at once
  kByModel,   // from the shape of the values: by run, or reading a few rows at most
  kByRows,    // every row's stored bits were read
  kNot,       // it was not: the caller decodes and looks
};
struct ValueBounds {
  int128_t low = 0;
  int128_t high = 0;
};

// A dictionary's values, of the reader's type; the reader owns them.
struct EntryList {
  const void* values = nullptr;
  uint32_t count = 0;
};

// Decodes one encoded array. Not thread-safe: each thread opens its own. Decoding an array that passed validate() never
// reads out of bounds; what only the values can show (a code beyond the dictionary) is clamped and raises corrupt().
class Reader {
 public:
  virtual ~Reader() = default;

  // Fixed width: writes the tile's rows; `out` has room for kTileRows values whatever the tile holds.
  virtual void decode_tile(uint32_t tile, void* out);
  // kBytes: appends the tile's rows.
  virtual void decode_tile(uint32_t tile, StringRows& out);
  // kBytes: how long the tile's rows are, without decoding them; `out` has room for kTileRows.
  virtual void string_lengths(uint32_t tile, uint32_t* out);
  // kBytes: how many bytes they have together, at most.
  virtual uint64_t most_bytes(uint32_t tile);
  // Fixed width: the tile as runs of equal values, of which neighbours may be equal, if it is stored as such. Writes
  // their values and the rows behind their last rows, counted from the tile's first; both have room for kTileRows.
  // Ends ascend, from above 0 to the tile's rows, of damaged arrays, too. Returns how many; 0: it is not, decode_tile()
  // reads it.
  virtual uint32_t decode_runs(uint32_t tile, void* values, uint32_t* ends);
  // Fixed width: the tile as places in a list of values that is the same for all tiles, if it is stored as such (else
  // the list is empty). `codes` has room for kTileRows; all of them lie in the list.
  virtual EntryList decode_codes(uint32_t tile, uint32_t* codes);
  // kBytes: the strings that decode_codes() then refers to; nullptr if rows are not stored as places in a list.
  virtual const StringRows* entries() const { return nullptr; }
  // Single rows by index, in the order given, sorted or not.
  virtual void gather(std::span<const uint32_t> rows, void* out);
  virtual void gather(std::span<const uint32_t> rows, StringRows& out);

  // out[i] = 1 where row i of the tile lies in [low, high], else 0; `out` has room for kTileRows. Of floats the range
  // is one of float_key()s (core/float_key.h): in SQL's order, −0.0 equal to 0.0, NaN the greatest. A codec that
  // answers does so for every tile and range.
  virtual Answered filter_range(uint32_t tile, int128_t low, int128_t high, uint8_t* out);
  // kBytes: out[i] = 1 where the automaton accepts row i of the tile, else 0; `out` has room for kTileRows. Readers
  // keep what they derive from an automaton for the next tile, and the automaton with it.
  virtual Answered filter_strings(uint32_t tile, const std::shared_ptr<const Automaton>& test, uint8_t* out);
  // What the tile's encoding says of its values (of floats: of their keys) without reading them; nullopt if nothing.
  virtual std::optional<ValueBounds> bounds(uint32_t tile) const;

  // Of floats that are stored as decimals: the sum of a whole tile's rows whose byte in `live` is 1 (nullptr: all), in
  // the order that exec/aggregate.h has for tiles that are added as they are stored.
  // nullopt: the tile is not added so.
  virtual std::optional<double> filter_sum(uint32_t tile, const uint8_t* live);

  // Bytes of strings that it holds decoded for all tiles: the entries of a dictionary.
  virtual uint64_t entry_bytes() const { return 0; }

  // Set when values broke a rule that validate() cannot see; checked before results leave.
  bool corrupt() const { return corrupt_; }

  Physical type() const { return type_; }
  uint64_t count() const { return count_; }

 protected:
  Reader(Physical type, uint64_t count) : type_(type), count_(count) {}
  void mark_corrupt(bool bad) { corrupt_ = corrupt_ || bad; }

 private:
  Physical type_;
  uint64_t count_;
  bool corrupt_ = false;
};

// A bytes codec (a child of `strings`) decodes rows whose lengths the parent knows.
class BytesReader {
 public:
  virtual ~BytesReader() = default;
  // Whether a tile's row lengths agree with what is stored. The two calls below are made only if they do: lengths come
  // from another stream, which a damaged file may have made absurd.
  virtual bool lengths_fit(uint32_t tile, std::span<const uint32_t> lengths) const = 0;
  // Appends the tile's bytes; `lengths` are the tile's row lengths.
  virtual void decode_tile(uint32_t tile, std::span<const uint32_t> lengths, Buffer& out) = 0;
  // Appends one row's bytes.
  virtual void decode_row(uint32_t tile, uint32_t row_in_tile, std::span<const uint32_t> lengths, Buffer& out) = 0;
  // out[i] = 1 where the automaton accepts row i, else 0, found without building the rows; false: it is not done here.
  virtual bool test(uint32_t tile, std::span<const uint32_t> lengths, const std::shared_ptr<const Automaton>& test,
                    uint8_t* out);
  // As Reader::entry_bytes().
  virtual uint64_t entry_bytes() const { return 0; }
  // Set when stored data broke a rule that neither validate() nor lengths_fit() can see.
  bool corrupt() const { return corrupt_; }

 protected:
  void mark_corrupt(bool bad) { corrupt_ = corrupt_ || bad; }

 private:
  bool corrupt_ = false;
};

// What a codec expects of one child.
struct ChildSlot {
  std::string_view name;
  Physical type;
  bool is_bytes = false;      // a bytes codec under `strings`
  bool point_access = false;  // must give single rows in constant time
};

// What a chooser knows of an array when it has seen only a sample of it.
struct Sample {
  Values values;            // whole tiles, at fixed positions, one after the other
  uint64_t total_rows = 0;  // of the array the sample stands for
  uint64_t piece_rows = 0;  // rows that lie together in the array: 1024, fewer for long strings; 0: not known
  double scale() const {
    return values.count == 0 ? 1.0 : static_cast<double>(total_rows) / static_cast<double>(values.count);
  }
};
struct Estimate {
  double bytes = 0;  // of the whole array
  Tree tree;
};
// How much time an encoder may take for fewer bytes; what a codec makes of it is its own affair. Readers do not care.
enum class Effort : uint8_t { kFast, kBalanced, kBest };
// What a file is for: anything (kBalanced), to lie in a GPU's memory, to travel to one with every query, or to be
// small, where reading it may take longer.
enum class Purpose : uint8_t { kBalanced, kResident, kTransfer, kDisk };
// With which arrays are encoded.
struct Aims {
  Effort effort = Effort::kBalanced;
  Purpose purpose = Purpose::kBalanced;

  constexpr Aims() = default;
  constexpr Aims(Effort with, Purpose of = Purpose::kBalanced) : effort(with), purpose(of) {}
};

// Gives codecs the best estimate for a child's sample.
class ChildChooser {
 public:
  virtual ~ChildChooser() = default;
  // `child` is the index of the asking codec's child.
  virtual Estimate best(const Sample& sample, size_t child) = 0;
  // The tree that the child must have; nullptr if it may have any.
  virtual const Tree* forced(size_t child) const {
    (void)child;
    return nullptr;
  }
  // With which the array will be encoded.
  virtual Effort effort() const { return Effort::kBalanced; }
  virtual Purpose purpose() const { return Purpose::kBalanced; }
};

// The tile reader that device code uses for a node, and what the writer of a kernel has to know of it.
struct DeviceReader {
  DeviceType type;             // `Dict<uint64_t, Packed<uint32_t>, Plain<uint64_t>>`; empty: device code cannot read it
  uint32_t scratch_bytes = 0;  // of shared memory, for each warp
  bool rows_in_shared = false;        // a tile's rows wait in the scratch once it is open
  bool direct = false;                // rows come from the file's bytes: no staging, no look-up, no nesting
  bool long_code = false;             // much is done with every value of a child, so that unrolled widths are dear
  uint32_t most_instructions = 2000;  // of a kernel that decodes one array, which keeps its compilation short
  DeviceType filter_sum;              // what counts and sums its rows in a range, `PackedFilterSum<uint64_t>`; or empty
  std::string reason;                 // in a few words, why `type` is empty, where the codec has one

  bool empty() const { return type.empty(); }
  bool operator==(const DeviceReader&) const = default;
};

// What the host keeps of an encoded array of strings, so that every statement can put a test of its own to it on the
// device: a symbol table, a dictionary.
class TextAlphabet {
 public:
  virtual ~TextAlphabet() = default;
  // What the array's device filter reads of this test; at most Automaton::kMostDeviceStates states.
  virtual Buffer table(const Automaton& test) const = 0;
  // Memory that it takes on the host, about.
  virtual uint64_t bytes() const = 0;
};

class Codec {
 public:
  virtual ~Codec() = default;

  virtual std::string_view name() const = 0;
  virtual uint16_t version() const { return 1; }
  // Whether arrays of this type can be encoded. kBytes with is_bytes: as the bytes child of `strings`.
  virtual bool accepts(Physical type, bool is_bytes) const = 0;
  virtual std::vector<ChildSlot> children(Physical type) const {
    (void)type;
    return {};
  }
  virtual Tree default_child(Physical type, size_t child) const;
  // Whether it holds NULLs beside values (`validity`): such a codec stands only at the top of a column's tree.
  virtual bool holds_nulls() const { return false; }
  // Whether rows are places in a list of entries (`dict`).
  virtual bool holds_entries() const { return false; }
  // Whether the lengths of strings are a child of their own (`strings`).
  virtual bool holds_lengths() const { return false; }
  // Whether its streams are tiles of packed integers (`packed`), which may be read without its reader.
  virtual bool holds_packed_tiles() const { return false; }
  // Whether choosers leave it alone: it is for columns that are encoded by others (`sum`), which are looked for apart.
  virtual bool needs_source() const { return false; }
  // Where the only child is the column of another field, of the same rows, that field: the child's streams are that
  // column's own.
  virtual std::optional<uint32_t> source_field(ByteView params) const {
    (void)params;
    return std::nullopt;
  }
  // Where chunks of a file may share a child (`map`): which one. Its values are the same, or its rows do not matter.
  virtual std::optional<size_t> shared_child() const { return std::nullopt; }
  // `validity` and `strings` do not count for the search depth.
  virtual uint32_t depth_cost() const { return 1; }
  // How much smaller, as a factor, it must be than a codec listed before it to be taken instead: for codecs that cost
  // more to read.
  virtual double has_to_save() const { return 1.0; }
  // Whether it takes long to read (`ans`): choosers look at it only for files that are to be small or travel far.
  virtual bool is_slow_to_read() const { return false; }
  // What reading all rows takes, children not counted: tenths of nanoseconds on a Neoverse N1, for comparisons only.
  virtual uint64_t reading_cost(const Node& node) const { return node.count * 4; }
  // What a kernel takes to decode all rows, in picoseconds on an H200, children and the time to read streams not
  // counted: for comparisons, see docs/decisions/purposes.md.
  virtual double kernel_picoseconds(const Node& node) const { return static_cast<double>(node.count) * 0.25; }
  // Whether a single row costs constant time, without decoding its tile.
  virtual bool point_access() const { return false; }

  // `tree` is bound: it names this codec and all its children. Throws Error(kUnsupported) where these values cannot be
  // held (a range of more than 64 bits in `packed`): the caller then takes the next best tree.
  virtual Node encode(const Values& values, const Tree& tree, Aims aims) const = 0;
  // O(tiles): counts, stream lengths, offsets. Throws Error(kCorrupt). Children are validated by the caller.
  virtual void validate(const NodeView& node) const = 0;
  // O(rows), of an array that passed validate(): what kernels rely on and only the values can show. Throws
  // Error(kCorrupt). Children are checked by the caller.
  virtual void check_values(const NodeView& node) const { (void)node; }
  // Bytes that its reader holds for all tiles beside strings (Reader::entry_bytes()), children not counted.
  virtual uint64_t held_bytes(const NodeView& node) const {
    (void)node;
    return 0;
  }
  virtual std::unique_ptr<Reader> open(const NodeView& node) const;
  // kBytes: for gather() of a few rows and nothing else, where open() prepares for more.
  virtual std::unique_ptr<Reader> open_for_few(const NodeView& node) const { return open(node); }
  virtual std::unique_ptr<BytesReader> open_bytes(const NodeView& node) const;

  // Bytes of the whole array if this codec were its root, or nullopt if it cannot hold it.
  virtual std::optional<Estimate> estimate(const Sample& sample, ChildChooser& chooser) const = 0;

  // Whether arrays lie on the device in another form than they are stored in: those whose tiles kernels cannot decode
  // one by one (`ans`) are made into something simpler before. Such a codec has no children.
  virtual bool has_device_form() const { return false; }
  // That form, where there is one: its streams have sizes, but no bytes. It is what device_reader() reads. Looks at
  // types, counts and parameters.
  virtual std::optional<NodeView> device_form(const NodeView& node) const {
    (void)node;
    return std::nullopt;
  }
  // Looks at the types of the node and its children, not at their contents.
  virtual DeviceReader device_reader(const NodeView& node) const;
  // kBytes, as a child of `strings`, too: what puts a test to the strings of a tile on the device, without decoding
  // them. Looks at the types and counts of the node and its children.
  virtual DeviceReader device_filter(const NodeView& node) const;
  // kBytes: what reads the strings of a tile as places in the list that they are stored as, on the device.
  virtual DeviceReader device_codes(const NodeView& node) const;
  // Of an array that has a device filter and passed validate(). Throws Error(kCorrupt).
  virtual std::shared_ptr<const TextAlphabet> text_alphabet(const NodeView& node) const;
  // Bytes that its table() has at most for an automaton of so many states. Looks at what device_filter() looks at, and
  // at parameters.
  virtual uint64_t filter_table_bytes(const NodeView& node, uint32_t states) const;
};

// All codecs by name; built-in ones are listed in one place, src/codec/registry.cpp.
const Codec* find_codec(std::string_view name);  // nullptr if unknown
const Codec& get_codec(std::string_view name);   // throws Error(kUnsupported)
std::span<const Codec* const> all_codecs();
void register_codec(std::unique_ptr<Codec> codec);  // for codecs outside the library; call before any thread reads

// The same questions about a codec that a tree or a file names, whatever its version there; false if it is unknown.
bool holds_nulls(std::string_view codec);
bool holds_entries(std::string_view codec);

// Where in a tree a node stands: at the top of a column, where NULLs may be held; below `strings`, as its bytes; or
// anywhere else, which is also the top of an array that has no NULLs (a dictionary's entries).
enum class TreePlace : uint8_t { kColumn, kBytes, kInner };
constexpr TreePlace place_of(const ChildSlot& slot) { return slot.is_bytes ? TreePlace::kBytes : TreePlace::kInner; }
// Whether a codec may hold values of this type there.
bool may_hold(const Codec& codec, Physical type, TreePlace place);

// Whole trees: encode, check, open.
Node encode_tree(const Values& values, const Tree& tree, Aims aims = {});
// That every node stands where it may and holds together, the root, too, whose type is the one it will be read as.
void validate_tree(const NodeView& root, TreePlace place = TreePlace::kColumn);
// Of an array that passed validate_tree(). Throws Error(kInternal) if the codec does not take the node's type: its
// reader would write values of another width into the caller's memory.
void check_values(const NodeView& node);
uint64_t held_bytes(const NodeView& node);
std::unique_ptr<Reader> open_reader(const NodeView& node);

}  // namespace basalt
