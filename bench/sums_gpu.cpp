// `select sum(v) from t where v between a and b` on the GPU through the library, over one resident column of learned
// integers, packed integers or decimals: share of the read ceiling, and values per second where a width is so narrow
// that arithmetic decides. About half of the rows pass. Of decimals also `select count(*) from t where v <= b`.
//
//   sums_gpu_bench [--json FILE] [--only TEXT]…     lines whose name holds one of the texts
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "basalt/core/types.h"
#include "codec/galp/scale.h"
#include "core/packed_tile.h"
#include "statements.h"

namespace basalt::bench {
namespace {

constexpr double kEncodedBytes = 1.2e9;
constexpr uint64_t kChunks = 4;  // of a file

uint64_t mixed(uint64_t i) {
  i = (i ^ i >> 30) * 0xBF58476D1CE4E5B9ull;
  i = (i ^ i >> 27) * 0x94D049BB133111EBull;
  return i ^ i >> 31;
}

// One file under as many names as it takes to fill the caches: the device keeps a copy for each.
class Copies {
 public:
  explicit Copies(const MadeFile& made) {
    const std::shared_ptr<const File> one = File::open(made.path());
    const auto bytes = static_cast<double>(one->column(0).encoded_bytes);
    const auto count = static_cast<size_t>(std::ceil(kEncodedBytes / bytes));
    for (size_t i = 0; i < count; ++i) {
      paths_.push_back(made.path() + "." + std::to_string(i));
      std::filesystem::create_symlink(made.path(), paths_.back());
      files_.push_back(File::open(paths_.back()));
    }
  }
  ~Copies() {
    std::error_code ignored;
    for (const std::string& path : paths_) std::filesystem::remove(path, ignored);
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  const std::vector<std::shared_ptr<const File>>& files() const { return files_; }

 private:
  std::vector<std::string> paths_;
  std::vector<std::shared_ptr<const File>> files_;
};

struct Bar {
  double share = 0;   // of the read ceiling, in percent
  double values = 0;  // 10^12 per second
};

class Sums {
 public:
  Sums(double read_gbs, std::vector<std::string> only) : read_gbs_(read_gbs), only_(std::move(only)) {}

  template <typename T, typename F>
  void measure(const std::string& name, TypeKind type, const std::string& tree, const Bar& bar, F&& value,
               const Bar* counted = nullptr) {
    const auto asked = [&](const std::string& text) { return name.find(text) != std::string::npos; };
    if (!only_.empty() && std::none_of(only_.begin(), only_.end(), asked)) return;
    const MadeFile made("basalt_bench_sums.basalt", type, tree, kChunks, T{}, value);
    std::vector<T> sorted;
    for (uint64_t i = 0; i < kMaxChunkRows; i += 61) sorted.push_back(static_cast<T>(value(i)));
    std::sort(sorted.begin(), sorted.end());
    const auto as_literal = [](T v) {
      if constexpr (std::is_floating_point_v<T>)
        return literal(static_cast<double>(v));
      else
        return literal(static_cast<int64_t>(v));
    };
    const Expr low = as_literal(sorted[sorted.size() / 4]);
    const Expr high = as_literal(sorted[sorted.size() / 4 * 3]);
    const Copies copies(made);
    Pipeline pipeline;
    pipeline.files = {copies.files()[0]};
    const Expr v = column(*pipeline.files[0], "v", pipeline.columns);
    pipeline.has_filter = true;
    pipeline.filter = all_of({greater_equal(v, low), less_equal(v, high)});
    Aggregate sum;
    sum.op = AggregateOp::kSum;
    sum.arg = v;
    pipeline.aggregates = {sum};
    measure_statement(name, pipeline, copies, bar);
    if (counted == nullptr) return;
    pipeline.filter = less_equal(v, high);
    pipeline.aggregates = {Aggregate{}};
    measure_statement(name + ", count(*)", pipeline, copies, *counted);
  }

 private:
  void measure_statement(const std::string& name, Pipeline pipeline, const Copies& copies, const Bar& bar) {
    pipeline.files = {copies.files()[0]};
    gpu().backend->drop_cache();
    RunReport report;
    expect_equal(pipeline, on_gpu(), run_pipeline(pipeline, on_gpu(), &report));
    add(name + ": compile", report.compile_ms, "ms");
    pipeline.files = copies.files();
    run_pipeline(pipeline, on_gpu(), &report);
    std::vector<double> kernel;
    for (int i = 0; i < 7; ++i) {
      run_pipeline(pipeline, on_gpu(), &report);
      kernel.push_back(report.kernel_ms);
    }
    const double rows = static_cast<double>(kChunks * kMaxChunkRows) * static_cast<double>(pipeline.files.size());
    add(name + ": share of the read ceiling", 100 * touched_bytes(pipeline) / median(kernel) / 1e6 / read_gbs_, "%",
        bar.share);
    add(name + ": values", rows / median(kernel) / 1e9, "10^12/s", bar.values);
  }

