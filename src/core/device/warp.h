// What tile readers use of the machine: the lane, exchanges inside a warp, loads and stores. Everything that touches a
// CUDA intrinsic is here, so that readers are plain arithmetic and compile alike ahead of time and at run time.
#pragma once

#include "basalt/core/host_device.h"

namespace basalt::device {

constexpr uint32_t kWholeWarp = 0xFFFFFFFFu;

// Blocks are one-dimensional and a multiple of 32 threads.
__device__ __forceinline__ uint32_t lane_id() { return threadIdx.x & (kLanes - 1); }

// The same, but what is made of it is not worked out ahead of a loop and kept: registers are dearer than a few
// instructions.
__device__ __forceinline__ uint32_t lane_id_here() {
  uint32_t lane = lane_id();
#if defined(__CUDA_ARCH__)
  asm volatile("" : "+r"(lane));
#endif
  return lane;
}

__device__ __forceinline__ void sync_warp() { __syncwarp(kWholeWarp); }

// move(word) of the words of four or eight bytes that make up a value: exchanges move no other.
template <typename T, typename Move>
__device__ __forceinline__ T by_words(T value, Move&& move) {
  if constexpr (sizeof(T) == 16) {
    const uint64_t low = move(static_cast<unsigned long long>(value));
    const uint64_t high = move(static_cast<unsigned long long>(value >> 64));
    return static_cast<T>(high) << 64 | low;
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(move(static_cast<unsigned long long>(value)));
  } else {
    return static_cast<T>(move(static_cast<unsigned int>(value)));
  }
}

template <typename T>
__device__ __forceinline__ T shuffle(T value, uint32_t from_lane) {
  return by_words(value, [&](auto word) { return __shfl_sync(kWholeWarp, word, static_cast<int>(from_lane)); });
}

// The value of the lane `distance` below; lanes under `distance` get their own.
template <typename T>
__device__ __forceinline__ T shuffle_up(T value, uint32_t distance) {
  return by_words(value, [&](auto word) { return __shfl_up_sync(kWholeWarp, word, distance); });
}

// The value of the lane whose number differs in the bits of `distance`.
template <typename T>
__device__ __forceinline__ T shuffle_xor(T value, uint32_t distance) {
  return by_words(value, [&](auto word) { return __shfl_xor_sync(kWholeWarp, word, static_cast<int>(distance)); });
}

// The warp's number in its block, from one lane: so the compiler knows that a loop over the warp's work is the same for
// all its lanes, and exchanges need no code for lanes that went different ways. A kernel of runs of groups has 1344
// instead of 2184 instructions.
__device__ __forceinline__ uint32_t uniform_warp() { return shuffle(threadIdx.x / kLanes, 0); }

// Sum of the lanes below (0 in lane 0).
template <typename T>
__device__ __forceinline__ T sum_below(T value) {
  const uint32_t lane = lane_id();
  T sum = value;
#pragma unroll
  for (uint32_t distance = 1; distance < kLanes; distance *= 2) {
    const T other = shuffle_up(sum, distance);
    if (lane >= distance) sum += other;
  }
  return sum - value;
}

// Sum of all lanes, modulo 2^32; one instruction from Ampere on.
__device__ __forceinline__ uint32_t sum_of_lanes(uint32_t value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kWholeWarp, value);
#else
  for (uint32_t distance = 1; distance < kLanes; distance *= 2) value += shuffle_xor(value, distance);
  return value;
#endif
}

// The same of 64 bits, in parts whose sums fit 32.
__device__ __forceinline__ uint64_t sum_of_lanes(uint64_t value) {
  constexpr uint32_t kPart = 27;
  uint64_t sum = 0;
#pragma unroll
  for (uint32_t at = 0; at < 64; at += kPart) {
    sum += static_cast<uint64_t>(sum_of_lanes(static_cast<uint32_t>(value >> at) & ((1u << kPart) - 1))) << at;
  }
  return sum;
}

