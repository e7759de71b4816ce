// Arrow's own verifier sees that tables and vectors lie inside of a message. What they leave out, and numbers that no
// reader can calculate with, are looked for here.
#include "file/ipc_metadata.h"

#include <arrow_message_generated.h>

#include <algorithm>
#include <cstring>

#include "basalt/core/error.h"
#include "file/flatbuffer_checks.h"

namespace basalt {
namespace {

namespace message = arrow_message;
using namespace arrow_kinds;

constexpr uint32_t kMaxDepth = 128;              // of tables: a field's children are two deeper
constexpr uint32_t kMaxTables = 1 << 22;         // far beyond any schema, and soon visited
constexpr uint64_t kMostRows = 1 << 24;          // of all columns of a batch together, and
constexpr uint64_t kMostRowsPerByte = 512;       // for each byte of it: NULLs, structs and packed bytes hold many
constexpr uint64_t kMostFields = 1 << 17;        // of a schema: the reader takes kilobytes for each
constexpr uint64_t kMostDictionaries = 1 << 13;  // which are searched for one by one
constexpr int32_t kMostFixedSize = 1 << 24;      // of a fixed-size list or binary: products with rows fit 64 bits
constexpr uint64_t kFieldBytes = 64;             // memory for a field besides its texts, at least
constexpr uint64_t kSchemaRoom = 1 << 20;        // for fields and texts, and
constexpr uint64_t kSchemaRoomPerByte = 4;       // for each byte of the schema: tables may be shared
constexpr uint64_t kNoBuffers = ~uint64_t{0};

// How many buffers a field of this kind has itself; kNoBuffers where that is not a fixed number, or not supported.
uint64_t buffers_of(uint8_t kind) {
  switch (kind) {
    case kNull: return 0;
    case kStruct:
    case kFixedSizeList: return 1;
    case kBinary:
    case kUtf8:
    case kLargeBinary:
    case kLargeUtf8: return 3;
    case kBinaryView:
    case kUtf8View: return 2;
    case kUnion: return kNoBuffers;
    default: return kind < kRunEndEncoded ? 2 : kNoBuffers;
  }
}

// Types that are the same whenever their kinds are.
bool has_no_parameters(uint8_t kind) {
  return kind == kUtf8 || kind == kBinary || kind == kLargeUtf8 || kind == kLargeBinary || kind == kBool ||
         kind == kUtf8View || kind == kBinaryView;
}

// Lengths with which a reader may calculate; whether buffers are as long as these need is its own business.
void check_batch(const message::RecordBatch& batch, uint64_t body_bytes) {
  require_sound(is_aligned(batch.nodes()) && is_aligned(batch.buffers()), "a list of a batch is not aligned");
  uint64_t rows_left = kMostRows + kMostRowsPerByte * std::min<uint64_t>(body_bytes, int64_t{1} << 40);
  const auto is_count = [&](int64_t count) { return count >= 0 && static_cast<uint64_t>(count) <= rows_left; };
  require_sound(is_count(batch.length()), "a batch has more rows than its bytes can hold; write smaller batches");
  for (uint64_t i = 0; i < size_of(batch.nodes()); ++i) {
    const message::FieldNode& node = *batch.nodes()->Get(static_cast<uint32_t>(i));
    require_sound(is_count(node.length()) && node.null_count() >= -1 && node.null_count() <= node.length(),
                  "columns of a batch have more rows than its bytes can hold, or NULLs than rows");
    rows_left -= static_cast<uint64_t>(node.length());
  }
  uint64_t left = body_bytes;  // each byte belongs to one buffer, so that a batch is no larger than its body
  for (uint64_t i = 0; i < size_of(batch.buffers()); ++i) {
    const message::Buffer& buffer = *batch.buffers()->Get(static_cast<uint32_t>(i));
    const auto offset = static_cast<uint64_t>(buffer.offset());
    const auto length = static_cast<uint64_t>(buffer.length());
    if (length == 0) continue;
    require_sound(offset <= body_bytes && length <= body_bytes - offset, "a buffer lies outside of its batch");
    // The first offset of a column without rows is read, too.
    require_sound(length >= sizeof(int64_t) || body_bytes - offset >= sizeof(int64_t),
                  "the end of a batch is not padded");
    require_sound(length <= left, "buffers of a batch overlap");
    left -= length;
  }
}

using StoredFields = std::vector<IpcMetadata::StoredField>;

// That a batch has the buffers of its fields.
void check_buffers(const message::RecordBatch& batch, const StoredFields& fields) {
  require_sound(is_aligned(batch.variadic_counts()), "a list of a batch is not aligned");
  require_sound(size_of(batch.nodes()) == fields.size(), "a batch has other columns than its schema");
  const uint64_t counts = size_of(batch.variadic_counts());
  uint64_t buffers = 0;
  uint64_t views = 0;
  for (const IpcMetadata::StoredField& field : fields) {
    if (field.buffers == kNoBuffers)
      throw Error(ErrorCode::kUnsupported, "it has string views beside a column of a type that is not supported");
    buffers += field.buffers;
    if (!field.views) continue;
    require_sound(views < counts, "a batch lacks the number of buffers of its string views");
    const int64_t more = batch.variadic_counts()->Get(static_cast<uint32_t>(views++));
    require_sound(more >= 0 && static_cast<uint64_t>(more) <= size_of(batch.buffers()), "string views lack buffers");
    buffers += static_cast<uint64_t>(more);
  }
  require_sound(views == counts && buffers == size_of(batch.buffers()), "a batch has other buffers than its columns");
}

const message::RecordBatch* batch_of(const message::Message& root) {
  if (const message::DictionaryBatch* batch = root.header_as_DictionaryBatch()) return batch->data();
  return root.header_as_RecordBatch();
}

}  // namespace

class IpcMetadata::SchemaCheck {
 public:
  SchemaCheck(flatbuffers::Verifier& verifier, uint64_t bytes, IpcMetadata& about)
      : verifier_(verifier), room_(kSchemaRoom + kSchemaRoomPerByte * bytes), about_(about) {}

