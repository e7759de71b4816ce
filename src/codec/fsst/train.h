// Finding a table of symbols for a sample of text, on the CPU; training.h has the decisions.
#pragma once

#include <span>
#include <string_view>

#include "codec/fsst/match.h"
#include "codec/fsst/training.h"

namespace basalt::fsst {

SymbolTable train(std::span<const std::string_view> sample, const TrainOptions& options);

}  // namespace basalt::fsst
