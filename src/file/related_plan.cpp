// Planning which columns are encoded by others; see the header.
#include "file/related_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "codec/integer_types.h"
#include "encoding/sample.h"

namespace basalt::format_v1 {

namespace {

Values values_of(const Column& column) {
  Values values;
  values.type = physical_of(column.type);
  values.count = column.length;
  values.data = column.values.data();
  if (values.type != Physical::kBytes) return values;
  values.offsets = column.offsets.as<int64_t>();
  values.bytes = column.bytes.as<char>();
  return values;
}

// Longer texts are no list that others could choose from, on the average.
constexpr uint64_t kLongText = 32;

bool is_long(const ColumnSlices& slices, const Field& field, uint64_t rows) {
  return physical_of(field.type) == Physical::kBytes && plain_bytes_of(slices) > rows * kLongText;
}

Column sample_of(const ColumnSlices& slices, const Field& field, const std::vector<SamplePiece>& pieces) {
  Column sample = make_column(field);
  for (const SamplePiece& piece : pieces) append_rows_of(slices, piece.first, piece.first + piece.rows, sample);
  return sample;
}

// Elements have rows of their own.
void mark_under_lists(const Field& field, bool under_list, std::vector<bool>& marks) {
  marks[field.id] = under_list;
  for (const Field& child : field.children) {
    mark_under_lists(child, under_list || field.type.kind == TypeKind::kList, marks);
  }
}

}  // namespace

RelatedPlan::RelatedPlan(const Schema& schema)
    : fields_(flatten(schema)), under_list_(fields_.size()), sources_(fields_.size()), dependents_(fields_.size()) {
  for (const Field& field : schema.fields) mark_under_lists(field, false, under_list_);
  for (const Field& field : schema.fields) {
    if (field.children.empty() && fits_word(physical_of(field.type))) by_name_[field.name] = field.id;
  }
}

void RelatedPlan::add(uint32_t field, const std::vector<Tree>& trees) {
  if (!dependents_[field].empty()) {
    throw Error(ErrorCode::kInvalidArgument, "other columns are encoded by it, so it cannot be encoded by others");
  }
  if (under_list_[field]) {
    throw Error(ErrorCode::kInvalidArgument,
                "elements of lists have other rows than columns, which cannot encode them");
  }
  for (const Tree& tree : trees) {
    for (const std::string& name : columns_of(tree)) {
      const auto source = by_name_.find(name);
      if (source == by_name_.end()) {
        throw Error(ErrorCode::kInvalidArgument,
                    fmt::format("there is no column {} of integers, dates or decimals to encode by", name));
      }
      const uint32_t id = source->second;
      if (id == field || !sources_[id].empty()) {
        throw Error(ErrorCode::kInvalidArgument, fmt::format("{} is encoded by other columns itself", name));
      }
      if (std::find(sources_[field].begin(), sources_[field].end(), id) != sources_[field].end()) continue;
      sources_[field].push_back(id);
      dependents_[id].push_back(field);
    }
  }
}

std::map<uint32_t, std::vector<Tree>> RelatedPlan::find(const std::vector<ColumnSlices>& slices,
                                                        const RelatedScope& scope) const {
  std::vector<Column> columns;
  std::vector<uint32_t> ids;
  const std::vector<SamplePiece> pieces = sample_pieces(scope.total_rows);
  for (uint32_t id = 0; id < slices.size(); ++id) {
    const bool alone = sources_[id].empty() && dependents_[id].empty();
    if (!alone || slices[id].empty() || is_long(slices[id], *fields_[id], scope.total_rows)) continue;
    Column sample = sample_of(slices[id], *fields_[id], pieces);
    if (sample.null_count != 0) continue;
    columns.push_back(std::move(sample));
    ids.push_back(id);
  }
  std::vector<RelatedSample> samples;
  for (size_t i = 0; i < ids.size(); ++i) samples.push_back({fields_[ids[i]]->name, values_of(columns[i])});
  const std::vector<std::vector<Tree>> trees = find_related_columns(samples, scope);
  std::map<uint32_t, std::vector<Tree>> found;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!trees[i].empty()) found[ids[i]] = trees[i];
  }
  return found;
}

std::vector<SourceColumn> RelatedPlan::sources_in(const std::vector<EncodedColumn>& chunk, uint32_t field) const {
  std::vector<SourceColumn> out;
  for (const uint32_t source : sources_[field]) {
    const EncodedArray& array = chunk[source].array;
    if (array.nodes.empty()) continue;
    NodeView view = view_of(array, physical_of(fields_[source]->type));
    // Slots under NULLs have values, too, which repeat others.
    if (view.codec->holds_nulls()) view = NodeView(view.children.back());
    out.push_back({fields_[source]->name, source, std::move(view)});
  }
  return out;
}

}  // namespace basalt::format_v1