  void run(const message::Schema& schema) {
    take_metadata(schema.metadata());
    if (schema.fields() == nullptr) return;
    for (const message::Field* field : *schema.fields()) take_field(*field);
  }

 private:
  static constexpr StoredField kIndices{2, 0, false};
  using Pairs = flatbuffers::Vector<flatbuffers::Offset<message::KeyValue>>;

  void take(uint64_t bytes) {
    require_sound(bytes <= room_, "the schema names its parts too often");
    room_ -= bytes;
  }

  void take_metadata(const Pairs* pairs) {
    if (pairs == nullptr) return;
    for (const message::KeyValue* pair : *pairs) {
      require_sound(pair->key() != nullptr && pair->value() != nullptr,
                    "a pair of the schema's metadata lacks its key or value");
      take(pair->key()->size() + pair->value()->size());
    }
  }

  // What the field is stored as, where others refer to it; its dictionary apart.
  Dictionary take_field(const message::Field& field) {
    if (++fields_ > kMostFields) throw Error(ErrorCode::kUnsupported, "it has more than 131,072 columns");
    take(kFieldBytes + (field.name() == nullptr ? 0 : field.name()->size()));
    take_metadata(field.metadata());
    require_sound(field.kind() == 0 || field.type() != nullptr, "a field lacks its type");
    if (field.kind() == kFixedSizeList || field.kind() == kFixedSizeBinary) check_fixed_size(field);
    Dictionary values{field.kind(), {stored_as(field.kind())}};
    // Of a coded field, the batches hold indices; what lies below is in its dictionary.
    const bool coded = field.dictionary() != nullptr;
    if (dictionaries_above_ == 0) about_.fields_.push_back(coded ? kIndices : values.fields[0]);
    dictionaries_above_ += coded ? 1 : 0;
    if (field.children() != nullptr) {
      for (const message::Field* child : *field.children()) {
        const Dictionary below = take_field(*child);
        values.fields.insert(values.fields.end(), below.fields.begin(), below.fields.end());
      }
    }
    if (!coded) return values;
    --dictionaries_above_;
    require_sound(field.dictionary()->index_type() != nullptr, "a dictionary lacks the type of its indices");
    add_dictionary(field.dictionary()->id(), values, size_of(field.children()) > 0);
    return {0, {kIndices}};
  }