// Of floats in the one order that sums of tiles have (exec/aggregate.h).
template <typename Float>
__device__ __forceinline__ Float sum_of_lanes(Float value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = value + __shfl_xor_sync(kWholeWarp, value, distance);
  }
  return value;
}

__device__ __forceinline__ bool any_lane(bool value) { return __any_sync(kWholeWarp, value) != 0; }

// Bit l is set where lane l says so.
__device__ __forceinline__ uint32_t ballot(bool value) { return __ballot_sync(kWholeWarp, value); }

// Place of the lowest set bit, of which there is one.
__device__ __forceinline__ uint32_t lowest_bit(uint32_t bits) {
  return static_cast<uint32_t>(__ffs(static_cast<int>(bits))) - 1;
}

// Calls f(value, whether it is the lane's) for each value that lanes have, but `none`; by the whole warp.
template <typename F>
__device__ __forceinline__ void for_each_distinct(uint32_t value, uint32_t none, F&& f) {
#pragma unroll 1
  for (uint32_t open = ballot(value != none); open != 0;) {
    const uint32_t here = shuffle(value, lowest_bit(open));
    f(here, value == here);
    open &= ~ballot(value == here);
  }
}

__device__ __forceinline__ uint32_t population(uint32_t bits) { return static_cast<uint32_t>(__popc(bits)); }

// Place of the highest set bit, of which there is one.
__device__ __forceinline__ uint32_t highest_bit(uint32_t bits) {
  return 31 - static_cast<uint32_t>(__clz(static_cast<int>(bits)));
}

// (high : low) >> shift, the low 32 bits; shift is taken modulo 32.
__device__ __forceinline__ uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t shift) {
  return __funnelshift_r(low, high, shift);
}
// (high : low) << shift, the high 32 bits; shift is taken modulo 32.
__device__ __forceinline__ uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t shift) {
  return __funnelshift_l(low, high, shift);
}

// a · b + c on the unit that multiplies: additions wait for the one that also compares, shifts and masks.
__device__ __forceinline__ uint32_t multiply_add(uint32_t a, uint32_t b, uint32_t c) {
#if defined(__CUDA_ARCH__)
  asm("" : "+r"(b));
#endif
  return a * b + c;
}

// sum += value if tested < bound: a comparison and a multiplication by one, for the same reason.
__device__ __forceinline__ void add_if_less(uint32_t& sum, uint32_t value, uint32_t tested, uint32_t bound) {
#if defined(__CUDA_ARCH__)
  uint32_t one = 1;
  asm("" : "+r"(one));
  asm("{.reg .pred p; setp.lt.u32 p, %1, %2; @p mad.lo.u32 %0, %3, %4, %0;}"
      : "+r"(sum)
      : "r"(tested), "r"(bound), "r"(value), "r"(one));
#else
  if (tested < bound) sum += value;
#endif
}
// The same unless `bit` is set in `mask`.
__device__ __forceinline__ void add_if_less_unless(uint32_t& sum, uint32_t value, uint32_t tested, uint32_t bound,
                                                   uint32_t mask, uint32_t bit) {
#if defined(__CUDA_ARCH__)
  uint32_t one = 1;
  asm("" : "+r"(one));
  asm("{.reg .pred p, q; .reg .b32 set; and.b32 set, %5, %6; setp.eq.u32 q, set, 0; setp.lt.and.u32 p, %1, %2, q; "
      "@p mad.lo.u32 %0, %3, %4, %0;}"
      : "+r"(sum)
      : "r"(tested), "r"(bound), "r"(value), "r"(one), "r"(mask), "r"(bit));
#else
  if (tested < bound && (mask & bit) == 0) sum += value;
#endif
}
__device__ __forceinline__ void add_if_below(uint32_t& sum, uint32_t value, uint32_t bound) {
  add_if_less(sum, value, value, bound);
}

// mask |= bit, which is not set yet, if value < bound: a comparison and one addition. Of an `if` the compiler makes an
// addition and a conditional move.
__device__ __forceinline__ void set_if_below(uint32_t& mask, uint32_t bit, uint32_t value, uint32_t bound) {
#if defined(__CUDA_ARCH__)
  asm("{.reg .pred p; setp.lt.u32 p, %1, %2; @p add.u32 %0, %0, %3;}" : "+r"(mask) : "r"(value), "r"(bound), "r"(bit));
#else
  if (value < bound) mask |= bit;
#endif
}

