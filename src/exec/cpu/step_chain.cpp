#include "exec/cpu/step_chain.h"

#include <limits>

#include "core/saturating.h"
#include "exec/cpu/probe_step.h"

namespace basalt::exec {

namespace {

class FilterChainStep : public ChainStep {
 public:
  explicit FilterChainStep(const Expr& predicate) : predicate_(predicate), live_(kTileRows) {}

  void open(StatisticsList& stats) override { step_ = prepare(predicate_, stats); }
  void add(TileInput& input, uint64_t first_row) override {
    const auto* holds = evaluate_predicate(step_, input).as<uint8_t>();
    const uint8_t* live = input.live();
    uint32_t count = 0;
    for (uint32_t i = 0; i < input.rows(); ++i) {
      live_[i] = live == nullptr ? holds[i] : holds[i] & live[i];
      count += live_[i];
    }
    if (count == 0) return;
    view_.begin(input);
    view_.set_live(live_.data());
    next().add(view_, first_row);
  }

 private:
  const Expr& predicate_;
  Step step_;
  std::vector<uint8_t> live_;
  TileView view_;
};

class StepChain : public TileSink {
 public:
  StepChain(std::vector<std::unique_ptr<ChainStep>> steps, size_t columns, std::unique_ptr<TileSink> sink)
      : steps_(std::move(steps)), columns_(columns), sink_(std::move(sink)), links_(steps_.size()) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      links_[i].step = i + 1 < steps_.size() ? steps_[i + 1].get() : nullptr;
      links_[i].sink = sink_.get();
      steps_[i]->set_next(&links_[i]);
    }
  }

  bool open(const PartBegin& part) override {
    PartBegin behind = part;
    for (const auto& step : steps_) step->open(behind.stats);
    return sink_->open(behind);
  }
  void add(TileInput& input, uint64_t first_row) override { steps_.front()->add(input, first_row); }
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
  struct Link : ChainStep::Next {
    void add(TileInput& input, uint64_t first_row) override {
      step != nullptr ? step->add(input, first_row) : sink->add(input, first_row);
    }
    ChainStep* step = nullptr;
    TileSink* sink = nullptr;
  };
  std::vector<std::unique_ptr<ChainStep>> steps_;
  size_t columns_;
  std::unique_ptr<TileSink> sink_;
  std::vector<Link> links_;
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
    text += (text.empty() ? "" : "\n") + std::string("a hash table for a join: ") + std::to_string(table->rows().rows) +
            " rows, " + std::to_string(table->key_count()) + " keys, at most " +
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
