#include "file/planned_reads.h"

#include <set>

namespace basalt {

namespace {

void add_fields(const File& file, uint32_t field, std::set<uint32_t>& out) {
  out.insert(field);
  for (const Field& child : file.fields()[field]->children) add_fields(file, child.id, out);
}

}  // namespace

bool is_remote(const File& file) { return dynamic_cast<const RemoteSource*>(&file.source()) != nullptr; }

std::shared_ptr<const RemoteSource::Plan> plan_chunks(const File& file, const std::vector<uint32_t>& fields,
                                                      const std::vector<uint32_t>& chunks) {
  const auto* source = dynamic_cast<const RemoteSource*>(&file.source());
  if (source == nullptr) return nullptr;
  std::set<uint32_t> all;
  for (const uint32_t field : fields) add_fields(file, field, all);
  std::vector<Range> ranges;
  for (const uint32_t field : all) {
    const ColumnInfo& column = file.column(field);
    for (const uint32_t chunk : chunks) {
      const StreamPlace& region = column.chunks.at(chunk).region;
      ranges.push_back({region.offset, region.length});
    }
  }
  return source->plan(std::move(ranges));
}

}  // namespace basalt