// Reads memory that nobody writes while the kernel runs: streams, descriptors. The compiler may move and merge such
// loads across stores, which is what lets a whole tile's words be in flight at once.
template <typename T>
__device__ __forceinline__ T load(const T* from) {
  if constexpr (sizeof(T) == 16) {
    const ulonglong2 pair = __ldg(reinterpret_cast<const ulonglong2*>(from));
    return static_cast<T>(pair.y) << 64 | pair.x;
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>(__ldg(reinterpret_cast<const unsigned long long*>(from)));
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<T>(__ldg(reinterpret_cast<const unsigned int*>(from)));
  } else if constexpr (sizeof(T) == 2) {
    return static_cast<T>(__ldg(reinterpret_cast<const unsigned short*>(from)));
  } else {
    return static_cast<T>(__ldg(reinterpret_cast<const unsigned char*>(from)));
  }
}

// The same, but words of four and eight bytes are asked for where it stands: for what is used in later branches, into
// which the compiler would otherwise move the load and lose its head start.
template <typename T>
__device__ __forceinline__ T load_now(const T* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4) {
    uint32_t word;
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(word) : "l"(from));
    return static_cast<T>(word);
  } else if constexpr (sizeof(T) == 8) {
    unsigned long long word;
    asm volatile("ld.global.nc.b64 %0, [%1];" : "=l"(word) : "l"(from));
    return static_cast<T>(word);
  } else {
    return load(from);
  }
#else
  return load(from);
#endif
}

// Asks for bytes that later loads will want; both arguments are multiples of 16. Devices before Hopper do without.
__device__ __forceinline__ void prefetch([[maybe_unused]] const void* from, [[maybe_unused]] uint32_t bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
#endif
}

// Asks for the line of 128 bytes that a later load will want, by any lanes at once: bytes that lanes ask for in bulk,
// each at its own place, are asked for lane by lane.
constexpr uint32_t kLineWords = 32;
__device__ __forceinline__ void prefetch_line([[maybe_unused]] const void* in_line) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in_line));
#endif
}

// Copies of 16 bytes from memory to shared memory that pass by registers. A thread closes what it has asked for into
// groups, waits until at most kOpen of its last groups are under way, and sees other lanes' copies after sync_warp.
__device__ __forceinline__ void copy_to_shared(void* to, const void* from) {
#if defined(__CUDA_ARCH__)
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
  const auto* bytes = static_cast<const unsigned char*>(from);
  for (uint32_t i = 0; i < 16; ++i) static_cast<unsigned char*>(to)[i] = bytes[i];
#endif
}
__device__ __forceinline__ void close_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <uint32_t kOpen>
__device__ __forceinline__ void wait_for_copies() {
#if defined(__CUDA_ARCH__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen) : "memory");
#endif
}

// *to |= bits, in shared memory, by any lanes at once.
__device__ __forceinline__ void or_shared(uint32_t* to, uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicOr(to, bits);
#else
  *to |= bits;
#endif
}

// *to &= ~bits, likewise.
__device__ __forceinline__ void clear_shared(uint32_t* to, uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicAnd(to, ~bits);
#else
  *to &= ~bits;
#endif
}

// *to ^= bits, likewise.
__device__ __forceinline__ void flip_shared(uint32_t* to, uint32_t bits) {
#if defined(__CUDA_ARCH__)
  atomicXor(to, bits);
#else
  *to ^= bits;
#endif
}

