#include "exec/text_codes.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>

#include "basalt/core/error.h"
#include "codec/dict/layout.h"
#include "codec/numbered/layout.h"
#include "codec/strings/layout.h"
#include "codec/validity/layout.h"
#include "exec/chunk_key.h"
#include "exec/cpu/string_pool.h"

namespace basalt::exec {

namespace {

const NodeView& values_of(const NodeView& root) {
  const bool nulls = root.codec != nullptr && root.codec->holds_nulls() && root.children.size() == 2;
  return nulls ? root.children[validity::kValues] : root;
}

// How many strings the list has that a chunk's rows are places in, by its metadata; nothing: there is no list. It is a
// dictionary, or one of the numbers below `numbered`, or all rows where they are few.
std::optional<uint64_t> count_entries(const ColumnInfo& column, const ColumnChunkInfo& chunk) {
  const std::vector<NodePlace>& nodes = chunk.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].codec == nullptr) return std::nullopt;
    if (nodes[i].codec->holds_nulls() || nodes[i].type != Physical::kBytes) continue;
    if (!column.has_dictionary) {  // which lists the entries of every chunk
      const std::string_view name = nodes[i].codec->name();
      if (name == "strings" && nodes[i].count <= strings::kFewTexts) return nodes[i].count;
      if (name == "numbered") ++i;
    }
    if (i >= nodes.size() || nodes[i].codec == nullptr || !nodes[i].codec->holds_entries()) return std::nullopt;
    return nodes.at(subtree_end(nodes, i + 1)).count;
  }
  return std::nullopt;
}

// Entries of lists that would have to be put in order; nothing: some chunk has none. Lists that chunks have in common
// count once.
std::optional<uint64_t> count_entries(const ColumnInfo& column) {
  uint64_t sum = 0;
  uint64_t most = 0;
  for (const ColumnChunkInfo& chunk : column.chunks) {
    const std::optional<uint64_t> entries = count_entries(column, chunk);
    if (!entries) return std::nullopt;
    sum += *entries;
    most = std::max(most, *entries);
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
      try {
        maps.push_back(numbers_of_list(values_of(data.root)));
      } catch (const Error& error) {
        throw error.within(file.name() + ": column " + file.path(field) + ": chunk " + std::to_string(chunk));
      }
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
  std::vector<uint32_t> numbers_of_list(const NodeView& values) {
    if (values.codec->holds_entries()) {
      const std::unique_ptr<Reader> reader = values.codec->open(values);
      const StringRows* entries = reader->entries();
      return entries == nullptr ? std::vector<uint32_t>{} : numbers_of(*entries);
    }
    NodeView texts = values;
    if (values.codec->name() == "numbered") {
      // The same text with each of the listed numbers.
      texts.children[numbered::kNumbers] = values.children[numbered::kNumbers].children[dict::kEntries];
      texts.count = texts.children[numbered::kNumbers].count;
    }
    StringRows rows;
    read_all(texts, rows);
    return numbers_of(rows);
  }
  std::vector<uint32_t> numbers_of(const StringRows& rows) {
    std::vector<uint32_t> numbers;
    for (size_t i = 0; i < rows.size(); ++i) numbers.push_back(pool_.number_of(rows.at(i)));
    return numbers;
  }
  static void read_all(const NodeView& node, StringRows& out) {
    const std::unique_ptr<Reader> reader = node.codec->open(node);
    for (uint32_t tile = 0; tile < tile_count(node.count); ++tile) reader->decode_tile(tile, out);
    if (reader->corrupt()) throw Error(ErrorCode::kCorrupt, "its values break the rules of their encoding");
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
    const std::optional<uint64_t> own = count_entries(file->column(field));
    if (!own) return nullptr;
    entries += *own;
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
