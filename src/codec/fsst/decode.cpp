// From codes to rows. A tile's codes are read as one: rows follow each other in both, so their borders do not matter.
#include <array>
#include <cstring>

#include "codec/checks.h"
#include "codec/fsst/fsst.h"
#include "codec/fsst/symbols.h"
#include "codec/strings/symbol_automaton.h"

namespace basalt {

namespace {

class FsstBytesReader final : public BytesReader {
 public:
  explicit FsstBytesReader(const NodeView& node)
      : count_(node.count),
        tables_(node.streams[fsst::kTables].data()),
        starts_(stream_as<uint64_t>(node, fsst::kStarts)),
        codes_(stream_as<uint8_t>(node, fsst::kCodes)),
        code_lengths_(open_reader(node.children[fsst::kCodeLengths])) {
    fsst::Parameters params;
    std::memcpy(&params, node.params.data(), sizeof(params));
    table_shift_ = params.table_shift;
  }

  // Nothing shorter than an escape, nothing longer than the longest symbol.
  bool lengths_fit(uint32_t tile, std::span<const uint32_t> lengths) const override {
    uint64_t plain = 0;
    for (const uint32_t length : lengths) plain += length;
    const uint64_t codes = starts_[tile + 1] - starts_[tile];
    return codes <= 2 * plain && plain <= codes * fsst::kMaxSymbolBytes;
  }
  void decode_tile(uint32_t tile, std::span<const uint32_t> lengths, Buffer& out) override {
    uint64_t plain = 0;
    for (const uint32_t length : lengths) plain += length;
    decode(tile, starts_[tile], starts_[tile + 1] - starts_[tile], plain, out);
  }
  void decode_row(uint32_t tile, uint32_t row, std::span<const uint32_t> lengths, Buffer& out) override {
    load_ends(tile);
    const uint64_t before = row == 0 ? 0 : ends_[row - 1];
    decode(tile, starts_[tile] + before, ends_[row] - before, lengths[row], out);
  }

  // A row's codes move the automaton by a symbol at a time; nothing is decoded, and a row that is settled is left. Long
  // rows need no care: their pieces' codes follow each other.
  bool test(uint32_t tile, std::span<const uint32_t> lengths, const std::shared_ptr<const Automaton>& test,
            uint8_t* out) override {
    load_ends(tile);
    load_table(tile);
    const strings::SymbolAutomaton& automaton = automata_.get(test, [&] {
      return strings::SymbolAutomaton(test, fsst::kEscape, [&](uint32_t code) {
        return std::string_view(reinterpret_cast<const char*>(&table_.values[code]), table_.lengths[code]);
      });
    });
    const uint8_t* code = codes_ + starts_[tile];
    const uint8_t* begin = code;
    bool beyond = false;  // the table
    for (size_t row = 0; row < lengths.size(); ++row) {
      const uint8_t* end = begin + ends_[row];
      uint8_t state = test->start();
      while (code < end && !test->settled(state)) {
        if (*code != fsst::kEscape) {
          beyond = beyond | (table_.lengths[*code] == 0);
          state = automaton.next(state, *code++);
        } else {
          if (code + 1 < end) state = test->next(state, code[1]);
          mark_corrupt(code + 1 == end || table_.escape_free);
          code += 2;
        }
      }
      code = end;
      out[row] = test->accepts(state) ? 1 : 0;
    }
    mark_corrupt(beyond);
    return true;
  }

 private:
  void decode(uint32_t tile, uint64_t first, uint64_t count, uint64_t plain, Buffer& out) {
    static_assert(Buffer::kSlack >= fsst::kDecodeSlack);
    load_table(tile);
    const size_t at = out.size();
    // Lengths of a damaged file may ask for anything.
    const bool fits = plain <= count * fsst::kMaxSymbolBytes;
    out.resize(at + plain);
    if (plain == 0) {
      mark_corrupt(count != 0);
      return;
    }
    auto* to = out.as<uint8_t>() + at;
    if (fits && fsst::decode_codes(table_, codes_ + first, count, to, plain)) return;
    mark_corrupt(true);
    std::memset(to, 0, plain);
  }
  void load_table(uint32_t tile) {
    const uint32_t table = tile >> table_shift_;
    if (table == loaded_table_) return;
    uint32_t start = 0;
    std::memcpy(&start, tables_ + table * sizeof(uint32_t), sizeof(start));
    table_ = fsst::DecodeTable(fsst::load_table(tables_ + start));
    loaded_table_ = table;
    automata_ = {};
  }
  // Where each row's codes end in the tile; all at the tile's beginning, and the array marked, if they do not add up.
  void load_ends(uint32_t tile) {
    if (tile == loaded_ends_) return;
    loaded_ends_ = tile;
    std::array<uint32_t, kTileRows> lengths;
    code_lengths_->decode_tile(tile, lengths.data());
    uint64_t end = 0;
    const uint32_t rows = rows_in_tile(count_, tile);
    for (uint32_t row = 0; row < rows; ++row) ends_[row] = end += lengths[row];
    const bool fits = end == starts_[tile + 1] - starts_[tile];
    mark_corrupt(!fits || code_lengths_->corrupt());
    if (!fits) ends_.fill(0);
  }

  uint64_t count_;
  const std::byte* tables_;
  const uint64_t* starts_;
  const uint8_t* codes_;
  std::unique_ptr<Reader> code_lengths_;
  uint32_t table_shift_ = 0;
  fsst::DecodeTable table_;
  uint32_t loaded_table_ = ~0u;
  strings::PerAutomaton<strings::SymbolAutomaton> automata_;  // over the loaded table
  std::array<uint64_t, kTileRows> ends_;
  uint32_t loaded_ends_ = ~0u;
};

}  // namespace

std::unique_ptr<BytesReader> FsstCodec::open_bytes(const NodeView& node) const {
  return std::make_unique<FsstBytesReader>(node);
}

}  // namespace basalt
