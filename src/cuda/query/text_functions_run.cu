// Functions that make strings run twice, once to count bytes and once to write them: a thread for each string.
#include "cuda/query/text_functions_run.h"

#include <cstring>
#include <cub/device/device_scan.cuh>
#include <limits>

#include "basalt/codec/string_test.h"
#include "codec/strings/regexp.h"
#include "cuda/codec/encode_array.cuh"
#include "exec/device/generate/texts_plan.h"
#include "exec/text_functions.h"

namespace basalt::cuda {

namespace {

constexpr uint32_t kMostParts = device::kMostConcatenated;
constexpr uint32_t kMostChoices = 48;  // of a search for a regular expression

// A literal, or the strings of a list.
struct Part {
  TextBytes literal;  // of a list: what stands for NULL
  strings::Texts texts;
  uint64_t text_count;
  const uint32_t* numbers;  // of the list's strings, by item; nullptr: item i is string i
  const uint8_t* valid;     // by item; nullptr: none is NULL
  bool is_literal;

  __device__ TextBytes at(uint64_t i) const {
    if (is_literal || (valid != nullptr && valid[i] == 0)) return literal;
    const uint64_t text = numbers != nullptr ? numbers[i] : i;
    if (text >= text_count) return {nullptr, 0};  // of an item that nobody asks for
    return {texts.bytes(text), static_cast<uint64_t>(texts.offsets[text + 1] - texts.offsets[text])};
  }
};

// One function, as kernels see it.
struct Call {
  ExprOp op;
  Part parts[kMostParts];
  uint32_t part_count;
  uint64_t numbers[2];  // literals
  strings::RegexpView regexp;
  const uint8_t* automaton;  // Automaton::table()
  uint32_t automaton_states;
  uint32_t automaton_start;
  const uint8_t* used;  // by item: whether somebody asks
  uint32_t* unknown;    // becomes 1 where the device does not know
};

__device__ uint64_t number_of(const Call& call, uint64_t i) {
  const TextBytes text = call.parts[0].at(i);
  switch (call.op) {
    case ExprOp::kLength: return exec::code_points_of(text);
    case ExprOp::kByteLength: return text.size;
    case ExprOp::kCodePoint: return exec::first_code_point(text);
    case ExprOp::kPosition: return exec::position_in(text, call.parts[1].at(i));
    default: {
      uint32_t state = call.automaton_start;
      for (uint64_t at = 0; at < text.size; ++at) state = call.automaton[state << 8 | text.data[at]];
      return call.automaton[(call.automaton_states << 8) + state];
    }
  }
}

template <typename Sink>
__device__ void put_result(const Call& call, uint64_t i, Sink& sink) {
  const TextBytes text = call.parts[0].at(i);
  switch (call.op) {
    case ExprOp::kSubstring: sink.put(exec::substring_of(text, call.numbers[0], call.numbers[1])); break;
    case ExprOp::kSuffix: sink.put(exec::suffix_of(text, call.numbers[0])); break;
    case ExprOp::kDropSuffix: sink.put(exec::without_suffix(text, call.numbers[0])); break;
    case ExprOp::kLeftPad:
    case ExprOp::kRightPad:
      exec::put_padded(text, call.numbers[0], call.parts[1].at(i), call.op == ExprOp::kLeftPad, sink);
      break;
    case ExprOp::kRepeat:
      for (uint64_t time = 0; time < call.numbers[0]; ++time) sink.put(text);
      break;
    case ExprOp::kSplitPart:
      sink.put(exec::split_part_of(text, call.parts[1].at(i), static_cast<int64_t>(call.numbers[0])));
      break;
    case ExprOp::kUpper:
    case ExprOp::kLower:
      if (!exec::put_in_case(text, call.op == ExprOp::kUpper, sink)) *call.unknown = 1;
      break;
    case ExprOp::kConcat:
      for (uint32_t part = 0; part < call.part_count; ++part) sink.put(call.parts[part].at(i));
      break;
    case ExprOp::kTrim:
      sink.put(exec::trimmed_text(text, call.parts[1].at(i), (call.numbers[0] & 1) != 0, (call.numbers[0] & 2) != 0));
      break;
    case ExprOp::kReplace: exec::replace_text(text, call.parts[1].at(i), call.parts[2].at(i), sink); break;
    default: {
      strings::BoundedSearch<kMostChoices> search;
      search.most_steps = strings::most_search_steps(text.size);
      const bool done =
          strings::replace_matches(call.regexp, text, call.parts[2].at(i), call.numbers[0] != 0, search, sink);
      if (!done) *call.unknown = 1;
    }
  }
}

__global__ __launch_bounds__(kThreads) void measure_results_kernel(const Call* call, uint64_t count, int64_t* lengths) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  CountingSink sink;
  if (call->used[i] != 0) put_result(*call, i, sink);
  lengths[i] = static_cast<int64_t>(sink.size);
}

// A search that gives up writes what it had counted: nothing lies outside of the string's own bytes.
__global__ __launch_bounds__(kThreads) void write_results_kernel(const Call* call, uint64_t count,
                                                                 const int64_t* offsets, unsigned char* bytes) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count || call->used[i] == 0) return;
  WritingSink sink{bytes + offsets[i]};
  put_result(*call, i, sink);
}

