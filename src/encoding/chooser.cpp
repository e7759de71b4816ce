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

// Estimates of trees that do not hold the values are larger.
constexpr double kCannotHold = 1e299;

// Estimates stand on tiles that are no neighbours. A tree that is estimated at up to this many times the smallest is
// tried on all rows, and taken if it saves a twentieth at least.
constexpr double kRunnerUp = 2.0;
constexpr double kWorthTaking = 0.95;

// At the best effort, a float column takes a tree that reads faster if it is at most this much larger.
constexpr double kFasterMayTake = 1.03;

// Where bytes are what counts, this share of another tree's is enough for whatever takes longer to read.
constexpr double kSavesForDisk = 0.98;
constexpr double kWorthTakingForDisk = 0.99;

// A level more than others, `stride`, `validity` and `strings` not counted.
uint32_t depth_for(Purpose purpose) { return purpose == Purpose::kDisk ? kMaxTreeDepth + 1 : kMaxTreeDepth; }

// Whether codecs may be taken that are slow to read.
bool may_be_slow(Purpose purpose) { return purpose == Purpose::kDisk || purpose == Purpose::kTransfer; }

double has_to_save(const Codec& codec, Purpose purpose) {
  return purpose == Purpose::kDisk ? std::max(codec.has_to_save(), kSavesForDisk) : codec.has_to_save();
}

// What share of another tree's bytes a tree may take to be preferred, for the codecs in it that take long to read.
double handicap(const Tree& tree, Purpose purpose) {
  const Codec* codec = find_codec(tree.codec);
  double share = codec != nullptr && codec->is_slow_to_read() ? has_to_save(*codec, purpose) : 1.0;
  for (const Tree& child : tree.children) share = std::min(share, handicap(child, purpose));
  return share;
}

// Estimates the children of one codec in one place of the tree.
class Search final : public ChildChooser {
 public:
  // `forced` fixes the tree of the codec's children; nullptr searches.
  Search(const Codec* parent, Physical type, uint32_t depth_left, const Tree* forced, Aims aims)
      : parent_(parent), type_(type), depth_left_(depth_left), forced_(forced), aims_(aims) {}

  Effort effort() const override { return aims_.effort; }
  Purpose purpose() const override { return aims_.purpose; }
  const Tree* forced(size_t child) const override { return forced_ == nullptr ? nullptr : &forced_->children[child]; }

  Estimate best(const Sample& sample, size_t child) override {
    const ChildSlot slot = parent_->children(type_)[child];
    return best_of(sample, slot, forced(child), depth_left_, aims_);
  }

  static Estimate best_of(const Sample& sample, const ChildSlot& slot, const Tree* forced, uint32_t depth_left,
                          Aims aims) {
    std::optional<Estimate> best;
    for (Estimate& candidate : candidates(sample, slot, forced, depth_left, aims)) {
      // Codecs that cost no depth could leave the format's levels; one is left for NULLs.
      if (forced == nullptr && depth_of(candidate.tree) >= kMaxTreeLevels) continue;
      const Codec& codec = get_codec(candidate.tree.codec);
      const double saves = has_to_save(codec, aims.purpose);
      const double before = best ? handicap(best->tree, aims.purpose) : 1.0;
      const bool both_slow = codec.is_slow_to_read() && before < 1.0;
      const double least = saves < 1.0 && !both_slow ? kLeastSaving : 0.0;
      const double needs = codec.is_slow_to_read() ? 1.0 : saves;
      const bool deeper = best && depth_of(candidate.tree) > depth_of(best->tree);
      const double share = std::min(needs, deeper ? kSimplerWins : 1.0) * handicap(candidate.tree, aims.purpose);
      if (!best || candidate.bytes + least < best->bytes / before * share) best = std::move(candidate);
    }
    if (best) return *best;
    // A forced tree that cannot hold the sample: worse than anything.
    return {1e300, plain_tree(slot.type)};
  }

