// All codecs by name. The order is the order in which choosers prefer equals: simpler first.
#include <vector>

#include "basalt/core/error.h"
#include "codec/codecs.h"

namespace basalt {

namespace {

struct Registry {
  Registry() {
    add(make_constant());
    add(make_packed());
    add(make_plain());
    add(make_delta());
    add(make_dict());
    add(make_rle());
    add(make_l3());
    add(make_stride());
    add(make_grouped());
    add(make_ans());
    add(make_galp());
    add(make_fsst());
    add(make_strings());
    add(make_tokens());
    add(make_numbered());
    add(make_validity());
    add(make_sum());
    add(make_map());
    add(make_product());
    add(make_place());
    for (std::unique_ptr<Codec>& codec : make_columns()) add(std::move(codec));
  }
  void add(std::unique_ptr<Codec> codec) {
    views.push_back(codec.get());
    owned.push_back(std::move(codec));
  }
  std::vector<std::unique_ptr<Codec>> owned;
  std::vector<const Codec*> views;
};

Registry& registry() {
  static Registry instance;
  return instance;
}

}  // namespace

const Codec* find_codec(std::string_view name) {
  for (const Codec* codec : registry().views) {
    if (codec->name() == name) return codec;
  }
  return nullptr;
}

const Codec& get_codec(std::string_view name) {
  if (const Codec* codec = find_codec(name)) return *codec;
  std::string known;
  for (const Codec* codec : registry().views) known += (known.empty() ? "" : ", ") + std::string(codec->name());
  throw Error(ErrorCode::kUnsupported, "there is no codec \"" + std::string(name) + "\" (known: " + known + ")");
}

std::span<const Codec* const> all_codecs() { return registry().views; }

void register_codec(std::unique_ptr<Codec> codec) {
  if (find_codec(codec->name()) != nullptr) {
    throw Error(ErrorCode::kInvalidArgument, "codec \"" + std::string(codec->name()) + "\" is registered already");
  }
  registry().add(std::move(codec));
}

bool holds_nulls(std::string_view codec) {
  const Codec* known = find_codec(codec);
  return known != nullptr && known->holds_nulls();
}

bool holds_entries(std::string_view codec) {
  const Codec* known = find_codec(codec);
  return known != nullptr && known->holds_entries();
}

}  // namespace basalt