// What a function is made of: memory on the device, which lives as long as this.
class Evaluation {
 public:
  Evaluation(const TextItems& items, cudaStream_t stream)
      : items_(items), stream_(stream), unknown_(cleared(sizeof(uint32_t), stream)) {}

  TextResults run(const Expr& function) {
    TextResults out;
    const Call call = make_call(function);
    const DeviceBuffer sent = upload(&call, sizeof(call), stream_);
    if (function.type == Physical::kBytes) {
      out.strings = strings_of(sent.as<Call>());
    } else {
      out.values = DeviceBuffer(items_.count * width_of(function.type), stream_);
      fill_values(sent.as<Call>(), function.type, items_.count, out.values, stream_);
    }
    if (fetch(unknown_.as<uint32_t>(), stream_) != 0) {
      throw Error(ErrorCode::kUnsupported,
                  "a function of strings that needs letters beyond ASCII or a long search on the device");
    }
    return out;
  }

 private:
  static void fill_values(const Call* call, Physical type, uint64_t count, const DeviceBuffer& to, cudaStream_t stream);

  DeviceStrings strings_of(const Call* call) {
    const uint64_t count = items_.count;
    DeviceStrings out;
    out.count = count;
    out.offsets = cleared((count + 1) * sizeof(int64_t), stream_);
    if (count == 0) return out;
    const DeviceBuffer lengths(count * sizeof(int64_t), stream_);
    measure_results_kernel<<<blocks_for(count), kThreads, 0, stream_>>>(call, count, lengths.as<int64_t>());
    check(cudaGetLastError(), "measuring strings");
    auto* offsets = out.offsets.as<int64_t>();
    with_temporary(stream_, [&](void* temporary, size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(temporary, bytes, lengths.as<int64_t>(), offsets + 1,
                                           static_cast<int64_t>(count), stream_);
    });
    out.byte_count = static_cast<uint64_t>(fetch(offsets + count, stream_));
    out.bytes = DeviceBuffer(out.byte_count, stream_);
    write_results_kernel<<<blocks_for(count), kThreads, 0, stream_>>>(call, count, offsets,
                                                                      out.bytes.as<unsigned char>());
    check(cudaGetLastError(), "writing strings");
    return out;
  }

