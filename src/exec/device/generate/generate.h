// From a pipeline to the source of one CUDA kernel. The source depends on the shape of the statement and of its columns
// (encodings, common widths, proven ranges) but not on literals, which are parameters: a query that differs in its
// constants only is not compiled again. Needs no GPU and no CUDA header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/codec/string_test.h"
#include "basalt/exec/pipeline.h"
#include "exec/device/generate/emit.h"
#include "exec/device/generate/texts_plan.h"
#include "exec/device/work.h"
#include "exec/group_keys.h"
#include "exec/text_codes.h"

namespace basalt::device {

constexpr const char* kScanKernel = "basalt_scan";

// What the generator knows of a column: the device readers of its chunks and what statistics say of all of them.
struct ColumnShapes {
  std::vector<DeviceReader> values;    // a chunk names one by index
  std::vector<DeviceReader> validity;  // the same for chunks with NULLs; a chunk without has 0, others index + 1
  uint32_t value_words = 0;            // of the longest descriptor
  uint32_t validity_words = 0;
  std::vector<uint64_t> width_tiles;
  Statistics stats;
  // Strings that are read as codes, by a table of each chunk: how many there are.
  bool as_codes = false;
  uint32_t entries = 0;
  // Of the key of groups, where equal values lie in neighbouring rows over all chunks: about how many there are.
  std::optional<uint64_t> runs;
};
// A column whose values lie in device memory as they are, row after row over all chunks: what a statement has computed
// before this kernel. NULLs as bytes, 1: there is a value.
struct ArrayShape {
  Physical type = Physical::kNone;
  bool nullable = false;
  Statistics stats;  // what is known before the values are
  // Of strings, which are places in a list: this one, in order and each once; nullptr: one that the device has, in
  // which strings may lie twice.
  std::shared_ptr<const exec::TextCodes> listed = nullptr;
};

// So few rows that the host evaluates what leaves, from the file.
constexpr uint64_t kFewRows = 1024;

// Of a sink of rows: where the columns that leave come from.
struct RowsSources {
  // At most kFewRows leave. The kernel keeps their numbers; everything else is fetched and evaluated on the host.
  bool late = false;
  // The kernel's order ends before a key of strings that have no list: rows that are equal in it are told apart on the
  // host, if they are few.
  bool cut_order = false;
  struct Source {
    std::optional<uint32_t> row;  // of the kernel's rows
    // Of a column of strings: which one of the given pipeline. Without a row, its strings are fetched by the rows'
    // numbers; else the row holds places in a list: this one, or the one that the given column has as an array.
    std::optional<uint32_t> texts_of;
    std::shared_ptr<const exec::TextCodes> listed;
    bool numbered = false;  // an expression of strings: the row holds numbers that the device gave them
  };
  std::vector<Source> columns;  // unless `late`
};

struct KernelPlan;

// A pipeline as kernels see it: strings are codes of their dictionaries, or numbers that the device gives them. A sink
// of rows evaluates `rows`, of which it keeps as many as `output` has; it reads the columns that it needs for that, the
// filter and the order.
struct DevicePipeline {
  Pipeline pipeline;
  std::vector<std::optional<ArrayShape>> arrays;              // by column; without one it is read from the files
  uint64_t rows = 0;                                          // at most
  std::optional<RowsSources> sources;                         // of a sink of rows
  std::vector<std::shared_ptr<const exec::TextCodes>> codes;  // by column; nullptr: it is read as it is
  TextsPlan texts;                                            // what arrays are made of
  std::string reason;                                         // why there is none; empty: there is
  bool too_large = false;                                     // the reason, which may not hold for less of it
  std::shared_ptr<const KernelPlan> plan;                     // by plan_stage()
};
// `known`: once the strings were numbered; kernels that run need it.
DevicePipeline to_device(const Pipeline& pipeline, const TextNumbers* known = nullptr);
// A stage that reads rows which lie on the device, all its columns as arrays. Strings that are more than handed on get
// numbers of their own.
DevicePipeline to_device(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays, uint64_t rows,
                         const TextNumbers* known = nullptr);
// Of a sink of rows; `arrays`: empty, or of all columns. `whole_order`: it is not cut.
DevicePipeline rows_to_device(const Pipeline& pipeline, const std::vector<ArrayShape>& arrays, uint64_t rows,
                              const TextNumbers* known, bool whole_order);
// A sink of rows that is too large, as two: each gives about half of the columns, then what the order needs beside
// them. Both find the same rows in the same order. Nothing where that is not less, or where only numbers of rows are
// kept.
struct RowsHalves {
  Pipeline first;
  Pipeline second;
  size_t first_columns = 0;   // that the first one gives
  size_t second_columns = 0;  // that the second one gives
};
std::optional<RowsHalves> halves_of(const Pipeline& pipeline);
// How the array at `address` is described to its reader.
std::vector<uint64_t> array_descriptor(uint64_t rows, uint64_t address);
// Reads the metadata of the pipeline's columns in all its files.
std::vector<ColumnShapes> shapes_of(const DevicePipeline& device);

// How a column lies in a chunk's slot.
struct ColumnPlan {
  ColumnShapes shapes;
  uint32_t validity_at = 0;  // one word for the shape, then the descriptor
  uint32_t value_at = 0;
  std::vector<uint32_t> widths;  // for which packed tiles are unrolled
  uint32_t codes_at = 0;         // of strings read as codes: the address of the chunk's table

