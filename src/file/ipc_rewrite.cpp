// Batches without string views and without packed dictionaries.
#include "file/ipc_rewrite.h"

#include <arrow_message_generated.h>
#include <lz4frame.h>
#include <zstd.h>

#include <cstring>
#include <memory>
#include <span>

#include "core/bitmap.h"

namespace basalt {
namespace {

namespace message = arrow_message;
using namespace arrow_kinds;

constexpr size_t kBodyAlignment = 64;
constexpr size_t kViewBytes = 16;
constexpr uint32_t kInlineBytes = 12;
constexpr int8_t kLz4 = 0;

using Bytes = std::vector<uint8_t>;
using ByteSpan = std::span<const uint8_t>;

// Where the kinds of views lie, as places from the beginning of the message.
void find_views(const message::Field& field, const uint8_t* metadata, std::vector<size_t>& places) {
  if (field.kind() == kBinaryView || field.kind() == kUtf8View) {
    const uint8_t* kind = reinterpret_cast<const flatbuffers::Table&>(field).GetAddressOf(message::Field::VT_KIND);
    places.push_back(static_cast<size_t>(kind - metadata));
  }
  if (field.children() == nullptr) return;
  for (const message::Field* child : *field.children()) find_views(*child, metadata, places);
}

bool unpack_lz4(ByteSpan packed, Bytes& out) {
  LZ4F_dctx* context = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) return false;
  const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)> owner(context,
                                                                                   LZ4F_freeDecompressionContext);
  size_t done = 0;
  size_t used = 0;
  for (;;) {
    size_t room = out.size() - done;
    size_t left = packed.size() - used;
    const size_t hint = LZ4F_decompress(context, out.data() + done, &room, packed.data() + used, &left, nullptr);
    done += room;
    used += left;
    if (LZ4F_isError(hint) != 0 || (room == 0 && left == 0)) return false;
    if (hint == 0) return done == out.size();
  }
}

class Rewriter {
 public:
  Rewriter(const message::RecordBatch& batch, ByteSpan body, bool is_dictionary)
      : batch_(batch),
        body_(body),
        kept_compression_(is_dictionary ? nullptr : batch.compression()),
        strings_left_(most_unpacked(body.size())) {}

