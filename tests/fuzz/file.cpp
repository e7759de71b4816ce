// Fuzzes the whole way into a file: postscript, footer, column metadata, streams, values. The input is the file; its
// checksums are computed again, or nothing behind them would ever be reached.
#include "support/crafted_file.h"
#include "support/untrusted.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* front = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> bytes(front, front + size);
  basalt::test::reseal(bytes);
  basalt::test::read_untrusted(bytes);
  return 0;
}
