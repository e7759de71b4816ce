// What `gen hits` puts into a column: decided by its type and the words of its name, by the first rule of a table that
// fits. The last rules fit every name, so that any table of plain types can be filled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "basalt/core/types.h"

namespace basalt::gen {

enum class HitType : uint8_t { kNumber, kText, kTime, kDate };

enum class HitContent : uint8_t {
  // Numbers that belong to the row's story.
  kUser,
  kSite,
  kClientAddress,
  kRegion,
  kAddressHash,
  kRefererHash,
  kSearchEngine,
  kAdvertisement,
  kTrafficSource,
  kLink,
  kIsMobile,
  kPhoneMaker,
  kScreenWidth,
  kScreenHeight,
  kWindowWidth,
  kWindowHeight,
  // Numbers by distribution.
  kMostly,  // one value, or another one from `low` to `high`, small ones more often
  kWide,    // all bits of the type are random
  kTiming,  // milliseconds: powers of two are equally likely
  // Texts.
  kAddress,
  kReferer,
  kTitle,
  kPhrase,
  kPhoneModel,
  kVersion,   // "12.4"
  kCharset,   // one of few
  kLanguage,  //
  kCurrency,  //
  kColor,     //
  kWords,     // `high` different ones
  // Times; dates are the day of the event.
  kEventTime,
  kClientTime,  // shifted by hours that depend on the user
};

// Rows that share one have the same value.
enum class HitLevel : uint8_t { kRow, kVisit, kUser, kClientAddress, kSite };

struct HitRule {
  std::string_view words;  // all of them are in the column's name, in any order
  HitType type;
  HitContent content;
  HitLevel level = HitLevel::kRow;
  uint32_t usual_share = 0;  // in 10,000: rows with `usual`, or with an empty text
  int64_t usual = 0;
  int64_t low = 0, high = 0;
};

// "RefererRegionID", "referer_region_id": referer, region, id.
std::vector<std::string> words_of_name(std::string_view name);
// Throws Error(kUnsupported) where the type is not one of numbers, texts, dates and times.
const HitRule& hit_rule(const Field& field);

}  // namespace basalt::gen
