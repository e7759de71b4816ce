// Looking at FlatBuffers as they lie in the file. They are read again, and so verified again: a file may change while
// it is checked.
#include "file/verify/unused_fields.h"

#include <fmt/format.h>
#include <format_generated.h>

#include <algorithm>

#include "basalt/core/error.h"
#include "file/flatbuffer_checks.h"
#include "file/format.h"
#include "file/verify/reasons.h"

namespace basalt::format_v1 {

namespace {

constexpr uint32_t kOrderFlags = kAscending | kDescending | kStrict | kConstant | kDense;
constexpr uint32_t kBoundFlags = kHasMin | kHasMax | kMinExact | kMaxExact | kHasNan;

using Bytes = flatbuffers::Vector<uint8_t>;

void check_footer_column(const format::Column& column) {
  const uint32_t bounds = column.flags() >> kBoundShift;
  require((column.flags() & ~(kOrderFlags | kBoundFlags << kBoundShift)) == 0,
          "a flag of its statistics in the footer has no meaning");
  const bool announced = ((bounds & kHasMin) != 0 || size_of(column.min()) == 0) &&
                         ((bounds & kHasMax) != 0 || size_of(column.max()) == 0);
  require(announced, "the footer has a bound without its flag");
}

// Bounds of zones lie one after the other, of fixed width also where there is none.
void check_zone_bounds(const Bytes& flags, uint8_t flag, const Bytes* bounds, const Bytes* lengths, Physical type) {
  if (type == Physical::kNone) {
    require(size_of(bounds) == 0 && size_of(lengths) == 0, "there are bounds, which lists and structs do not have");
    return;
  }
  if (type == Physical::kBytes) {
    require(size_of(lengths) == flags.size(), "there are other lengths of bounds than zones");
    for (uint32_t zone = 0; zone < flags.size(); ++zone) {
      require((flags.Get(zone) & flag) != 0 || lengths->Get(zone) == 0, "a zone has a bound without its flag");
    }
    return;
  }
  require(size_of(lengths) == 0, "there are lengths of bounds that have a fixed width");
  const uint64_t width = width_of(type);
  for (uint32_t zone = 0; zone < flags.size() && size_of(bounds) >= (uint64_t{zone} + 1) * width; ++zone) {
    const uint8_t* bytes = bounds->data() + zone * width;
    const bool zeros = std::all_of(bytes, bytes + width, [](uint8_t byte) { return byte == 0; });
    require((flags.Get(zone) & flag) != 0 || zeros, "a zone has a bound without its flag");
  }
}

void check_zones(const format::Zones& zones, const Field& field) {
  if (zones.flags() == nullptr) return;
  const Bytes& flags = *zones.flags();
  const bool known = std::all_of(flags.begin(), flags.end(), [](uint8_t flag) { return (flag & ~kBoundFlags) == 0; });
  require(known, "a flag of a zone has no meaning");
  const bool nested = field.type.kind == TypeKind::kList || field.type.kind == TypeKind::kStruct;
  const Physical type = nested ? Physical::kNone : physical_of(field.type);
  check_zone_bounds(flags, kHasMin, zones.mins(), zones.min_lengths(), type);
  check_zone_bounds(flags, kHasMax, zones.maxs(), zones.max_lengths(), type);
}

Postscript read_postscript(const File& file, const FooterData& footer) {
  Postscript postscript;
  file.source().read({file.source().size() - sizeof(postscript), sizeof(postscript)},
                     reinterpret_cast<std::byte*>(&postscript));
  const bool same = checksum(&postscript, kPostscriptChecked) == postscript.checksum &&
                    postscript.footer_offset == footer.offset && postscript.footer_length == footer.length;
  if (!same) fail(file.name() + ": the postscript has changed since the file was opened");
  return postscript;
}

}  // namespace

std::vector<std::string> check_unused_of_footer(const File& file, const FooterData& footer) {
  const Postscript postscript = read_postscript(file, footer);
  const Buffer bytes = read_block(file.source(), {footer.offset, footer.length, postscript.footer_checksum}, "footer");
  const auto& root = verified_root<format::Footer>(bytes.view(), kMaxFooterTables, "the footer");
  const uint32_t columns = root.columns() == nullptr ? 0 : root.columns()->size();
  if (columns != footer.columns.size()) fail(file.name() + ": the footer has changed since the file was opened");
  for (uint32_t id = 0; id < footer.columns.size(); ++id) {
    try {
      check_footer_column(*root.columns()->Get(id));
    } catch (const Error& error) {
      throw error.within(fmt::format("{}: column {}", file.name(), file.column(id).path));
    }
  }
  if (postscript.optional_features == 0) return {};
  return {fmt::format("the file has optional features that this build does not know (bits {:#x})",
                      postscript.optional_features)};
}

void check_unused_of_column(const File& file, const FooterData& footer, uint32_t field_id) {
  const Block& block = footer.columns[field_id].metadata;
  const std::string& path = file.column(field_id).path;
  const Buffer bytes = read_block(file.source(), block, "metadata of column " + path);
  try {
    const auto& metadata =
        verified_root<format::ColumnMetadata>(bytes.view(), kMaxBlockTables, "the column's metadata");
    require(is_aligned(metadata.chunks()), "a list in it is not aligned");
    if (metadata.chunks() != nullptr) {
      for (const format::ColumnChunk* chunk : *metadata.chunks()) {
        require(chunk->reserved() == 0, "the reserved field of a chunk is not zero");
        require((chunk->flags() & ~kOrderFlags) == 0, "a flag of a chunk has no meaning");
      }
    }
    if (metadata.zones() != nullptr) check_zones(*metadata.zones(), *file.fields()[field_id]);
  } catch (const Error& error) {
    throw error.within(
        fmt::format("{}: column {}: the metadata at byte {} is damaged", file.name(), path, block.offset));
  }
}

}  // namespace basalt::format_v1
