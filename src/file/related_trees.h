// The trees of a column that may be encoded by other columns of its table: the first chunk says which of those that
// were proposed is the smallest, with what residual, if any pays; every later chunk may take it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/encoding/chooser.h"
#include "codec/map/shared_entries.h"

namespace basalt::format_v1 {

// Of the trees that a column may have in a file: one for each tree of a source, as far as there is room.
constexpr uint32_t kMostRelatedShapes = 2;

class RelatedTrees {
 public:
  // `forced`: there is one tree, which is taken as it is, and wherever it can be. `one_chunk`: the file has no others
  // to share with.
  RelatedTrees(std::vector<Tree> proposed, bool forced, bool one_chunk, Effort effort, Purpose purpose)
      : proposed_(std::move(proposed)), forced_(forced), one_chunk_(one_chunk), effort_(effort), purpose_(purpose) {}

  bool forced() const { return forced_; }
  // Whether a chunk may still take a tree that names others; no longer where none paid for the first.
  bool may_be_used() const { return forced_ || !settled_ || !proposed_.empty(); }

  // Called once per chunk, in chunk order. The tree that the chunk may take, bound; `own_bytes` tells what it takes
  // without another column.
  std::optional<Tree> choose(const Values& values, const std::function<uint64_t()>& own_bytes);

  // The values by that tree, if that is small enough beside those bytes.
  std::optional<Node> encode(const Values& values, const Tree& tree, uint64_t own_bytes) const;

  // The function that chunks share, which is stored once; nullptr: each has its own. Complete when all chunks were
  // chosen for.
  const SharedEntries* entries() const { return entries_.get(); }

 private:
  void settle(const Values& values, uint64_t own_bytes);
  std::optional<Tree> fitting(const Tree& proposed, const Values& values);
  bool shares(const Tree& tree) const;
  bool learn(const Values& values) const;
  std::optional<Node> encode(const Values& values, const Tree& tree) const;

  std::vector<Tree> proposed_;  // one or none, once it is settled
  bool forced_;
  bool one_chunk_;
  bool settled_ = false;
  Effort effort_;
  Purpose purpose_;
  std::shared_ptr<SharedEntries> entries_;
  std::vector<Tree> shapes_;  // what was given out, sources being what they are
};

}  // namespace basalt::format_v1
