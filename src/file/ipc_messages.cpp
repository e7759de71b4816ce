// Reading messages one by one, each checked before a byte of it is given out.
#include "file/ipc_messages.h"

#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"

namespace basalt {
namespace {

constexpr uint32_t kContinuation = 0xffffffff;    // what a message begins with since Arrow 0.15
constexpr uint32_t kMostMetadata = 256 << 20;     // a hundred bytes for each of two million columns
constexpr uint64_t kStepBytes = 1 << 20;          // memory for bytes that are only promised
constexpr uint64_t kTrustedBodyBytes = 64 << 20;  // a promise that is not waited for: the reader takes memory for it

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
      checked([&] { begin_message(); });
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
    require_sound(read_input(ready_.data() + from, step) == step, "it ends inside of a message");
  }
}

// What is unsound stays so, however often it is asked for.
template <typename Body>
void IpcMessages::checked(Body&& body) {
  if (!failure_.empty()) throw Error(ErrorCode::kCorrupt, failure_);
  try {
    body();
  } catch (const Error& error) {
    failure_ = error.what();
    ready_.clear();
    body_left_ = 0;
    throw;
  }
}

void IpcMessages::begin_message() {
  if (ready_.capacity() > kTrustedBodyBytes) ready_ = {};
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
    require_sound(!whole_ || bytes_left_ == 0, "a block of its footer is an end mark");
    if (got < prefix_bytes) ready_.resize(got);
    return;
  }
  require_sound(metadata_bytes <= kMostMetadata, "a message has more metadata than can be read");
  ready_.resize(prefix_bytes);
  collect(metadata_bytes);
  take_body(prefix_bytes);
}

void IpcMessages::take_body(size_t metadata_begin) {
  const size_t metadata_bytes = ready_.size() - metadata_begin;
  // Its numbers are read in place, so they have to be aligned.
  std::vector<uint8_t> aligned;
  if (metadata_begin % sizeof(int64_t) != 0)
    aligned.assign(ready_.begin() + static_cast<ptrdiff_t>(metadata_begin), ready_.end());
  const auto metadata = [&] { return aligned.empty() ? ready_.data() + metadata_begin : aligned.data(); };
  const IpcMetadata::Body body = metadata_.check(metadata(), metadata_bytes);
  std::vector<uint8_t> renamed(metadata(), metadata() + metadata_bytes);
  if (rename_views(renamed)) {
    IpcMetadata again;
    again.check(renamed.data(), renamed.size());
    require_sound(metadata_.is_but_for_views(again), "parts of a schema lie over each other");
    std::copy(renamed.begin(), renamed.end(), ready_.begin() + static_cast<ptrdiff_t>(metadata_begin));
  }
  body_left_ = body.bytes;
  const bool known = bytes_left_ != kUnknownBytes;
  require_sound(!known || body_left_ <= bytes_left_ + (front_.size() - front_used_), "it ends inside of a message");
  if (!body.compressed && !body.rewrite && (known || body_left_ <= kTrustedBodyBytes)) return;
  const size_t begin = ready_.size();
  collect(body_left_);
  body_left_ = 0;
  if (body.compressed) metadata_.check_compressed(metadata(), ready_.data() + begin);
  if (body.rewrite) replace_message(readable_batch(metadata(), ready_.data() + begin, metadata_.fields_of(metadata())));
}

void IpcMessages::replace_message(const IpcMessage& message) {
  const uint32_t prefix[] = {kContinuation, static_cast<uint32_t>(message.metadata.size())};
  ready_.resize(sizeof(prefix));
  std::memcpy(ready_.data(), prefix, sizeof(prefix));
  ready_.insert(ready_.end(), message.metadata.begin(), message.metadata.end());
  ready_.insert(ready_.end(), message.body.begin(), message.body.end());
}

}  // namespace basalt
