// The search over trees.
#include "basalt/encoding/chooser.h"

#include <algorithm>

#include "basalt/core/error.h"
#include "codec/trees.h"
#include "encoding/sample.h"
#include "encoding/text_traits.h"

namespace basalt {

namespace {

// A deeper tree costs time on every read: it has to be this much smaller to be taken.
constexpr double kSimplerWins = 0.98;
// And a codec that costs more to read has to save this many bytes at least.
constexpr double kLeastSaving = 1024;
// A chunk keeps to a tree the column has already if that costs at most this much more than its own best, or these
// bytes: kernels are generated for all trees of a column together. (One chunk of 245, whose last tile is half full, had
// `l3` for a kilobyte less; all of TPC-H Q6 took 0.30 ms instead of 0.10.)
constexpr double kKeepShape = 1.03;
constexpr double kKeepBytes = 8192;
// At the best effort, trees are tried if they take at most this much more than the smallest at the balanced one.
constexpr double kNearAtBalanced = 1.05;
constexpr double kFewBytes = 4096;
// At the best effort: this much more, or these bytes.
constexpr double kKeepShapeAtBest = 1.01;
constexpr double kKeepBytesAtBest = 64;

// Estimates stand on tiles that are no neighbours. A tree that is estimated at up to this many times the smallest is
// tried on all rows, and taken if it saves a twentieth at least.
constexpr double kRunnerUp = 2.0;
constexpr double kWorthTaking = 0.95;

// At the best effort, a float column takes a tree that reads faster if it is at most this much larger.
constexpr double kFasterMayTake = 1.03;

// Estimates the children of one codec in one place of the tree.
class Search final : public ChildChooser {
 public:
  // `forced` fixes the tree of the codec's children; nullptr searches.
  Search(const Codec* parent, Physical type, uint32_t depth_left, const Tree* forced, Effort effort)
      : parent_(parent), type_(type), depth_left_(depth_left), forced_(forced), effort_(effort) {}

  Effort effort() const override { return effort_; }
  const Tree* forced(size_t child) const override { return forced_ == nullptr ? nullptr : &forced_->children[child]; }

  Estimate best(const Sample& sample, size_t child) override {
    const ChildSlot slot = parent_->children(type_)[child];
    return best_of(sample, slot, forced(child), depth_left_, effort_);
  }

  static Estimate best_of(const Sample& sample, const ChildSlot& slot, const Tree* forced, uint32_t depth_left,
                          Effort effort) {
    std::optional<Estimate> best;
    for (Estimate& candidate : candidates(sample, slot, forced, depth_left, effort)) {
      const double has_to_save = get_codec(candidate.tree.codec).has_to_save();
      const bool deeper = best && depth_of(candidate.tree) > depth_of(best->tree);
      const double share = std::min(has_to_save, deeper ? kSimplerWins : 1.0);
      const double least = has_to_save < 1.0 ? kLeastSaving : 0.0;
      if (!best || candidate.bytes + least < best->bytes * share) best = std::move(candidate);
    }
    if (best) return *best;
    // A forced tree that cannot hold the sample: worse than anything.
    return {1e300, plain_tree(slot.type)};
  }

  // The best tree under each codec that is possible here, in the order of codecs.
  static std::vector<Estimate> candidates(const Sample& sample, const ChildSlot& slot, const Tree* forced,
                                          uint32_t depth_left, Effort effort) {
    std::vector<Estimate> out;
    for (const Codec* codec : all_codecs()) {
      if (forced != nullptr ? codec->name() != forced->codec : !possible(*codec, slot, depth_left)) continue;
      Search children(codec, slot.type, depth_left - std::min(depth_left, codec->depth_cost()), forced, effort);
      if (auto candidate = codec->estimate(sample, children)) out.push_back(std::move(*candidate));
    }
    return out;
  }

 private:
  static bool possible(const Codec& codec, const ChildSlot& slot, uint32_t depth_left) {
    if (!may_hold(codec, slot.type, place_of(slot))) return false;
    if (slot.point_access && !codec.point_access()) return false;
    const bool is_leaf = codec.children(slot.type).empty();
    return codec.depth_cost() == 0 || is_leaf || codec.depth_cost() < depth_left;
  }
  static size_t depth_of(const Tree& tree) {
    size_t depth = 0;
    for (const Tree& child : tree.children) depth = std::max(depth, depth_of(child));
    return depth + 1;
  }

