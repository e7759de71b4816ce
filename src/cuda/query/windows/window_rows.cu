#include "cuda/query/windows/window_rows.h"

#include <cub/device/device_scan.cuh>
#include <vector>

#include "basalt/core/error.h"
#include "cuda/query/joins/join_slots.cuh"
#include "cuda/query/joins/places.h"
#include "cuda/query/row_arrays.h"
#include "cuda/runtime/each_row.cuh"

namespace basalt::cuda {

using device::JoinKeyPart;
using device::JoinKeyReader;

namespace {

struct Ranges {
  const uint32_t* numbers;
  const uint32_t* starts;
  __device__ uint64_t begin(uint64_t place) const { return starts[numbers[place]]; }
  __device__ uint64_t end(uint64_t place) const { return starts[numbers[place] + 1]; }
};

Ranges ranges_of(const WindowRanges& ranges) { return {ranges.numbers.as<uint32_t>(), ranges.starts.as<uint32_t>()}; }

struct Frame {
  uint64_t begin;
  uint64_t end;
};

// Values in order: integers as they are, of floats their keys.
struct OrderedValues {
  JoinKeyPart part;
  __device__ bool is_valid(uint32_t row) const { return part.validity == nullptr || part.validity[row] != 0; }
  __device__ int128_t at(uint32_t row) const {
    if (part.width == 16) return static_cast<const int128_t*>(part.values)[row];
    const uint64_t bits = device::load_join_value(part, row);
    return part.is_signed || part.is_float ? static_cast<int128_t>(static_cast<int64_t>(bits)) : int128_t{bits};
  }
};

// Where rows begin or end whose key lies before or behind a limit that each row has.
struct ValueBound {
  OrderedValues key;
  OrderedValues limit;
  const uint32_t* places;
  bool descending;
  bool nulls_first;

