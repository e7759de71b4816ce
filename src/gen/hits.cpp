// Columns from rows: each rule of hits_rules.h as a loop over a slice of rows.
#include "gen/hits.h"

#include <algorithm>
#include <array>
#include <limits>

#include "basalt/core/error.h"
#include "gen/hits_planted.h"
#include "gen/hits_rows.h"
#include "gen/hits_rules.h"
#include "gen/hits_texts.h"

namespace basalt {

using namespace gen;

namespace gen {
struct HitColumnSource {
  HitRule rule;
  Stream random;
  uint64_t usual;  // draws below it give what is usual
};
}  // namespace gen

struct HitsGenerator::State {
  State(const Schema& given, uint64_t rows, uint64_t seed) : schema(given), world(rows, seed), texts(world) {}

  Schema schema;
  HitWorld world;
  HitTexts texts;
  std::vector<HitColumnSource> sources;  // of the columns
};

namespace {

using HitNumbers = HitRows::Values<int64_t>;

// Shared by all columns of their kind, whatever their names.
constexpr uint64_t kScreenSalt = 0x5c3ee4, kWindowSalt = 0x316d06, kPhoneSalt = 0x9806e, kRegionSalt = 0x4e6104;
constexpr uint64_t kMobileUsers = chance(0.06);
constexpr uint64_t kPhoneModels = 160, kPhoneMakers = 37;
constexpr uint64_t kRegionCount = 9000, kRegionIdGap = 14;
// Windows that fill the screen; the others have any size.
constexpr uint64_t kFullWindows = chance(0.3);
constexpr uint64_t kAdvertisers = 18;

struct HitScreen {
  int64_t width, height;
};
// The first ones more often.
constexpr std::array<HitScreen, 20> kScreens = {{{1366, 768}, {1920, 1080}, {1280, 1024}, {1024, 768},  {1280, 800},
                                                 {1600, 900}, {1440, 900},  {1680, 1050}, {320, 480},   {1152, 864},
                                                 {768, 1024}, {360, 640},   {1360, 768},  {1920, 1200}, {480, 800},
                                                 {1024, 600}, {800, 600},   {540, 960},   {2560, 1440}, {0, 0}}};

const HitScreen& screen_of(uint64_t user) { return kScreens[skewed<2>(mix(user ^ kScreenSalt), kScreens.size())]; }

HitScreen window_of(uint64_t visit, uint64_t user) {
  const uint64_t bits = mix(visit ^ kWindowSalt);
  const HitScreen& screen = screen_of(user);
  if (bits < kFullWindows) return {std::max<int64_t>(screen.width - 17, 0), std::max<int64_t>(screen.height - 120, 0)};
  const auto below = [](uint64_t draw, int64_t most) {
    return static_cast<int64_t>(high_product(draw, static_cast<uint64_t>(most)));
  };
  return {300 + below(mix(bits), 1600), 200 + below(mix(bits + 1), 900)};
}

// 0: no phone.
uint64_t phone_of(uint64_t user) {
  const uint64_t bits = mix(user ^ kPhoneSalt);
  return bits < kMobileUsers ? 1 + skewed<2>(mix(bits), kPhoneModels) : 0;
}

uint64_t hash_of_page(uint64_t key) {
  constexpr uint64_t kHome = page_key::page(HitWorld::kPlantedIndex, 0);
  constexpr uint64_t kSecond = page_key::page(HitWorld::kPlantedIndex, 1);
  return key == kHome ? kPlantedHomeHash : key == kSecond ? kPlantedRefererHash : key == 0 ? 0 : mix(key) >> 1;
}

int64_t traffic_source(HitSource source, uint64_t draw) {
  switch (source) {
    case HitSource::kDirect: return 0;
    case HitSource::kInside: return draw < chance(0.92) ? -1 : 6;
    case HitSource::kLink: return draw < chance(0.8) ? 1 : 4 + static_cast<int64_t>(draw % 6);
    case HitSource::kSearch: return 2;
    case HitSource::kAdvertisement: return 3;
  }
  return 0;
}

const HitRows::Values<uint64_t>& keys_of(const HitRows& rows, HitLevel level) {
  switch (level) {
    case HitLevel::kRow: return rows.row;
    case HitLevel::kVisit: return rows.visit;
    case HitLevel::kUser: return rows.user;
    case HitLevel::kClientAddress: return rows.address;
    case HitLevel::kSite: return rows.site;
  }
  return rows.row;
}

class SliceFiller {
 public:
  SliceFiller(const HitWorld& world, const HitTexts& texts) : world_(world), texts_(texts) {}

