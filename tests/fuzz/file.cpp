// Fuzzes the whole way into a file: postscript, footer, column metadata, streams, values. The input is the file.
#include "basalt/core/error.h"
#include "basalt/file/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  basalt::Buffer bytes;
  bytes.append(data, size);
  try {
    const auto file = basalt::File::open(basalt::memory_source(std::move(bytes), "fuzz"));
    for (uint32_t column = 0; column < file->schema().fields.size(); ++column) {
      for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
        try {
          file->decode_column(column, chunk);
        } catch (const basalt::Error&) {
        }
      }
    }
  } catch (const basalt::Error&) {
  }
  return 0;
}
