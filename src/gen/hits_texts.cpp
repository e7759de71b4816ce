#include "gen/hits_texts.h"

#include <charconv>
#include <cstring>
#include <iterator>

namespace basalt::gen {
namespace {

constexpr std::string_view kLatinConsonants = "bcdfghklmnprstvz", kLatinVowels = "aeiou";
// Two bytes each.
constexpr std::string_view kCyrillicConsonants = "бвгдзклмнпрстфхш", kCyrillicVowels = "аеиоу";
constexpr std::array<std::string_view, 8> kDomains = {".ru", ".ru", ".ru", ".com", ".ru", ".net", ".org", ".info"};
constexpr std::array<std::string_view, 6> kEndings = {".html", "", "/", ".php", ".htm", "/index.html"};

constexpr uint64_t kPhraseStream = 100, kLatinStream = 101, kCyrillicStream = 102;

char* put_text(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}
char* put_number(char* at, uint64_t number) { return std::to_chars(at, at + 20, number).ptr; }
char* put_hex(char* at, uint64_t bits) {
  for (uint32_t i = 0; i < 16; ++i, bits >>= 4) *at++ = "0123456789abcdef"[bits & 15];
  return at;
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
    } else {
      out += '%';
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
      out += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
    }
  }
  return out;
}

// Word `number`, of two to four syllables; the first two tell it from the others.
std::string make_word(const Stream& random, uint64_t number, bool latin) {
  const std::string_view consonants = latin ? kLatinConsonants : kCyrillicConsonants;
  const std::string_view vowels = latin ? kLatinVowels : kCyrillicVowels;
  const size_t width = latin ? 1 : 2;
  std::string word;
  const auto add = [&](std::string_view letters, uint64_t which) { word += letters.substr(which * width, width); };
  uint64_t rest = number;
  const uint64_t bits = random.bits(number), syllables = 2 + bits % 3;
  for (uint64_t i = 0; i < syllables; ++i) {
    const uint64_t choice = i < 2 ? rest % 80 : (bits >> (8 + 8 * i)) % 80;
    rest /= 80;
    add(consonants, choice / 5);
    add(vowels, choice % 5);
  }
  if ((bits >> 40) % 2 == 0) add(consonants, (bits >> 41) % 16);
  return word;
}

}  // namespace

template <size_t N>
char* HitTexts::Word<N>::put(char* at) const {
  std::memcpy(at, text.data(), N);
  return at + length;
}

HitTexts::Vocabulary HitTexts::make_vocabulary(const Stream& random, bool latin) const {
  Vocabulary out;
  const auto set = [](auto& word, const std::string& text) {
    word.text.fill(' ');
    std::memcpy(word.text.data(), text.data(), text.size());
    word.length = static_cast<uint8_t>(text.size());
  };
  for (uint64_t i = 0; i < kWords; ++i) {
    const std::string word = make_word(random, i, latin);
    set(out.plain[i], word);
    set(out.encoded[i], percent_encoded(word));
  }
  return out;
}

HitTexts::HitTexts(const HitWorld& world) : details_(world.stream(kPhraseStream)) {
  vocabularies_.push_back(make_vocabulary(world.stream(kLatinStream), true));
  vocabularies_.push_back(make_vocabulary(world.stream(kCyrillicStream), false));
  const auto& latin = vocabularies_[0].plain;
  for (uint64_t site = 0; site < world.site_count(); ++site) {
    const uint64_t bits = details_.bits(site);
    char host[80];
    char* at = bits % 3 == 0 ? put_text(host, "www.") : host;
    at = latin[site % kWords].put(at);
    if (site >= kWords) at = latin[kWords - 1 - site / kWords].put(put_text(at, "-"));
    at = put_text(at, kDomains[(bits >> 8) % kDomains.size()]);
    hosts_.emplace_back(host, at);
  }
}