  const Codec* parent_;
  Physical type_;
  uint32_t depth_left_;
  const Tree* forced_;
  Effort effort_;
};

// NULLs make their codec the root: it is the only one that sees them.
Estimate estimate_root(const Sample& sample, const Tree* forced, Effort effort) {
  const ChildSlot slot{"column", sample.values.type};
  if (forced != nullptr ? holds_nulls(forced->codec) : sample.values.validity != nullptr) {
    static const Tree kNone;
    const Codec& codec = null_codec();
    Search children(&codec, sample.values.type, kMaxTreeDepth, forced, effort);
    if (auto estimate = codec.estimate(sample, children)) return *estimate;
    return {1e300, kNone};
  }
  return Search::best_of(sample, slot, forced, kMaxTreeDepth, effort);
}

// A constant column is a fact about the whole array, which no sample can show.
std::optional<Estimate> estimate_constant(const Values& values, Effort effort) {
  if (values.type == Physical::kNone || !all_equal(values)) return std::nullopt;
  const Tree constant = constant_tree(values.type);
  if (values.validity == nullptr) return Estimate{0, constant};
  OwnedSample flags = take_sample(values, effort);
  flags.sample.values.type = Physical::kNone;
  const Estimate nulls = estimate_root(flags.sample, nullptr, effort);
  return Estimate{nulls.bytes, with_nulls(nulls.tree.children[0], constant)};
}

// What `tree` takes for these values, in the file and about what when all rows are read.
struct Costs {
  double bytes = 1e300;
  uint64_t reading = 0;
};

uint64_t reading_cost(const Node& node) {
  uint64_t cost = node.codec->reading_cost(node);
  for (const Node& child : node.children) cost += reading_cost(child);
  return cost;
}

Costs costs_of(const Values& values, const Tree& tree, Effort effort) {
  try {
    const Node node = encode_tree(values, bind_tree(tree, values.type), effort);
    return {static_cast<double>(node.encoded_bytes()), reading_cost(node)};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) throw;
    return {};
  }
}

bool contains(const std::vector<Tree>& trees, const Tree& tree) {
  return std::find(trees.begin(), trees.end(), tree) != trees.end();
}

// Values with NULLs need a tree that holds them; values without can be held by both kinds.
bool can_hold(const Tree& tree, const Values& values) { return values.validity == nullptr || holds_nulls(tree.codec); }

// Of each codec's best tree the one that is smallest indeed, the simpler one where two are equal; of floats the one
// that reads fastest of those that are hardly larger. A column that has trees for such values already takes a faster
// one of these only: its few places are for trees that save bytes.
Estimate try_trees(const Values& values, const Sample& sample, const Estimate& first, const std::vector<Tree>& shapes) {
  Sample dense = sample;
  dense.values.validity = nullptr;
  // Estimates choose between trees with the same root; the simplest are always tried.
  std::vector<Tree> trees = simplest_trees(values.type);
  for (Estimate& candidate :
       Search::candidates(dense, {"column", values.type}, nullptr, kMaxTreeDepth, Effort::kBest)) {
    if (!contains(trees, candidate.tree)) trees.push_back(candidate.tree);
  }
  if (holds_nulls(first.tree.codec)) {
    for (Tree& tree : trees) tree = with_nulls(first.tree.children[0], std::move(tree));
  }
  const auto at_first = std::find(trees.begin(), trees.end(), first.tree);
  if (at_first != trees.end()) trees.erase(at_first);
  trees.insert(trees.begin(), first.tree);
  for (const Tree& shape : shapes) {
    if (is_float(values.type) && can_hold(shape, values) && !contains(trees, shape)) trees.push_back(shape);
  }

  // The best effort takes many times as long as the balanced one and saves a few per cent: whoever is far behind
  // already needs no second try.
  std::vector<Costs> costs;
  double least = 1e300;
  for (const Tree& tree : trees) {
    costs.push_back(costs_of(values, tree, Effort::kBalanced));
    least = std::min(least, costs.back().bytes);
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    if (costs[i].bytes <= least * kNearAtBalanced + kFewBytes) costs[i] = costs_of(values, trees[i], Effort::kBest);
  }
  size_t best = 0;
  for (size_t i = 1; i < trees.size(); ++i) best = costs[i].bytes < costs[best].bytes ? i : best;
  const double most = is_float(values.type) ? costs[best].bytes * kFasterMayTake : 0;
  const auto holds = [&](const Tree& shape) { return can_hold(shape, values); };
  const bool is_first = std::none_of(shapes.begin(), shapes.end(), holds);
  for (size_t i = 0; i < trees.size(); ++i) {
    const bool needs_no_place = is_first || contains(shapes, trees[i]);
    if (needs_no_place && costs[i].bytes <= most && costs[i].reading < costs[best].reading) best = i;
  }
  return {costs[best].bytes, trees[best]};
}

// `first`, or a tree with another root that estimates put behind it but is smaller indeed.
Estimate try_runners_up(const Values& values, const Sample& sample, const Estimate& first) {
  Sample dense = sample;
  dense.values.validity = nullptr;
  const bool has_nulls = holds_nulls(first.tree.codec);
  const Tree& dense_first = has_nulls ? first.tree.children.back() : first.tree;
  std::optional<Estimate> best;
  for (const Estimate& candidate :
       Search::candidates(dense, {"column", values.type}, nullptr, kMaxTreeDepth, Effort::kBalanced)) {
    if (candidate.tree == dense_first || candidate.bytes > first.bytes * kRunnerUp) continue;
    if (!best) best = Estimate{costs_of(values, first.tree, Effort::kBalanced).bytes * kWorthTaking, first.tree};
    const Tree tree = has_nulls ? with_nulls(first.tree.children[0], candidate.tree) : candidate.tree;
    const double bytes = costs_of(values, tree, Effort::kBalanced).bytes;
    if (bytes < best->bytes) best = Estimate{bytes, tree};
  }
  return best ? *best : first;
}

}  // namespace

