#include "exec/device/generate/group_settings.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace basalt::device {

namespace {

uint64_t number_from(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

GroupSettings group_settings() {
  GroupSettings settings;
  const char* rung = std::getenv("BASALT_GROUP_RUNG");
  if (rung != nullptr) settings.rung = rung;
  for (const GroupRung one : kGroupRungs) {
    if (settings.rung == to_string(one)) settings.rungs = {one};
  }
  if (settings.rung == "partitions") {
    settings.rungs = {GroupRung::kHash, GroupRung::kWide};
    settings.partitions = 4;
  }
  const uint64_t slots = number_from("BASALT_GROUP_SLOTS");
  if (slots != 0) settings.slots = std::bit_ceil(std::min<uint64_t>(slots, uint64_t{1} << 31));
  const uint64_t hash_bits = number_from("BASALT_GROUP_HASH_BITS");
  if (hash_bits != 0) settings.hash_bits = static_cast<uint32_t>(std::min<uint64_t>(hash_bits, 64));
  return settings;
}

std::string settings_key(const GroupSettings& settings) {
  return settings.rung + "/" + std::to_string(settings.slots) + "/" + std::to_string(settings.hash_bits);
}

}  // namespace basalt::device
