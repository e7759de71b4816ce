#include "gen/hits_rows.h"

#include <algorithm>

#include "gen/hits_planted.h"

namespace basalt::gen {
namespace {

constexpr uint64_t kWhole = uint64_t{1} << 40;
constexpr int64_t kFirstMidnight = 1372636800;  // 2013-07-01, a Monday
constexpr int64_t kDaySeconds = 86400;

// In small tables there are fewer, of kRowsPerSite rows on average.
constexpr uint64_t kMostSites = 6500, kFewestSites = 20, kRowsPerSite = 100;
constexpr uint64_t kSiteIdGap = 38;
// The largest site has so many times 1/(k + kHead) of the rows: about 3 %.
constexpr uint64_t kHead = 5;
constexpr uint64_t kPartRows = 4'000'000;

// A visit ends behind a row with this probability, and always behind the last row of a block: 29 % of the rows begin
// one.
constexpr uint64_t kVisitBlock = 64;
constexpr uint64_t kVisitEnds = chance(0.28);
// How a visit begins: 13 % of all rows come by a search.
constexpr double kBegin = 0.28 + 0.72 / kVisitBlock;
constexpr uint64_t kBySearch = chance(0.13 / kBegin);
constexpr uint64_t kByAdvertisement = kBySearch + chance(kAdvertised.share / kBegin);
constexpr uint64_t kDirectly = kByAdvertisement + chance(0.30);
constexpr uint64_t kLaterDirectly = chance(0.16);  // later pages whose referer is empty: 20 % with those above
constexpr uint64_t kOverMainPages = chance(0.4);
constexpr uint64_t kUntitled = chance(0.15);
constexpr uint64_t kSearchEngines = 90;

// How many there are to choose from, per row: with skewed draws fewer occur. Solved for 18 % of the rows (addresses), 5
// % (titles), 17 % (users), 10 % (addresses of clients) and 6 % (phrases); the planted site has more pages than others.
constexpr double kPagesPerRow = 0.225, kTitlesPerRow = 0.050, kPlantedPagesPerRow = 2.7;
constexpr double kUsersPerRow = 1.212 * kBegin, kAddressesPerRow = 1.158 * 0.17, kPhrasesPerRow = 0.906 * 0.13;

enum Streams : uint64_t {
  kBreaks = 1,
  kVisits,
  kUsers,
  kUserKeys,
  kAddresses,
  kAddressKeys,
  kClocks,
  kLandings,
  kPhrases,
  kPages,
  kGoogles,
  kDetails,
  kSiteIds,
};

uint64_t part_of(double whole, double share) { return std::max<uint64_t>(1, static_cast<uint64_t>(whole * share)); }
uint64_t times_over(uint64_t a, uint64_t b, uint64_t c) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b / c);
}

}  // namespace

