// A tile of which fewer rows count: the others raise no errors and are given to nobody.
#pragma once

#include "exec/vector.h"

namespace basalt::exec {

class NarrowedInput : public TileInput {
 public:
  NarrowedInput() = default;
  NarrowedInput(TileInput& all, const uint8_t* live) { narrow(all, live); }
  // `live`: one byte per row, 0 for rows that do not count in `all`; nullptr: all count. Both are used as long as this
  // input is.
  void narrow(TileInput& all, const uint8_t* live) {
    all_ = &all;
    live_ = live;
  }

  uint32_t rows() const override { return all_->rows(); }
  const uint8_t* live() const override { return live_; }
  Vector column(uint32_t index, Lane lane) override { return all_->column(index, lane); }
  const uint8_t* valid(uint32_t index) override { return all_->valid(index); }
  bool compare_encoded(uint32_t index, ExprOp op, int128_t literal, uint8_t* out) override {
    return all_->compare_encoded(index, op, literal, out);
  }
  bool filter_strings(uint32_t index, const std::shared_ptr<const Automaton>& test, uint8_t* out) override {
    return all_->filter_strings(index, test, out);
  }
  const StringRows* codes(uint32_t index, uint32_t* out) override { return all_->codes(index, out); }
  const uint16_t* row_numbers() override { return all_->row_numbers(); }
  std::optional<Vector> byte_lengths(uint32_t index) override { return all_->byte_lengths(index); }

 private:
  TileInput* all_ = nullptr;
  const uint8_t* live_ = nullptr;
};

}  // namespace basalt::exec