  bool nullable() const { return !shapes.validity.empty(); }
};

enum class ResultKind : uint8_t { kCount, kIntegerSum, kFloatSum, kIntegerExtreme, kFloatExtreme };
struct ResultPlan {
  ResultKind kind = ResultKind::kCount;
  uint32_t tile_sum = 0;  // kFloatSum: which array of tile sums
};

// A test of strings: the kernel finds the address of its table, which TextAlphabet makes for each chunk, in the slot.
struct TextPlan {
  uint32_t column = 0;
  uint32_t table_at = 0;                       // word of the slot
  std::shared_ptr<const Automaton> automaton;  // nullptr: the test is too much for the device
  std::string reason;                          // why
};

// How states of groups are kept, the cheapest way first: see groups.cuh.
enum class GroupRung : uint8_t { kLanes, kRuns, kBlock, kDense, kHash, kWide };
constexpr GroupRung kGroupRungs[] = {GroupRung::kLanes, GroupRung::kRuns, GroupRung::kBlock,
                                     GroupRung::kDense, GroupRung::kHash, GroupRung::kWide};
const char* to_string(GroupRung rung);

// Where an aggregate finds its result among the words of a group's state.
struct GroupResult {
  uint32_t count_word = 0;      // rows that took part
  uint32_t word = 0;            // of a sum or an extreme; of a record its guard
  bool wide = false;            // a sum or a value of two words; extremes of two are records
  int32_t fraction = 0;         // sums of floats: of two words, then one of specials
  int32_t square_fraction = 0;  // variances: of the sum of squares, two words more
};

// What a DISTINCT argument has been, group by group.
struct DistinctPlan {
  exec::KeyLayout keys;  // the number of the group, then the argument
  uint64_t most = 0;     // pairs that there can be; 0: not known
};

struct GroupsPlan {
  GroupRung rung = GroupRung::kLanes;
  exec::KeyLayout keys;
  uint64_t slots = 0;  // not in hash tables: one for each combination of codes, the last key's next to each other
  std::vector<std::string> kinds;  // of words, as groups.cuh calls them
  std::vector<GroupResult> results;
  std::vector<DistinctPlan> distinct;
  uint64_t runs = 0;  // kRuns: groups, roughly

  uint32_t words() const { return static_cast<uint32_t>(kinds.size()); }
  // Of an array of states.
  uint64_t array_bytes() const { return hashed() ? 0 : slots * words() * sizeof(uint64_t); }
  // Whether keys are words, of which some or all lie in a hash table; else they are numbers of slots.
  bool hashed() const { return rung == GroupRung::kRuns || rung == GroupRung::kHash || rung == GroupRung::kWide; }
};

// Numbers of some bits that make up the words of an order, the most significant one first.
struct OrderPart {
  enum class Kind : uint8_t {
    kNull,       // whether the key is NULL
    kInteger,    // of at most 64 bits
    kHigh,       // of more
    kLow,        // of more
    kReal,       // a float
    kRowNumber,  // which makes rows that are equal in the order differ
  };
  Kind kind = Kind::kNull;
  uint32_t key = 0;
  uint32_t bits = 0;
  uint32_t word = 0;
  uint32_t shift = 0;
};

// What a kernel writes for each row. Arrays, as RowsTarget::outputs has them: numbers of rows in the table, words of
// the order (all of 64 bits); then of each column its values and a byte for each that says whether it is not NULL.
struct RowsPlan {
  bool first_only = false;  // the order has a limit: only rows within a threshold are written
  std::vector<OrderPart> order;
  std::vector<uint32_t> word_bits;  // that words of the order use
  std::vector<bool> nullable;       // by column

