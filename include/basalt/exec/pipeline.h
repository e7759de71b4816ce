// The description of work that both backends run: scan some columns of some files, keep the rows for which a predicate
// holds, aggregate expressions over them. It knows no DuckDB type and no device. SQL semantics: three-valued logic,
// decimals as scaled integers, overflow is an error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/column.h"
#include "basalt/core/threads.h"
#include "basalt/core/value.h"
#include "basalt/file/reader.h"

namespace basalt {

enum class ExprOp : uint8_t {
  kColumn,   // column: index into Pipeline::columns
  kLiteral,  // literal
  kAdd,      // 2 args of the result's type
  kSubtract,
  kMultiply,
  kNegate,         // 1 arg; of unsigned integers it wraps around
  kDivide,         // of floats, as IEEE 754 has it
  kIntegerDivide,  // of integers towards zero, of floats as kDivide; by zero it is NULL
  kModulo,         // with the sign of args[0]; by zero it is NULL for integers and NaN for floats
  kAbs,            // 1 arg
  kSign,           // 1 arg → −1, 0 or 1 as kI8; 0 for NaN
  // To whole numbers. Integers are decimals here, of which the last `power_of_ten` digits go; kRound of floats keeps
  // `power_of_ten` digits behind the point, which may be negative. Halves go away from zero.
  kRound,
  kFloor,
  kCeil,
  kTruncate,
  // Of doubles. A root of what is negative and a logarithm of what is not positive are errors.
  kSquareRoot,
  kExp,
  kLn,
  kLog2,
  kLog10,
  kPower,  // args[0] to the args[1]
  // Of two integers of the result's type, in two's complement. A shift to the left that loses bits is an error; one to
  // the right by less than nothing, or by all bits of the type and more, gives 0.
  kBitAnd,
  kBitOr,
  kBitXor,
  kShiftLeft,
  kShiftRight,
  kCast,     // 1 arg; see `power_of_ten`. Floats become integers by rounding halves to even, decimals away from zero
  kTryCast,  // the same, NULL where kCast is an error
  // Dates are kI32, days since 1970; moments kI64, microseconds since 1970 unless said otherwise; the largest number of
  // either and its negative are infinite. Parts are literals of kI64: see DatePart in exec/calendar.h.
  kDatePart,        // of args[0], a date or moment, the part args[1] → kI64; NULL if it is infinite
  kEpoch,           // seconds of a date or moment → kF64; NULL if it is infinite
  kDateTrunc,       // the moment at which the part args[1] that args[0] lies in begins
  kDateDiff,        // boundaries of the part args[2] between two dates or two moments → kI64
  kAddInterval,     // months args[1], days args[2], microseconds args[3], all literals; args[4] times, if it is there
  kAddDays,         // to a date, days of kI64
  kDateToMoment,    // times `factor`, the units of a day
  kMomentToDate,    // rounds down
  kRescaleMoment,   // to units of 10^−power_of_ten of its own, rounded if that is negative
  kTruncateMoment,  // the same with `power_of_ten` > 0 digits cut off
  kLastDay,         // of the month that a date or moment lies in → kI32; NULL if it is infinite
  kMakeDate,        // of a year, month and day, each of kI64 → kI32
  kDateSub,         // whole parts args[2] between two dates or two moments → kI64; NULL if one is infinite
  kAddTime,         // to a date, microseconds since midnight of kI64: a moment
  kMomentToTime,    // microseconds since midnight
  kEqual,           // comparisons: 2 args of one type → bool (kU8)
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kDistinct,  // like kNotEqual and kEqual, but NULL is a value that equals NULL: never NULL
  kNotDistinct,
  kIn,  // args[0] in literals args[1..]
  // args[0], an integer of at most 8 bytes, is among numbers of which there are many. Literals of kI64: which set of
  // the stage this is, the least that may be, how many may be from there on, and the address of a bit for each of
  // these, 32 to a word. Inside a backend: see exec/set_places.h.
  kMember,
  // What belongs to the number args[0], an integer of at most 8 bytes: an integer of at most 8 bytes, too. Literals of
  // kI64: which set of the stage this is, the least number, how many there are from there on, the address of an array
  // with a value for each of these, and between which two numbers the values lie. Numbers beyond have 0. Inside a
  // backend.
  kLookUp,
  kLike,  // args[0] matches the pattern args[1], a literal: see LikePattern in basalt/codec/string_test.h
  // The pattern args[1], a literal, matches somewhere in args[0], a column: see codec/strings/regexp.h. Patterns that
  // have no automaton are refused.
  kRegexp,
  kLength,      // code points of a string → kI64
  kByteLength,  // bytes of a string → kI64
  kSubstring,   // of args[0], without its first args[1] code points, at most args[2]: literals of kI64, not negative
  kSuffix,      // of args[0], its last args[1] code points: a literal of kI64, not negative
  kDropSuffix,  // of args[0], all but its last args[1] code points: a literal of kI64, not negative
  kUpper,       // of a string, code point by code point
  kLower,
  kConcat,    // any number of strings
  kTrim,      // args[0] without the code points of args[1] at its front (args[2] & 1) and end (args[2] & 2): literals
  kPosition,  // where args[1] first begins in args[0], in code points from 1; 0: nowhere → kI64
  kReplace,   // args[0] with args[2] for every args[1], from its front
  // args[0] with args[2], in which \0 to \9 are groups, for the first match of the pattern args[1], or for every one if
  // args[3] is not 0: literals. See codec/strings/regexp.h; patterns that it does not understand are refused.
  kRegexpReplace,
  // args[0] cut or filled up, at its front or end, to args[1] code points with those of args[2]: literals, the number
  // not negative and the string not empty.
  kLeftPad,
  kRightPad,
  kRepeat,     // args[0], args[1] times: a literal of kI64, not negative
  kSplitPart,  // of args[0] cut at every args[1], piece args[2], from 1 or, negative, from the end: literals; or
               // nothing
  kCodePoint,  // the first of a string → kI64; 0 if there is none
  kChr,        // the string of one code point of kI64
  kAnd,        // any number of bool args
  kOr,
  kNot,
  kIsNull,
  kIsNotNull,
  // Choices among values of the result's type. An argument raises errors only for rows that get as far as it.
  kCase,      // condition, value, condition, value, …, value if no condition holds
  kCoalesce,  // the first argument that is not NULL
  kGreatest,  // of the arguments that are not NULL; these two evaluate all of them
  kLeast,
};

struct Expr {
  ExprOp op = ExprOp::kLiteral;
  Physical type = Physical::kI64;  // of the result; kU8 for booleans
  uint32_t column = 0;
  Value literal;
  std::vector<Expr> args;
  // Integer arithmetic and casts: results beyond ±limit are Error(kOutOfRange); 0 = the type's own range. Decimals have
  // 10^18 − 1 or 10^38 − 1 here where DuckDB checks them.
  int128_t limit = 0;
  // kCast: integer → integer multiplies by 10^power, or divides and rounds if that is negative; integer → float divides
  // by 10^power after conversion; float → integer multiplies before. kRound and its like: see there.
  int32_t power_of_ten = 0;
  // kCast of a decimal: its digits behind the point, which only the sentences of errors need; −1: of an integer.
  int32_t from_scale = -1;
  // kCast integer → integer: an extra factor (date → timestamp: 86,400,000,000).
  int64_t factor = 1;
};

std::string to_string(const Expr& expr, const std::vector<std::string>& column_names);

enum class AggregateOp : uint8_t {
  kCountStar,
  kCount,
  kSum,
  kMin,
  kMax,
  kAvg,
  kFirst,     // of the first row, NULL or not
  kLast,      // of the last row
  kAnyValue,  // of the first row where it is not NULL
  kVarPop,    // of doubles, as the other three: NULL if there are too few rows
  kVarSamp,
  kStddevPop,
  kStddevSamp,
};

const char* to_string(AggregateOp op);  // as SQL calls it

struct Aggregate {
  AggregateOp op = AggregateOp::kCountStar;
  Expr arg;  // not for kCountStar
  // Integer sums are kept in 128 bits; kSum over integers gives kI128, over floats kF64; kAvg gives kF64, divided by
  // 10^avg_scale for decimals.
  int32_t avg_scale = 0;
  bool distinct = false;         // of equal arguments one counts
  std::optional<Expr> filter{};  // bool: rows for which it holds count
};
Physical result_type(const Aggregate& aggregate);
// Whether run_pipeline() takes it: neither DISTINCT nor FILTER nor any behind kAvg.
bool is_simple(const Aggregate& aggregate);

struct PipelineColumn {
  uint32_t field_id = 0;  // in each file's flattened schema; of a stage's rows the column
  std::string name;
  DataType type;
  // Strings as places in the sorted list of all that occur, of kUInt32: inside a backend only.
  bool as_codes = false;
};

struct SortKey {
  uint32_t column = 0;  // of the rows that leave
  bool descending = false;
  bool nulls_first = false;
};

// What becomes of the rows that pass the filter.
enum class Sink : uint8_t {
  kTotals,  // one row of aggregates
  kGroups,  // a row for each combination of keys: these, then its aggregates; no key: one row, as for kTotals
  kRows,    // expressions over each of them; in order and not all of them, where these are asked for
};

constexpr uint64_t kAllRows = ~uint64_t{0};

// Groups that the next stage drops anyway: all but the first `count` in an order. A backend may leave them out.
struct FirstGroups {
  std::optional<SortKey> by;  // nothing: any groups will do
  bool ties = false;          // those that are equal to the last are needed, too
  uint64_t count = kAllRows;
};

// What a row meets among the rows of an earlier stage, its partners, and what becomes of it.
enum class JoinKind : uint8_t {
  kInner,      // a row for each partner
  kLeft,       // or one with NULLs where there is none
  kRight,      // as kInner, and rows of the earlier stage that nobody met, with NULLs for all columns before
  kFull,       // both
  kSemi,       // the row, if there is a partner
  kAnti,       // if there is none
  kMark,       // the row, and whether there is a partner: NULL if only NULLs stand between them
  kSingle,     // as kLeft, but two partners are an error
  kRightSemi,  // rows of the earlier stage that were met, with NULLs for all columns before
  kRightAnti,  // that were not met
};

// Equal where both are; NULL equals NULL only if that is said.
struct JoinKey {
  Expr probe;  // over the columns so far
  Expr build;  // over the rows of the earlier stage
  bool nulls_equal = false;
};

struct Probe {
  JoinKind kind = JoinKind::kInner;
  uint32_t stage = 0;         // the earlier one
  std::vector<JoinKey> keys;  // none: every row of it is a partner
  // Columns of its rows, by their field_id.
  std::vector<PipelineColumn> fetched;
  // Bool, over the columns so far and then the fetched ones: partners are those for which it holds.
  std::optional<Expr> residual{};
};

struct FilterStep {
  Expr predicate;  // bool
};

// Behind kSemi and kAnti there are the columns before; behind kMark one more, a bool; behind others the fetched ones.
using PipelineStep = std::variant<FilterStep, Probe>;

enum class WindowOp : uint8_t {
  kRowNumber,
  kRank,
  kDenseRank,
  kPercentRank,
  kCumeDist,
  kLag,         // of the row that lies arguments[1] rows before: arguments[0]; or arguments[2] where there is none
  kLead,        // behind
  kFirstValue,  // of the frame: arguments[0]
  kLastValue,
  kAggregate,  // over the frame
};

enum class FrameUnit : uint8_t { kRows, kRange };

struct FrameBound {
  enum class Kind : uint8_t { kUnbounded, kCurrent, kDistance };
  Kind kind = Kind::kUnbounded;
  int64_t distance = 0;  // kRows: how many rows behind the current one
  uint32_t column = 0;   // kRange: holds the value that the only key of the order may have at most, or at least
};

// What is computed for each row from those of its partition. Numbers of columns are those of the stage's rows.
struct WindowFunction {
  WindowOp op = WindowOp::kRowNumber;
  std::vector<uint32_t> partition;
  std::vector<SortKey> order;
  std::vector<uint32_t> arguments;
  Aggregate aggregate;  // kAggregate: its argument and its filter are columns
  FrameUnit unit = FrameUnit::kRange;
  FrameBound start;
  FrameBound end{FrameBound::Kind::kCurrent, 0, 0};
};

struct Pipeline {
  // What is read: files, or constants, or the rows of earlier stages one after the other; of none of these, the rows of
  // the stage before.
  std::vector<std::shared_ptr<const File>> files;  // same schema for the columns used
  std::shared_ptr<const Table> constants;
  std::vector<uint32_t> sources;
  std::vector<PipelineColumn> columns;
  bool has_filter = false;
  Expr filter;  // bool
  std::vector<PipelineStep> steps;
  Sink sink = Sink::kTotals;
  std::vector<Expr> keys;               // kGroups
  std::vector<Aggregate> aggregates;    // kTotals, kGroups
  FirstGroups first;                    // kGroups
  std::vector<Expr> rows;               // kRows
  std::vector<WindowFunction> windows;  // kRows: columns behind these, before any order
  std::vector<SortKey> order;           // kRows
  uint64_t limit = kAllRows;            // kRows
  uint64_t offset = 0;                  // kRows
  bool at_most_one = false;   // kRows: more than one row is an error, as of a subquery that stands for a value
  std::vector<Field> output;  // kGroups, kRows: names and types of what leaves
};

// The columns in sight behind the first `steps` steps.
std::vector<PipelineColumn> columns_behind(const Pipeline& pipeline, size_t steps);
inline std::vector<PipelineColumn> columns_behind_steps(const Pipeline& pipeline) {
  return columns_behind(pipeline, pipeline.steps.size());
}

// Stages that run one after the other. Of a chain the first reads files, and each other one the rows of the one before.
struct Query {
  std::vector<Pipeline> stages;
};
bool is_chain(const Query& query);
// The stages whose rows stage `place` reads or looks up, each once; empty for the first stage of a chain.
std::vector<uint32_t> inputs_of(const Query& query, size_t place);

enum class Device : uint8_t { kAuto, kCpu, kCuda };

// Some of the tiles of a pipeline's files, counted chunk after chunk and file after file.
struct TileRange {
  uint64_t begin = 0;
  uint64_t end = ~uint64_t{0};
  bool is_all() const { return begin == 0 && end == ~uint64_t{0}; }
  // Of a chunk's tiles [first, first + count), those that belong to it, counted from the chunk's first.
  TileRange within(uint64_t first, uint64_t count) const {
    const uint64_t from = std::clamp(begin, first, first + count);
    return {from - first, std::clamp(end, from, first + count) - first};
  }
  bool empty() const { return begin >= end; }
};

class ColumnCache;

struct RunOptions {
  Device device = Device::kAuto;
  uint32_t threads = 0;
  ThreadPool* pool = nullptr;              // kept from run to run, for the CPU: instead of `threads`
  ColumnCache* cache = nullptr;            // of columns on the CPU, kept from run to run
  uint64_t gpu_memory = 0;                 // limit for cached and staged data on the device; 0 = what is free
  TileRange tiles;                         // of a stage over files: others are not read
  bool prune = true;                       // use zone statistics
  uint64_t decoded_limit = kDecodedLimit;  // bytes of a tile of strings that is decoded on the CPU
  const CancelToken* cancel = nullptr;
  std::function<void(double)> progress;  // share done, 0..1
};

// What became of the tiles that a predicate was put to, each counted once.
struct TileCounts {
  uint64_t total = 0;
  uint64_t skipped = 0;    // by statistics and dictionaries: no row can match
  uint64_t all_true = 0;   // by statistics and dictionaries: every row matches
  uint64_t by_bounds = 0;  // by bounds that the encoding of the tile itself implies
  uint64_t by_model = 0;   // by models of the values: run by run, or looking at a few rows at most
  uint64_t decoded = 0;    // rows were decoded or compared in their packed form
  // Beside that: tiles in which a predicate was put to strings, by what became of these. A tile can be in both.
  uint64_t texts_in_place = 0;  // tested as they are stored, or by their dictionary
  uint64_t texts_decoded = 0;

