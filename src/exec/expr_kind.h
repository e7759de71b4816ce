// Operations by kind: what everyone who goes through expressions tells apart, listed in one place.
#pragma once

#include "basalt/core/error.h"
#include "basalt/exec/pipeline.h"

namespace basalt::exec {

enum class ExprKind : uint8_t {
  kColumn,
  kLiteral,
  kArithmetic,  // + − * and the negative
  kDivision,
  kNumberFunction,  // of one number: its size, sign, rounding
  kMathFunction,    // of doubles
  kBitOperation,
  kCast,
  kDateFunction,
  kComparison,  // NULL where an argument is
  kDistinct,    // never NULL
  kIn,
  kMember,
  kLookUp,
  kPattern,
  kTextFunction,
  kConnective,
  kNot,
  kNullTest,
  kCase,
  kCoalesce,
  kExtreme,  // of several arguments
};

inline ExprKind kind_of(ExprOp op) {
  switch (op) {
    case ExprOp::kColumn: return ExprKind::kColumn;
    case ExprOp::kLiteral: return ExprKind::kLiteral;
    case ExprOp::kAdd:
    case ExprOp::kSubtract:
    case ExprOp::kMultiply:
    case ExprOp::kNegate: return ExprKind::kArithmetic;
    case ExprOp::kDivide:
    case ExprOp::kIntegerDivide:
    case ExprOp::kModulo: return ExprKind::kDivision;
    case ExprOp::kAbs:
    case ExprOp::kSign:
    case ExprOp::kRound:
    case ExprOp::kFloor:
    case ExprOp::kCeil:
    case ExprOp::kTruncate: return ExprKind::kNumberFunction;
    case ExprOp::kSquareRoot:
    case ExprOp::kExp:
    case ExprOp::kLn:
    case ExprOp::kLog2:
    case ExprOp::kLog10:
    case ExprOp::kPower: return ExprKind::kMathFunction;
    case ExprOp::kBitAnd:
    case ExprOp::kBitOr:
    case ExprOp::kBitXor:
    case ExprOp::kShiftLeft:
    case ExprOp::kShiftRight: return ExprKind::kBitOperation;
    case ExprOp::kCast:
    case ExprOp::kTryCast: return ExprKind::kCast;
    case ExprOp::kDatePart:
    case ExprOp::kEpoch:
    case ExprOp::kDateTrunc:
    case ExprOp::kDateDiff:
    case ExprOp::kAddInterval:
    case ExprOp::kAddDays:
    case ExprOp::kDateToMoment:
    case ExprOp::kMomentToDate:
    case ExprOp::kRescaleMoment:
    case ExprOp::kTruncateMoment:
    case ExprOp::kLastDay:
    case ExprOp::kMakeDate:
    case ExprOp::kDateSub:
    case ExprOp::kAddTime:
    case ExprOp::kMomentToTime: return ExprKind::kDateFunction;
    case ExprOp::kEqual:
    case ExprOp::kNotEqual:
    case ExprOp::kLess:
    case ExprOp::kLessEqual:
    case ExprOp::kGreater:
    case ExprOp::kGreaterEqual: return ExprKind::kComparison;
    case ExprOp::kDistinct:
    case ExprOp::kNotDistinct: return ExprKind::kDistinct;
    case ExprOp::kIn: return ExprKind::kIn;
    case ExprOp::kMember: return ExprKind::kMember;
    case ExprOp::kLookUp: return ExprKind::kLookUp;
    case ExprOp::kLike:
    case ExprOp::kRegexp: return ExprKind::kPattern;
    case ExprOp::kLength:
    case ExprOp::kByteLength:
    case ExprOp::kSubstring:
    case ExprOp::kSuffix:
    case ExprOp::kDropSuffix:
    case ExprOp::kUpper:
    case ExprOp::kLower:
    case ExprOp::kConcat:
    case ExprOp::kTrim:
    case ExprOp::kPosition:
    case ExprOp::kReplace:
    case ExprOp::kRegexpReplace:
    case ExprOp::kLeftPad:
    case ExprOp::kRightPad:
    case ExprOp::kRepeat:
    case ExprOp::kSplitPart:
    case ExprOp::kCodePoint:
    case ExprOp::kChr: return ExprKind::kTextFunction;
    case ExprOp::kAnd:
    case ExprOp::kOr: return ExprKind::kConnective;
    case ExprOp::kNot: return ExprKind::kNot;
    case ExprOp::kIsNull:
    case ExprOp::kIsNotNull: return ExprKind::kNullTest;
    case ExprOp::kCase: return ExprKind::kCase;
    case ExprOp::kCoalesce: return ExprKind::kCoalesce;
    case ExprOp::kGreatest:
    case ExprOp::kLeast: return ExprKind::kExtreme;
  }
  throw Error(ErrorCode::kInternal, "unknown expression");
}

}  // namespace basalt::exec
