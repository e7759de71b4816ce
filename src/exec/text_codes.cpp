#include "exec/text_codes.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "basalt/core/error.h"
#include "codec/validity/layout.h"
#include "exec/cpu/string_pool.h"

namespace basalt::exec {

namespace {

const NodeView& values_of(const NodeView& root) {
  const bool nulls = root.codec != nullptr && root.codec->holds_nulls() && root.children.size() == 2;
  return nulls ? root.children[validity::kValues] : root;
}

// Whether metadata says that a chunk's strings are places in a list.
bool is_listed(const ColumnChunkInfo& chunk) {
  for (const NodePlace& node : chunk.nodes) {
    if (node.codec == nullptr) return false;
    if (node.codec->holds_nulls()) continue;
    if (node.type == Physical::kBytes) return node.codec->holds_entries();
  }
  return false;
}

// Entries of lists that would have to be put in order. Lists that chunks have in common count once.
uint64_t count_entries(const ColumnInfo& column) {
  uint64_t sum = 0;
  uint64_t most = 0;
  for (const ColumnChunkInfo& chunk : column.chunks) {
    const NodePlace* list = texts_node_of(chunk);
    if (list == nullptr) continue;
    sum += list->count;
    most = std::max(most, list->count);
  }
  return column.has_dictionary ? most : sum;
}

class CodesBuilder {
 public:
  void add(const File& file, uint32_t field) {
    const ColumnInfo& column = file.column(field);
    auto& maps = codes_->chunks.emplace_back();
    if (column.has_dictionary) {
      const EncodedChunk dictionary = file.read_dictionary(field);
      StringRows rows;
      read_all(dictionary.root, rows);
      const std::vector<uint32_t> numbers = numbers_of(rows);
      for (uint32_t chunk = 0; chunk < column.chunks.size(); ++chunk) {
        const std::vector<uint32_t> places = file.read_code_map(field, chunk);
        std::vector<uint32_t> map;
        for (const uint32_t place : places) {
          if (place >= numbers.size()) {
            throw Error(ErrorCode::kCorrupt, file.name() + ": a code map names an entry beyond the dictionary");
          }
          map.push_back(numbers[place]);
        }
        maps.push_back(places.empty() ? numbers : std::move(map));
      }
      return;
    }
    for (uint32_t chunk = 0; chunk < column.chunks.size(); ++chunk) {
      const EncodedChunk data = file.read_chunk(field, chunk);
      const NodeView& values = values_of(data.root);
      const std::unique_ptr<Reader> reader = values.codec->open(values);
      const StringRows* entries = reader->entries();
      maps.push_back(entries == nullptr ? std::vector<uint32_t>{} : numbers_of(*entries));
    }
  }

  std::shared_ptr<const TextCodes> finish() {
    std::vector<uint32_t> order(pool_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return pool_.at(a) < pool_.at(b); });
    std::vector<uint32_t> ranks(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      ranks[order[i]] = i;
      const std::string_view text = pool_.at(order[i]);
      codes_->entries.bytes.append(text.data(), text.size());
      codes_->entries.offsets.push_back(static_cast<int64_t>(codes_->entries.bytes.size()));
    }
    for (auto& file : codes_->chunks) {
      for (auto& chunk : file) {
        for (uint32_t& number : chunk) number = ranks[number];
      }
    }
    return codes_;
  }

 private:
  std::vector<uint32_t> numbers_of(const StringRows& rows) {
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < rows.size(); ++i) numbers.push_back(pool_.number_of(rows.at(i)));
    return numbers;
  }
  static void read_all(const NodeView& node, StringRows& out) {
    const std::unique_ptr<Reader> reader = node.codec->open(node);
    for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, out);
  }

  StringPool pool_;
  std::shared_ptr<TextCodes> codes_ = std::make_shared<TextCodes>();
};

// Dictionaries of files that are open, from statement to statement.
class CodesCache {
 public:
  std::shared_ptr<const TextCodes> find(const std::vector<std::shared_ptr<const File>>& files, uint32_t field) {
    std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.field != field || entry.files.size() != files.size()) continue;
      const bool same = std::equal(files.begin(), files.end(), entry.files.begin(),
                                   [](const auto& file, const auto& weak) { return weak.lock() == file; });
      if (same) return entry.codes;
    }
    return nullptr;
  }
  void put(const std::vector<std::shared_ptr<const File>>& files, uint32_t field,
           std::shared_ptr<const TextCodes> codes) {
    std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const Entry& entry) {
      return std::any_of(entry.files.begin(), entry.files.end(), [](const auto& file) { return file.expired(); });
    });
    if (entries_.size() >= kMost) entries_.erase(entries_.begin());
    entries_.push_back({{files.begin(), files.end()}, field, std::move(codes)});
  }

 private:
  static constexpr size_t kMost = 64;
  struct Entry {
    std::vector<std::weak_ptr<const File>> files;
    uint32_t field = 0;
    std::shared_ptr<const TextCodes> codes;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;  // oldest first
};

}  // namespace

const NodePlace* texts_node_of(const ColumnChunkInfo& chunk) {
  bool in_list = false;
  for (const NodePlace& node : chunk.nodes) {
    if (node.codec == nullptr) return nullptr;
    if (node.type != Physical::kBytes || node.codec->holds_nulls()) continue;
    if (in_list || !node.codec->holds_entries()) return &node;
    in_list = true;
  }
  return nullptr;
}

std::shared_ptr<const TextCodes> text_codes_of(const std::vector<std::shared_ptr<const File>>& files, uint32_t field) {
  uint64_t entries = 0;
  for (const auto& file : files) {
    const ColumnInfo& column = file->column(field);
    if (!std::all_of(column.chunks.begin(), column.chunks.end(), is_listed)) return nullptr;
    entries += count_entries(column);
  }
  if (entries > kMostListedTexts) return nullptr;
  static CodesCache cache;
  if (auto known = cache.find(files, field)) return known;
  CodesBuilder builder;
  for (const auto& file : files) builder.add(*file, field);
  std::shared_ptr<const TextCodes> codes = builder.finish();
  cache.put(files, field, codes);
  return codes;
}

}  // namespace basalt::exec