  IpcMessage run(const message::Message& root, const std::vector<IpcMetadata::StoredField>& fields) {
    uint32_t view = 0;
    for (uint32_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].views) {
        for (uint64_t b = 0; b < fields[i].buffers; ++b) put_as_stored(next_++);
        continue;
      }
      const int64_t data_buffers = batch_.variadic_counts()->Get(view++);
      put_strings(*batch_.nodes()->Get(i), static_cast<uint32_t>(data_buffers));
    }
    pad();  // a reader may look at eight bytes where there are fewer
    return {metadata(root), std::move(out_)};
  }

 private:
  ByteSpan stored(uint32_t buffer) const {
    const message::Buffer& place = *batch_.buffers()->Get(buffer);
    if (place.length() == 0) return {};
    return body_.subspan(static_cast<size_t>(place.offset()), static_cast<size_t>(place.length()));
  }

  // As it is without compression. Sizes were checked before.
  Bytes plain(uint32_t buffer) const {
    ByteSpan bytes = stored(buffer);
    int64_t size = -1;
    if (batch_.compression() != nullptr && !bytes.empty()) {
      require_sound(bytes.size() >= sizeof(size), "a compressed buffer is cut off");
      std::memcpy(&size, bytes.data(), sizeof(size));
      bytes = bytes.subspan(sizeof(size));
    }
    if (size < 0) return {bytes.begin(), bytes.end()};
    Bytes out(static_cast<size_t>(size));
    const bool good = batch_.compression()->codec() == kLz4
                          ? unpack_lz4(bytes, out)
                          : ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()) == out.size();
    require_sound(good, "a compressed buffer cannot be unpacked");
    return out;
  }

  void pad() { out_.resize((out_.size() + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment); }

  void put(ByteSpan bytes) {
    pad();
    buffers_.emplace_back(static_cast<int64_t>(out_.size()), static_cast<int64_t>(bytes.size()));
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }

  void put_as_stored(uint32_t buffer) {
    if (kept_compression_ == batch_.compression())
      put(stored(buffer));
    else
      put(plain(buffer));
  }

  // In a compressed batch, one that says that it is not.
  void put_plain(const Bytes& bytes) {
    if (kept_compression_ == nullptr || bytes.empty()) return put(bytes);
    Bytes marked(sizeof(int64_t), 0xff);
    marked.insert(marked.end(), bytes.begin(), bytes.end());
    put(marked);
  }

  void put_strings(const message::FieldNode& node, uint32_t data_buffers) {
    const auto rows = static_cast<size_t>(node.length());
    const Bytes validity = node.null_count() == 0 ? Bytes() : plain(next_);
    require_sound(validity.empty() || validity.size() >= (rows + 7) / 8, "a bitmap of string views is cut off");
    put_as_stored(next_);
    const Bytes views = plain(next_ + 1);
    require_sound(views.size() / kViewBytes >= rows, "string views are cut off");
    std::vector<Bytes> data;
    for (uint32_t i = 0; i < data_buffers; ++i) data.push_back(plain(next_ + 2 + i));
    next_ += 2 + data_buffers;

    Bytes offsets((rows + 1) * sizeof(int64_t));
    Bytes strings;
    for (size_t row = 0; row < rows; ++row) {
      if (validity.empty() || get_bit(validity.data(), row)) {
        const ByteSpan text = string_of(views.data() + row * kViewBytes, data);
        require_sound(text.size() <= strings_left_,
                      "string views stand for more bytes than are allowed for their size");
        strings_left_ -= text.size();
        strings.insert(strings.end(), text.begin(), text.end());
      }
      const auto end = static_cast<int64_t>(strings.size());
      std::memcpy(offsets.data() + (row + 1) * sizeof(end), &end, sizeof(end));
    }
    put_plain(offsets);
    put_plain(strings);
  }

  // Four bytes of length, then the bytes themselves, or four of them, a buffer and a place in it.
  static ByteSpan string_of(const uint8_t* view, const std::vector<Bytes>& data) {
    uint32_t parts[4];
    std::memcpy(parts, view, sizeof(parts));
    if (parts[0] <= kInlineBytes) return {view + sizeof(uint32_t), parts[0]};
    require_sound(
        parts[2] < data.size() && parts[3] <= data[parts[2]].size() && parts[0] <= data[parts[2]].size() - parts[3],
        "a string view points outside its buffers");
    return {data[parts[2]].data() + parts[3], parts[0]};
  }

  Bytes metadata(const message::Message& root) const {
    flatbuffers::FlatBufferBuilder builder;
    const auto nodes = builder.CreateVectorOfStructs(
        reinterpret_cast<const message::FieldNode*>(batch_.nodes()->Data()), batch_.nodes()->size());
    const auto buffers = builder.CreateVectorOfStructs(buffers_);
    flatbuffers::Offset<message::Compression> compression;
    if (kept_compression_ != nullptr)
      compression = message::CreateCompression(builder, kept_compression_->codec(), kept_compression_->method());
    const auto batch = message::CreateRecordBatch(builder, batch_.length(), nodes, buffers, compression);
    const message::DictionaryBatch* dictionary = root.header_as_DictionaryBatch();
    const auto header =
        dictionary == nullptr
            ? batch.Union()
            : message::CreateDictionaryBatch(builder, dictionary->id(), batch, dictionary->is_delta()).Union();
    builder.Finish(
        message::CreateMessage(builder, root.version(), root.header_type(), header, static_cast<int64_t>(out_.size())));
    Bytes out(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
    out.resize((out.size() + 7) / 8 * 8);
    return out;
  }

  const message::RecordBatch& batch_;
  ByteSpan body_;
  const message::Compression* kept_compression_;
  uint64_t strings_left_;
  uint32_t next_ = 0;  // buffer of the batch
  std::vector<message::Buffer> buffers_;
  Bytes out_;
};

}  // namespace

bool rename_views(std::vector<uint8_t>& metadata) {
  const auto& root = *flatbuffers::GetRoot<message::Message>(metadata.data());
  const message::Schema* schema = root.header_as_Schema();
  if (schema == nullptr || schema->fields() == nullptr) return false;
  std::vector<size_t> places;
  for (const message::Field* field : *schema->fields()) find_views(*field, metadata.data(), places);
  for (const size_t place : places)
    metadata[place] = metadata[place] == kUtf8View || metadata[place] == kLargeUtf8 ? kLargeUtf8 : kLargeBinary;
  return !places.empty();
}

IpcMessage readable_batch(const uint8_t* metadata, const uint8_t* body,
                          const std::vector<IpcMetadata::StoredField>& fields) {
  const auto& root = *flatbuffers::GetRoot<message::Message>(metadata);
  const message::DictionaryBatch* dictionary = root.header_as_DictionaryBatch();
  const message::RecordBatch& batch = dictionary == nullptr ? *root.header_as_RecordBatch() : *dictionary->data();
  return Rewriter(batch, {body, static_cast<size_t>(root.body_bytes())}, dictionary != nullptr).run(root, fields);
}

}  // namespace basalt