// *to = value, in shared memory, if a < b. One predicated instruction: hundreds of branches that each guard one store
// would take the compiler minutes to remove.
template <typename T>
__device__ __forceinline__ void store_shared_if_less(uint32_t a, uint32_t b, T* to, T value) {
#if defined(__CUDA_ARCH__)
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (sizeof(T) == 8) {
    asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; @p st.shared.b64 [%2], %3;}" ::"r"(a), "r"(b), "r"(address),
                 "l"(value)
                 : "memory");
  } else if constexpr (sizeof(T) == 4) {
    asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; @p st.shared.b32 [%2], %3;}" ::"r"(a), "r"(b), "r"(address),
                 "r"(value)
                 : "memory");
  } else if constexpr (sizeof(T) == 2) {
    asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; @p st.shared.b16 [%2], %3;}" ::"r"(a), "r"(b), "r"(address),
                 "h"(value)
                 : "memory");
  } else if constexpr (sizeof(T) == 1) {
    asm volatile("{.reg .pred p; setp.lt.u32 p, %0, %1; @p st.shared.b8 [%2], %3;}" ::"r"(a), "r"(b), "r"(address),
                 "r"(static_cast<uint32_t>(value))
                 : "memory");
  } else {
    if (a < b) *to = value;
  }
#else
  if (a < b) *to = value;
#endif
}

// Writes a result that this kernel does not read again.
template <typename T>
__device__ __forceinline__ void store_once(T* to, T value) {
  if constexpr (sizeof(T) == 16) {
    ulonglong2 pair;
    pair.x = static_cast<unsigned long long>(value);
    pair.y = static_cast<unsigned long long>(value >> 64);
    __stcs(reinterpret_cast<ulonglong2*>(to), pair);
  } else if constexpr (sizeof(T) == 8) {
    __stcs(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
  } else if constexpr (sizeof(T) == 4) {
    __stcs(reinterpret_cast<unsigned int*>(to), static_cast<unsigned int>(value));
  } else if constexpr (sizeof(T) == 2) {
    __stcs(reinterpret_cast<unsigned short*>(to), static_cast<unsigned short>(value));
  } else {
    __stcs(reinterpret_cast<unsigned char*>(to), static_cast<unsigned char>(value));
  }
}

// A stream pointer out of a chunk's descriptor words.
template <typename T>
__device__ __forceinline__ const T* stream(const uint64_t* descriptor, uint32_t word) {
  return reinterpret_cast<const T*>(load(descriptor + word));
}

__device__ __forceinline__ uint32_t row_count(const uint64_t* descriptor) {
  return static_cast<uint32_t>(load(descriptor));
}

// Words of four bytes in the array's last stream, above its row count.
__device__ __forceinline__ uint32_t last_stream_words(const uint64_t* descriptor) {
  return static_cast<uint32_t>(load(descriptor) >> 32);
}

BASALT_HD constexpr uint32_t round_to_16(uint32_t bytes) { return (bytes + 15) / 16 * 16; }

template <bool kFirst, typename A, typename B>
struct SelectType {
  using type = A;
};
template <typename A, typename B>
struct SelectType<false, A, B> {
  using type = B;
};

// The signed integer of an unsigned one's width.
template <typename A>
struct SignedOf;
template <>
struct SignedOf<uint8_t> {
  using type = int8_t;
};
template <>
struct SignedOf<uint16_t> {
  using type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using type = int32_t;
};
template <>
struct SignedOf<uint64_t> {
  using type = int64_t;
};

// A type without reference and const.
template <typename A>
struct Bare {
  using type = A;
};
template <typename A>
struct Bare<const A> {
  using type = A;
};
template <typename A>
struct Bare<A&> {
  using type = typename Bare<A>::type;
};
template <typename A>
struct Bare<A&&> {
  using type = typename Bare<A>::type;
};

// Calls f(k) for k = 0…31, unrolled, so that k folds into the code.
template <typename F>
__device__ __forceinline__ void for_each_k(F&& f) {
#pragma unroll
  for (uint32_t k = 0; k < kRowsPerLane; ++k) f(k);
}

// Calls f(k) for k = first…last and the others of their groups: a loop with a remainder would be twice the code.
template <uint32_t kSize, typename F>
__device__ __forceinline__ void for_groups(uint32_t first, uint32_t last, F&& f) {
#pragma unroll 1
  for (uint32_t group = first / kSize * kSize; group <= last; group += kSize) {
#pragma unroll
    for (uint32_t j = 0; j < kSize; ++j) f(group + j);
  }
}

// Views whose at(k) is a few instructions when k is a constant and many when it is not, so that loops over their rows
// are unrolled. Loops over other views are not: it would take most of a kernel's compilation.
template <typename View>
struct WantsConstants {
  static constexpr bool value = false;
};

// A reader without unrolled code for single widths, where it says which that is.
template <typename Reader>
struct RolledOf {
  using type = Reader;
};
template <typename Reader>
requires requires { typename Reader::Rolled; }
struct RolledOf<Reader> {
  using type = typename Reader::Rolled;
};

// Any one row by its number, of readers that are bound for it and read no other.
template <typename Reader, typename T>
class SingleRows {
 public:
  __device__ __forceinline__ static T value(const uint64_t* descriptor, uint32_t i) {
    Reader reader;
    reader.bind(descriptor);
    return reader.row(i);
  }
};

// What readers share that have one form of a tile only, read by at(k) whatever k is.
template <typename Reader, typename T>
class OneForm : public SingleRows<Reader, T> {
 public:
  template <typename F>
  __device__ __forceinline__ void visit(F&& f) const {
    f(static_cast<const Reader&>(*this));
  }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
#pragma unroll 4
    for (uint32_t k = first; k <= last; ++k) f(k, static_cast<const Reader&>(*this).at(k));
  }
};

