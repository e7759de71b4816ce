// Putting texts and numbers together again.
#include <algorithm>
#include <array>

#include "basalt/codec/string_test.h"
#include "codec/numbered/layout.h"
#include "codec/numbered/numbered.h"

namespace basalt {

namespace {

class NumberedReader final : public Reader {
 public:
  explicit NumberedReader(const NodeView& node)
      : Reader(node.type, node.count),
        numbers_(open_reader(node.children[numbered::kNumbers])),
        digits_(static_cast<uint32_t>(node.params[0])),
        text_(reinterpret_cast<const char*>(node.params.data()) + 1, node.params.size() - 1) {}

  void decode_tile(uint32_t tile, StringRows& out) override {
    append(std::span(load(tile), rows_in_tile(count(), tile)), out);
  }
  void string_lengths(uint32_t, uint32_t* out) override {
    std::fill_n(out, kTileRows, static_cast<uint32_t>(text_.size()) + digits_);
  }
  void gather(std::span<const uint32_t> rows, StringRows& out) override {
    std::vector<uint64_t> numbers(rows.size());
    numbers_->gather(rows, numbers.data());
    mark_corrupt(numbers_->corrupt());
    append(numbers, out);
  }
  Answered filter_strings(uint32_t tile, const std::shared_ptr<const Automaton>& test, uint8_t* out) override {
    const uint32_t rows = rows_in_tile(count(), tile);
    const uint8_t behind_text = test->run(test->start(), text_);
    if (test->settled(behind_text)) {
      std::fill_n(out, rows, static_cast<uint8_t>(test->accepts(behind_text) ? 1 : 0));
      return Answered::kByBounds;
    }
    const uint64_t* numbers = load(tile);
    char digits[numbered::kMostDigits];
    for (uint32_t i = 0; i < rows; ++i) {
      mark_corrupt(numbered::put_digits(numbers[i], digits_, digits) != 0);
      out[i] = test->accepts(test->run(behind_text, {digits, digits_})) ? 1 : 0;
    }
    return Answered::kByRows;
  }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  const uint64_t* load(uint32_t tile) {
    numbers_->decode_tile(tile, tile_numbers_.data());
    mark_corrupt(numbers_->corrupt());
    return tile_numbers_.data();
  }
  void append(std::span<const uint64_t> numbers, StringRows& out) {
    const size_t length = text_.size() + digits_;
    size_t at = out.bytes.size();
    out.check_room(numbers.size() * length);
    out.bytes.resize(at + numbers.size() * length);
    char* bytes = out.bytes.as<char>();
    for (const uint64_t number : numbers) {
      std::copy(text_.begin(), text_.end(), bytes + at);
      mark_corrupt(numbered::put_digits(number, digits_, bytes + at + text_.size()) != 0);
      at += length;
      out.offsets.push_back(static_cast<int64_t>(at));
    }
  }

  std::unique_ptr<Reader> numbers_;
  uint32_t digits_;
  std::string_view text_;
  std::array<uint64_t, kTileRows> tile_numbers_;
};

}  // namespace

std::unique_ptr<Reader> NumberedCodec::open(const NodeView& node) const {
  return std::make_unique<NumberedReader>(node);
}

}  // namespace basalt
