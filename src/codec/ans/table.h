// A table of an array, as its parameters and stream give it, made ready for decoding.
#pragma once

#include <variant>
#include <vector>

#include "basalt/codec/codec.h"
#include "codec/ans/layout.h"

namespace basalt::ans {

Parameters parameters_of(const NodeView& node);

class Table {
 public:
  // Of an array that passed validate().
  explicit Table(const NodeView& node);

  // f(NarrowTable or WideTable).
  template <typename F>
  decltype(auto) visit(F&& f) const {
    if (narrow_) return f(NarrowTable{words_.data()});
    return f(WideTable{slots_.data(), words_.data()});
  }

 private:
  bool narrow_;
  std::vector<uint32_t> words_;
  std::vector<uint16_t> slots_;
};

// The shares of all symbols; of a stream whose size is that which its widths say.
std::vector<uint32_t> read_shares(const NodeView& node, uint32_t symbols);

}  // namespace basalt::ans
