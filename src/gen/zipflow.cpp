// See zipflow.h.
#include "gen/zipflow.h"

#include <cmath>

#include "basalt/core/error.h"
#include "gen/random.h"

namespace basalt::gen {

namespace {

constexpr char kComment[] = "o_comment";

// What the paper keeps as counts of runs are their ends, whose distances are the counts. l_quantity is a decimal of
// whole numbers: a dictionary has the width that these have. Ids of more than 4096 words have no entropy code.
constexpr ZipflowPlan kPlans[] = {
    {"lineitem", "l_shipinstruct", "BP", "packed"},
    {"lineitem", "l_shipmode", "BP", "packed"},
    {"lineitem", "l_suppkey", "BP", "packed"},
    {"lineitem", "l_partkey", "BP", "packed"},
    {"lineitem", "l_linestatus", "BP", "packed"},
    {"orders", "o_custkey", "BP", "packed"},
    {"partsupp", "ps_availqty", "BP", "packed"},
    {"lineitem", "l_quantity", "BP", "dict(packed, packed)"},
    {"lineitem", "l_commitdate", "DICT | BP", "dict(packed, packed)"},
    {"lineitem", "l_receiptdate", "DICT | BP", "dict(packed, packed)"},
    {"lineitem", "l_shipdate", "DICT | BP", "dict(packed, packed)"},
    {"orders", "o_orderdate", "DICT | BP", "dict(packed, packed)"},
    {"lineitem", "l_discount", "F2I | BP", "packed"},
    {"lineitem", "l_extendedprice", "F2I | BP", "packed"},
    {"lineitem", "l_tax", "F2I | BP", "packed"},
    {"orders", "o_totalprice", "F2I | BP", "packed"},
    {"partsupp", "ps_supplycost", "F2I | BP", "packed"},
    {"lineitem", "l_orderkey", "RLE | [DSTRIDE | [DELTA | RLE | [BP, BP], BP], BP]",
     "rle(stride(rle(delta(rle(packed, delta(packed))), delta(packed))), delta(packed))"},
    {"orders", "o_orderkey", "DSTRIDE | [DELTA | RLE | [BP, BP], BP]",
     "stride(rle(delta(rle(packed, delta(packed))), delta(packed)))"},
    {"partsupp", "ps_partkey", "RLE | [DSTRIDE, RLE]", "rle(stride(rle(packed, packed)), delta(rle(packed, packed)))"},
    {"partsupp", "ps_suppkey", "DELTA | DICT | BP | DICT | BP", "delta(dict(grouped(dict(packed, packed)), packed))"},
    {"orders", "o_shippriority", "RLE", "rle(packed, packed)"},
    {"lineitem", "l_returnflag", "ANS", "ans"},
    {"orders", kComment, "SDICT | BP | ANS", "strings(packed, tokens(ans, packed, strings(packed, plain)))",
     "strings(packed, tokens(packed, packed, strings(packed, plain)))"},
};

constexpr RunLengths kRunLengths[] = {
    {"even 2", 2, 2, 0},
    {"even 4", 4, 4, 0},
    {"even 8", 8, 8, 0},
    {"even 16", 16, 16, 0},
    {"even 32", 32, 32, 0},
    {"even 128", 128, 128, 0},
    {"even 1024", 1024, 1024, 0},
    {"random 1-8", 1, 8, 0},
    {"random 1-32", 1, 32, 0},
    {"random 1-128", 1, 128, 0},
    {"random 1-1024", 1, 1024, 0},
    {"outlier 1024", 1, 1, 1024},
    {"outlier 65536", 1, 1, 65536},
    {"mixed", 0, 0, 0},
};

uint64_t length_of_run(const RunLengths& lengths, uint64_t run, uint64_t row) {
  if (lengths.longest == 0) {  // mixed: 2^16 rows of each of the others in turn
    constexpr uint64_t kOthers = std::size(kRunLengths) - 1;
    return length_of_run(kRunLengths[row / 65536 % kOthers], run, row);
  }
  const Stream random(0x7a69);
  if (lengths.outlier != 0 && random.bits(2 * run) % 1000 == 0) return lengths.outlier;
  return static_cast<uint64_t>(random.between(2 * run + 1, lengths.shortest, lengths.longest));
}

double entropy(double frequent, uint32_t rare) {
  const double each = (1 - frequent) / rare;
  return -frequent * std::log2(frequent) - (each > 0 ? rare * each * std::log2(each) : 0);
}

template <typename T>
void append_as_64(const Column& rows, std::vector<int64_t>& out) {
  const T* values = rows.values.as<T>();
  out.insert(out.end(), values, values + rows.length);
}

}  // namespace

std::span<const ZipflowPlan> zipflow_plans() { return kPlans; }
std::span<const RunLengths> zipflow_run_lengths() { return kRunLengths; }

void ZipflowColumn::append(const Column& rows) {
  switch (physical_of(rows.type)) {
    case Physical::kI32: append_as_64<int32_t>(rows, numbers_); break;
    case Physical::kI64: append_as_64<int64_t>(rows, numbers_); break;
    case Physical::kBytes: append_words(rows); break;
    default:
      throw Error(ErrorCode::kUnsupported, std::string(plan_->column) + " is " + to_string(rows.type) +
                                               ", not a number of 32 or 64 bits or a text");
  }
  rows_ += rows.length;
}

void ZipflowColumn::append_words(const Column& rows) {
  const bool is_comment = std::string_view(plan_->column) == kComment;
  for (uint64_t i = 0; i < rows.length; ++i) {
    const std::string_view text = rows.string_at(i);
    if (is_comment) {
      texts_.bytes.append(text.data(), text.size());
      texts_.offsets.push_back(static_cast<int64_t>(texts_.bytes.size()));
      continue;
    }
    const auto found = words_.find(text);
    const int64_t next = static_cast<int64_t>(words_.size());
    numbers_.push_back(found != words_.end() ? found->second : words_.emplace(std::string(text), next).first->second);
  }
}

void ZipflowColumn::finish() {
  if (words_.empty()) return;
  std::vector<int64_t> places(words_.size());
  int64_t place = 0;
  for (auto& [word, number] : words_) {
    places[static_cast<size_t>(number)] = place;
    number = place++;
  }
  for (int64_t& number : numbers_) number = places[static_cast<size_t>(number)];
}

uint64_t ZipflowColumn::plain_bytes() const { return rows_ * sizeof(int64_t) + texts_.bytes.size(); }

Values ZipflowColumn::values(uint64_t begin, uint64_t end) const {
  Values out;
  out.count = end - begin;
  if (numbers_.empty()) {
    out.type = Physical::kBytes;
    out.offsets = texts_.offsets.data() + begin;
    out.bytes = texts_.bytes.as<char>();
  } else {
    out.type = Physical::kI64;
    out.data = numbers_.data() + begin;
  }
  return out;
}

std::vector<int64_t> rows_of_runs(const RunLengths& lengths, uint64_t rows) {
  const Stream random(0x72756e);
  std::vector<int64_t> out;
  out.reserve(rows);
  for (uint64_t run = 0; out.size() < rows; ++run) {
    const uint64_t length = std::min<uint64_t>(length_of_run(lengths, run, out.size()), rows - out.size());
    const int64_t value = random.between(run, 0, (int64_t{1} << 23) - 1) * 2 + static_cast<int64_t>(run & 1);
    out.insert(out.end(), length, value);
  }
  return out;
}

double SkewedBytes::frequent() const {
  // The entropy falls from equal shares on.
  double low = 1.0 / (rare + 1), high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (entropy(middle, rare) > bits ? low : high) = middle;
  }
  return low;
}

std::vector<SkewedBytes> zipflow_skews() {
  std::vector<SkewedBytes> out;
  for (const double bits : {4.0, 2.0, 1.5, 1.0}) {
    const double least = std::ceil(std::exp2(bits)) - 1;  // rare values that can carry so much
    for (int skew = 0; skew < 4; ++skew) {
      out.push_back({bits, static_cast<uint32_t>(std::lround(least * std::pow(255 / least, skew / 3.0)))});
    }
  }
  return out;
}

std::vector<uint8_t> rows_of_skew(const SkewedBytes& skew, uint64_t rows) {
  const Stream random(0x616e73);
  const auto border = static_cast<uint64_t>(std::ldexp(skew.frequent(), 32));
  std::vector<uint8_t> out(rows);
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t bits = random.bits(i);
    const uint64_t rare = (bits & 0xFFFFFFFF) * skew.rare >> 32;
    out[i] = static_cast<uint8_t>((bits >> 32) < border ? 0 : 1 + rare);
  }
  return out;
}

}  // namespace basalt::gen
