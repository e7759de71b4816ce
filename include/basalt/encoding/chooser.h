// Choosing encodings. Per chunk, every codec is asked what a positional sample would cost under it, recursively, to a
// depth of 3; the smallest tree wins. For Purpose::kDisk, codecs that take long to read are asked, too. Chunks of
// strings that look like one before take its tree. A column keeps to at most four trees per file, so that kernels stay
// few.
#pragma once

#include <cstdint>
#include <vector>

#include "basalt/codec/codec.h"

namespace basalt {

constexpr uint32_t kMaxTreeDepth = 3;  // `validity` and `strings` not counted
constexpr uint32_t kMaxShapes = 4;     // per column and file

// Bytes that reach a device in a nanosecond, where nobody says otherwise: PCIe 5 with 16 lanes, measured. Trees for
// Purpose::kTransfer depend on it, so it is not measured anew: the same rows give the same file on any machine.
constexpr double kUsualLink = 55.5;

// The best tree for these values alone, NULLs included (slots under NULLs must be filled already).
Tree choose_tree(const Values& values, Effort effort = Effort::kBalanced, Purpose purpose = Purpose::kBalanced,
                 double link_gbs = kUsualLink);

// What the best tree takes, by the sample alone.
double estimate_bytes(const Sample& sample, Effort effort = Effort::kBalanced, Purpose purpose = Purpose::kBalanced);

// The tree that can hold any values of this type, with or without NULLs: the last resort of every column.
Tree universal_tree(Physical type);

// Chooses trees for the chunks of one column, called once per chunk and in chunk order; not thread-safe. The result
// depends only on the values and on the earlier chunks.
class ShapeChooser {
 public:
  explicit ShapeChooser(Physical type, Effort effort = Effort::kBalanced, Purpose purpose = Purpose::kBalanced,
                        double link_gbs = kUsualLink);
  ~ShapeChooser();
  ShapeChooser(const ShapeChooser&) = delete;
  ShapeChooser& operator=(const ShapeChooser&) = delete;

  Tree choose(const Values& values);
  // What was given out so far; the universal tree may join as the last one if an encoder refuses its values.
  const std::vector<Tree>& shapes() const { return shapes_; }

 private:
  struct Known;  // a tree and the strings it was searched for
  struct Tried;  // a tree that samples say is best, and the one that is

  Tree choose_for(const Values& values, Purpose purpose);
  Tree choose_for_texts(const Values& values, const Sample& sample, Purpose purpose);
  // `best`, or one of shapes() that is hardly larger.
  Tree settle(const Values& values, const Sample& sample, const Estimate& best, Purpose purpose);

  std::vector<Known> known_;
  std::vector<Tried> tried_;
  Physical type_;
  Effort effort_;
  Purpose purpose_;
  double link_gbs_;
  std::vector<Tree> shapes_;
};

}  // namespace basalt
