// The loops of the CPU's encoder: sampling a group of tiles, and making integers of a tile under the scheme that takes
// the fewest bytes.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/galp/exceptions.h"

namespace basalt::galp {

// `values` are those of up to 128 tiles.
template <typename T>
Group search_group(const T* values, uint64_t rows, Effort effort);

template <typename T>
ArraySchemes search_array(const T* values, uint64_t rows);

// A tile as integers.
template <typename T>
class TileEncoder {
 public:
  // Takes the best scheme of the group. At Effort::kFast pairs are compared by 32 rows.
  void choose(const T* values, uint32_t rows, const Group& group, Effort effort);
  // Takes this pair, or RAW.
  void take(const T* values, uint32_t rows, uint32_t scheme);

  uint32_t scheme() const { return scheme_; }
  // Writes the integers; exceptions have the integer before them, or the first there is.
  void write_integers(IntOf<T>* out) const;
  // Appends the block of exceptions, if there are any.
  void append_exceptions(Buffer& words) const;

 private:
  using Int = IntOf<T>;
  using Bits = BitsOf<T>;
  static constexpr uint32_t kBits = Arithmetic<T>::kBits;

  // A pair's work on the tile.
  struct Scaling {
    T d[kTileRows];  // 0 at exceptions
    Bits exception[kTileRows];
    uint32_t exceptions = 0;
  };
  void scale(uint32_t pair, Scaling& out) const;
  // Stops where `most` bytes are reached.
  uint32_t bytes_of(const Scaling& scaling, uint32_t most) const;
  uint32_t index_parts(const Dictionary& dictionary, uint32_t most);
  uint32_t best_on_sample(const Group& group) const;

  const T* values_ = nullptr;
  uint32_t rows_ = 0;
  uint32_t scheme_ = kRaw;
  uint32_t right_bits_ = 0;  // RD
  Scaling scalings_[2];
  Scaling* best_ = &scalings_[0];
  Scaling* trial_ = &scalings_[1];
  // RD: indices, kNoIndex at exceptions.
  static constexpr Bits kNoIndex = ~Bits{0};
  Bits indices_[kTileRows];
};

}  // namespace basalt::galp
