// Random numbers without state: a number is a hash of (stream, counter). Streams are told apart by table and column.
#pragma once

#include <cstdint>
#include <string>

namespace basalt::gen {

// The finaliser of SplitMix64, a bijection of 64 bits whose outputs pass BigCrush on consecutive counters.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Stream {
 public:
  constexpr explicit Stream(uint64_t number) : key_(mix(number * 0x9e3779b97f4a7c15u + 0x6a09e667f3bcc909u)) {}

  constexpr uint64_t bits(uint64_t counter) const { return mix(key_ + (counter + 1) * 0x9e3779b97f4a7c15u); }
  // Uniform in [low, high].
  constexpr int64_t between(uint64_t counter, int64_t low, int64_t high) const {
    const auto range = static_cast<unsigned __int128>(high - low + 1);
    return low + static_cast<int64_t>((range * bits(counter)) >> 64);
  }
  // Letters, digits, comma and blank: [shortest, longest] characters.
  std::string text(uint64_t counter, int64_t shortest, int64_t longest) const {
    static constexpr char kLetters[] = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,";
    const Stream inner(bits(counter));
    std::string out(static_cast<size_t>(inner.between(0, shortest, longest)), ' ');
    for (size_t i = 0; i < out.size(); ++i) out[i] = kLetters[inner.bits(i + 1) & 63];
    return out;
  }

 private:
  uint64_t key_;
};

}  // namespace basalt::gen
