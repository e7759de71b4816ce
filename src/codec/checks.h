// Small helpers of the codecs' validate() functions: each throws Error(kCorrupt) with a sentence.
#pragma once

#include <string>

#include "basalt/codec/codec.h"
#include "basalt/core/error.h"

namespace basalt {

[[noreturn]] inline void fail_corrupt(const NodeView& node, const std::string& what) {
  throw Error(ErrorCode::kCorrupt, std::string(node.codec->name()) + ": " + what);
}

inline void check_stream_count(const NodeView& node, size_t expected) {
  if (node.streams.size() == expected) return;
  fail_corrupt(node, std::to_string(node.streams.size()) + " streams instead of " + std::to_string(expected));
}

inline void check_stream_bytes(const NodeView& node, size_t stream, uint64_t expected) {
  if (node.streams[stream].size() == expected) return;
  fail_corrupt(node, "stream " + std::to_string(stream) + " has " + std::to_string(node.streams[stream].size()) +
                         " bytes instead of " + std::to_string(expected));
}

inline void check_params(const NodeView& node, size_t expected) {
  if (node.params.size() == expected) return;
  fail_corrupt(node, std::to_string(node.params.size()) + " parameter bytes instead of " + std::to_string(expected));
}

inline void check_child_count(const NodeView& node, size_t child, uint64_t expected) {
  if (node.children[child].count == expected) return;
  fail_corrupt(node, "child " + std::to_string(child) + " has " + std::to_string(node.children[child].count) +
                         " values instead of " + std::to_string(expected));
}

template <typename T>
const T* stream_as(const NodeView& node, size_t stream) {
  return reinterpret_cast<const T*>(node.streams[stream].data());
}

}  // namespace basalt
