// The frame around small files.
#include "file/wrapped.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>

#include "basalt/core/error.h"
#include "file/format.h"

namespace basalt::format_v1 {

namespace {

constexpr uint64_t kOutside = kHeaderBytes + sizeof(Postscript);

Postscript postscript_at(const std::byte* bytes) {
  Postscript postscript;
  std::memcpy(&postscript, bytes, sizeof(postscript));
  return postscript;
}

// Whether a postscript can be trusted to say that its file is wrapped; what is wrong with others is told elsewhere.
bool says_wrapped(const Postscript& postscript) {
  return std::memcmp(postscript.magic, kMagic, sizeof(kMagic)) == 0 && postscript.version <= kVersion &&
         checksum(&postscript, kPostscriptChecked) == postscript.checksum &&
         (postscript.required_features & kWrapped) != 0;
}

}  // namespace

void wrap_if_small(OutputFile& file, Effort effort) {
  const ByteView whole = file.unwritten();
  if (whole.size() != file.position() || whole.size() > kMostWrappedBytes + kOutside) return;
  const ByteView middle = whole.subspan(kHeaderBytes, whole.size() - kOutside);
  Buffer wrapped(kOutside + ZSTD_compressBound(middle.size()));
  const int level = effort == Effort::kFast ? 3 : 19;
  const size_t frame =
      ZSTD_compress(wrapped.data() + kHeaderBytes, wrapped.size() - kOutside, middle.data(), middle.size(), level);
  if (ZSTD_isError(frame) != 0 || frame + kOutside > whole.size() / 8 * 7) return;
  Postscript postscript = postscript_at(whole.data() + whole.size() - sizeof(Postscript));
  postscript.required_features |= kWrapped;
  seal(postscript);
  std::memcpy(wrapped.data(), whole.data(), kHeaderBytes);
  std::memcpy(wrapped.data() + kHeaderBytes + frame, &postscript, sizeof(postscript));
  wrapped.resize(kOutside + frame);
  file.replace_unwritten(std::move(wrapped));
}

std::shared_ptr<Source> unwrap(std::shared_ptr<Source> source) {
  const uint64_t size = source->size();
  if (size < kOutside || size > ZSTD_COMPRESSBOUND(kMostWrappedBytes) + kOutside) return source;
  std::byte tail[sizeof(Postscript)];
  source->read({size - sizeof(tail), sizeof(tail)}, tail);
  Postscript postscript = postscript_at(tail);
  if (!says_wrapped(postscript)) return source;

  const auto fail = [&] {
    throw Error(ErrorCode::kCorrupt,
                fmt::format("{}: the frame around the file at byte {} is damaged", source->name(), kHeaderBytes));
  };
  Buffer frame(static_cast<size_t>(size - kOutside));
  source->read({kHeaderBytes, frame.size()}, frame.data());
  const unsigned long long bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());  // errors are large numbers
  if (bytes > kMostWrappedBytes || ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) fail();
  Buffer whole(static_cast<size_t>(bytes + kOutside));
  source->read({0, kHeaderBytes}, whole.data());
  if (ZSTD_decompress(whole.data() + kHeaderBytes, bytes, frame.data(), frame.size()) != bytes) fail();
  postscript.required_features &= ~kWrapped;
  seal(postscript);
  std::memcpy(whole.data() + kHeaderBytes + bytes, &postscript, sizeof(postscript));
  return memory_source(std::move(whole), source->name());
}

}  // namespace basalt::format_v1
