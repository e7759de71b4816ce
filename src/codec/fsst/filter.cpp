// What a test of strings becomes over codes: for each symbol table a table whose symbols are the stored bytes. States
// that are not settled come first, then each of them again as it waits for the byte behind an escape, then the settled
// ones, then the one that only damage leads to.
#include <algorithm>
#include <cstring>

#include "codec/checks.h"
#include "codec/device_names.h"
#include "codec/fsst/fsst.h"
#include "codec/fsst/symbols.h"
#include "codec/strings/make_table.h"

namespace basalt {

namespace {

void append_code_table(Buffer& out, const Automaton& test, const fsst::DecodeTable& symbols) {
  constexpr uint32_t kBytes = strings::kByteSymbols;
  const uint32_t open = test.first_settled();
  const uint32_t settled = 2 * open;
  const uint32_t damaged = settled + test.states() - open;
  const auto number = [&](uint8_t state) { return static_cast<uint8_t>(state < open ? state : state + open); };
  strings::FilterTableHead& head = strings::append_table(out, damaged + 1, kBytes, [&](uint8_t* next) {
    for (uint32_t state = 0; state < open; ++state) {
      const auto own = static_cast<uint8_t>(state);
      for (uint32_t code = 0; code < fsst::kEscape; ++code) {
        const std::string_view text(reinterpret_cast<const char*>(&symbols.values[code]), symbols.lengths[code]);
        next[state * kBytes + code] = text.empty() ? static_cast<uint8_t>(damaged) : number(test.run(own, text));
      }
      next[state * kBytes + fsst::kEscape] = static_cast<uint8_t>(symbols.escape_free ? damaged : open + state);
      for (uint32_t byte = 0; byte < kBytes; ++byte) {
        next[(open + state) * kBytes + byte] = number(test.next(own, static_cast<uint8_t>(byte)));
      }
    }
    for (uint32_t state = settled; state <= damaged; ++state) {
      std::memset(next + state * kBytes, static_cast<int>(state), kBytes);
    }
  });
  head.start = number(test.start());
  head.first_settled = settled;
  for (uint32_t state = 0; state < test.states(); ++state) {
    const auto own = static_cast<uint8_t>(state);
    if (test.accepts(own)) strings::set_bit(head.accepts, number(own));
  }
  for (uint32_t state = open; state < settled; ++state) strings::set_bit(head.faults, state);
  strings::set_bit(head.faults, damaged);
}

// Of an array that did not pass validate(), too.
uint32_t table_count(const NodeView& node) {
  fsst::Parameters params;
  if (node.params.size() != sizeof(params)) return 0;
  std::memcpy(&params, node.params.data(), sizeof(params));
  return fsst::table_count(tile_count(node.count), std::min<uint32_t>(params.table_shift, fsst::kMaxTableShift));
}

class CodesAlphabet final : public TextAlphabet {
 public:
  explicit CodesAlphabet(const NodeView& node) {
    const auto* starts = stream_as<uint32_t>(node, fsst::kTables);
    const uint32_t tables = table_count(node);
    for (uint32_t table = 0; table < tables; ++table) {
      tables_.emplace_back(fsst::load_table(node.streams[fsst::kTables].data() + starts[table]));
    }
  }
  Buffer table(const Automaton& test) const override {
    Buffer out;
    for (const fsst::DecodeTable& table : tables_) append_code_table(out, test, table);
    return out;
  }
  uint64_t bytes() const override { return tables_.size() * sizeof(fsst::DecodeTable); }

 private:
  std::vector<fsst::DecodeTable> tables_;
};

}  // namespace

DeviceReader FsstCodec::device_filter(const NodeView& node) const {
  return device_filter_named("FsstFilter", node, {device_reader_of(node.children[fsst::kCodeLengths])});
}

std::shared_ptr<const TextAlphabet> FsstCodec::text_alphabet(const NodeView& node) const {
  return std::make_shared<const CodesAlphabet>(node);
}

uint64_t FsstCodec::filter_table_bytes(const NodeView& node, uint32_t states) const {
  return table_count(node) * strings::table_bytes(2 * states + 1, strings::kByteSymbols);
}

}  // namespace basalt
