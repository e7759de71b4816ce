// Fuzzes SQL over damaged files; the input is that of `structure`.
#include <stdlib.h>

#include "support/mutated_file.h"
#include "support/untrusted_sql.h"

namespace {

// A folder for the one file that is queried, removed at the end.
struct Scratch {
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "basalt-fuzz-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

basalt::Session& session() {
  static basalt::Session instance([] {
    basalt::SessionOptions options;
    options.device = basalt::Device::kCpu;
    options.threads = 1;
    options.memory_limit = 256 << 20;
    return options;
  }());
  return instance;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static const Scratch scratch;
  const auto& files = basalt::test::golden_files();
  basalt::test::query_untrusted(session(), (scratch.folder / "a.basalt").string(),
                                basalt::test::mutated(files[data[0] % files.size()], data + 1, size - 1));
  return 0;
}