  void fill(Column& column, const HitColumnSource& source, const HitRows& rows) {
    switch (source.rule.type) {
      case HitType::kText: texts(column, source, rows); break;
      case HitType::kNumber:
        numbers(source, rows);
        store(column, source, rows);
        break;
      case HitType::kTime:
      case HitType::kDate: times(column, source, rows); break;
    }
    column.length += rows.count;
  }

 private:
  template <typename Value>
  void each(const HitRows& rows, Value value) {
    for (size_t i = 0; i < rows.count; ++i) numbers_[i] = static_cast<int64_t>(value(i));
  }

  void numbers(const HitColumnSource& source, const HitRows& rows) {
    const HitRule& rule = source.rule;
    const Stream& random = source.random;
    const auto& keys = keys_of(rows, rule.level);
    switch (rule.content) {
      case HitContent::kUser: return each(rows, [&](size_t i) { return rows.user[i] >> 1; });
      case HitContent::kSite: return each(rows, [&](size_t i) { return world_.site(rows.site[i]).id; });
      case HitContent::kClientAddress:
        return each(rows, [&](size_t i) { return static_cast<int32_t>(rows.address[i]); });
      case HitContent::kRegion:
        return each(rows, [&](size_t i) {
          return 1 + skewed<3>(mix(rows.address[i] ^ kRegionSalt), kRegionCount) * kRegionIdGap;
        });
      case HitContent::kAddressHash: return each(rows, [&](size_t i) { return hash_of_page(rows.url[i]); });
      case HitContent::kRefererHash: return each(rows, [&](size_t i) { return hash_of_page(rows.referer[i]); });
      case HitContent::kSearchEngine:
        return each(rows, [&](size_t i) {
          return rows.source[i] == HitSource::kSearch ? 1 + page_key::upper(rows.referer[i]) : 0;
        });
      case HitContent::kAdvertisement:
        return each(rows, [&](size_t i) {
          return rows.source[i] == HitSource::kAdvertisement ? 2 + skewed<3>(random.bits(rows.row[i]), kAdvertisers)
                                                             : 0;
        });
      case HitContent::kTrafficSource:
        return each(rows, [&](size_t i) { return traffic_source(rows.source[i], random.bits(rows.row[i])); });
      case HitContent::kLink:
        return each(rows, [&](size_t i) {
          const uint64_t links = world_.is_planted(rows.site[i]) ? world_.planted_links() : ~source.usual;
          return random.bits(rows.row[i]) < links;
        });
      case HitContent::kIsMobile: return each(rows, [&](size_t i) { return phone_of(rows.user[i]) != 0; });
      case HitContent::kPhoneMaker:
        return each(rows, [&](size_t i) {
          const uint64_t phone = phone_of(rows.user[i]);
          return phone == 0 ? 0 : 1 + phone % kPhoneMakers;
        });
      case HitContent::kScreenWidth: return each(rows, [&](size_t i) { return screen_of(rows.user[i]).width; });
      case HitContent::kScreenHeight: return each(rows, [&](size_t i) { return screen_of(rows.user[i]).height; });
      case HitContent::kWindowWidth:
        return each(rows, [&](size_t i) { return window_of(rows.visit[i], rows.user[i]).width; });
      case HitContent::kWindowHeight:
        return each(rows, [&](size_t i) { return window_of(rows.visit[i], rows.user[i]).height; });
      case HitContent::kWide:
        return each(rows, [&](size_t i) {
          const uint64_t bits = random.bits(keys[i]);
          return bits < source.usual ? 0 : mix(bits);
        });
      case HitContent::kTiming:
        return each(rows, [&](size_t i) {
          const uint64_t bits = random.bits(keys[i]);
          return bits < source.usual ? 0 : (mix(bits) >> 48) >> (bits & 15);
        });
      default: {
        const auto others = static_cast<uint64_t>(rule.high - rule.low + 1);
        return each(rows, [&](size_t i) {
          const uint64_t bits = random.bits(keys[i]);
          return bits <= source.usual ? rule.usual : rule.low + static_cast<int64_t>(skewed<3>(mix(bits), others));
        });
      }
    }
  }

