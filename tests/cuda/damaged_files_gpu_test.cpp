// Files that are damaged by their structure, with checksums that fit, decoded on the device: what passes validation
// ends in an error or in rows, and leaves the device fit for sound files. Under compute-sanitizer it shows that no
// kernel leaves its streams.
#include <random>

#include "cuda/gpu.h"
#include "support/hostile_files.h"
#include "support/mutated_file.h"
#include "support/untrusted.h"

namespace basalt::test {

namespace {

// How many arrays reached a kernel; `guard` runs each.
template <typename Guard>
uint64_t decode_all(const std::vector<std::byte>& bytes, Guard&& guard) {
  uint64_t decoded = 0;
  Buffer copy;
  copy.append(bytes.data(), bytes.size());
  const auto file = File::open(memory_source(std::move(copy), "damaged"));
  for (uint32_t field = 0; field < file->fields().size(); ++field) {
    for (uint32_t chunk = 0; chunk < file->chunks().size(); ++chunk) {
      guard([&] {
        const EncodedChunk encoded = file->read_chunk(field, chunk);
        if (encoded.root.codec == nullptr || !gpu().backend->why_not_decode(encoded.root).empty()) return;
        // As `verify` does: what would take too much is not asked for.
        const DataType& type = file->fields()[field]->type;
        if (decoded_bytes(encoded.root, type, {}) > kDecodedLimit + encoded_bytes(encoded.root)) return;
        ++decoded;
        gpu().backend->decode(encoded.root, type);
      });
    }
  }
  return decoded;
}

void decode_damaged(uint64_t seed, int files_each) {
  std::mt19937_64 random(seed);
  uint64_t decoded = 0;
  for (const std::vector<std::byte>& sound : golden_files()) {
    for (int i = 0; i < files_each; ++i) {
      std::vector<uint8_t> choices(8 + random() % 40);
      for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
      SCOPED_TRACE(i);
      const std::vector<std::byte> damaged = mutated(sound, choices.data(), choices.size());
      refusing([&] { decoded += decode_all(damaged, [](auto&& body) { refusing(body); }); });
    }
  }
  EXPECT_GT(decoded, 0u);
  for (const std::vector<std::byte>& sound : golden_files()) {
    EXPECT_NO_THROW(decode_all(sound, [](auto&& body) { body(); }));
  }
}

TEST(GpuDamagedFiles, EndInAnErrorOrInRows) {
  BASALT_NEEDS_GPU();
  decode_damaged(4, 40);
}

TEST(GpuDamagedFiles, HostileFilesEndInAnErrorOrInRows) {
  BASALT_NEEDS_GPU();
  for (const HostileFile& hostile : hostile_files()) {
    SCOPED_TRACE(hostile.name);
    refusing([&] { decode_all(hostile.make(), [](auto&& body) { refusing(body); }); });
  }
}

TEST(GpuSmall, DamagedFiles) {
  BASALT_NEEDS_GPU();
  decode_damaged(5, 6);
}

}  // namespace

}  // namespace basalt::test