  // The first of the places [low, high) for which f does not hold; it holds for those before.
  template <typename F>
  __device__ static uint64_t first_without(uint64_t low, uint64_t high, const F& f) {
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (f(middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  // `behind`: the place behind the rows that the bound takes in. Of a row whose key is not NULL.
  __device__ uint64_t at(uint64_t place, Frame among, bool behind) const {
    const int128_t most = limit.at(places[place]);
    const auto valid = [&](uint64_t i) { return key.is_valid(places[i]); };
    if (nulls_first) {
      among.begin = first_without(among.begin, among.end, [&](uint64_t i) { return !valid(i); });
    } else {
      among.end = first_without(among.begin, among.end, valid);
    }
    return first_without(among.begin, among.end, [&](uint64_t i) {
      const int128_t value = key.at(places[i]);
      if (value == most) return behind;
      return descending ? value > most : value < most;
    });
  }
};

// The frames of a window: by rows, by rows that are equal in the order, or by values of its only key.
struct Frames {
  Ranges partitions;
  Ranges peers;
  bool by_rows;
  bool from_begin;
  bool to_end;
  bool starts_by_value;
  bool ends_by_value;
  int64_t start;  // distances in rows
  int64_t behind;
  ValueBound first;
  ValueBound last;

  __device__ uint64_t clamped(int64_t place, const Frame& partition) const {
    if (place < static_cast<int64_t>(partition.begin)) return partition.begin;
    return place > static_cast<int64_t>(partition.end) ? partition.end : static_cast<uint64_t>(place);
  }
  __device__ static bool has_key(const ValueBound& bound, uint64_t place) {
    return bound.key.is_valid(bound.places[place]);
  }
  __device__ Frame at(uint64_t place) const {
    const Frame partition{partitions.begin(place), partitions.end(place)};
    Frame out = partition;
    const auto own = static_cast<int64_t>(place);
    if (!from_begin) out.begin = by_rows ? clamped(own + start, partition) : peers.begin(place);
    if (!to_end) out.end = by_rows ? clamped(own + behind, partition) : peers.end(place);
    if (starts_by_value && has_key(first, place)) out.begin = first.at(place, partition, false);
    if (ends_by_value && has_key(last, place)) out.end = last.at(place, partition, true);
    if (out.end < out.begin) out.end = out.begin;
    return out;
  }
};

// Distances beyond any table would overflow.
int64_t bounded(int64_t distance) {
  constexpr int64_t kBeyond = int64_t{1} << 40;
  return distance < -kBeyond ? -kBeyond : distance > kBeyond ? kBeyond : distance;
}

// How values of a column are read.
OrderedValues values_of(const DeviceColumn& column) {
  const Physical type = physical_of(column.field.type);
  JoinKeyPart part{};
  part.values = column.values.data();
  part.validity = column.validity.as<uint8_t>();
  part.width = type == Physical::kBytes ? sizeof(uint32_t) : width_of(type);
  part.is_signed = is_signed(type);
  part.is_float = is_float(type);
  return {part};
}

Frames frames_of(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table) {
  using Kind = FrameBound::Kind;
  Frames out{};
  out.partitions = ranges_of(order.partitions);
  out.peers = ranges_of(order.peers);
  out.by_rows = function.unit == FrameUnit::kRows;
  out.from_begin = function.start.kind == Kind::kUnbounded;
  out.to_end = function.end.kind == Kind::kUnbounded;
  const auto distance = [](const FrameBound& bound) {
    return bound.kind == Kind::kDistance ? bounded(bound.distance) : 0;
  };
  out.start = distance(function.start);
  out.behind = distance(function.end) + 1;
  const auto bound_by_value = [&](const FrameBound& bound, bool& by_value, ValueBound& to) {
    by_value = !out.by_rows && bound.kind == Kind::kDistance;
    if (!by_value) return;
    const SortKey& key = function.order.front();
    to = {values_of(table.columns.at(key.column)), values_of(table.columns.at(bound.column)),
          order.places.as<uint32_t>(), key.descending, key.nulls_first};
  };
  bound_by_value(function.start, out.starts_by_value, out.first);
  bound_by_value(function.end, out.ends_by_value, out.last);
  return out;
}

// Flags of places whose row differs from the one before in its key, or where `also` is set.
template <uint32_t kWords>
void flag_changes(const JoinKeyReader& keys, const uint32_t* places, uint64_t rows, const uint32_t* also,
                  uint32_t* flags, cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t i) {
    bool differs = i == 0 || (also != nullptr && also[i] != 0);
    if (!differs && keys.count > 0) {
      device::Words<kWords> before;
      device::Words<kWords> own;
      device::read_join_key(keys, places[i - 1], before);
      device::read_join_key(keys, places[i], own);
      differs = !device::same_key(before, own);
    }
    flags[i] = differs ? 1 : 0;
  });
}

DeviceBuffer changes(const JoinKeyReader& keys, uint32_t words, const uint32_t* places, uint64_t rows,
                     const uint32_t* also, cudaStream_t stream) {
  DeviceBuffer out(rows * sizeof(uint32_t), stream);
  auto* flags = out.as<uint32_t>();
  if (words <= 1) {
    flag_changes<1>(keys, places, rows, also, flags, stream);
  } else if (words == 2) {
    flag_changes<2>(keys, places, rows, also, flags, stream);
  } else {
    flag_changes<device::kMostKeyWords>(keys, places, rows, also, flags, stream);
  }
  return out;
}

void write_starts(const uint32_t* flags, uint64_t rows, uint32_t* numbers, uint32_t* starts, cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t i) {
    const uint32_t number = numbers[i] - 1;
    if (flags[i] != 0) starts[number] = static_cast<uint32_t>(i);
    if (i + 1 == rows) starts[number + 1] = static_cast<uint32_t>(rows);
  });
  each_row(rows, stream, [=] __device__(uint64_t i) { --numbers[i]; });
}

WindowRanges ranges_behind(const DeviceBuffer& flags, uint64_t rows, cudaStream_t stream) {
  WindowRanges out;
  out.numbers = DeviceBuffer(rows * sizeof(uint32_t), stream);
  out.starts = DeviceBuffer((rows + 1) * sizeof(uint32_t), stream);
  if (rows == 0) return out;
  with_temporary(stream, [&](void* room, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(room, bytes, flags.as<uint32_t>(), out.numbers.as<uint32_t>(),
                                         static_cast<int64_t>(rows), stream);
  });
  write_starts(flags.as<uint32_t>(), rows, out.numbers.as<uint32_t>(), out.starts.as<uint32_t>(), stream);
  return out;
}

__device__ __forceinline__ double share_of(uint64_t part, uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

// Which rows count.
struct Counted {
  const uint8_t* valid;
  const uint8_t* filter;
  const uint8_t* filter_valid;
  __device__ bool at(uint32_t row) const {
    if (valid != nullptr && valid[row] == 0) return false;
    if (filter == nullptr) return true;
    return filter[row] != 0 && (filter_valid == nullptr || filter_valid[row] != 0);
  }
};

Counted counted_of(const WindowArgument& argument) {
  Counted out{};
  if (argument.values != nullptr) out.valid = argument.values->validity.as<uint8_t>();
  if (argument.filter != nullptr) {
    out.filter = argument.filter->values.as<uint8_t>();
    out.filter_valid = argument.filter->validity.as<uint8_t>();
  }
  return out;
}

struct Plus {
  __device__ double operator()(double a, double b) const { return a + b; }
};

// A candidate for the smallest or largest value, and its row.
struct Candidate {
  int128_t value;
  uint32_t row;
};
struct Better {
  bool largest;
  __device__ Candidate operator()(const Candidate& a, const Candidate& b) const {
    if (a.row == kMissing) return b;
    if (b.row == kMissing) return a;
    const bool second = largest ? b.value > a.value : b.value < a.value;
    return second ? b : a;
  }
};

constexpr uint32_t kMostLevels = 33;

// Values of places, of pairs of them, of pairs of pairs, and so on: any range is made up of a few.
template <typename T, typename Op>
struct FrameTree {
  const T* levels[kMostLevels];
  Op op;

  __device__ T over(const Frame& frame, const T& none) const {
    T out = none;
    uint64_t begin = frame.begin;
    uint64_t end = frame.end;
    for (uint32_t level = 0; begin < end; ++level) {
      if (begin % 2 == 1) out = op(out, levels[level][begin++]);
      if (end % 2 == 1) out = op(out, levels[level][--end]);
      begin /= 2;
      end /= 2;
    }
    return out;
  }
};

// The next level; a last value without a neighbour is in no pair that a range would ask for.
template <typename T, typename Op>
void write_pairs_of_values(const T* from, uint64_t pairs, Op op, T* to, cudaStream_t stream) {
  each_row(pairs, stream, [=] __device__(uint64_t i) { to[i] = op(from[2 * i], from[2 * i + 1]); });
}

template <typename T, typename Op>
FrameTree<T, Op> tree_of(const T* values, uint64_t count, Op op, std::vector<DeviceBuffer>& memory,
                         cudaStream_t stream) {
  FrameTree<T, Op> tree{{}, op};
  tree.levels[0] = values;
  for (uint32_t level = 1; count > 1; ++level) {
    count /= 2;
    memory.emplace_back(count * sizeof(T), stream);
    write_pairs_of_values(tree.levels[level - 1], count, op, memory.back().as<T>(), stream);
    tree.levels[level] = memory.back().as<T>();
  }
  return tree;
}

template <typename T, typename Op>
void write_frames(const WindowOrder& order, const Frames& frames, const FrameTree<T, Op>& tree, T none, T* to,
                  cudaStream_t stream) {
  const auto* places = order.places.as<uint32_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) { to[places[i]] = tree.over(frames.at(i), none); });
}

