// Files that no writer of ours would make: a sound file is taken apart into objects, a test changes them at will, and
// seal() puts a file together again whose checksums all fit, so that the checks behind the checksums are reached.
#pragma once

#include <format_generated.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt::test {

// An encoded array as a file may describe it, whether or not any codec would agree.
struct CraftedNode {
  std::string codec;
  uint64_t count = 0;
  std::vector<std::byte> params;
  std::vector<std::vector<std::byte>> streams;
  std::vector<CraftedNode> children;
};
CraftedNode crafted(const Node& node);

// The bytes of numbers, for streams and parameters.
template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}

struct CraftedColumn {
  format::ColumnMetadataT metadata;
  std::unique_ptr<format::DictionaryMetadataT> dictionary;  // nullptr: none
};

class CraftedFile {
 public:
  // `sound` is a file without faults; seal() never wraps it.
  explicit CraftedFile(const std::vector<std::byte>& sound);

  // Everything is seal()'s to put in its place but these:
  format::FooterT footer;              // places of metadata and dictionaries are computed anew
  std::vector<CraftedColumn> columns;  // by field id; checksums of streams are computed anew
  std::vector<std::byte> body;         // header, streams, padding

  // Appends a stream to the body, aligned as the format asks.
  format::Stream add_stream(const std::vector<std::byte>& bytes);
  // The index of a codec or of a tree in the footer's tables, added if need be.
  uint16_t codec(const std::string& name);
  uint16_t shape(const CraftedNode& root);
  // Gives the only chunk of a column another encoded array, with a region of its own; statistics stay, and a
  // dictionary over the whole file is dropped. The old streams go where no others lie behind them.
  void set_array(uint32_t field, const CraftedNode& root);

  std::vector<std::byte> seal() const;

 private:
  uint64_t streams_end() const;
  void add_nodes(const CraftedNode& node, format::ArraysT& arrays);
};

// After damage to a file's bytes: computes every checksum again that can still be found. False if the footer cannot be
// found any more.
bool reseal(std::vector<std::byte>& bytes);

}  // namespace basalt::test
