// Taking strings apart into their common text and their numbers.
#include <algorithm>

#include "basalt/core/error.h"
#include "codec/child_values.h"
#include "codec/codecs.h"
#include "codec/numbered/layout.h"
#include "codec/numbered/numbered.h"

namespace basalt {

std::unique_ptr<Codec> make_numbered() { return std::make_unique<NumberedCodec>(); }

std::vector<ChildSlot> NumberedCodec::children(Physical) const { return {{"numbers", Physical::kU64}}; }

namespace {

struct Parts {
  std::string_view text;
  uint32_t digits = 0;
  std::vector<uint64_t> numbers;
};

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

uint32_t digits_at_end(std::string_view text) { return numbered::digits_at_end(bytes_of(text), text.size()); }

// Nothing if some row is not the text of the first one and as many digits.
std::optional<Parts> split(const Values& values) {
  if (values.count == 0) return std::nullopt;
  Parts parts;
  const std::string_view first = values.string(0);
  parts.digits = digits_at_end(first);
  for (uint64_t row = 1; row < values.count && parts.digits > 0; ++row) {
    const std::string_view text = values.string(row);
    if (text.size() != first.size()) return std::nullopt;
    parts.digits = std::min(parts.digits, digits_at_end(text));
  }
  if (parts.digits == 0) return std::nullopt;
  parts.text = first.substr(0, first.size() - parts.digits);
  parts.numbers.reserve(values.count);
  for (uint64_t row = 0; row < values.count; ++row) {
    const std::string_view text = values.string(row);
    if (!text.starts_with(parts.text)) return std::nullopt;
    parts.numbers.push_back(numbered::read_digits(bytes_of(text) + parts.text.size(), parts.digits));
  }
  return parts;
}

}  // namespace

Node NumberedCodec::encode(const Values& values, const Tree& tree, Aims aims) const {
  Node node{this, values.type, values.count, {}, {}, {}};
  std::optional<Parts> parts = split(values);
  if (!parts && values.count > 0) {
    throw Error(ErrorCode::kUnsupported, "numbered: the strings are not one text and as many digits");
  }
  if (!parts) parts = Parts{{}, 1, {}};
  node.params.push_back(static_cast<std::byte>(parts->digits));
  for (const char c : parts->text) node.params.push_back(static_cast<std::byte>(c));
  node.children.push_back(encode_tree(number_values(parts->numbers), tree.children[numbered::kNumbers], aims));
  return node;
}

std::optional<Estimate> NumberedCodec::estimate(const Sample& sample, ChildChooser& chooser) const {
  const std::optional<Parts> parts = split(sample.values);
  if (!parts) return std::nullopt;
  Estimate numbers =
      chooser.best({number_values(parts->numbers), sample.total_rows, sample.piece_rows}, numbered::kNumbers);
  return Estimate{numbers.bytes + static_cast<double>(parts->text.size()) + 1, {"numbered", {std::move(numbers.tree)}}};
}

}  // namespace basalt
