// What the kinds of joins give.
#pragma once

#include "basalt/exec/pipeline.h"

namespace basalt::exec {

// Whether a row leaves for each partner.
constexpr bool gives_pairs(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner:
    case JoinKind::kLeft:
    case JoinKind::kRight:
    case JoinKind::kFull:
    case JoinKind::kSingle: return true;
    default: return false;
  }
}

// Whether a row of the first input without partners leaves with NULLs.
constexpr bool keeps_first(JoinKind kind) {
  return kind == JoinKind::kLeft || kind == JoinKind::kFull || kind == JoinKind::kSingle;
}

// Whether rows of the second input can stand without one of the first.
constexpr bool keeps_second(JoinKind kind) {
  return kind == JoinKind::kRight || kind == JoinKind::kFull || kind == JoinKind::kRightSemi ||
         kind == JoinKind::kRightAnti;
}

// "left join"
constexpr const char* name_of(JoinKind kind) {
  switch (kind) {
    case JoinKind::kInner: return "join";
    case JoinKind::kLeft: return "left join";
    case JoinKind::kRight: return "right join";
    case JoinKind::kFull: return "full join";
    case JoinKind::kSemi: return "semi join";
    case JoinKind::kAnti: return "anti join";
    case JoinKind::kMark: return "mark join";
    case JoinKind::kSingle: return "single join";
    case JoinKind::kRightSemi: return "right semi join";
    case JoinKind::kRightAnti: return "right anti join";
  }
  return "?";
}

}  // namespace basalt::exec
