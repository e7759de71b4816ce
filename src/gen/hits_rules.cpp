#include "gen/hits_rules.h"

#include <algorithm>
#include <cctype>

#include "basalt/core/error.h"

namespace basalt::gen {
namespace {

using enum HitContent;
constexpr HitType kNumber = HitType::kNumber, kText = HitType::kText, kTime = HitType::kTime, kDate = HitType::kDate;
constexpr HitLevel kByRow = HitLevel::kRow, kByVisit = HitLevel::kVisit, kByUser = HitLevel::kUser,
                   kByClient = HitLevel::kClientAddress, kBySite = HitLevel::kSite;

// Narrow rules stand before wide ones.
constexpr HitRule kRules[] = {
    // Who, where and what was looked at.
    {"user agent major", kNumber, kMostly, kByUser, 1500, 0, 1, 40},
    {"user agent", kNumber, kMostly, kByUser, 500, 0, 1, 80},
    {"user id", kNumber, kUser},
    {"visitor id", kNumber, kUser},
    {"uniq", kNumber, kWide, kByUser, 2000},
    {"watch id", kNumber, kWide},
    {"hit id", kNumber, kWide},
    {"event id", kNumber, kWide},
    {"hid", kNumber, kWide},
    {"counter class", kNumber, kMostly, kBySite, 9000, 0, -1, 1},
    {"counter id", kNumber, kSite},
    {"site id", kNumber, kSite},
    {"ip network", kNumber, kMostly, kByClient, 0, 0, 1, 4'000'000},
    {"ip", kNumber, kClientAddress},
    {"referer region", kNumber, kMostly, kByRow, 7500, 0, 1, 9000},
    {"url region", kNumber, kMostly, kBySite, 4000, 0, 1, 9000},
    {"region", kNumber, kRegion},
    {"referer category", kNumber, kMostly, kByRow, 8000, 0, 1, 16'000},
    {"url category", kNumber, kMostly, kBySite, 8000, 0, 1, 16'000},
    {"referer hash", kNumber, kRefererHash},
    {"referrer hash", kNumber, kRefererHash},
    {"url hash", kNumber, kAddressHash},
    {"hash id", kNumber, kAddressHash},
    // Where it came from.
    {"social network id", kNumber, kMostly, kByVisit, 9900, 0, 1, 20},
    {"search engine", kNumber, kSearchEngine},
    {"adv engine", kNumber, kAdvertisement},
    {"trafic source", kNumber, kTrafficSource},
    {"traffic source", kNumber, kTrafficSource},
    // The visitor's machine.
    {"window width", kNumber, kWindowWidth},
    {"window height", kNumber, kWindowHeight},
    {"width", kNumber, kScreenWidth},
    {"height", kNumber, kScreenHeight},
    {"depth", kNumber, kMostly, kByUser, 6000, 24, 32, 32},
    {"is mobile", kNumber, kIsMobile},
    {"mobile phone", kNumber, kPhoneMaker},
    {"os", kNumber, kMostly, kByUser, 3000, 2, 3, 90},
    {"flash major", kNumber, kMostly, kByUser, 6500, 11, 0, 10},
    {"net major", kNumber, kMostly, kByUser, 8000, 0, 1, 4},
    {"silverlight 1", kNumber, kMostly, kByUser, 6000, 0, 5, 5},
    {"silverlight 3", kNumber, kMostly, kByUser, 6000, 0, 20'000, 60'000},
    {"major", kNumber, kMostly, kByUser, 5000, 0, 1, 20},
    {"minor", kNumber, kMostly, kByUser, 7000, 0, 1, 9},
    {"code version", kNumber, kMostly, kBySite, 5000, 1601, 0, 1600},
    {"version", kNumber, kMostly, kByUser, 8500, 0, 1, 5},
    {"zone", kNumber, kMostly, kByUser, 4500, -240, -720, 660},
    // The visitor.
    {"age", kNumber, kMostly, kByUser, 5500, 0, 1, 55},
    {"sex", kNumber, kMostly, kByUser, 5500, 0, 1, 2},
    {"income", kNumber, kMostly, kByUser, 6000, 0, 1, 4},
    {"interests", kNumber, kMostly, kByUser, 4500, 0, 1, 32'767},
    {"robotness", kNumber, kMostly, kByUser, 9800, 0, 1, 3},
    // The request.
    {"name", kNumber, kMostly, kByVisit, 4000, -1, 0, 2'000'000'000},
    {"history", kNumber, kMostly, kByRow, 1000, -1, 1, 60},
    {"timing", kNumber, kTiming, kByRow, 5000},
    {"error", kNumber, kMostly, kByRow, 9999, 0, 404, 503},
    {"price", kNumber, kMostly, kByRow, 9990, 0, 1, 500'000},
    {"currency", kNumber, kMostly, kByRow, 9990, 0, 1, 10},
    // Flags: the share is of those that are not set, but for the first four.
    {"good event", kNumber, kMostly, kByRow, 10'000, 1},
    {"java enable", kNumber, kMostly, kByUser, 7200, 1, 0, 0},
    {"cookie enable", kNumber, kMostly, kByUser, 9950, 1, 0, 0},
    {"enable", kNumber, kMostly, kByUser, 9900, 1, 0, 0},
    {"is link", kNumber, kLink, kByRow, 9800, 0, 1, 1},
    {"is refresh", kNumber, kMostly, kByRow, 9200, 0, 1, 1},
    {"is download", kNumber, kMostly, kByRow, 9900, 0, 1, 1},
    {"is not bounce", kNumber, kMostly, kByVisit, 6500, 0, 1, 1},
    {"dont count", kNumber, kMostly, kByRow, 9500, 0, 1, 1},
    {"is", kNumber, kMostly, kByRow, 9700, 0, 1, 1},
    {"has", kNumber, kMostly, kByRow, 9900, 0, 1, 1},
    {"with", kNumber, kMostly, kByRow, 9900, 0, 1, 1},
    {"clid", kNumber, kMostly, kByUser, 9500, 0, 1, 2'000'000},
    {"id", kNumber, kMostly, kByVisit, 5000, 0, 1, 10'000},
    {"", kNumber, kMostly, kByRow, 9000, 0, 1, 100},
    // Texts.
    {"original url", kText, kAddress, kByRow, 6000},
    {"source page", kText, kAddress, kByRow, 9980},
    {"url", kText, kAddress},
    {"uri", kText, kAddress},
    {"referer", kText, kReferer},
    {"referrer", kText, kReferer},
    {"title", kText, kTitle},
    {"phrase", kText, kPhrase},
    {"query", kText, kPhrase},
    {"keyword", kText, kPhrase},
    {"phone model", kText, kPhoneModel},
    {"user agent minor", kText, kVersion, kByUser, 1000},
    {"minor", kText, kVersion, kByUser, 4000},
    {"version", kText, kVersion, kByUser, 1000},
    {"charset", kText, kCharset, kBySite, 100},
    {"language", kText, kLanguage, kByUser, 100},
    {"country", kText, kLanguage, kByClient, 100},
    {"param currency", kText, kCurrency, kByRow, 9990},
    {"currency", kText, kCurrency, kByRow, 0},
    {"color", kText, kColor},
    {"social", kText, kWords, kByVisit, 9900, 0, 0, 30},
    {"openstat", kText, kWords, kByVisit, 9950, 0, 0, 5000},
    {"utm", kText, kWords, kByVisit, 9800, 0, 0, 3000},
    {"params", kText, kWords, kByRow, 9500, 0, 0, 500'000},
    {"param", kText, kWords, kByRow, 9990, 0, 0, 100'000},
    {"tag", kText, kWords, kByVisit, 9950, 0, 0, 1000},
    {"", kText, kWords, kByRow, 9000, 0, 0, 500},
    // Times.
    {"client", kTime, kClientTime},
    {"local", kTime, kClientTime},
    {"", kTime, kEventTime},
    {"", kDate, kEventTime},
};

HitType hit_type(const Field& field) {
  switch (field.type.kind) {
    case TypeKind::kBool:
    case TypeKind::kInt8:
    case TypeKind::kInt16:
    case TypeKind::kInt32:
    case TypeKind::kInt64:
    case TypeKind::kUInt8:
    case TypeKind::kUInt16:
    case TypeKind::kUInt32:
    case TypeKind::kUInt64:
    case TypeKind::kInt128:
    case TypeKind::kFloat32:
    case TypeKind::kFloat64:
    case TypeKind::kDecimal: return HitType::kNumber;
    case TypeKind::kUtf8: return HitType::kText;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampTz:
    case TypeKind::kTime: return HitType::kTime;
    case TypeKind::kDate: return HitType::kDate;
    default: break;
  }
  throw Error(ErrorCode::kUnsupported, "column " + field.name + ": the type " + to_string(field) +
                                           " is not made here; numbers, texts, dates and times are");
}

// Words that a rule asks for, one after the other.
bool has_all(const std::vector<std::string>& words, std::string_view wanted) {
  while (!wanted.empty()) {
    const size_t end = std::min(wanted.find(' '), wanted.size());
    if (std::find(words.begin(), words.end(), wanted.substr(0, end)) == words.end()) return false;
    wanted.remove_prefix(std::min(end + 1, wanted.size()));
  }
  return true;
}

}  // namespace

std::vector<std::string> words_of_name(std::string_view name) {
  enum Kind { kOther, kLower, kUpper, kDigit };
  const auto kind_at = [&](size_t i) {
    if (i >= name.size()) return kOther;
    const auto c = static_cast<unsigned char>(name[i]);
    return std::isdigit(c) ? kDigit : std::isupper(c) ? kUpper : c >= 0x80 || std::islower(c) ? kLower : kOther;
  };
  std::vector<std::string> words;
  bool inside = false;
  for (size_t i = 0; i < name.size(); ++i) {
    const Kind kind = kind_at(i), before = i == 0 ? kOther : kind_at(i - 1);
    if (kind == kOther) {
      inside = false;
      continue;
    }
    const bool follows = inside && (kind == before || (before == kUpper && kind == kLower));
    // Of "URLHash", the H begins a word.
    const bool begins = !follows || (kind == kUpper && kind_at(i + 1) == kLower);
    if (begins) words.emplace_back();
    words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(name[i])));
    inside = true;
  }
  return words;
}

const HitRule& hit_rule(const Field& field) {
  const HitType type = hit_type(field);
  const std::vector<std::string> words = words_of_name(field.name);
  return *std::find_if(std::begin(kRules), std::end(kRules),
                       [&](const HitRule& rule) { return rule.type == type && has_all(words, rule.words); });
}

}  // namespace basalt::gen