Tree universal_tree(Physical type) {
  return type == Physical::kNone ? with_nulls(packed_tree()) : with_nulls(packed_tree(), default_tree(type));
}

struct ShapeChooser::Known {
  TextTraits traits;
  Tree tree;
};

struct ShapeChooser::Tried {
  Tree estimated;
  Tree taken;
};

ShapeChooser::ShapeChooser(Physical type, Effort effort) : type_(type), effort_(effort) {}
ShapeChooser::~ShapeChooser() = default;

Tree choose_tree(const Values& values, Effort effort) { return ShapeChooser(values.type, effort).choose(values); }

Tree ShapeChooser::choose(const Values& values) {
  const OwnedSample owned = take_sample(values, effort_);
  if (const auto constant = estimate_constant(values, effort_)) return settle(values, owned.sample, *constant);
  const bool is_number = is_integer(values.type) || is_float(values.type);
  if (values.type == Physical::kBytes) return choose_for_texts(values, owned.sample);
  const Estimate first = estimate_root(owned.sample, nullptr, effort_);
  if (!is_number || effort_ == Effort::kFast) return settle(values, owned.sample, first);
  // Where samples say what they said before, the trees that were tried then are not tried again.
  for (const Tried& tried : tried_) {
    if (tried.estimated == first.tree && can_hold(tried.taken, values)) return tried.taken;
  }
  const Estimate best = effort_ == Effort::kBest ? try_trees(values, owned.sample, first, shapes_)
                                                 : try_runners_up(values, owned.sample, first);
  Tree taken = settle(values, owned.sample, best);
  tried_.push_back({first.tree, taken});
  return taken;
}

Tree ShapeChooser::choose_for_texts(const Values& values, const Sample& sample) {
  const TextTraits traits = traits_of(sample.values);
  for (const Known& known : known_) {
    if (look_alike(known.traits, traits) && can_hold(known.tree, values)) return known.tree;
  }
  Tree tree = settle(values, sample, estimate_root(sample, nullptr, effort_));
  known_.push_back({traits, tree});
  return tree;
}

Tree ShapeChooser::settle(const Values& values, const Sample& sample, const Estimate& best) {
  if (contains(shapes_, best.tree)) return best.tree;
  const bool tried = effort_ == Effort::kBest && (is_integer(values.type) || is_float(values.type));
  const Tree* kept = nullptr;
  double kept_bytes = 1e300;
  for (const Tree& shape : shapes_) {
    if (!can_hold(shape, values)) continue;
    const double bytes = tried ? costs_of(values, shape, effort_).bytes : estimate_root(sample, &shape, effort_).bytes;
    if (bytes < kept_bytes) {
      kept = &shape;
      kept_bytes = bytes;
    }
  }
  // The last place stays free for the universal tree.
  const bool full = shapes_.size() + 1 >= kMaxShapes;
  const double near = tried ? std::max(best.bytes * kKeepShapeAtBest, best.bytes + kKeepBytesAtBest)
                            : std::max(best.bytes * kKeepShape, best.bytes + kKeepBytes);
  if (kept != nullptr && kept_bytes < 1e299 && (full || kept_bytes <= near)) return *kept;
  if (!full) {
    shapes_.push_back(best.tree);
    return best.tree;
  }
  Tree universal = universal_tree(type_);
  if (!contains(shapes_, universal)) shapes_.push_back(universal);
  return universal;
}

}  // namespace basalt
