// Fuzzes Arrow IPC as an input: whatever the bytes are, an Error, or batches that can be imported, normalised and
// handed out again.
#include <cstring>

#include "basalt/file/ipc.h"
#include "support/untrusted.h"

namespace {

void import_all(const uint8_t* data, size_t size) {
  ArrowArrayStream stream{};
  const auto reader = [&](void* out, size_t wanted) {
    const size_t count = std::min(wanted, size);
    std::memcpy(out, data, count);
    data += count;
    size -= count;
    return count;
  };
  basalt::open_ipc(reader, "fuzz", &stream);
  const std::unique_ptr<ArrowArrayStream, void (*)(ArrowArrayStream*)> owner(
      &stream, [](ArrowArrayStream* it) { it->release(it); });
  ArrowSchema arrow_schema{};
  if (stream.get_schema(&stream, &arrow_schema) != 0) return;
  const std::unique_ptr<ArrowSchema, void (*)(ArrowSchema*)> schema_owner(&arrow_schema,
                                                                          [](ArrowSchema* it) { it->release(it); });
  const basalt::Schema schema = basalt::import_schema(arrow_schema);
  for (int batch = 0; batch < 64; ++batch) {
    ArrowArray array{};
    if (stream.get_next(&stream, &array) != 0 || array.release == nullptr) return;
    const std::unique_ptr<ArrowArray, void (*)(ArrowArray*)> array_owner(&array,
                                                                         [](ArrowArray* it) { it->release(it); });
    ArrowArray out{};
    basalt::export_batch(basalt::import_batch(array, arrow_schema, schema), &out);
    out.release(&out);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  basalt::test::refusing([&] { import_all(data, size); });
  return 0;
}