  void check_fixed_size(const message::Field& field) {
    const auto* type = reinterpret_cast<const message::FixedSize*>(field.type());
    require_sound(type->Verify(verifier_) && type->size() >= 1 && type->size() <= kMostFixedSize,
                  "a fixed-size list or binary has an absurd size");
  }

  void add_dictionary(int64_t id, const Dictionary& values, bool nested) {
    require_sound(id != INT64_MIN, "a dictionary has an absurd number");
    const bool known_buffers = std::all_of(values.fields.begin(), values.fields.end(),
                                           [](const StoredField& field) { return field.buffers != kNoBuffers; });
    if (!known_buffers) throw Error(ErrorCode::kUnsupported, "a dictionary has values of a type that is not supported");
    const auto [known, fresh] = about_.dictionaries_.emplace(id, values);
    if (about_.dictionaries_.size() > kMostDictionaries)
      throw Error(ErrorCode::kUnsupported, "it has more than 8,192 dictionaries");
    require_sound(fresh || (known->second.kind == values.kind && has_no_parameters(values.kind) && !nested),
                  "two fields share a dictionary, but not its type");
  }

  static StoredField stored_as(uint8_t kind) {
    const bool wide = kind == kLargeBinary || kind == kLargeUtf8 || kind == kLargeList;
    const bool narrow = kind == kBinary || kind == kUtf8 || kind == kList || kind == kMap;
    return {buffers_of(kind),
            wide     ? sizeof(int64_t)
            : narrow ? sizeof(int32_t)
                     : 0,
            kind == kUtf8View || kind == kBinaryView};
  }

