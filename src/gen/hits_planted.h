// What queries over web logs ask for by value, and how often `gen hits` makes it. A share holds in large tables; a
// small table gets `least_rows` of it, as far as that fits, so that queries that leave out their first thousand groups
// still find some.
#pragma once

#include <algorithm>
#include <cstdint>

namespace basalt::gen {

// Draws below it happen with this probability.
constexpr uint64_t chance(double share) {
  return share >= 1 ? ~uint64_t{0} : static_cast<uint64_t>(share * 18446744073709551616.0);
}

struct Planted {
  double share;
  double least_rows;
  constexpr double share_of(double rows) const {
    return std::min(0.5, std::max(share, least_rows / std::max(rows, 1.0)));
  }
};

// Of all rows.
constexpr Planted kPlantedSite = {0.0075, 6000};
constexpr Planted kGoogleAddresses = {0.0002, 100};  // "google" in the address, in half of them as ".google."
constexpr Planted kGoogleTitles = {0.001, 150};      // "Google" in the title
constexpr Planted kAdvertised = {0.0063, 0};         // came by an advertisement
constexpr uint64_t kPlantedUserSessions = 8;         // whatever the number of rows

// Of the rows of that site.
constexpr Planted kPlantedHome = {0.2, 0};         // of its first page
constexpr Planted kPlantedReferer = {0.08, 1000};  // of those that come from its second page
constexpr Planted kPlantedDays = {0.06, 2900};     // of its rows on two days in the middle of the month
constexpr Planted kPlantedLinks = {0.06, 3000};    // of clicks on links that lead away

constexpr int64_t kPlantedSiteId = 62;
constexpr uint64_t kPlantedUserId = 435090932899640449;
constexpr uint64_t kPlantedHomeHash = 2868770270353813622;
constexpr uint64_t kPlantedRefererHash = 3594120000172545465;
constexpr uint32_t kFirstPlantedDay = 13;  // the 14th, and the day after it
constexpr uint32_t kPlantedDayCount = 2;

}  // namespace basalt::gen