  Part part_of(const Expr& expr) {
    Part part{};
    part.is_literal = expr.op == ExprOp::kLiteral;
    if (part.is_literal) {
      part.literal = literal(expr);
    } else if (expr.op == ExprOp::kColumn) {
      const TextItems::Column& column = items_.columns.at(expr.column);
      part.texts = items_.texts;
      part.text_count = items_.text_count;
      part.numbers = column.numbers;
      part.valid = column.valid;
    } else if (expr.op == ExprOp::kCoalesce) {
      part = part_of(expr.args[0]);
      part.literal = literal(expr.args[1]);
    } else {  // a function of a function
      TextResults inner = Evaluation(items_, stream_).run(expr);
      part.texts = {inner.strings.bytes.as<uint64_t>(), inner.strings.offsets.as<int64_t>(), 0};
      part.text_count = inner.strings.count;
      memory_.push_back(std::move(inner.strings.bytes));
      memory_.push_back(std::move(inner.strings.offsets));
    }
    return part;
  }

  TextBytes literal(const Expr& expr) {
    const std::string& bytes = expr.literal.bytes;
    return {keep(bytes.data(), bytes.size()).as<unsigned char>(), bytes.size()};
  }

  const DeviceBuffer& keep(const void* data, size_t bytes) {
    memory_.push_back(upload(data, bytes, stream_));
    return memory_.back();
  }

  Call make_call(const Expr& function) {
    Call call{};
    call.op = function.op;
    call.used = items_.used;
    call.unknown = unknown_.as<uint32_t>();
    uint32_t numbers = 0;
    for (const Expr& arg : function.args) {
      if (arg.type == Physical::kBytes) {
        if (call.part_count == kMostParts) throw Error(ErrorCode::kInternal, "too many strings put together");
        call.parts[call.part_count++] = part_of(arg);
      } else {
        const int128_t most = std::numeric_limits<int64_t>::max();
        call.numbers[numbers++] = static_cast<uint64_t>(std::min(arg.literal.integer, most));
      }
    }
    if (function.op == ExprOp::kRegexpReplace) {
      const strings::Regexp regexp(function.args[1].literal.bytes, strings::Regexp::For::kMatches);
      call.regexp = regexp.view();
      call.regexp.nodes =
          keep(regexp.nodes().data(), regexp.nodes().size() * sizeof(strings::RegexpNode)).as<strings::RegexpNode>();
      call.regexp.sets =
          keep(regexp.sets().data(), regexp.sets().size() * sizeof(strings::ByteSet)).as<strings::ByteSet>();
    }
    if (function.op == ExprOp::kLike || function.op == ExprOp::kRegexp) add_automaton(function, call);
    return call;
  }

  void add_automaton(const Expr& function, Call& call) {
    const std::string& pattern = function.args[1].literal.bytes;
    const StringTest test = function.op == ExprOp::kLike ? StringTest::like(pattern) : StringTest::regexp(pattern);
    const AutomatonOrReason made = make_automaton(test);
    if (made.automaton == nullptr) throw Error(ErrorCode::kUnsupported, "a test of strings: " + made.reason);
    const Automaton& automaton = *made.automaton;
    call.automaton_states = automaton.states();
    call.automaton_start = automaton.start();
    const std::vector<uint8_t> table = automaton.table();
    call.automaton = keep(table.data(), table.size()).as<uint8_t>();
  }

  const TextItems& items_;
  cudaStream_t stream_;
  DeviceBuffer unknown_;
  std::vector<DeviceBuffer> memory_;
};

template <typename T>
__global__ __launch_bounds__(kThreads) void numbers_kernel(const Call* call, uint64_t count, T* to) {
  const uint64_t i = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count) to[i] = static_cast<T>(number_of(*call, i));
}

void Evaluation::fill_values(const Call* call, Physical type, uint64_t count, const DeviceBuffer& to,
                             cudaStream_t stream) {
  if (count == 0) return;
  if (type == Physical::kU8) {
    numbers_kernel<<<blocks_for(count), kThreads, 0, stream>>>(call, count, to.as<uint8_t>());
  } else {
    numbers_kernel<<<blocks_for(count), kThreads, 0, stream>>>(call, count, to.as<int64_t>());
  }
  check(cudaGetLastError(), "evaluating strings");
}

}  // namespace

TextResults evaluate_texts(const Expr& function, const TextItems& items, cudaStream_t stream) {
  return Evaluation(items, stream).run(function);
}

}  // namespace basalt::cuda
