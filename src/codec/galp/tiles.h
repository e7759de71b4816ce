// The loops of the CPU's encoder: sampling a group of tiles, and making integers of a tile under the scheme that takes
// the fewest bytes.
#pragma once

#include "basalt/codec/codec.h"
#include "codec/galp/exceptions.h"
#include "codec/galp/row_table.h"

namespace basalt::galp {

// What the tiles of a group choose from, by a sample. `values` are those of up to 128 tiles.
template <typename T>
Group search_group(const T* values, uint64_t rows, Effort effort);

// Schemes for all tiles of an array, by samples of its groups: for children that want one scale.
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

  // What a scheme makes of the tile.
  struct Scaling {
    T d[kTileRows];        // a pair's integers, NaN at exceptions; of RD the bits of the integers
    Bits held[kTileRows];  // all bits set, or none: an exception
    uint32_t exceptions = 0;
  };
  // Costs only grow with rows: after as many it is looked whether they can stay below what there is.
  static constexpr uint32_t kRowsBeforeLook = 256;

  void set(const T* values, uint32_t rows);
  // Bytes of the tile under a pair and as its bits; kNoBytes where they reach `most`.
  uint32_t scale(uint32_t pair, uint32_t most, Scaling& out) const;
  uint32_t raw_bytes(uint32_t most) const;
  // Under RD.
  uint32_t split(const Dictionary& dictionary, Scaling& out);
  // Which of the group's candidates takes the fewest bits on 32 rows.
  uint32_t best_on_sample(const Group& group) const;
  // Sets exceptions_, and gives exceptions of a pair their integers.
  void find_exceptions();

  const RowTable<T>& loops_ = row_table<T>();
  const T* values_ = nullptr;
  uint32_t rows_ = 0;
  // Rows are a multiple of 32 for the loops: those that the tile does not have are like its first.
  uint32_t padded_rows_ = 0;
  T padded_[kTileRows];  // the tile, where its rows are no such multiple
  uint32_t scheme_ = kRaw;
  uint32_t right_bits_ = 0;  // of the dictionary that split() took last
  Scaling scalings_[2];
  Scaling* best_ = &scalings_[0];
  Scaling* trial_ = &scalings_[1];
  std::vector<uint32_t> exceptions_;  // rows, of the scheme that was taken
};

}  // namespace basalt::galp
