// Fuzzes the text form of trees: what parses prints back to something that parses to the same tree.
#include <cstdlib>
#include <string_view>

#include "basalt/core/error.h"
#include "basalt/encoding/tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const basalt::Tree tree = basalt::parse_tree(text);
    if (!(basalt::parse_tree(basalt::to_string(tree)) == tree)) std::abort();
    basalt::bind_tree(tree, basalt::Physical::kI64);
  } catch (const basalt::Error&) {
  }
  return 0;
}
