// The table that ends `convert` and `gen`: what each column became.
#pragma once

#include <string>

#include "basalt/file/writer.h"

namespace basalt::cli {

std::string render_summary(const WriteSummary& summary, const std::string& path, double seconds, int descriptor);

}  // namespace basalt::cli
