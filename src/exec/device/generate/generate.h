// From a pipeline to the source of one CUDA kernel. The source depends on the shape of the statement and of its columns
// (encodings, common widths, proven ranges) but not on literals, which are parameters: a query that differs in its
// constants only is not compiled again. Needs no GPU and no CUDA header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/codec/string_test.h"
#include "basalt/exec/pipeline.h"
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
};
// A column whose values lie in device memory as they are, row after row over all chunks: what a statement has computed
// before this kernel. NULLs as bytes, 1: there is a value.
struct ArrayShape {
  Physical type = Physical::kNone;
  bool nullable = false;
  Statistics stats;  // what is known before the values are
};
// A pipeline as kernels see it: strings are codes of their dictionaries, or numbers that the device gives them.
struct DevicePipeline {
  Pipeline pipeline;
  std::vector<std::optional<ArrayShape>> arrays;              // by column; without one it is read from the files
  uint64_t rows = 0;                                          // at most
  std::vector<std::shared_ptr<const exec::TextCodes>> codes;  // by column; nullptr: it is read as it is
  TextsPlan texts;                                            // what arrays are made of
  std::string reason;                                         // why there is none; empty: there is
};
// `known`: once the strings were numbered; kernels that run need it.
DevicePipeline to_device(const Pipeline& pipeline, const TextNumbers* known = nullptr);
// A stage that reads rows which lie on the device, all its columns as arrays.
DevicePipeline to_device(const Pipeline& pipeline, std::vector<ArrayShape> arrays, uint64_t rows);
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
enum class GroupRung : uint8_t { kLanes, kBlock, kDense, kHash };
const char* to_string(GroupRung rung);

// Where an aggregate finds its result among the words of a group's state.
struct GroupResult {
  uint32_t count_word = 0;  // rows that took part
  uint32_t word = 0;        // of a sum or an extreme
  bool wide = false;        // a sum of two words
  int32_t fraction = 0;     // sums of floats: of two words, then one of specials
};

struct GroupsPlan {
  GroupRung rung = GroupRung::kLanes;
  exec::KeyLayout keys;
  uint64_t slots = 0;  // not for kHash: one for each combination of codes, the last key's next to each other
  std::vector<std::string> kinds;  // of words, as groups.cuh calls them
  std::vector<GroupResult> results;

  uint32_t words() const { return static_cast<uint32_t>(kinds.size()); }
};

struct KernelPlan {
  std::string source;
  std::vector<Literal> literals;
  std::vector<ColumnPlan> columns;
  std::vector<ResultPlan> results;
  std::vector<TextPlan> texts;
  uint32_t slot_words = 1;
  uint32_t tile_sums = 0;
  uint32_t scratch_bytes = 0;  // of shared memory, for each warp
  std::optional<GroupsPlan> groups;
};

// What a block of one warp can give to readers. Every GPU has 48 KiB of shared memory per block; some of it folds the
// aggregates.
constexpr uint32_t kMostScratch = 46 * 1024;

// Empty if a kernel can be generated, else the reason in a few words.
std::string why_not(const DevicePipeline& device);
inline std::string why_not(const Pipeline& pipeline) { return why_not(to_device(pipeline)); }
// `rows`: at most so many are read.
KernelPlan plan_kernel(const Pipeline& pipeline, const std::vector<ColumnShapes>& columns, uint64_t rows);
inline KernelPlan plan_kernel(const DevicePipeline& device) {
  return plan_kernel(device.pipeline, shapes_of(device), device.rows);
}

// Source of a kernel `basalt_decode` that writes all rows of one fixed-width array: parameters (descriptor, rows, out,
// flags). `value_type` is the unsigned type that the reader yields.
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

// The view that describes a chunk's array without its bytes: enough for device_reader() and for descriptors.
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