  double read_gbs_;
  std::vector<std::string> only_;
};

template <typename T>
void learned(Sums& sums, const std::string& type_name, TypeKind type, const std::vector<uint32_t>& widths) {
  constexpr struct {
    const char* name;
    double values;
  } kShapes[] = {{"references", 2.5}, {"lines", 1.8}, {"curves", 1.4}};
  for (uint32_t degree = 0; degree < 3; ++degree) {
    for (const uint32_t width : widths) {
      // With noise of a full number of bits the encoder would cut often, and inside of tiles.
      const uint64_t noise = (low_bits(width) + 1) / 8 * 7;
      const Bar bar = width >= 16 ? Bar{75, 0} : Bar{0, kShapes[degree].values};
      sums.measure<T>("l3 " + type_name + ", " + kShapes[degree].name + ", " + std::to_string(width) + " bits", type,
                      "l3", bar, [&](uint64_t i) {
                        const uint64_t x = i % 8192;
                        return (degree == 0 ? 0 : degree == 1 ? i * 64 : x * x / 4) + mixed(i) % noise;
                      });
    }
  }
}

// The given number or one soon behind it, as a decimal that both pairs which the encoder takes here decode alike: it is
// no exception under either.
template <typename T>
T decimal(uint64_t number, uint32_t width) {
  const auto one = galp::Scale<T>::of(sizeof(T) == 8 ? galp::Pair{3, 0} : galp::Pair{1, 0});
  const auto other = galp::Scale<T>::of(sizeof(T) == 8 ? galp::Pair{8, 5} : galp::Pair{7, 6});
  for (;; ++number) {
    const auto d = static_cast<galp::IntOf<T>>(number & low_bits(width));
    const T value = galp::decode<T>(d, one);
    if (static_cast<T>(d) > other.limit || galp::decode<T>(d, other) == value) return value;
  }
}

template <typename T>
void decimals(Sums& sums, const std::string& type_name, TypeKind type, const std::vector<uint32_t>& widths) {
  for (const uint32_t exceptions : {0u, 10u}) {
    for (const uint32_t width : widths) {
      const std::string name =
          "galp " + type_name + ", " + std::to_string(exceptions) + " exceptions, " + std::to_string(width) + " bits";
      const Bar counted = width >= 12 ? Bar{80, 0} : Bar{0, 2.5};
      sums.measure<T>(
          name, type, "galp(packed)", width >= 16 ? Bar{75, 0} : Bar{},
          [&](uint64_t i) {
            const bool is_exception = exceptions != 0 && i % (kTileRows / exceptions) == 7;
            return is_exception ? static_cast<T>(std::sin(static_cast<T>(i))) : decimal<T>(mixed(i), width);
          },
          &counted);
    }
  }
}

int run(int argc, char** argv) {
  if (gpu().backend == nullptr) {
    std::fprintf(stderr, "no GPU: %s\n", gpu().reason.c_str());
    return 1;
  }
  const char* json = nullptr;
  std::vector<std::string> only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
    if (std::strcmp(argv[i], "--only") == 0) only.emplace_back(argv[i + 1]);
  }
  const GpuBandwidth bandwidth = gpu().backend->measure_bandwidth();
  add("ceiling: device read", bandwidth.read_gbs, "GB/s");
  Sums sums(bandwidth.read_gbs, std::move(only));
  learned<uint32_t>(sums, "u32", TypeKind::kUInt32, {4, 8, 12, 16, 20, 24});
  learned<int64_t>(sums, "i64", TypeKind::kInt64, {8, 16, 24});
  for (const uint32_t width : {8u, 16u, 24u}) {
    sums.measure<int32_t>("packed i32, " + std::to_string(width) + " bits", TypeKind::kInt32, "packed",
                          width >= 16 ? Bar{75, 0} : Bar{}, [&](uint64_t i) { return mixed(i) & low_bits(width); });
  }
  decimals<double>(sums, "double", TypeKind::kFloat64, {8, 12, 16, 24, 32});
  decimals<float>(sums, "float", TypeKind::kFloat32, {8, 12, 16, 20});
  if (json != nullptr) write_json("sums_gpu", json);
  return 0;
}

}  // namespace
}  // namespace basalt::bench

int main(int argc, char** argv) { return basalt::bench::run_or_say_why(basalt::bench::run, argc, argv); }
