// Files damaged at random by their structure, with checksums that fit: whatever they claim, reading and verifying them
// ends in an error with a sentence or in rows. The fuzz targets do the same for hours and choose by coverage.
#include "support/mutated_file.h"

#include <gtest/gtest.h>

#include <random>

#include "support/untrusted.h"

namespace basalt::test {

namespace {

TEST(Mutation, DamagedFilesAreRefusedOrRead) {
  std::mt19937_64 random(2);
  for (const std::vector<std::byte>& sound : golden_files()) {
    for (int i = 0; i < 200; ++i) {
      std::vector<uint8_t> choices(8 + random() % 120);
      for (uint8_t& choice : choices) choice = static_cast<uint8_t>(random());
      SCOPED_TRACE(i);
      read_untrusted(mutated(sound, choices.data(), choices.size()));
    }
  }
}

}  // namespace

}  // namespace basalt::test
