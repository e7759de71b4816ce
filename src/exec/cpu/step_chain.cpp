#include "exec/cpu/step_chain.h"

#include <limits>

#include "core/saturating.h"
#include "exec/cpu/conjuncts.h"
#include "exec/cpu/probe_step.h"
#include "exec/join_kind.h"

namespace basalt::exec {

namespace {

class FilterChainStep : public ChainStep {
 public:
  explicit FilterChainStep(const Expr& predicate) : conjuncts_(predicate) {}

  void open(StatisticsList& stats) override { conjuncts_.open(stats); }
  void add(TileInput& input) override {
    const uint8_t* live = conjuncts_.run(input);
    if (live == nullptr) return;
    passing_.narrow(input, live);
    next().add(passing_);
  }

 private:
  Conjuncts conjuncts_;
  NarrowedInput passing_;
};

// Numbers the rows behind the steps anew: by part, and within it as they come, which may be 2^40 rows. This is the
// order in which they are given out, too.
class LastTaker : public TileTaker {
 public:
  explicit LastTaker(TileSink& sink) : sink_(sink) {}

  // Parts of last rows have numbers of which only the last bits are kept here.
  void begin(size_t part) { first_row_ = uint64_t{part} << kRowBits; }
  void add(TileInput& input) override {
    sink_.add(input, first_row_);
    first_row_ += kTileRows;
  }
  bool full() const override { return sink_.full(); }

 private:
  static constexpr int kRowBits = 40;

  TileSink& sink_;
  uint64_t first_row_ = 0;
};

class StepChain : public TileSink {
 public:
  StepChain(std::vector<std::unique_ptr<ChainStep>> steps, size_t columns, std::unique_ptr<TileSink> sink)
      : steps_(std::move(steps)), columns_(columns), sink_(std::move(sink)), last_(*sink_) {
    for (size_t i = 0; i + 1 < steps_.size(); ++i) steps_[i]->set_next(steps_[i + 1].get());
    steps_.back()->set_next(&last_);
  }

  bool open(const PartBegin& part) override {
    last_.begin(part.part);
    PartBegin behind = part;
    for (const auto& step : steps_) step->open(behind.stats);
    return sink_->open(behind);
  }
  void add(TileInput& input, uint64_t) override { steps_.front()->add(input); }
  bool full() const override { return sink_->full(); }
  void close() override { sink_->close(); }

  // Nothing is known of columns that are missing.
  void add_last_rows() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!steps_[i]->has_last_rows()) continue;
      PartBegin part;
      part.part = std::numeric_limits<size_t>::max() - (steps_.size() - i);
      part.stats.resize(columns_, nullptr);
      if (open(part)) steps_[i]->add_last_rows();
      close();
    }
  }
  std::unique_ptr<TileSink> take_sink() { return std::move(sink_); }

 private:
  std::vector<std::unique_ptr<ChainStep>> steps_;
  size_t columns_;
  std::unique_ptr<TileSink> sink_;
  LastTaker last_;
};

}  // namespace

StageSteps::StageSteps(const Pipeline& stage, const std::vector<const Table*>& probed, const RunOptions& options)
    : stage_(stage), options_(options) {
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const auto* probe = std::get_if<Probe>(&stage.steps[i]);
    tables_.push_back(probe == nullptr ? nullptr : std::make_unique<JoinTable>(*probe, *probed.at(i), options.cancel));
  }
}

StageSteps::~StageSteps() = default;

std::unique_ptr<TileSink> StageSteps::make_chain(std::unique_ptr<TileSink> sink) {
  if (empty()) return sink;
  std::vector<std::unique_ptr<ChainStep>> steps;
  for (size_t i = 0; i < stage_.steps.size(); ++i) {
    if (tables_[i] != nullptr) {
      steps.push_back(std::make_unique<ProbeStep>(*tables_[i], columns_behind(stage_, i).size(), options_.cancel));
    } else {
      steps.push_back(std::make_unique<FilterChainStep>(std::get<FilterStep>(stage_.steps[i]).predicate));
    }
  }
  return std::make_unique<StepChain>(std::move(steps), stage_.columns.size(), std::move(sink));
}

void StageSteps::begin() {
  for (const auto& table : tables_) {
    if (table != nullptr) table->forget_met();
  }
}

std::vector<std::unique_ptr<TileSink>> StageSteps::finish(std::vector<std::unique_ptr<TileSink>> chains) {
  if (empty()) return chains;
  for (size_t i = 0; i < chains.size(); ++i) {
    auto& chain = static_cast<StepChain&>(*chains[i]);
    if (i == 0) chain.add_last_rows();
    chains[i] = chain.take_sink();
  }
  return chains;
}

bool StageSteps::adds_nulls() const {
  return std::ranges::any_of(tables_, [](const auto& table) { return table != nullptr && table->keeps_met(); });
}

std::string StageSteps::rung_text() const {
  std::string text;
  for (const auto& table : tables_) {
    if (table == nullptr) continue;
    text += (text.empty() ? "" : "\n") + std::string("a hash table for a ") + name_of(table->probe().kind) + ": " +
            std::to_string(table->rows().rows) + " rows, " + std::to_string(table->key_count()) + " keys, at most " +
            std::to_string(table->most_partners()) + " rows of a key";
  }
  return text;
}

uint64_t StageSteps::most_rows(uint64_t read) const {
  for (const auto& table : tables_) {
    if (table == nullptr) continue;
    read = multiply_saturated(read, std::max<uint64_t>(1, table->most_partners()));
    if (table->keeps_met()) read = add_saturated(read, table->rows().rows);
  }
  return read;
}

}  // namespace basalt::exec