  // The best tree under each codec that is possible here, in the order of codecs.
  static std::vector<Estimate> candidates(const Sample& sample, const ChildSlot& slot, const Tree* forced,
                                          uint32_t depth_left, Aims aims) {
    std::vector<Estimate> out;
    for (const Codec* codec : all_codecs()) {
      if (forced != nullptr ? codec->name() != forced->codec : !possible(*codec, slot, depth_left, aims.purpose))
        continue;
      Search children(codec, slot.type, depth_left - std::min(depth_left, codec->depth_cost()), forced, aims);
      if (auto candidate = codec->estimate(sample, children)) out.push_back(std::move(*candidate));
    }
    return out;
  }

 private:
  static bool possible(const Codec& codec, const ChildSlot& slot, uint32_t depth_left, Purpose purpose) {
    if (codec.needs_source() || (codec.is_slow_to_read() && !may_be_slow(purpose))) return false;
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
  Aims aims_;
};

// NULLs make their codec the root: it is the only one that sees them.
Estimate estimate_root(const Sample& sample, const Tree* forced, Aims aims) {
  const ChildSlot slot{"column", sample.values.type};
  if (forced != nullptr ? holds_nulls(forced->codec) : sample.values.validity != nullptr) {
    static const Tree kNone;
    const Codec& codec = null_codec();
    Search children(&codec, sample.values.type, depth_for(aims.purpose), forced, aims);
    if (auto estimate = codec.estimate(sample, children)) return *estimate;
    return {1e300, kNone};
  }
  return Search::best_of(sample, slot, forced, depth_for(aims.purpose), aims);
}

// A constant column is a fact about the whole array, which no sample can show.
std::optional<Estimate> estimate_constant(const Values& values, Aims aims) {
  if (values.type == Physical::kNone || !all_equal(values)) return std::nullopt;
  const Tree constant = constant_tree(values.type);
  if (values.validity == nullptr) return Estimate{0, constant};
  OwnedSample flags = take_sample(values, aims);
  flags.sample.values.type = Physical::kNone;
  const Estimate nulls = estimate_root(flags.sample, nullptr, aims);
  return Estimate{nulls.bytes, with_nulls(nulls.tree.children[0], constant)};
}

// What `tree` takes for these values, in the file and about what when all rows are read: on a processor, and in a
// kernel.
struct Costs {
  double bytes = 1e300;
  uint64_t reading = 0;
  double kernel = 0;
};

uint64_t reading_cost(const Node& node) {
  uint64_t cost = node.codec->reading_cost(node);
  for (const Node& child : node.children) cost += reading_cost(child);
  return cost;
}

double kernel_picoseconds(const Node& node) {
  double total = node.codec->kernel_picoseconds(node);
  for (const Node& child : node.children) total += kernel_picoseconds(child);
  return total;
}

Costs costs_of(const Values& values, const Tree& tree, Aims aims) {
  try {
    const Node node = encode_tree(values, bind_tree(tree, values.type), aims);
    return {static_cast<double>(node.encoded_bytes()), reading_cost(node), kernel_picoseconds(node)};
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

bool is_slow_to_read(const Tree& tree) {
  const Codec* codec = find_codec(tree.codec);
  return (codec != nullptr && codec->is_slow_to_read()) || std::ranges::any_of(tree.children, is_slow_to_read);
}

bool may_take(const Tree& tree, const Values& values, Purpose purpose) {
  return can_hold(tree, values) && (may_be_slow(purpose) || !is_slow_to_read(tree));
}

// Of each codec's best tree the one that is smallest indeed, the simpler one where two are equal; of floats the one
// that reads fastest of those that are hardly larger. A column that has trees for such values already takes a faster
// one of these only: its few places are for trees that save bytes.
Estimate try_trees(const Values& values, const Sample& sample, const Estimate& first, const std::vector<Tree>& shapes,
                   Purpose purpose) {
  Sample dense = sample;
  dense.values.validity = nullptr;
  // Estimates choose between trees with the same root; the simplest are always tried.
  std::vector<Tree> trees = simplest_trees(values.type);
  for (Estimate& candidate :
       Search::candidates(dense, {"column", values.type}, nullptr, depth_for(purpose), {Effort::kBest, purpose})) {
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
    costs.push_back(costs_of(values, tree, {Effort::kBalanced, purpose}));
    least = std::min(least, costs.back().bytes);
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    if (costs[i].bytes <= least * kNearAtBalanced + kFewBytes)
      costs[i] = costs_of(values, trees[i], {Effort::kBest, purpose});
  }
  size_t best = 0;
  const auto weighed = [&](size_t i) { return costs[i].bytes / handicap(trees[i], purpose); };
  for (size_t i = 1; i < trees.size(); ++i) best = weighed(i) < weighed(best) ? i : best;
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
Estimate try_runners_up(const Values& values, const Sample& sample, const Estimate& first, Purpose purpose) {
  Sample dense = sample;
  dense.values.validity = nullptr;
  const bool has_nulls = holds_nulls(first.tree.codec);
  const Tree& dense_first = has_nulls ? first.tree.children.back() : first.tree;
  const Aims aims(Effort::kBalanced, purpose);
  const double worth_taking = purpose == Purpose::kDisk ? kWorthTakingForDisk : kWorthTaking;
  std::optional<Estimate> best;
  for (const Estimate& candidate :
       Search::candidates(dense, {"column", values.type}, nullptr, depth_for(purpose), aims)) {
    if (candidate.tree == dense_first || candidate.bytes > first.bytes * kRunnerUp) continue;
    if (!best) best = Estimate{costs_of(values, first.tree, aims).bytes * worth_taking, first.tree};
    const Tree tree = has_nulls ? with_nulls(first.tree.children[0], candidate.tree) : candidate.tree;
    const double bytes = costs_of(values, tree, aims).bytes;
    const double needs = handicap(tree, purpose);
    const double weighed = needs < worth_taking ? bytes * worth_taking / needs : bytes;
    if (weighed < best->bytes) best = Estimate{bytes, tree};
  }
  return best ? *best : first;
}

bool is_for_gpu(Purpose purpose) { return purpose == Purpose::kResident || purpose == Purpose::kTransfer; }

// Picoseconds for a byte: of the device's memory at 4.26 TB/s, and of the link, where data travels with every query.
double byte_picoseconds(Purpose purpose, double link_gbs) {
  constexpr double kMemory = 0.235;
  return kMemory + (purpose == Purpose::kTransfer ? 1000 / link_gbs : 0);
}

// Of each codec's best tree, those that are slow to read and others, the one that takes the least time on all rows. In
// memory, of those that take about as long, the smallest. Kernels and copies are added as if nothing overlapped, so
// that fewer bytes pay exactly if their copy takes less time than is added to the kernel.
Estimate try_on_gpu(const Values& values, const Sample& sample, const Estimate& first, Aims aims, double link_gbs) {
  const double per_byte = byte_picoseconds(aims.purpose, link_gbs);
  const auto gpu_time = [&](const Costs& costs) { return costs.kernel + costs.bytes * per_byte; };
  const double as_long = aims.purpose == Purpose::kResident ? 1.02 : 1.0;
  Sample dense = sample;
  dense.values.validity = nullptr;
  const bool has_nulls = holds_nulls(first.tree.codec);
  std::vector<Tree> trees = {has_nulls ? first.tree.children.back() : first.tree, simplest_trees(values.type).front()};
  for (const Purpose purpose : {Purpose::kBalanced, aims.purpose}) {
    for (Estimate& candidate :
         Search::candidates(dense, {"column", values.type}, nullptr, depth_for(purpose), {aims.effort, purpose})) {
      if (!contains(trees, candidate.tree)) trees.push_back(std::move(candidate.tree));
    }
  }
  std::vector<Costs> costs;
  double least = 1e300;
  for (Tree& tree : trees) {
    if (has_nulls) tree = with_nulls(first.tree.children[0], std::move(tree));
    costs.push_back(costs_of(values, tree, aims));
    least = std::min(least, gpu_time(costs.back()));
  }
  size_t best = trees.size();
  for (size_t i = 0; i < trees.size(); ++i) {
    if (gpu_time(costs[i]) > least * as_long) continue;
    if (best == trees.size() || costs[i].bytes < costs[best].bytes) best = i;
  }
  return best == trees.size() ? first : Estimate{costs[best].bytes, trees[best]};
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

ShapeChooser::ShapeChooser(Physical type, Effort effort, Purpose purpose, double link_gbs)
    : type_(type), effort_(effort), purpose_(purpose), link_gbs_(link_gbs) {}
ShapeChooser::~ShapeChooser() = default;

double estimate_bytes(const Sample& sample, Effort effort, Purpose purpose) {
  return all_equal(sample.values) ? 0 : estimate_root(sample, nullptr, {effort, purpose}).bytes;
}

Tree choose_tree(const Values& values, Effort effort, Purpose purpose, double link_gbs) {
  return ShapeChooser(values.type, effort, purpose, link_gbs).choose(values);
}

Tree ShapeChooser::choose(const Values& values) {
  const Tree tree = choose_for(values, purpose_);
  // Whether a codec of few symbols holds all values, a sample cannot show.
  if (!is_slow_to_read(tree) || costs_of(values, tree, Effort::kFast).bytes < kCannotHold) return tree;
  return choose_for(values, Purpose::kBalanced);
}

Tree ShapeChooser::choose_for(const Values& values, Purpose purpose) {
  const OwnedSample owned = take_sample(values, {effort_, purpose});
  const Aims aims{effort_, purpose};
  if (const auto constant = estimate_constant(values, aims)) return settle(values, owned.sample, *constant, purpose);
  const bool is_number = is_integer(values.type) || is_float(values.type);
  if (values.type == Physical::kBytes) return choose_for_texts(values, owned.sample, purpose);
  const Estimate first = estimate_root(owned.sample, nullptr, aims);
  if (!is_number || effort_ == Effort::kFast) return settle(values, owned.sample, first, purpose);
  // Where samples say what they said before, the trees that were tried then are not tried again.
  for (const Tried& tried : tried_) {
    if (tried.estimated == first.tree && may_take(tried.taken, values, purpose)) return tried.taken;
  }
  const Estimate best = is_for_gpu(purpose)        ? try_on_gpu(values, owned.sample, first, aims, link_gbs_)
                        : effort_ == Effort::kBest ? try_trees(values, owned.sample, first, shapes_, purpose)
                                                   : try_runners_up(values, owned.sample, first, purpose);
  Tree taken = settle(values, owned.sample, best, purpose);
  tried_.push_back({first.tree, taken});
  return taken;
}

Tree ShapeChooser::choose_for_texts(const Values& values, const Sample& sample, Purpose purpose) {
  const TextTraits traits = traits_of(sample.values);
  for (const Known& known : known_) {
    if (look_alike(known.traits, traits) && may_take(known.tree, values, purpose)) return known.tree;
  }
  Estimate best = estimate_root(sample, nullptr, {effort_, purpose});
  if (purpose == Purpose::kDisk && effort_ != Effort::kFast) best = try_runners_up(values, sample, best, purpose);
  Tree tree = settle(values, sample, best, purpose);
  known_.push_back({traits, tree});
  return tree;
}

Tree ShapeChooser::settle(const Values& values, const Sample& sample, const Estimate& best, Purpose purpose) {
  if (contains(shapes_, best.tree)) return best.tree;
  const bool tried = effort_ == Effort::kBest && (is_integer(values.type) || is_float(values.type));
  const Aims aims(effort_, purpose);
  const Tree* kept = nullptr;
  double kept_bytes = kCannotHold;
  for (const Tree& shape : shapes_) {
    if (!may_take(shape, values, purpose)) continue;
    const double bytes = tried ? costs_of(values, shape, aims).bytes : estimate_root(sample, &shape, aims).bytes;
    if (bytes < kept_bytes) {
      kept = &shape;
      kept_bytes = bytes;
    }
  }
  // The last place stays free for the universal tree.
  const bool full = shapes_.size() + 1 >= kMaxShapes;
  const double near = tried ? std::max(best.bytes * kKeepShapeAtBest, best.bytes + kKeepBytesAtBest)
                            : std::max(best.bytes * kKeepShape, best.bytes + kKeepBytes);
  if (kept != nullptr && (full || kept_bytes <= near)) return *kept;
  if (!full) {
    shapes_.push_back(best.tree);
    return best.tree;
  }
  Tree universal = universal_tree(type_);
  if (!contains(shapes_, universal)) shapes_.push_back(universal);
  return universal;
}

}  // namespace basalt
