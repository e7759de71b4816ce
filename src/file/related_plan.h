// Which columns of a file are encoded by which others. A chunk's columns are encoded in that order, and a source is
// never encoded by another column itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "encoding/related_columns.h"
#include "file/encode_column.h"
#include "file/row_buffer.h"

namespace basalt::format_v1 {

class RelatedPlan {
 public:
  explicit RelatedPlan(const Schema& schema);

  // Trees for a column, which name others. Throws Error(kInvalidArgument) where a name stands for no source, or a chain
  // comes of it.
  void add(uint32_t field, const std::vector<Tree>& trees);
  // What a sample of a chunk's rows proposes for columns that are in no tree yet, by field. Columns with children have
  // no slices.
  std::map<uint32_t, std::vector<Tree>> find(const std::vector<ColumnSlices>& slices, const RelatedScope& scope) const;

  const std::vector<uint32_t>& sources(uint32_t field) const { return sources_[field]; }
  const std::vector<uint32_t>& dependents(uint32_t field) const { return dependents_[field]; }
  // Those of a field in a chunk, as far as they are encoded so that others can be encoded by them.
  std::vector<SourceColumn> sources_in(const std::vector<EncodedColumn>& chunk, uint32_t field) const;

 private:
  std::vector<const Field*> fields_;
  std::vector<bool> under_list_;
  std::map<std::string, uint32_t> by_name_;  // of columns that may be sources
  std::vector<std::vector<uint32_t>> sources_;
  std::vector<std::vector<uint32_t>> dependents_;
};

}  // namespace basalt::format_v1