char* HitTexts::address(char* at, uint64_t key) const {
  const uint64_t site = page_key::upper(key), page = page_key::lower(key);
  at = put_text(put_text(at, "http://"), hosts_[site % hosts_.size()]);
  *at++ = '/';
  if (page != 0) {
    const uint64_t bits = details_.bits(key & ~page_key::kGoogle);
    const auto& latin = vocabularies_[0].plain;
    // A section of the site, then words of the page, then its number, which tells it from the others.
    at = latin[(site * 7 + skewed<2>(bits, 12)) % kWords].put(at);
    *at++ = '/';
    for (uint64_t i = 0; i < (bits >> 8) % 4; ++i) {
      at = latin[(bits >> (10 + 11 * i)) % kWords].put(at);
      *at++ = i % 2 == 0 ? '-' : '_';
    }
    at = put_number(at, page);
    at = put_text(at, kEndings[(bits >> 44) % kEndings.size()]);
    const uint64_t more = mix(bits);
    if (more % 5 < 3) {
      at = put_number(put_text(at, "?page="), 1 + skewed<2>(more, 40));
      at = put_number(put_text(at, "&cat="), (more >> 20) % 1000);
      if (more % 5 < 2) at = put_hex(put_text(at, "&session="), mix(more));
    }
  }
  if ((key & page_key::kGoogle) != 0)
    at = put_text(at, mix(key) % 2 == 0 ? "#from=google" : "#http://www.google.com/search");
  return at;
}

// The first two or three words are the number, others follow.
template <typename Put>
char* HitTexts::phrase_words(char* at, uint64_t number, Put put) const {
  const uint64_t bits = details_.bits(~number);
  const Vocabulary& words = vocabularies_[bits % 10 < 7 ? 1 : 0];
  at = put(at, words, number % kWords);
  for (uint64_t rest = number / kWords; rest > 0; rest /= kWords) at = put(at, words, rest % kWords);
  for (uint64_t i = 0; i < (bits >> 8) % 4; ++i) at = put(at, words, skewed<2>(mix(bits + i), kWords));
  return at - 1;  // the separator behind the last one
}

char* HitTexts::phrase(char* at, uint64_t number) const {
  return phrase_words(at, number, [](char* to, const Vocabulary& words, uint64_t word) {
    to = words.plain[word].put(to);
    *to++ = ' ';
    return to;
  });
}

char* HitTexts::referer(char* at, uint64_t key) const {
  if (!page_key::is_search(key)) return address(at, key);
  const uint64_t engine = page_key::upper(key);
  at = put_text(at, "http://search.");
  at = vocabularies_[0].plain[engine].put(at);
  at = put_text(at, engine % 3 == 0 ? ".ru/find?text=" : ".com/search?q=");
  at = phrase_words(at, page_key::lower(key), [](char* to, const Vocabulary& words, uint64_t word) {
    to = words.encoded[word].put(to);
    *to++ = '+';
    return to;
  });
  return put_number(put_text(at, "&lr="), details_.bits(key) % 300);
}

char* HitTexts::title(char* at, uint64_t key) const {
  const uint64_t site = page_key::upper(key), number = page_key::lower(key);
  at = phrase_words(at, site << 24 ^ number, [](char* to, const Vocabulary& words, uint64_t word) {
    to = words.plain[word].put(to);
    *to++ = ' ';
    return to;
  });
  at = put_text(put_text(at, " - "), hosts_[site % hosts_.size()]);
  if ((key & page_key::kGoogle) != 0) at = put_text(at, " | Google");
  return at;
}

char* HitTexts::words(char* at, uint64_t number) const {
  const auto& latin = vocabularies_[0].plain;
  at = latin[number % kWords].put(at);
  if (number >= kWords) at = latin[number / kWords % kWords].put(put_text(at, "_"));
  return at;
}

std::string_view charset_name(uint64_t number) {
  static constexpr std::string_view kNames[] = {"utf-8", "windows-1251", "koi8-r", "iso-8859-1"};
  return kNames[number % std::size(kNames)];
}
std::string_view language_code(uint64_t number) {
  static constexpr std::string_view kCodes[] = {"ru", "en", "uk", "be", "kk", "de", "tr", "fr",
                                                "es", "it", "pl", "lv", "lt", "et", "zh", "ja"};
  return kCodes[number % std::size(kCodes)];
}
std::string_view currency_code(uint64_t number) {
  static constexpr std::string_view kCodes[] = {"RUB", "USD", "EUR", "UAH"};
  return kCodes[number % std::size(kCodes)];
}
std::string_view color_code(uint64_t number) {
  static constexpr std::string_view kCodes[] = {"5", "T", "E", "D", "g", "o"};
  return kCodes[number % std::size(kCodes)];
}

}  // namespace basalt::gen
