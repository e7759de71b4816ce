// Fuzzes Arrow IPC as an input: whatever the bytes are, an Error, or batches that can be imported and handed out again.
#include "support/untrusted.h"
#include "support/untrusted_ipc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  basalt::test::refusing([&] { basalt::test::import_untrusted(bytes); });
  return 0;
}
