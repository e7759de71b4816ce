// Whether the inputs of one conversion belong together: their columns beside each other.
#pragma once

#include <string>
#include <vector>

#include "basalt/sql/session.h"

namespace basalt::cli {

struct InputColumns {
  std::string input;  // its name, for messages
  std::vector<ResultColumn> columns;
};

// Throws Error(kInvalidArgument) naming the first input whose columns are others than those of the first one, in any
// order, and which they are. As in SQL, case does not count.
void require_same_columns(const std::vector<InputColumns>& inputs);

// Whether all inputs have the same columns in the same order and of the same types.
bool are_identical(const std::vector<InputColumns>& inputs);

// Notes columns whose type differs from input to input; `result` are the columns of all inputs together.
void note_widened_columns(const std::vector<InputColumns>& inputs, const std::vector<ResultColumn>& result,
                          Notices& notices);

// Notes what DuckDB's Parquet reader cannot keep of these files: decimals of more than 38 digits, nanoseconds of
// instants.
void note_parquet_columns(Session& session, const std::string& path, Notices& notices);

// Notes columns of a query of CSV files whose first rows are integers that only a double can hold, of the types that
// are guessed.
void note_rounded_integers(Session& session, const std::string& query, const std::vector<ResultColumn>& columns,
                           Notices& notices);

// The names of columns to sort by as the columns spell them; a name may be given in another case, where one column has
// it. Throws Error(kInvalidArgument) with the columns' names where there is none.
std::vector<std::string> spelled_as_columns(const std::vector<std::string>& names,
                                            const std::vector<ResultColumn>& columns);

}  // namespace basalt::cli
