#include "file/ipc_messages.h"

#include <arrow_message_generated.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"

namespace basalt {
namespace {

namespace message = arrow_message;

constexpr uint32_t kContinuation = 0xffffffff;  // what a message begins with since Arrow 0.15
constexpr uint64_t kStepBytes = 1 << 20;        // memory for bytes that are only promised
constexpr uint64_t kTrustedBodyBytes = 64 << 20;
constexpr int64_t kMostRows = int64_t{1} << 40;  // of a column of a batch
constexpr uint32_t kMaxDepth = 128;
constexpr uint32_t kMaxTables = 1 << 22;

void require(bool holds, const char* reason) {
  if (!holds) throw Error(ErrorCode::kCorrupt, reason);
}

void check_metadata(const flatbuffers::Vector<flatbuffers::Offset<message::KeyValue>>* pairs) {
  if (pairs == nullptr) return;
  for (const message::KeyValue* pair : *pairs)
    require(pair->key() != nullptr && pair->value() != nullptr,
            "a pair of the schema's metadata lacks its key or value");
}

void check_fields(const flatbuffers::Vector<flatbuffers::Offset<message::Field>>* fields) {
  if (fields == nullptr) return;
  for (const message::Field* field : *fields) {
    require(field->kind() == 0 || field->type() != nullptr, "a field lacks its type");
    require(field->dictionary() == nullptr || field->dictionary()->index_type() != nullptr,
            "a dictionary lacks the type of its indices");
    check_metadata(field->metadata());
    check_fields(field->children());
  }
}

// Whether a vector of structs of 8-byte numbers may be read in place.
template <typename Vector>
bool is_aligned(const Vector* vector) {
  return vector == nullptr || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(int64_t) == 0;
}

// Lengths with which a reader may calculate; whether buffers are as long as these need is its own business.
void check_batch(const message::RecordBatch& batch, uint64_t body_bytes) {
  require(is_aligned(batch.nodes()) && is_aligned(batch.buffers()), "a list of a batch is not aligned");
  const auto is_count = [](int64_t count) { return count >= 0 && count <= kMostRows; };
  require(is_count(batch.length()), "a batch has an absurd number of rows");
  if (batch.nodes() != nullptr) {
    for (const message::FieldNode* node : *batch.nodes()) {
      require(is_count(node->length()) && node->null_count() >= -1 && node->null_count() <= node->length(),
              "a column of a batch has an absurd number of rows or NULLs");
    }
  }
  if (batch.buffers() == nullptr) return;
  for (const message::Buffer* buffer : *batch.buffers()) {
    const auto offset = static_cast<uint64_t>(buffer->offset());
    const auto length = static_cast<uint64_t>(buffer->length());
    require(length == 0 || (offset <= body_bytes && length <= body_bytes - offset),
            "a buffer lies outside of its batch");
  }
}

// The bytes of the message's body.
uint64_t check_message(const uint8_t* metadata, size_t size) {
  bool good = size < FLATBUFFERS_MAX_BUFFER_SIZE;
  if (good) {
    flatbuffers::Verifier verifier(metadata, size, kMaxDepth, kMaxTables);
    good = verifier.VerifyBuffer<message::Message>(nullptr);
  }
  require(good, "a message is not a well-formed FlatBuffer");
  const auto& root = *flatbuffers::GetRoot<message::Message>(metadata);
  require(root.header() != nullptr, "a message lacks its header");
  require(root.body_bytes() >= 0, "a message has fewer than no bytes");
  if (const message::Schema* schema = root.header_as_Schema()) {
    check_fields(schema->fields());
    check_metadata(schema->metadata());
  }
  const auto body_bytes = static_cast<uint64_t>(root.body_bytes());
  if (const message::DictionaryBatch* batch = root.header_as_DictionaryBatch()) {
    require(batch->data() != nullptr, "a dictionary lacks its values");
    check_batch(*batch->data(), body_bytes);
  }
  if (const message::RecordBatch* batch = root.header_as_RecordBatch()) check_batch(*batch, body_bytes);
  return body_bytes;
}

}  // namespace

size_t IpcMessages::read(uint8_t* out, size_t size) {
  size_t done = 0;
  while (done < size) {
    if (ready_used_ < ready_.size()) {
      const size_t count = std::min(size - done, ready_.size() - ready_used_);
      std::memcpy(out + done, ready_.data() + ready_used_, count);
      ready_used_ += count;
      done += count;
    } else if (body_left_ > 0) {
      const size_t count = read_input(out + done, static_cast<size_t>(std::min<uint64_t>(size - done, body_left_)));
      if (count == 0) break;
      body_left_ -= count;
      done += count;
    } else if (ended_) {
      break;
    } else {
      begin_message();
    }
  }
  return done;
}

size_t IpcMessages::read_input(uint8_t* out, size_t size) {
  size_t done = std::min(size, front_.size() - front_used_);
  if (done > 0) std::memcpy(out, front_.data() + front_used_, done);
  front_used_ += done;
  while (done < size) {
    const size_t got = reader_(out + done, size - done);
    if (got == 0) break;
    done += got;
    if (bytes_left_ != kUnknownBytes) bytes_left_ -= std::min<uint64_t>(got, bytes_left_);
  }
  return done;
}

void IpcMessages::collect(uint64_t size) {
  const uint64_t end = ready_.size() + size;
  while (ready_.size() < end) {
    const size_t from = ready_.size();
    const uint64_t step = std::min(end - from, std::max<uint64_t>(kStepBytes, from));
    ready_.resize(from + step);
    require(read_input(ready_.data() + from, step) == step, "it ends inside of a message");
  }
}

void IpcMessages::begin_message() {
  ready_.resize(2 * sizeof(uint32_t));
  ready_used_ = 0;
  uint32_t prefix[2] = {};
  size_t got = read_input(ready_.data(), sizeof(uint32_t));
  std::memcpy(prefix, ready_.data(), got);
  const bool continued = got == sizeof(uint32_t) && prefix[0] == kContinuation;
  if (continued) {
    got += read_input(ready_.data() + got, sizeof(uint32_t));
    std::memcpy(prefix, ready_.data(), got);
  }
  const uint32_t metadata_bytes = continued ? prefix[1] : prefix[0];
  const size_t prefix_bytes = continued ? sizeof(prefix) : sizeof(uint32_t);
  if (got < prefix_bytes || metadata_bytes == 0) {  // the end: a message of no bytes, or none
    ended_ = true;
    if (got < prefix_bytes) ready_.resize(got);
    return;
  }
  require(metadata_bytes <= INT32_MAX, "a message has fewer than no bytes");
  ready_.resize(prefix_bytes);
  collect(metadata_bytes);
  // Its fields are read in place, so they have to be aligned.
  const size_t begin = ready_.size() - metadata_bytes;
  std::vector<uint8_t> aligned;
  if (begin % 8 != 0) aligned.assign(ready_.begin() + static_cast<ptrdiff_t>(begin), ready_.end());
  body_left_ = check_message(aligned.empty() ? ready_.data() + begin : aligned.data(), metadata_bytes);
  if (bytes_left_ != kUnknownBytes) {
    require(body_left_ <= bytes_left_ + (front_.size() - front_used_), "it ends inside of a message");
  } else if (body_left_ > kTrustedBodyBytes) {
    collect(body_left_);
    body_left_ = 0;
  }
}

}  // namespace basalt
