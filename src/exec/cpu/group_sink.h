// Grouped aggregation: the keys of a tile become words, words become numbers of groups, and every aggregate adds its
// rows to the states of their groups. Texts are numbers from a pool; of columns that are stored as places in a list,
// every entry is looked up once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/cpu/group_states.h"
#include "exec/cpu/group_table.h"
#include "exec/cpu/sink.h"
#include "exec/cpu/string_pool.h"
#include "exec/evaluate.h"
#include "exec/group_keys.h"

namespace basalt::exec {

// What all sinks of a stage share.
struct GroupPlan {
  // `stats`: of all rows of the input. `magnitudes`: for each aggregate that adds floats the exponent above them.
  GroupPlan(const Pipeline& pipeline, const StatisticsList& stats, uint64_t rows,
            const std::vector<int32_t>& magnitudes);

  const Pipeline& pipeline;
  KeyLayout keys;
  struct Part {
    ArgumentFacts facts;
    KeyLayout distinct;  // the group, then the argument
  };
  std::vector<Part> aggregates;
};

class GroupSink : public TileSink {
 public:
  explicit GroupSink(const GroupPlan& plan);

  bool open(const PartBegin& part) override;
  void add(TileInput& input, uint64_t first_row) override;
  // Adds what another sink has collected.
  void merge(const GroupSink& other, const CancelToken* cancel);
  Table finish(const CancelToken* cancel);

 private:
  // A key or a distinct argument, evaluated and made words.
  struct KeyInput {
    const Expr* expr = nullptr;
    Step step;
    std::vector<uint32_t> entry_numbers;  // of the list that codes are places in: number in the pool + 1
    const StringRows* entries = nullptr;
    std::vector<uint32_t> codes;
  };
  struct AggregateInput {
    size_t argument = 0;  // among arguments_
    bool has_argument = false;
    bool has_filter = false;
    Step filter;
    std::unique_ptr<GroupStates> states;
    std::unique_ptr<GroupTable> seen;  // of distinct ones: group and argument
    KeyInput value;
  };
  struct Argument {
    const Expr* expr = nullptr;
    Step step;
    Vector vector;
  };

  void write_words(KeyInput& key, const KeyPart& part, TileInput& input, const uint16_t* rows, uint32_t count,
                   uint64_t* words, uint32_t stride);
  void write_texts(KeyInput& key, const KeyPart& part, TileInput& input, const uint16_t* rows, uint32_t count,
                   uint64_t* words, uint32_t stride);
  void number_rows(TileInput& input);
  void add_aggregate(size_t index, TileInput& input);
  void add_distinct(AggregateInput& aggregate, const KeyPart& part, TileInput& input, const GroupedRows& rows);
  // The words of a group of another sink, with its texts' numbers in this one's pool.
  void translate(const KeyLayout& layout, const std::vector<uint32_t>& texts, uint64_t* words) const;
  void add_seen_values(size_t index);
  void put_keys(size_t key, ColumnBuilder& out) const;

  const GroupPlan& plan_;
  const Pipeline& pipeline_;
  StringPool pool_;
  GroupTable groups_;
  std::vector<KeyInput> keys_;
  std::vector<Argument> arguments_;
  std::vector<AggregateInput> aggregates_;
  // Of the current tile.
  std::vector<uint16_t> rows_;
  std::vector<uint32_t> numbers_;
  std::vector<uint64_t> words_;
  std::vector<uint64_t> places_;
  std::vector<uint16_t> some_rows_;
  std::vector<uint32_t> some_numbers_;
};

}  // namespace basalt::exec
