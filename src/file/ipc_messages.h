// The messages of Arrow IPC, one after the other, as bytes that a reader may trust as far as it does: nothing is
// missing that a message needs, and no message is longer than what comes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "basalt/file/ipc.h"
#include "file/ipc_metadata.h"
#include "file/ipc_rewrite.h"

namespace basalt {

class IpcMessages {
 public:
  // `front`: bytes that were read already. `bytes_left`: how many `reader` gives, kUnknownBytes if nobody knows.
  // `whole`: nothing comes behind the last message.
  IpcMessages(ByteReader reader, std::string front, uint64_t bytes_left, bool whole = false)
      : reader_(std::move(reader)), front_(std::move(front)), bytes_left_(bytes_left), whole_(whole) {}

  // Up to `size` bytes; fewer only at the end. Throws Error(kCorrupt) at a message that is not sound.
  size_t read(uint8_t* out, size_t size);
  bool ended() const { return ended_; }

 private:
  template <typename Body>
  void checked(Body&& body);
  size_t read_input(uint8_t* out, size_t size);
  // Appends `size` bytes to what is ready. Takes memory as bytes come; throws if they end before.
  void collect(uint64_t size);
  void begin_message();
  void take_body(size_t metadata_begin);
  void replace_message(const IpcMessage& message);

  ByteReader reader_;
  std::string front_;
  size_t front_used_ = 0;
  uint64_t bytes_left_;
  bool whole_;
  std::vector<uint8_t> ready_;  // prefix and metadata of the message, and a body that had to be waited for
  size_t ready_used_ = 0;
  uint64_t body_left_ = 0;  // of the message, still in the input
  bool ended_ = false;
  IpcMetadata metadata_;
  std::string failure_;  // of a message that was refused
};

}  // namespace basalt
