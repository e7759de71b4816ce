// Group keys that others decide: beside a customer's number, the name and the address.
#pragma once

#include "basalt/query/tree.h"

namespace basalt {

// Where only the first groups of an order leave, long texts among their keys that another key decides are fetched
// behind them: rows are grouped by the key alone, and the table that has it once each is joined again with the few
// groups that are left. What decides what is proven by joins and by the footers of files. Gives whether there were any.
// In any case an order and a limit behind it are one operation then.
bool fetch_decided_keys(QueryNode& root);

}  // namespace basalt