template <typename T>
__device__ __forceinline__ double real_at(const void* values, uint32_t row) {
  return static_cast<double>(static_cast<const T*>(values)[row]);
}

void read_integers(const WindowOrder& order, const OrderedValues& values, const Counted& counted, int128_t* to,
                   cudaStream_t stream) {
  const auto* places = order.places.as<uint32_t>();
  each_row(order.rows, stream,
           [=] __device__(uint64_t i) { to[i] = counted.at(places[i]) ? values.at(places[i]) : int128_t{0}; });
}

void read_reals(const WindowOrder& order, const JoinKeyPart& part, const Counted& counted, double* to,
                cudaStream_t stream) {
  const auto* places = order.places.as<uint32_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const uint32_t row = places[i];
    const double value = part.width == 4 ? real_at<float>(part.values, row) : real_at<double>(part.values, row);
    to[i] = counted.at(row) ? value : 0;
  });
}

// sums[i] is that of all places up to i.
void write_integer_sums(const WindowOrder& order, const Frames& frames, const int128_t* sums, int128_t* to,
                        cudaStream_t stream) {
  const auto* places = order.places.as<uint32_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const Frame frame = frames.at(i);
    const int128_t end = frame.end == 0 ? 0 : sums[frame.end - 1];
    const int128_t begin = frame.begin == 0 ? 0 : sums[frame.begin - 1];
    to[places[i]] = end - begin;
  });
}

void read_candidates(const WindowOrder& order, const OrderedValues& values, const Counted& counted, Candidate* to,
                     cudaStream_t stream) {
  const auto* places = order.places.as<uint32_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const uint32_t row = places[i];
    to[i] = {values.at(row), counted.at(row) ? row : kMissing};
  });
}

void rows_of_candidates(const Candidate* candidates, uint64_t rows, uint32_t* to, cudaStream_t stream) {
  each_row(rows, stream, [=] __device__(uint64_t i) { to[i] = candidates[i].row; });
}

}  // namespace

