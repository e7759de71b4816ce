// Rows as such: expressions over those that pass, kept part by part so that they come out in the order of the input;
// with an order and a limit, only those that can still be among the first are kept. With a limit alone, parts behind
// enough rows are not read.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "exec/cpu/column_builder.h"
#include "exec/cpu/sink.h"
#include "exec/evaluate.h"

namespace basalt::exec {

// How many rows the parts have that are done; all sinks of a stage share it.
class PartRows {
 public:
  void put(size_t part, uint64_t rows);
  // Of the parts before this one.
  uint64_t before(size_t part) const;

 private:
  mutable std::mutex mutex_;
  std::map<size_t, uint64_t> rows_;
};

class RowsSink : public TileSink {
 public:
  // Both must outlive this object; `cancel` may be nullptr.
  RowsSink(const Pipeline& pipeline, PartRows& done, const CancelToken* cancel)
      : pipeline_(pipeline), done_(done), cancel_(cancel) {}

  bool open(const PartBegin& part) override;
  void add(TileInput& input, uint64_t first_row) override;
  bool full() const override { return pipeline_.order.empty() && (enough_before_ || rows_ >= wanted()); }
  void close() override;

  // The rows of all sinks, in the order and within the limit of the pipeline.
  static Table finish(const Pipeline& pipeline, const std::vector<std::unique_ptr<TileSink>>& sinks,
                      const CancelToken* cancel);

 private:
  void start();
  Table take();
  uint64_t wanted() const;

  const Pipeline& pipeline_;
  PartRows& done_;
  const CancelToken* cancel_;
  std::vector<Step> steps_;
  std::vector<ColumnBuilder> columns_;
  uint64_t rows_ = 0;
  size_t part_ = 0;
  bool enough_before_ = false;  // rows in earlier parts
  std::map<size_t, Table> parts_;
  std::vector<uint16_t> live_rows_;
};

}  // namespace basalt::exec
