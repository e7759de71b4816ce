// Rows as such: expressions over those that pass, kept part by part so that they come out in the order of the input;
// with an order and a limit, only those that can still be among the first are kept.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/cpu/column_builder.h"
#include "exec/cpu/sink.h"
#include "exec/evaluate.h"

namespace basalt::exec {

class RowsSink : public TileSink {
 public:
  // `cancel` may be nullptr.
  RowsSink(const Pipeline& pipeline, const CancelToken* cancel) : pipeline_(pipeline), cancel_(cancel) {}

  bool open(const PartBegin& part) override;
  void add(TileInput& input, uint64_t first_row) override;
  void close() override;

  // The rows of all sinks, in the order and within the limit of the pipeline.
  static Table finish(const Pipeline& pipeline, const std::vector<std::unique_ptr<TileSink>>& sinks,
                      const CancelToken* cancel);

 private:
  void start();
  Table take();
  uint64_t wanted() const;

  const Pipeline& pipeline_;
  const CancelToken* cancel_;
  std::vector<Step> steps_;
  std::vector<ColumnBuilder> columns_;
  uint64_t rows_ = 0;
  size_t part_ = 0;
  std::map<size_t, Table> parts_;
  std::vector<uint16_t> live_rows_;
};

}  // namespace basalt::exec