// What the caller of visit() gets of a reader that learns from the rows that are read, such as that one is bad: views
// are constant wherever they are kept.
template <typename Reader, typename T>
class ChangingView {
 public:
  using value_type = T;
  __device__ __forceinline__ explicit ChangingView(Reader& reader) : reader_(reader) {}
  __device__ __forceinline__ T at(uint32_t k) const { return reader_.at(k); }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) const {
    for_groups<2>(first, last, [&](uint32_t k) { f(k, reader_.at(k)); });
  }

 private:
  Reader& reader_;
};

template <typename Reader, typename T>
class OneChangingForm : public SingleRows<Reader, T> {
 public:
  template <typename F>
  __device__ __forceinline__ void visit(F&& f) {
    f(view());
  }
  template <typename F>
  __device__ __forceinline__ void for_each_between(uint32_t first, uint32_t last, F&& f) {
    view().for_each_between(first, last, f);
  }

 private:
  __device__ __forceinline__ ChangingView<Reader, T> view() {
    return ChangingView<Reader, T>(static_cast<Reader&>(*this));
  }
};

// Where staging ends: at a row of the tile, or nowhere.
struct WholeTile {
  __device__ __forceinline__ operator uint32_t() const { return kTileRows; }
};
template <typename V>
__device__ __forceinline__ void store_before(WholeTile, uint32_t, V* to, V value) {
  *to = value;
}
template <typename V>
__device__ __forceinline__ void store_before(uint32_t limit, uint32_t row, V* to, V value) {
  store_shared_if_less(row, limit, to, value);
}

// Writes rows first…last of a view's 32 to shared memory, row k of the lane at out[k * stride + lane], and perhaps
// other k; none at or behind row `limit` of the tile.
template <typename View, typename Limit, typename V>
__device__ __forceinline__ void stage_rows(View& view, uint32_t first, uint32_t last, Limit limit, V* out,
                                           uint32_t stride) {
  const uint32_t lane = lane_id();
  view.for_each_between(first, last, [&](uint32_t k, auto value) {
    store_before(limit, k * kLanes + lane, out + k * stride + lane, static_cast<V>(value));
  });
}

// Calls f(k, value) for k = 0…31.
template <typename View, typename F>
__device__ __forceinline__ void for_each_row(View& view, F&& f) {
  if constexpr (WantsConstants<typename Bare<View>::type>::value) {
    for_each_k([&](uint32_t k) { f(k, view.at(k)); });
  } else {
    for_groups<4>(0, kRowsPerLane - 1, [&](uint32_t k) { f(k, view.at(k)); });
  }
}

}  // namespace basalt::device
