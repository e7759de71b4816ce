// Encoded arrays as device code gets them: by the words of their descriptor, which point at the streams.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "exec/device/generate/generate.h"

namespace basalt::test {

inline std::vector<uint64_t> descriptor_of(const NodeView& node) {
  std::vector<uint64_t> addresses;
  const std::function<void(const NodeView&)> collect = [&](const NodeView& one) {
    for (const ByteView stream : one.streams) addresses.push_back(reinterpret_cast<uint64_t>(stream.data()));
    for (const NodeView& child : one.children) collect(child);
  };
  collect(node);
  std::vector<uint64_t> words;
  size_t next = 0;
  device::append_descriptor(node, addresses, next, words);
  return words;
}

template <typename T>
Node encoded(const std::vector<T>& values, const std::string& tree, Physical type) {
  Values plain;
  plain.type = type;
  plain.count = values.size();
  plain.data = reinterpret_cast<const std::byte*>(values.data());
  return encode_tree(plain, bind_tree(parse_tree(tree), type));
}

}  // namespace basalt::test