  // What does not fit the type becomes its largest or smallest value; wide numbers lose their upper bits instead.
  template <typename T>
  void append(Column& column, const HitColumnSource& source, const HitRows& rows) {
    const size_t at = column.values.size();
    column.values.resize(at + rows.count * sizeof(T));
    T* out = reinterpret_cast<T*>(column.values.data() + at);
    const HitContent content = source.rule.content;
    const bool wide = content == HitContent::kWide || content == HitContent::kUser ||
                      content == HitContent::kClientAddress || content == HitContent::kAddressHash ||
                      content == HitContent::kRefererHash;
    if (wide || sizeof(T) > sizeof(int64_t)) {
      for (size_t i = 0; i < rows.count; ++i) out[i] = static_cast<T>(numbers_[i]);
      return;
    }
    const int64_t least = static_cast<int64_t>(std::numeric_limits<T>::min());
    const int64_t most = sizeof(T) == sizeof(int64_t) ? std::numeric_limits<int64_t>::max()
                                                      : static_cast<int64_t>(std::numeric_limits<T>::max());
    for (size_t i = 0; i < rows.count; ++i) out[i] = static_cast<T>(std::clamp(numbers_[i], least, most));
  }

  // Hundredths behind the point, where the number is not 0.
  template <typename T>
  void append_floats(Column& column, const HitColumnSource& source, const HitRows& rows) {
    for (size_t i = 0; i < rows.count; ++i) {
      const auto hundredths = static_cast<double>(numbers_[i] == 0 ? 0 : source.random.bits(~rows.row[i]) % 100);
      column.values.push(static_cast<T>(static_cast<double>(numbers_[i]) + hundredths / 100));
    }
  }

  void store(Column& column, const HitColumnSource& source, const HitRows& rows) {
    if (column.type.kind == TypeKind::kBool) each(rows, [&](size_t i) { return numbers_[i] != 0; });
    if (column.type.kind == TypeKind::kDecimal) {
      int64_t bound = 1;
      for (int i = 0; i < std::min<int>(column.type.precision, 18); ++i) bound *= 10;
      each(rows, [&](size_t i) { return numbers_[i] % bound; });
    }
    switch (physical_of(column.type)) {
      case Physical::kU8: return append<uint8_t>(column, source, rows);
      case Physical::kU16: return append<uint16_t>(column, source, rows);
      case Physical::kU32: return append<uint32_t>(column, source, rows);
      case Physical::kU64: return append<uint64_t>(column, source, rows);
      case Physical::kI8: return append<int8_t>(column, source, rows);
      case Physical::kI16: return append<int16_t>(column, source, rows);
      case Physical::kI32: return append<int32_t>(column, source, rows);
      case Physical::kI64: return append<int64_t>(column, source, rows);
      case Physical::kI128: return append<__int128>(column, source, rows);
      case Physical::kF32: return append_floats<float>(column, source, rows);
      case Physical::kF64: return append_floats<double>(column, source, rows);
      default: throw Error(ErrorCode::kInternal, "gen hits: a number without a form");
    }
  }

  void times(Column& column, const HitColumnSource& source, const HitRows& rows) {
    constexpr int64_t kDay = 86400;
    const bool shifted = source.rule.content == HitContent::kClientTime;
    // Most visitors have the server's hour, some are up to 11 hours ahead.
    each(rows, [&](size_t i) {
      return rows.time[i] + (shifted ? static_cast<int64_t>(skewed<3>(mix(rows.user[i]), 12)) * 3600 : 0);
    });
    if (column.type.kind == TypeKind::kDate) {
      each(rows, [&](size_t i) { return numbers_[i] / kDay; });
      return append<int32_t>(column, source, rows);
    }
    int64_t units = 1;
    for (int i = 0; i < static_cast<int>(column.type.unit); ++i) units *= 1000;
    const bool of_day = column.type.kind == TypeKind::kTime;
    each(rows, [&](size_t i) { return (of_day ? numbers_[i] % kDay : numbers_[i]) * units; });
    append<int64_t>(column, source, rows);
  }

  template <typename Key, typename Write>
  static void add_texts(Column& column, const HitRows& rows, Key key, Write write) {
    TextAppender out(column);
    for (size_t i = 0; i < rows.count; ++i) {
      const uint64_t of_row = key(i);
      of_row == 0 ? out.add_empty() : out.add([&](char* at) { return write(at, of_row); });
    }
  }