HitWorld::HitWorld(uint64_t rows, uint64_t seed)
    : rows_(rows), seed_(seed), parts_(std::max<uint64_t>(1, (rows + kPartRows / 2) / kPartRows)) {
  const auto all = static_cast<double>(rows);
  users_ = part_of(all, kUsersPerRow);
  addresses_ = part_of(all, kAddressesPerRow);
  phrases_ = part_of(all, kPhrasesPerRow);
  google_address_ = chance(kGoogleAddresses.share_of(all));
  google_title_ = chance(kGoogleTitles.share_of(all));

  // Which site is the k-th largest has nothing to do with its number.
  const double planted_share = kPlantedSite.share_of(all);
  const uint64_t count = std::clamp(rows / kRowsPerSite, kFewestSites, kMostSites);
  const Stream ids = stream(kSiteIds);
  std::vector<std::pair<uint64_t, uint64_t>> order(count);
  for (uint64_t i = 0; i < count; ++i) order[i] = {ids.bits(i), i};
  std::sort(order.begin(), order.end());
  std::vector<uint64_t> weights(count);
  uint64_t total = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t site = order[k].second;
    weights[site] = is_planted(site) ? 0 : kWhole / (k + kHead);
    total += weights[site];
  }
  const auto planted = static_cast<uint64_t>(planted_share * static_cast<double>(kWhole));
  uint64_t before = 0;
  sites_.resize(count + 1);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t share = is_planted(i) ? planted : times_over(weights[i], kWhole - planted, total);
    const double site_rows = all * (static_cast<double>(share) / static_cast<double>(kWhole));
    sites_[i].id = is_planted(i) ? kPlantedSiteId
                                 : static_cast<int64_t>(i * kSiteIdGap) +
                                       ids.between(kMostSites + i, 1, static_cast<int64_t>(kSiteIdGap));
    sites_[i].pages = part_of(site_rows, is_planted(i) ? kPlantedPagesPerRow : kPagesPerRow);
    sites_[i].titles = part_of(site_rows, kTitlesPerRow);
    sites_[i].before = before;
    before += share;
  }
  sites_[count].before = kWhole;  // the last site gets what rounding left over

  const double planted_rows = all * planted_share;
  planted_home_ = chance(kPlantedHome.share_of(planted_rows));
  planted_referer_ = chance(kPlantedReferer.share_of(planted_rows));
  planted_links_ = chance(kPlantedLinks.share_of(planted_rows));
  const auto fill = [](Days& days, double in_planted_days) {
    // Saturdays and Sundays are quieter.
    const auto is_planted_day = [](uint32_t day) { return day - kFirstPlantedDay < kPlantedDayCount; };
    std::array<double, kDays> share;
    double others = 0;
    for (uint32_t day = 0; day < kDays; ++day) {
      share[day] = day % 7 >= 5 ? 7 : 10;
      if (!is_planted_day(day)) others += share[day];
    }
    double sum = 0;
    for (uint32_t day = 0; day < kDays; ++day) {
      days[day] = static_cast<uint64_t>(sum * static_cast<double>(kWhole));
      sum += is_planted_day(day) ? in_planted_days / kPlantedDayCount : share[day] / others * (1 - in_planted_days);
    }
    days[kDays] = kWhole;
  };
  fill(days_, kPlantedDays.share);
  fill(planted_days_, kPlantedDays.share_of(planted_rows));
  for (uint64_t i = 0; i < kPlantedUserSessions; ++i)
    planted_blocks_[i] = times_over(rows, 2 * i + 1, 2 * kPlantedUserSessions) / kVisitBlock;
}

HitSequence::HitSequence(const HitWorld& world, uint64_t begin)
    : world_(world),
      breaks_(world.stream(kBreaks)),
      visits_(world.stream(kVisits)),
      users_(world.stream(kUsers)),
      user_keys_(world.stream(kUserKeys)),
      addresses_(world.stream(kAddresses)),
      address_keys_(world.stream(kAddressKeys)),
      clocks_(world.stream(kClocks)),
      landings_(world.stream(kLandings)),
      phrases_(world.stream(kPhrases)),
      pages_(world.stream(kPages)),
      googles_(world.stream(kGoogles)),
      details_(world.stream(kDetails)),
      row_(begin / kVisitBlock * kVisitBlock) {
  if (begin >= world.rows()) return;
  find_site();
  while (row_ < begin) {
    step();
    ++row_;
  }
}

uint64_t HitSequence::part_begin(uint64_t part) const { return times_over(world_.rows_, part, world_.parts_); }
uint64_t HitSequence::site_begin(uint64_t site) const {
  return part_begin_ + times_over(part_end_ - part_begin_, world_.sites_[site].before, kWhole);
}

void HitSequence::find_site() {
  part_ = times_over(row_, world_.parts_, world_.rows_);
  while (part_begin(part_ + 1) <= row_) ++part_;
  part_begin_ = part_begin(part_);
  part_end_ = part_begin(part_ + 1);
  uint64_t low = 0, high = world_.site_count();  // the last site that begins at this row or before it
  while (high - low > 1) {
    const uint64_t middle = (low + high) / 2;
    (site_begin(middle) <= row_ ? low : high) = middle;
  }
  site_ = low;
  site_begin_ = site_begin(site_);
  site_end_ = site_begin(site_ + 1);
}

void HitSequence::enter_site() {
  if (row_ == part_end_) return find_site();
  do {
    ++site_;
    site_begin_ = site_end_;
    site_end_ = site_begin(site_ + 1);
  } while (site_end_ == site_begin_);
}