  flatbuffers::Verifier& verifier_;
  uint64_t room_;
  IpcMetadata& about_;
  uint64_t fields_ = 0;
  uint32_t dictionaries_above_ = 0;
};

IpcMetadata::Body IpcMetadata::check(const uint8_t* metadata, size_t size) {
  require_sound(size < FLATBUFFERS_MAX_BUFFER_SIZE, "a message has more metadata than can be read");
  flatbuffers::Verifier verifier(metadata, size, kMaxDepth, kMaxTables);
  require_sound(verifier.VerifyBuffer<message::Message>(nullptr), "a message is not a well-formed FlatBuffer");
  const auto& root = *flatbuffers::GetRoot<message::Message>(metadata);
  require_sound(root.header() != nullptr, "a message lacks its header");
  require_sound(root.body_bytes() >= 0, "a message has fewer than no bytes");
  Body body{static_cast<uint64_t>(root.body_bytes()), false};
  if (const message::Schema* schema = root.header_as_Schema()) {
    dictionaries_.clear();
    fields_.clear();
    SchemaCheck(verifier, size, *this).run(*schema);
  }
  // The reader takes no body but a batch's: it would go on with one as if it were the next message.
  require_sound(body.bytes == 0 || batch_of(root) != nullptr, "a message that is no batch has a body");
  if (const message::DictionaryBatch* batch = root.header_as_DictionaryBatch()) {
    require_sound(batch->data() != nullptr, "a dictionary lacks its values");
    const auto known = dictionaries_.find(batch->id());
    require_sound(known != dictionaries_.end(), "a dictionary belongs to no field");
    check_buffers(*batch->data(), known->second.fields);
  }
  if (const message::RecordBatch* batch = batch_of(root)) {
    check_batch(*batch, body.bytes);
    body.compressed = batch->compression() != nullptr;
    const std::vector<StoredField>& fields = fields_of(metadata);
    const bool views = std::any_of(fields.begin(), fields.end(), [](const StoredField& field) { return field.views; });
    if (views) check_buffers(*batch, fields);
    // Of a dictionary, the reader would take packed bytes for values.
    body.rewrite = views || (body.compressed && root.header_as_DictionaryBatch() != nullptr);
  }
  return body;
}

bool IpcMetadata::is_but_for_views(const IpcMetadata& other) const {
  constexpr StoredField kLargeString{3, sizeof(int64_t), false};
  const auto same = [&](const std::vector<StoredField>& mine, const std::vector<StoredField>& others) {
    return std::equal(mine.begin(), mine.end(), others.begin(), others.end(), [&](StoredField a, const StoredField& b) {
      if (a.views) a = kLargeString;
      return a.buffers == b.buffers && a.offset_bytes == b.offset_bytes && a.views == b.views;
    });
  };
  return same(fields_, other.fields_) &&
         std::equal(dictionaries_.begin(), dictionaries_.end(), other.dictionaries_.begin(), other.dictionaries_.end(),
                    [&](const auto& a, const auto& b) {
                      return a.first == b.first && same(a.second.fields, b.second.fields);
                    });
}

const std::vector<IpcMetadata::StoredField>& IpcMetadata::fields_of(const uint8_t* metadata) const {
  const auto& root = *flatbuffers::GetRoot<message::Message>(metadata);
  const message::DictionaryBatch* dictionary = root.header_as_DictionaryBatch();
  return dictionary == nullptr ? fields_ : dictionaries_.at(dictionary->id()).fields;
}

void IpcMetadata::check_compressed(const uint8_t* metadata, const uint8_t* body) const {
  const auto& root = *flatbuffers::GetRoot<message::Message>(metadata);
  const message::RecordBatch& batch = *batch_of(root);
  const auto body_bytes = static_cast<uint64_t>(root.body_bytes());
  const uint64_t most = most_unpacked(body_bytes);
  std::vector<uint64_t> sizes;
  uint64_t total = 0;
  for (uint64_t i = 0; i < size_of(batch.buffers()); ++i) {
    const message::Buffer& buffer = *batch.buffers()->Get(static_cast<uint32_t>(i));
    sizes.push_back(0);
    if (buffer.length() < static_cast<int64_t>(sizeof(int64_t))) continue;
    int64_t unpacked;  // -1: it is as it is
    std::memcpy(&unpacked, body + buffer.offset(), sizeof(unpacked));
    sizes.back() =
        static_cast<uint64_t>(unpacked < 0 ? buffer.length() - static_cast<int64_t>(sizeof(unpacked)) : unpacked);
    if (unpacked > 0) total += sizes.back();
    require_sound(total <= most,
                  "a compressed batch unpacks to more than is allowed for its size; write smaller batches");
  }
  check_first_offsets(batch, fields_of(metadata), sizes);
}

// The first offset of a column without rows is read, too, unless it has no offsets at all.
void IpcMetadata::check_first_offsets(const message::RecordBatch& batch, const std::vector<StoredField>& fields,
                                      const std::vector<uint64_t>& sizes) {
  size_t buffer = 0;
  size_t view = 0;
  for (size_t i = 0; i < fields.size() && i < size_of(batch.nodes()); ++i) {
    const auto [buffers, offset_bytes, views] = fields[i];
    if (buffers == kNoBuffers) return;
    if (offset_bytes > 0 && buffer + 1 < sizes.size() && batch.nodes()->Get(static_cast<uint32_t>(i))->length() == 0) {
      require_sound(sizes[buffer + 1] == 0 || sizes[buffer + 1] >= offset_bytes,
                    "the first offset of a column is cut off");
    }
    buffer += buffers;
    if (views) buffer += static_cast<size_t>(batch.variadic_counts()->Get(static_cast<uint32_t>(view++)));
  }
}

}  // namespace basalt