  void texts(Column& column, const HitColumnSource& source, const HitRows& rows) {
    const HitRule& rule = source.rule;
    const auto& keys = keys_of(rows, rule.level);
    const auto drawn = [&](size_t i) {  // 0 where the text is empty
      const uint64_t bits = source.random.bits(keys[i]);
      return bits < source.usual ? 0 : mix(bits) | 1;
    };
    const auto one_of = [&](std::string_view (*name)(uint64_t), uint64_t count) {
      add_texts(column, rows, drawn, [&](char* at, uint64_t bits) {
        const std::string_view text = name(skewed<3>(bits, count));
        return std::copy(text.begin(), text.end(), at);
      });
    };
    switch (rule.content) {
      case HitContent::kAddress:
        return add_texts(
            column, rows, [&](size_t i) { return source.usual > 0 && drawn(i) == 0 ? 0 : rows.url[i]; },
            [&](char* at, uint64_t key) { return texts_.address(at, key); });
      case HitContent::kReferer:
        return add_texts(
            column, rows, [&](size_t i) { return rows.referer[i]; },
            [&](char* at, uint64_t key) { return texts_.referer(at, key); });
      case HitContent::kTitle:
        return add_texts(
            column, rows, [&](size_t i) { return rows.title[i]; },
            [&](char* at, uint64_t key) { return texts_.title(at, key); });
      case HitContent::kPhrase:
        return add_texts(
            column, rows, [&](size_t i) { return rows.phrase[i]; },
            [&](char* at, uint64_t number) { return texts_.phrase(at, number); });
      case HitContent::kPhoneModel:
        return add_texts(
            column, rows, [&](size_t i) { return phone_of(rows.user[i]); },
            [&](char* at, uint64_t phone) { return texts_.words(at, phone); });
      case HitContent::kVersion:
        return add_texts(column, rows, drawn, [&](char* at, uint64_t bits) {
          const uint64_t number = skewed<2>(bits, 120);
          if (number >= 10) *at++ = static_cast<char>('0' + number / 10 % 10);
          *at++ = '.';
          *at++ = static_cast<char>('0' + number % 10);
          return at;
        });
      case HitContent::kCharset: return one_of(charset_name, 4);
      case HitContent::kLanguage: return one_of(language_code, 16);
      case HitContent::kCurrency: return one_of(currency_code, 4);
      case HitContent::kColor: return one_of(color_code, 6);
      default:
        return add_texts(column, rows, drawn, [&](char* at, uint64_t bits) {
          return texts_.words(at, skewed<3>(bits, static_cast<uint64_t>(rule.high)));
        });
    }
  }

  const HitWorld& world_;
  const HitTexts& texts_;
  HitNumbers numbers_;
};

uint64_t number_of_name(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

HitsGenerator::HitsGenerator(const Schema& schema, uint64_t rows, uint64_t seed) {
  if (schema.fields.empty()) throw Error(ErrorCode::kInvalidArgument, "the table has no columns");
  if (rows == 0) throw Error(ErrorCode::kInvalidArgument, "the table needs at least one row");
  state_ = std::make_unique<State>(schema, rows, seed);
  number_fields(state_->schema);
  std::string refused;
  for (const Field& field : state_->schema.fields) {
    try {
      const HitRule& rule = hit_rule(field);
      state_->sources.push_back(
          {rule, state_->world.stream(number_of_name(field.name)), chance(rule.usual_share / 10'000.0)});
    } catch (const Error& error) {
      refused += (refused.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!refused.empty()) throw Error(ErrorCode::kUnsupported, refused);
}

HitsGenerator::~HitsGenerator() = default;

const Schema& HitsGenerator::schema() const { return state_->schema; }
uint64_t HitsGenerator::rows() const { return state_->world.rows(); }

Table HitsGenerator::generate(uint64_t begin, uint64_t end) const {
  end = std::min(end, rows());
  begin = std::min(begin, end);
  Table table;
  table.schema = state_->schema;
  table.rows = end - begin;
  for (const Field& field : table.schema.fields) table.columns.push_back(make_column(field));
  HitSequence sequence(state_->world, begin);
  auto rows = std::make_unique<HitRows>();
  auto filler = std::make_unique<SliceFiller>(state_->world, state_->texts);
  while (begin < end) {
    sequence.next(*rows, std::min<uint64_t>(end - begin, HitRows::kMost));
    for (size_t i = 0; i < table.columns.size(); ++i) filler->fill(table.columns[i], state_->sources[i], *rows);
    begin += rows->count;
  }
  return table;
}

}  // namespace basalt