WindowOrder window_order(DeviceBuffer places, uint64_t rows, const JoinKeyReader& partition, uint32_t partition_words,
                         const JoinKeyReader& order, uint32_t order_words, cudaStream_t stream) {
  WindowOrder out;
  out.rows = rows;
  out.places = std::move(places);
  const auto* place = out.places.as<uint32_t>();
  const DeviceBuffer parts = changes(partition, partition_words, place, rows, nullptr, stream);
  const DeviceBuffer peers = changes(order, order_words, place, rows, parts.as<uint32_t>(), stream);
  out.partitions = ranges_behind(parts, rows, stream);
  out.peers = ranges_behind(peers, rows, stream);
  return out;
}

DeviceBuffer window_numbers(WindowOp op, const WindowOrder& order, cudaStream_t stream) {
  DeviceBuffer out(order.rows * sizeof(int64_t), stream);
  const Ranges partitions = ranges_of(order.partitions);
  const Ranges peers = ranges_of(order.peers);
  const auto* places = order.places.as<uint32_t>();
  auto* numbers = out.as<int64_t>();
  auto* shares = out.as<double>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const uint64_t begin = partitions.begin(i);
    const uint64_t count = partitions.end(i) - begin;
    const uint32_t row = places[i];
    switch (op) {
      case WindowOp::kRank: numbers[row] = static_cast<int64_t>(peers.begin(i) - begin + 1); break;
      case WindowOp::kDenseRank: numbers[row] = int64_t{peers.numbers[i]} - peers.numbers[begin] + 1; break;
      case WindowOp::kPercentRank: shares[row] = share_of(peers.begin(i) - begin, count - 1); break;
      case WindowOp::kCumeDist: shares[row] = share_of(peers.end(i) - begin, count); break;
      default: numbers[row] = static_cast<int64_t>(i - begin + 1);
    }
  });
  return out;
}

DeviceBuffer shifted_rows(const WindowOrder& order, const JoinKeyPart& distance, int64_t direction,
                          DeviceBuffer& beyond, cudaStream_t stream) {
  DeviceBuffer out(order.rows * sizeof(uint32_t), stream);
  beyond = DeviceBuffer(order.rows, stream);
  const Ranges partitions = ranges_of(order.partitions);
  const auto* places = order.places.as<uint32_t>();
  auto* from = out.as<uint32_t>();
  auto* flags = beyond.as<uint8_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const uint32_t row = places[i];
    const bool known = distance.validity == nullptr || distance.validity[row] != 0;
    const uint64_t bits = known ? device::load_join_value(distance, row) : 0;
    const int128_t by = distance.is_signed ? static_cast<int128_t>(static_cast<int64_t>(bits)) : int128_t{bits};
    const int128_t place = static_cast<int128_t>(i) + direction * by;
    const bool inside = place >= int128_t{partitions.begin(i)} && place < int128_t{partitions.end(i)};
    from[row] = known && inside ? places[static_cast<uint64_t>(place)] : kMissing;
    flags[row] = known && !inside ? 1 : 0;
  });
  return out;
}

DeviceBuffer frame_rows(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table, bool last,
                        cudaStream_t stream) {
  DeviceBuffer out(order.rows * sizeof(uint32_t), stream);
  const Frames frames = frames_of(order, function, table);
  const auto* places = order.places.as<uint32_t>();
  auto* from = out.as<uint32_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const Frame frame = frames.at(i);
    from[places[i]] = frame.begin == frame.end ? kMissing : places[last ? frame.end - 1 : frame.begin];
  });
  return out;
}

void replace_rows(DeviceColumn& column, const DeviceColumn& other, const uint8_t* flags, uint64_t rows,
                  cudaStream_t stream) {
  const Physical type = physical_of(column.field.type);
  const uint32_t width = type == Physical::kBytes ? sizeof(uint32_t) : width_of(type);
  const auto* from = other.values.as<uint8_t>();
  const auto* valid = other.validity.as<uint8_t>();
  auto* to = column.values.as<uint8_t>();
  auto* to_valid = column.validity.as<uint8_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) {
    if (flags[i] == 0) return;
    for (uint32_t b = 0; b < width; ++b) to[i * width + b] = from[i * width + b];
    to_valid[i] = valid == nullptr ? uint8_t{1} : valid[i];
  });
}

