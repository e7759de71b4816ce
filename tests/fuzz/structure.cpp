// Fuzzes files by their structure: the first byte picks a golden file, the rest chooses what changes in its footer, its
// metadata, its encoding trees (trees that no codec accepts among them) and its streams. Checksums always fit.
#include "support/mutated_file.h"
#include "support/untrusted.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto& files = basalt::test::golden_files();
  basalt::test::read_untrusted(basalt::test::mutated(files[data[0] % files.size()], data + 1, size - 1));
  return 0;
}
