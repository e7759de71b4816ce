// The entries of a `map`, of one chunk or shared by all chunks of a file: those of a chunk's sources are settled when
// it is learned from, which happens in chunk order, and stay. Chunks may be encoded by what they have taught while
// later ones are learned from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

class SharedEntries {
 public:
  // `of_chunks`: further chunks may have smaller and larger sources than the first.
  explicit SharedEntries(bool of_chunks) : of_chunks_(of_chunks) {}

  // A source and a value for each row. Throws Error(kUnsupported) where there would be too many entries, or a source
  // lies beyond those that the first chunk has made room for.
  void learn(std::span<const int64_t> source, const Values& values);

  int64_t base() const { return base_; }
  uint64_t count() const { return known_.size(); }
  // Those of these sources, which were learned; the others are zero.
  Buffer entries_of(std::span<const int64_t> source) const;
  // All of them; those that are not known repeat the one before, or those in front of all others the first.
  Buffer whole() const;
  Physical type() const { return type_; }

 private:
  void make_room(std::span<const int64_t> source, Physical type);
  uint64_t place_of(int64_t source) const { return static_cast<uint64_t>(source) - static_cast<uint64_t>(base_); }

  bool of_chunks_;
  Physical type_ = Physical::kI64;
  int64_t base_ = 0;
  std::vector<uint8_t> known_;
  Buffer entries_;
};

}  // namespace basalt
