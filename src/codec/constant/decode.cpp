// Repeating the constant.
#include <algorithm>
#include <cstring>

#include "basalt/codec/string_test.h"
#include "codec/constant/constant.h"
#include "core/dispatch.h"

namespace basalt {

namespace {

class ConstantReader final : public Reader {
 public:
  explicit ConstantReader(const NodeView& node) : Reader(node.type, node.count), value_(node.params.data()) {}

  void decode_tile(uint32_t tile, void* out) override { fill(rows_in_tile(count(), tile), out); }
  void gather(std::span<const uint32_t> rows, void* out) override { fill(rows.size(), out); }
  using Reader::decode_tile;
  using Reader::gather;

 private:
  void fill(size_t rows, void* out) const {
    dispatch_width(width_of(type()), [&](auto tag) {
      using T = decltype(tag);
      T value;
      std::memcpy(&value, value_, sizeof(T));
      std::fill_n(static_cast<T*>(out), rows, value);
    });
  }
  const std::byte* value_;
};

class ConstantBytesReader final : public BytesReader {
 public:
  explicit ConstantBytesReader(const NodeView& node) : text_(node.params) {}

  bool lengths_fit(uint32_t, std::span<const uint32_t> lengths) const override {
    return std::all_of(lengths.begin(), lengths.end(), [&](uint32_t length) { return length == text_.size(); });
  }
  void decode_tile(uint32_t, std::span<const uint32_t> lengths, Buffer& out) override {
    const size_t at = out.size();
    out.resize(at + lengths.size() * text_.size());
    if (text_.empty()) return;
    for (size_t i = 0; i < lengths.size(); ++i) {
      std::memcpy(out.data() + at + i * text_.size(), text_.data(), text_.size());
    }
  }
  void decode_row(uint32_t, uint32_t, std::span<const uint32_t>, Buffer& out) override {
    out.append(text_.data(), text_.size());
  }
  bool test(uint32_t, std::span<const uint32_t> lengths, const std::shared_ptr<const Automaton>& test,
            uint8_t* out) override {
    const bool holds = test->matches({reinterpret_cast<const char*>(text_.data()), text_.size()});
    std::fill_n(out, lengths.size(), static_cast<uint8_t>(holds ? 1 : 0));
    return true;
  }

 private:
  ByteView text_;
};

}  // namespace

std::unique_ptr<Reader> ConstantCodec::open(const NodeView& node) const {
  return std::make_unique<ConstantReader>(node);
}
std::unique_ptr<BytesReader> ConstantCodec::open_bytes(const NodeView& node) const {
  return std::make_unique<ConstantBytesReader>(node);
}

}  // namespace basalt
