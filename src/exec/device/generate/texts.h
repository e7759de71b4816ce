// Rewriting expressions of strings as expressions of numbers: see texts_plan.h.
#pragma once

#include <string>

#include "exec/device/generate/generate.h"

namespace basalt::device {

// Adds to a pipeline the columns that expressions of strings need. Without `known`, literals have any number.
class TextNumbering {
 public:
  TextNumbering(DevicePipeline& device, const TextNumbers* known) : device_(device), known_(known) {}

  // Rewrites every use of strings as values, but for tests in filters, which look at strings as they are stored.
  void rewrite();

  // A value or predicate with numbers for strings, of kU32. Sets reason() if there is none.
  Expr value(const Expr& expr);
  // The same of a filter: keeps tests of strings that can be tested as they are stored.
  Expr predicate(const Expr& expr);
  // Leaves out columns of strings that nobody reads any more, once nothing has to be rewritten; what is left of those
  // in arrays is read as the numbers that these hold.
  void drop_unused();
  // Numbers must be in the order of strings.
  void need_order() { device_.texts.ordered = true; }

 private:
  Expr with_values(const Expr& expr);
  Expr function(const Expr& expr);
  Expr literal(const Value& value);
  ArrayShape shape_of_texts(uint32_t column);
  Expr array(uint32_t column, const Expr& function);
  Expr array_by_row(const std::vector<uint32_t>& columns, const Expr& function);
  Expr add_array(TextArray array, ArrayShape shape, const std::string& name);
  bool tests_in_place(uint32_t column) const;
  void refuse(const std::string& reason);

  DevicePipeline& device_;
  const TextNumbers* known_;
};

// The codes of a column of strings that a kernel can read by them; else nullptr.
std::shared_ptr<const exec::TextCodes> codes_of_files(const Pipeline& pipeline, uint32_t field_id);
// Reads a column of strings that has a dictionary by its codes, or an array of places in a sorted list by these: gives
// the column to read, or nothing.
std::optional<uint32_t> add_code_column(DevicePipeline& device, uint32_t column);

// Whether two arrays hold the same.
bool is_same(const TextArray& a, const TextArray& b);

// Puts flags, an array with a byte for each row, in place of a pipeline's filter: gives their column.
uint32_t filter_by_flags(DevicePipeline& device);

// Why the strings of a chunk cannot be decoded on the device; empty: they can. Looks at metadata only.
std::string why_not_decode_texts(const ColumnChunkInfo& info);

}  // namespace basalt::device