DeviceBuffer frame_counts(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table,
                          const WindowArgument& argument, cudaStream_t stream) {
  const DeviceBuffer flags(order.rows * sizeof(uint32_t), stream);
  const Counted counted = counted_of(argument);
  const auto* places = order.places.as<uint32_t>();
  auto* flag = flags.as<uint32_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) { flag[i] = counted.at(places[i]) ? 1 : 0; });
  uint64_t total = 0;
  const DeviceBuffer before = rows_before(flag, static_cast<uint32_t>(order.rows), total, stream);
  DeviceBuffer out(order.rows * sizeof(uint64_t), stream);
  const Frames frames = frames_of(order, function, table);
  const auto* sums = before.as<uint64_t>();
  auto* counts = out.as<uint64_t>();
  each_row(order.rows, stream, [=] __device__(uint64_t i) {
    const Frame frame = frames.at(i);
    counts[places[i]] = sums[frame.end] - sums[frame.begin];
  });
  return out;
}

uint64_t count_longer(const DeviceColumn& column, uint64_t rows, uint32_t bits, cudaStream_t stream) {
  const DeviceBuffer flags(rows * sizeof(uint32_t), stream);
  auto* longer = flags.as<uint32_t>();
  const auto* values = column.values.as<int128_t>();
  const auto* valid = column.validity.as<uint8_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) {
    const int128_t value = values[i];
    const bool there = valid == nullptr || valid[i] != 0;
    longer[i] = there && ((value < 0 ? ~value : value) >> bits) != 0 ? 1 : 0;
  });
  uint64_t count = 0;
  rows_before(longer, static_cast<uint32_t>(rows), count, stream);
  return count;
}

DeviceBuffer frame_sums(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table,
                        const WindowArgument& argument, cudaStream_t stream) {
  const OrderedValues values = values_of(*argument.values);
  const Counted counted = counted_of(argument);
  const Frames frames = frames_of(order, function, table);
  if (values.part.is_float) {
    std::vector<DeviceBuffer> memory;
    const DeviceBuffer reals(order.rows * sizeof(double), stream);
    DeviceBuffer out(order.rows * sizeof(double), stream);
    read_reals(order, values.part, counted, reals.as<double>(), stream);
    const auto tree = tree_of(reals.as<double>(), order.rows, Plus(), memory, stream);
    write_frames(order, frames, tree, 0.0, out.as<double>(), stream);
    return out;
  }
  const DeviceBuffer sums(order.rows * sizeof(int128_t), stream);
  DeviceBuffer out(order.rows * sizeof(int128_t), stream);
  read_integers(order, values, counted, sums.as<int128_t>(), stream);
  if (order.rows > 0) {
    with_temporary(stream, [&](void* room, size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(room, bytes, sums.as<int128_t>(), sums.as<int128_t>(),
                                           static_cast<int64_t>(order.rows), stream);
    });
  }
  write_integer_sums(order, frames, sums.as<int128_t>(), out.as<int128_t>(), stream);
  return out;
}

DeviceBuffer frame_extremes(const WindowOrder& order, const WindowFunction& function, const DeviceTable& table,
                            const WindowArgument& argument, cudaStream_t stream) {
  std::vector<DeviceBuffer> memory;
  const DeviceBuffer candidates(order.rows * sizeof(Candidate), stream);
  read_candidates(order, values_of(*argument.values), counted_of(argument), candidates.as<Candidate>(), stream);
  const Better better{function.aggregate.op == AggregateOp::kMax};
  const auto tree = tree_of(candidates.as<Candidate>(), order.rows, better, memory, stream);
  const DeviceBuffer best(order.rows * sizeof(Candidate), stream);
  write_frames(order, frames_of(order, function, table), tree, Candidate{0, kMissing}, best.as<Candidate>(), stream);
  DeviceBuffer out(order.rows * sizeof(uint32_t), stream);
  rows_of_candidates(best.as<Candidate>(), order.rows, out.as<uint32_t>(), stream);
  return out;
}

DeviceBuffer frame_averages(const DeviceBuffer& sums, bool real, const DeviceBuffer& counts, double divisor,
                            uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out(rows * sizeof(double), stream);
  const auto* reals = sums.as<double>();
  const auto* integers = sums.as<int128_t>();
  const auto* count = counts.as<uint64_t>();
  auto* to = out.as<double>();
  each_row(rows, stream, [=] __device__(uint64_t i) {
    const double sum = real ? reals[i] : static_cast<double>(integers[i]);
    to[i] = count[i] == 0 ? 0 : sum / (static_cast<double>(count[i]) * divisor);
  });
  return out;
}

DeviceBuffer counted_flags(const DeviceBuffer& counts, uint64_t rows, cudaStream_t stream) {
  DeviceBuffer out(rows, stream);
  const auto* count = counts.as<uint64_t>();
  auto* flags = out.as<uint8_t>();
  each_row(rows, stream, [=] __device__(uint64_t i) { flags[i] = count[i] != 0 ? 1 : 0; });
  return out;
}

}  // namespace basalt::cuda
