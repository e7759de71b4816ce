// The built-in codecs' factories: one line per codec here and one in registry.cpp is all the rest of Basalt knows of
// them.
#pragma once

#include <memory>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

std::unique_ptr<Codec> make_plain();
std::unique_ptr<Codec> make_constant();
std::unique_ptr<Codec> make_packed();
std::unique_ptr<Codec> make_dict();
std::unique_ptr<Codec> make_rle();
std::unique_ptr<Codec> make_delta();
std::unique_ptr<Codec> make_l3();
std::unique_ptr<Codec> make_galp();
std::unique_ptr<Codec> make_fsst();
std::unique_ptr<Codec> make_strings();
std::unique_ptr<Codec> make_tokens();
std::unique_ptr<Codec> make_numbered();
std::unique_ptr<Codec> make_validity();
std::unique_ptr<Codec> make_ans();
std::unique_ptr<Codec> make_stride();
std::unique_ptr<Codec> make_grouped();
std::unique_ptr<Codec> make_sum();
std::unique_ptr<Codec> make_map();
std::unique_ptr<Codec> make_product();
std::unique_ptr<Codec> make_place();
std::vector<std::unique_ptr<Codec>> make_columns();

}  // namespace basalt