void HitSequence::start_visit() {
  visit_begin_ = row_;
  visit_ = visits_.bits(row_);
  const auto& planted = world_.planted_blocks_;
  const bool is_planted_user =
      row_ % kVisitBlock == 0 && std::find(planted.begin(), planted.end(), row_ / kVisitBlock) != planted.end();
  user_ = is_planted_user ? kPlantedUserId << 1 : user_keys_.bits(skewed<2>(users_.bits(row_), world_.users_));
  address_ = address_keys_.bits(skewed<2>(addresses_.bits(user_), world_.addresses_));

  const auto& days = world_.is_planted(site_) ? world_.planted_days_ : world_.days_;
  const uint64_t place = times_over(row_ - site_begin_, kWhole, site_end_ - site_begin_);
  const auto day = std::upper_bound(days.begin(), days.end() - 1, place) - days.begin() - 1;
  midnight_ = kFirstMidnight + day * kDaySeconds;
  // The mean of two even draws: most visits around two in the afternoon.
  const uint64_t clock = clocks_.bits(row_);
  const uint64_t noonish = ((clock >> 32) + (clock & 0xFFFFFFFF)) >> 1;
  visit_second_ = (static_cast<int64_t>(noonish * kDaySeconds >> 32) + 7200) % kDaySeconds;

  const uint64_t landing = landings_.bits(row_);
  phrase_ = landing_key_ = 0;
  if (landing < kBySearch) {
    landing_ = HitSource::kSearch;
    phrase_ = 1 + skewed<3>(phrases_.bits(row_), world_.phrases_);
    landing_key_ = page_key::search(skewed<9>(mix(landing), kSearchEngines), phrase_);
  } else if (landing < kDirectly && landing >= kByAdvertisement) {
    landing_ = HitSource::kDirect;
  } else {
    landing_ = landing < kByAdvertisement ? HitSource::kAdvertisement : HitSource::kLink;
    const uint64_t from = skewed<2>(mix(landing), world_.site_count());
    landing_key_ = page_key::page(from, skewed<5>(mix(visit_), world_.site(from).pages / 8 + 1));
  }
}

void HitSequence::step() {
  if (row_ == site_end_) enter_site();
  if (row_ % kVisitBlock == 0 || row_ == site_begin_ || breaks_.bits(row_) < kVisitEnds) start_visit();
  const uint64_t page = pages_.bits(row_), google = googles_.bits(row_), detail = details_.bits(row_);
  const HitSite& site = world_.sites_[site_];
  const bool planted = world_.is_planted(site_);
  if (row_ == visit_begin_) {
    source_ = landing_;
    referer_ = landing_key_;
  } else {
    phrase_ = 0;
    source_ = detail < kLaterDirectly ? HitSource::kDirect : HitSource::kInside;
    referer_ = source_ == HitSource::kDirect ? 0 : url_;
    // Often the way led over one of the site's main pages.
    if (referer_ != 0 && !planted && mix(detail) < kOverMainPages)
      referer_ = page_key::page(site_, page_key::lower(url_) / 16);
  }
  if (planted && phrase_ == 0 && mix(detail) < world_.planted_referer_) {
    source_ = HitSource::kInside;
    referer_ = page_key::page(site_, 1);
  }
  if (planted && mix(page) < world_.planted_home_) {
    url_ = page_key::page(site_, 0);
    title_ = page_key::page(site_, 0);
  } else {
    // The planted second page is one that people come from.
    url_ = page_key::page(site_, (planted ? 2 : 0) + skewed<5>(page, site.pages));
    title_ = page_key::page(site_, skewed<5>(page, site.titles));
  }
  if (google < world_.google_address_) url_ |= page_key::kGoogle;
  const uint64_t about_title = mix(google);
  if (about_title < world_.google_title_) {
    title_ |= page_key::kGoogle;
  } else if (about_title > ~kUntitled) {
    title_ = 0;
  }
}

void HitSequence::next(HitRows& out, size_t count) {
  count = std::min<uint64_t>({count, HitRows::kMost, world_.rows() - std::min(row_, world_.rows())});
  out.count = count;
  for (size_t i = 0; i < count; ++i, ++row_) {
    step();
    out.row[i] = row_;
    out.site[i] = site_;
    out.visit[i] = visit_;
    out.user[i] = user_;
    out.address[i] = address_;
    // Half a minute from page to page; a visit ends at midnight.
    const auto later = static_cast<int64_t>((row_ - visit_begin_) * 30 + pages_.bits(~row_) % 30);
    out.time[i] = midnight_ + std::min(visit_second_ + later, kDaySeconds - 1);
    out.url[i] = url_;
    out.referer[i] = referer_;
    out.title[i] = title_;
    out.phrase[i] = phrase_;
    out.source[i] = source_;
  }
}

}  // namespace basalt::gen
