// The steps of a stage between its source and its sink: each takes tiles and hands tiles on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "basalt/exec/pipeline.h"
#include "exec/cpu/sink.h"

namespace basalt::exec {

class JoinTable;

// A step, or the sink behind the last one.
class TileTaker {
 public:
  virtual ~TileTaker() = default;
  virtual void add(TileInput& input) = 0;
  // Whether further tiles of the part would change nothing.
  virtual bool full() const = 0;
};

class ChainStep : public TileTaker {
 public:
  // Of the columns in sight before it; it makes them those behind it.
  virtual void open(StatisticsList& stats) = 0;
  // Rows that it can give only when all tiles of all threads were there.
  virtual bool has_last_rows() const { return false; }
  virtual void add_last_rows() {}

  bool full() const override { return next_->full(); }
  void set_next(TileTaker* next) { next_ = next; }

 protected:
  TileTaker& next() { return *next_; }

 private:
  TileTaker* next_ = nullptr;
};

// What all threads that run a stage share: its tables to look rows up in.
class StageSteps {
 public:
  // `probed`: for each step the rows that it looks up. All must outlive this object.
  StageSteps(const Pipeline& stage, const std::vector<const Table*>& probed, const RunOptions& options);
  ~StageSteps();

  // A sink that takes the source's tiles.
  std::unique_ptr<TileSink> make_chain(std::unique_ptr<TileSink> sink);
  // Before tiles come, and when all sinks have had theirs: gives back the sinks behind the chains.
  void begin();
  std::vector<std::unique_ptr<TileSink>> finish(std::vector<std::unique_ptr<TileSink>> chains);

  bool empty() const { return stage_.steps.empty(); }
  // Whether columns can be NULL that are not in what is read.
  bool adds_nulls() const;
  // How joins keep the rows that they look up, a line for each.
  std::string rung_text() const;
  // How many rows there can be behind the steps.
  uint64_t most_rows(uint64_t read) const;

 private:
  const Pipeline& stage_;
  const RunOptions& options_;
  std::vector<std::unique_ptr<JoinTable>> tables_;  // nullptr for filters
};

}  // namespace basalt::exec