  uint32_t words() const { return static_cast<uint32_t>(word_bits.size()); }
  // Bits of a word that hold the number of the row.
  uint64_t number_mask(uint32_t word) const {
    for (const OrderPart& part : order) {
      if (part.kind == OrderPart::Kind::kRowNumber && part.word == word) return (uint64_t{1} << part.bits) - 1;
    }
    return 0;
  }
  static constexpr uint32_t kNumbers = 0;
  static uint32_t word_output(uint32_t word) { return 1 + word; }
  uint32_t value_output(uint32_t column) const { return 1 + words() + 2 * column; }
  uint32_t outputs() const { return value_output(static_cast<uint32_t>(nullable.size())); }
};

struct KernelPlan {
  std::string source;
  std::vector<Literal> literals;
  std::vector<LiteralList> lists;
  std::vector<SetLiteral> sets;
  std::vector<ColumnPlan> columns;
  std::vector<ResultPlan> results;
  std::vector<TextPlan> texts;
  uint32_t slot_words = 1;
  uint32_t tile_sums = 0;
  uint32_t scratch_bytes = 0;  // of shared memory, for each warp
  uint32_t first_row_at = 0;   // word of the slot: the number of the chunk's first row; 0: nobody asks
  std::optional<GroupsPlan> groups;
  std::optional<RowsPlan> rows;
};

// How a kernel keeps what it finds, and the fact that allowed that.
std::string rung_text(const KernelPlan& plan);

// What a block of one warp can give to readers. Every GPU has 48 KiB of shared memory per block; some of it folds the
// aggregates.
constexpr uint32_t kMostScratch = 46 * 1024;

// Adds the plan of the kernel or, where none can be generated, the reason in a few words.
DevicePipeline plan_stage(DevicePipeline device);
inline std::string why_not(const Pipeline& pipeline) { return plan_stage(to_device(pipeline)).reason; }
// `rows`: at most so many are read. `magnitudes`: for each aggregate the exponent above its floats, where
// unmeasured_sums() asks for it; without them the source is the same, but not the literals. `array_bytes`: what an
// array of groups may take.
constexpr uint64_t kMostArrayBytes = uint64_t{2} << 30;
KernelPlan plan_kernel(const Pipeline& pipeline, const std::vector<ColumnShapes>& columns, uint64_t rows,
                       const std::vector<int32_t>& magnitudes = {}, uint64_t array_bytes = kMostArrayBytes);
inline KernelPlan plan_kernel(const DevicePipeline& device, const std::vector<int32_t>& magnitudes = {},
                              uint64_t array_bytes = kMostArrayBytes) {
  return plan_kernel(device.pipeline, shapes_of(device), device.rows, magnitudes, array_bytes);
}

// Aggregates of groups that add floats whose size statistics do not say: it must be known before the first is added.
std::vector<size_t> unmeasured_sums(const Pipeline& pipeline, const exec::StatisticsList& stats);
// The size of a float, NULL where it is not finite.
Expr finite_size(const Expr& value);

// Source of a kernel `basalt_decode` that writes all rows of fixed-width arrays that have one reader: parameters
// (ChunkBatch, out, flag), a row of blocks for each array. `value_type` is the unsigned type that the reader yields.
constexpr const char* kDecodeKernel = "basalt_decode";
std::string decode_source(const DeviceReader& reader, const std::string& value_type);

// The readers of one chunk: of its values and, under a root `validity`, of its NULLs; of strings the filter. Empty
// where device code cannot read the node.
struct ChunkReaders {
  DeviceReader values;
  DeviceReader validity;
  const NodeView* value_node = nullptr;
  const NodeView* validity_node = nullptr;  // nullptr: no NULLs
};
// `as_codes`: of strings the reader of their codes.
ChunkReaders readers_of(const NodeView& root, bool as_codes = false);

// The #include lines for all that these types name.
std::string codec_includes(const std::vector<DeviceType>& types);

// The tree as it lies on the device: entries of dictionaries of numbers, which are looked up one by one, are plain
// arrays there, however files store them. `values` gives their bytes.
void place_entries(NodeView& root, const std::function<ByteView(const NodeView& entries)>& values);
// Bytes of the arrays that it asks for.
std::vector<uint64_t> sizes_of_placed_entries(const ColumnChunkInfo& chunk);
// Likewise nodes that are made into something simpler before kernels read them (Codec::device_form). Calls `made` for
// each with the node as it was and as it becomes, in preorder.
using MadeNode = std::function<void(const NodeView& stored, const NodeView& form)>;
void make_device_forms(NodeView& root, const MadeNode& made);
// Bytes of the streams that these have, each on a multiple of kFormAlignment.
constexpr uint64_t kFormAlignment = 256;
uint64_t device_form_bytes(const ColumnChunkInfo& chunk);
// The view that describes a chunk's array on the device without its bytes: enough for device_reader() and for
// descriptors.
NodeView shape_of(const ColumnChunkInfo& chunk);
// Whether this build knows every codec of the tree.
bool is_known(const NodeView& node);
uint32_t descriptor_words(const NodeView& node);
// Appends the node's words in preorder; stream s of the whole tree, counted in preorder, lies at addresses[s].
void append_descriptor(const NodeView& node, const std::vector<uint64_t>& addresses, size_t& next_stream,
                       std::vector<uint64_t>& out);

// `Packed<T>` → `Packed<T, Widths<…>>`, wherever it stands in a type.
DeviceType with_widths(DeviceType type, const std::vector<uint32_t>& widths);
// The few widths that hold nearly all tiles of a column, at most `most`.
std::vector<uint32_t> common_widths(const std::vector<uint64_t>& width_tiles, size_t most);

}  // namespace basalt::device