  TileCounts& operator+=(const TileCounts& other);
  void count(Answered hardest);  // a tile that statistics left open
};

// What happened, for explain and for the last line of a result.
struct RunReport {
  Device ran_on = Device::kCpu;
  std::string device_name;
  std::string why_cpu;       // kAuto: why a run that the GPU could take ended on the CPU; empty if none did
  std::string why_next_cpu;  // of a stage that the GPU ran: why it did not run the next one, which reads many rows
  std::string what;          // of a stage: "groups by 2 keys"
  std::string rung;          // how a stage kept what it found, and the fact that allowed it
  uint64_t rows = 0;         // that were looked at
  uint64_t rows_out = 0;
  TileCounts tiles;
  uint64_t encoded_bytes_read = 0;  // of streams that were decoded, cached ones too
  uint64_t bytes_transferred = 0;   // host to device
  double compile_ms = 0;            // 0 = the kernel was cached
  double transfer_ms = 0;
  double kernel_ms = 0;
  double wait_ms = 0;     // of the host for the GPU
  double memory_gbs = 0;  // the peak of the GPU's memory, as its clock has it
  double total_ms = 0;
  uint64_t device_bytes = 0;     // the most that all statements together had of the device's memory, its context apart
  std::string kernel_source;     // GPU only
  std::vector<RunReport> steps;  // of a query: its stages
};

// A sink of kTotals: one value per aggregate. Runs on options.device; kAuto takes the GPU if one can be used, the
// pipeline can run there, and its memory suffices.
std::vector<Value> run_pipeline(const Pipeline& pipeline, const RunOptions& options, RunReport* report = nullptr);

// Any query; its columns are those of the last stage's output. A query that has totals only runs as run_pipeline().
Table run_query(const Query& query, const RunOptions& options, RunReport* report = nullptr);

// Why a query would not run on the GPU; empty: it would.
std::string why_not_gpu(const Query& query);

// What statistics of chunks and zones decide before a row is read: `total`, `skipped` and `all_true`.
TileCounts decide_tiles(const Pipeline& pipeline);

// What statistics say of a predicate over one zone or chunk.
enum class Decision : uint8_t { kUnknown, kNone, kAll };
// `stats[i]` belongs to columns[i]; nullptr where unknown.
Decision decide(const Expr& predicate, const std::vector<const Statistics*>& stats);

}  // namespace basalt
