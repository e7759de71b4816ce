// From the footer of an Arrow IPC file to a stream.
#include "file/ipc_file.h"

#include <arrow_message_generated.h>

#include <algorithm>
#include <cstring>

#include "file/flatbuffer_checks.h"
#include "file/ipc_metadata.h"

namespace basalt {
namespace {

namespace message = arrow_message;

constexpr size_t kMagicBytes = 6;
constexpr size_t kTailBytes = sizeof(int32_t) + kMagicBytes;
constexpr uint64_t kMostFooterBytes = 256 << 20;
constexpr uint32_t kFooterDepth = 128;
constexpr uint32_t kFooterTables = 1 << 22;
constexpr int16_t kFormatVersion = 4;  // Arrow calls it V5

// A message around the schema in the footer. FlatBuffers point forwards: a table in front of the footer's bytes can
// have a part of them as its own.
struct MessageAround {
  uint32_t continuation = 0xffffffff;
  uint32_t metadata_bytes = 0;
  uint32_t root = 16;                          // from here to the table
  uint16_t fields[6] = {12, 12, 8, 10, 4, 0};  // lengths of this list and of the table, then places in it
  int32_t to_fields = 12;                      // the table: from here back to the list
  uint32_t header = 0;                         // from here to the schema
  int16_t version = kFormatVersion;
  uint8_t header_type = static_cast<uint8_t>(message::Header::Schema);
  uint8_t padding[5] = {};
};
static_assert(sizeof(MessageAround) == 40 && offsetof(MessageAround, to_fields) == 24);
constexpr size_t kFramePrefix = 2 * sizeof(uint32_t);

}  // namespace

IpcFile::IpcFile(std::shared_ptr<const Source> file) : file_(std::move(file)), blocks_left_(file_->size()) {
  const uint64_t size = file_->size();
  uint8_t tail[kTailBytes];
  require_sound(size >= kTailBytes + kMagicBytes, "the Arrow file is cut off");
  read_at({size - kTailBytes, kTailBytes}, tail);
  int32_t length = 0;
  std::memcpy(&length, tail, sizeof(length));
  require_sound(length > 0 && static_cast<uint64_t>(length) <= std::min(size - kTailBytes, kMostFooterBytes),
                "its footer lies outside of it");
  schema_.resize(sizeof(MessageAround) + (static_cast<size_t>(length) + 7) / 8 * 8);
  uint8_t* footer_bytes = schema_.data() + sizeof(MessageAround);
  read_at({size - kTailBytes - static_cast<uint64_t>(length), static_cast<uint64_t>(length)}, footer_bytes);

  flatbuffers::Verifier verifier(footer_bytes, static_cast<size_t>(length), kFooterDepth, kFooterTables);
  require_sound(verifier.VerifyBuffer<message::Footer>(nullptr), "its footer is not a well-formed FlatBuffer");
  const auto& footer = *flatbuffers::GetRoot<message::Footer>(footer_bytes);
  require_sound(footer.schema() != nullptr, "its footer lacks the schema");
  require_sound(is_aligned(footer.dictionaries()) && is_aligned(footer.batches()),
                "a list of its footer is not aligned");
  add_blocks(footer.dictionaries());
  add_blocks(footer.batches());

  MessageAround around;
  around.metadata_bytes = static_cast<uint32_t>(schema_.size() - kFramePrefix);
  const auto* schema = reinterpret_cast<const uint8_t*>(footer.schema());
  around.header = static_cast<uint32_t>(schema - (schema_.data() + offsetof(MessageAround, header)));
  around.version = footer.version();
  std::memcpy(schema_.data(), &around, sizeof(around));
}

void IpcFile::read_at(Range range, uint8_t* out) const { file_->read(range, reinterpret_cast<std::byte*>(out)); }

template <typename Blocks>
void IpcFile::add_blocks(const Blocks* blocks) {
  for (uint32_t i = 0; i < size_of(blocks); ++i) {
    const message::Block& block = *blocks->Get(i);
    require_sound(block.offset() >= 0 && block.metadata_bytes() > 0 && block.body_bytes() >= 0,
                  "a block of its footer has fewer than no bytes");
    const auto offset = static_cast<uint64_t>(block.offset());
    const uint64_t bytes = static_cast<uint64_t>(block.metadata_bytes()) + static_cast<uint64_t>(block.body_bytes());
    require_sound(offset <= file_->size() && bytes <= file_->size() - offset,
                  "a block of its footer lies outside of it");
    require_sound(bytes <= blocks_left_, "blocks of its footer overlap");
    blocks_left_ -= bytes;
    rest_.push_back({offset, bytes});
  }
}

uint64_t IpcFile::stream_bytes() const {
  uint64_t total = schema_.size();
  for (const Range& block : rest_) total += block.length;
  return total;
}

size_t IpcFile::read(uint8_t* out, size_t size) {
  if (schema_used_ < schema_.size()) {
    const size_t count = std::min(size, schema_.size() - schema_used_);
    std::memcpy(out, schema_.data() + schema_used_, count);
    schema_used_ += count;
    return count;
  }
  if (next_ == rest_.size()) return 0;
  Range& block = rest_[next_];
  const uint64_t count = std::min<uint64_t>(size, block.length);
  read_at({block.offset, count}, out);
  block = {block.offset + count, block.length - count};
  if (block.length == 0) ++next_;
  return static_cast<size_t>(count);
}

}  // namespace basalt
