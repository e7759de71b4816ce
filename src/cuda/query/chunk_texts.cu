// Trees of strings are taken apart into jobs, each a list of texts that one kind of kernel writes; jobs of one kind
// run together. A job that needs another's texts (words of `tokens`, entries that are named by codes) runs in a later
// round. A round waits once, for the lengths of its texts.
#include "cuda/query/chunk_texts.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>

#include "codec/dict/layout.h"
#include "codec/fsst/gpu/kernels.h"
#include "codec/numbered/gpu/kernels.h"
#include "codec/plain/layout.h"
#include "codec/strings/gpu/kernels.h"
#include "codec/strings/layout.h"
#include "codec/tokens/gpu/kernels.h"
#include "codec/validity/layout.h"
#include "cuda/codec/encode_array.cuh"
#include "cuda/codec/gather_strings.h"
#include "cuda/query/fixed_arrays.h"
#include "exec/device/generate/generate.h"

namespace basalt::cuda {

namespace {

using strings::Child;

constexpr uint64_t kTextAlignment = 16;

enum class Kind : uint8_t { kPlain, kFsst, kTokens, kNumbered, kOne, kGathered };

// An array of integers as kernels of strings read it: where it lies packed or plain, as it is, else decoded.
struct Integers {
  PlacedNode node;
  std::optional<size_t> decoded{};  // number in FixedArrays
  uint64_t descriptor = 0;          // address

  Child stored() const { return !decoded && node.node->codec->holds_packed_tiles() ? Child::kPacked : Child::kPlain; }
};

struct Job {
  Kind kind = Kind::kPlain;
  uint64_t count = 0;
  uint32_t round = 0;
  PlacedNode node;                // of the bytes; of kNumbered the whole
  Integers lengths{};             // not of kNumbered and kGathered
  Integers second{};              // kFsst: lengths of codes; kTokens: ids; kNumbered: numbers
  Integers counts{};              // kTokens
  size_t texts = 0;               // kTokens, kGathered: the job that is needed
  std::optional<size_t> codes{};  // kGathered: number in FixedArrays; none: all rows are the one text
  uint64_t words_at = 0;          // kNumbered, kOne: where the text lies among the words that are sent
  uint64_t bytes = 0;             // of all texts
  strings::Texts at{};            // the result
  const uint64_t* tile_starts = nullptr;
};

bool is_constant_bytes(const NodeView& node) {
  return node.codec->name() == "strings" && node.children[strings::kBytes].codec->name() == "constant";
}

// Flags where tiles do not begin where the file says; everything else that reads it relies on that.
struct TileStarts {
  const uint64_t* stored;
  const uint64_t* summed;
  uint64_t count;
};
void check_starts(const TileStarts* starts, uint64_t arrays, uint64_t most, uint32_t* fault, cudaStream_t stream) {
  each_row(most * arrays, stream, [=] __device__(uint64_t i) {
    const TileStarts& one = starts[i / most];
    const uint64_t tile = i % most;
    if (tile < one.count && one.stored[tile] != one.summed[tile]) *fault = 1;
  });
}

void check_lengths(const uint32_t* lengths, uint64_t count, uint64_t wanted, uint32_t* fault, cudaStream_t stream) {
  each_row(count, stream, [=] __device__(uint64_t i) {
    if (lengths[i] != wanted) *fault = 1;
  });
}

// Codes below `known`; others are flagged and become 0.
void copy_codes(const uint32_t* from, uint64_t count, uint64_t known, uint32_t* to, uint32_t* fault,
                cudaStream_t stream) {
  each_row(count, stream, [=] __device__(uint64_t i) {
    to[i] = from[i] < known ? from[i] : 0;
    if (from[i] >= known) *fault = 1;
  });
}

class Decoding {
 public:
  Decoding(const std::vector<TextChunk>& chunks, bool entries_only, Modules& modules, cudaStream_t stream)
      : chunks_(chunks), entries_only_(entries_only), modules_(modules), stream_(stream) {}

  DecodedTexts run() {
    out_.fault = cleared(sizeof(uint32_t), stream_);
    fault_ = out_.fault.as<uint32_t>();
    for (const TextChunk& chunk : chunks_) add_chunk(chunk);
    fixed_.place(stream_);
    send_words();
    fixed_.run(modules_, fault_, stream_);
    uint32_t rounds = 0;
    for (const Job& job : jobs_) rounds = std::max(rounds, job.round + 1);
    for (uint32_t round = 0; round < rounds; ++round) run_round(round);
    finish();
    return std::move(out_);
  }

 private:
  struct Rows {
    std::optional<size_t> codes{};
    std::optional<size_t> valid{};
    bool one_text = false;  // in all rows
    size_t job = 0;
    uint64_t count = 0;
  };

  void add_chunk(const TextChunk& chunk) {
    const NodeView& root = *roots_.emplace_back(std::make_unique<NodeView>(device::shape_of(*chunk.info)));
    PlacedNode values{&root, chunk.chunk.addresses.data()};
    Rows rows;
    rows.count = root.count;
    if (root.codec->holds_nulls()) {
      if (!entries_only_) rows.valid = fixed_.add(values.child(validity::kValid));
      values = values.child(validity::kValues);
    }
    if (values.node->codec->name() == "dict") {
      if (!entries_only_) rows.codes = fixed_.add(values.child(dict::kCodes));
      rows.job = add_entries(*chunk.info, values.child(dict::kEntries));
    } else if (is_constant_bytes(*values.node)) {
      rows.one_text = true;
      rows.job = add_one(values);
    } else {
      rows.job = add_texts(values);
    }
    rows_.push_back(rows);
  }

  // Chunks that share a dictionary decode it once.
  size_t add_entries(const ColumnChunkInfo& info, const PlacedNode& entries) {
    const std::optional<ChunkKey> key = exec::dictionary_key(info);
    if (!key) return add_texts(entries);
    const auto known = dictionaries_.find(*key);
    if (known != dictionaries_.end()) return known->second;
    const size_t job = add_texts(entries);
    dictionaries_.emplace(*key, job);
    return job;
  }

  Integers integers(const PlacedNode& node) {
    Integers out{node};
    const bool direct = node.node->codec->holds_packed_tiles() || node.node->codec->name() == "plain";
    if (!direct) out.decoded = fixed_.add(node);
    return out;
  }

  size_t put(Job job) {
    jobs_.push_back(job);
    return jobs_.size() - 1;
  }

  size_t add_texts(const PlacedNode& node) {
    const std::string_view name = node.node->codec->name();
    Job job;
    job.count = node.node->count;
    job.node = node;
    if (name == "numbered") {
      job.kind = Kind::kNumbered;
      job.second = integers(node.child(numbered::kNumbers));
      const ByteView text = node.node->params.subspan(1);
      job.words_at = add_words(text);
      job.bytes = job.count * (text.size() + static_cast<uint64_t>(node.node->params[0]));
      return put(job);
    }
    if (name == "dict" || is_constant_bytes(*node.node)) {
      job.kind = Kind::kGathered;
      if (name == "dict") job.codes = fixed_.add(node.child(dict::kCodes));
      job.texts = name == "dict" ? add_texts(node.child(dict::kEntries)) : add_one(node);
      job.round = jobs_[job.texts].round + 1;
      return put(job);
    }
    job.node = node.child(strings::kBytes);
    job.lengths = integers(node.child(strings::kLengths));
    const std::string_view codec = job.node.node->codec->name();
    job.kind = codec == "plain" ? Kind::kPlain : codec == "fsst" ? Kind::kFsst : Kind::kTokens;
    if (job.kind == Kind::kFsst) job.second = integers(job.node.child(fsst::kCodeLengths));
    if (job.kind == Kind::kTokens) {
      job.second = integers(job.node.child(tokens::kIds));
      job.counts = integers(job.node.child(tokens::kCounts));
      job.texts = add_texts(job.node.child(tokens::kEntries));
      job.round = jobs_[job.texts].round + 1;
    }
    return put(job);
  }

  // The text of rows that all have the same; their lengths are checked.
  size_t add_one(const PlacedNode& node) {
    Job job;
    job.kind = Kind::kOne;
    job.count = 1;
    job.node = node.child(strings::kBytes);
    job.lengths = integers(node.child(strings::kLengths));
    if (!job.lengths.decoded) job.lengths.decoded = fixed_.add(job.lengths.node);
    job.bytes = job.node.node->params.size();
    const int64_t offsets[] = {0, static_cast<int64_t>(job.bytes)};
    job.words_at = add_words({reinterpret_cast<const std::byte*>(offsets), sizeof(offsets)});
    add_words(job.node.node->params);
    return put(job);
  }

  // Bytes among the words that are sent to the device, zeros behind them up to a whole word.
  uint64_t add_words(ByteView bytes) {
    const uint64_t at = words_.size();
    words_.resize(at + (bytes.size() + 7) / 8, 0);
    if (!bytes.empty()) std::memcpy(&words_[at], bytes.data(), bytes.size());
    return at;
  }

  void send_words() {
    const auto describe = [&](Integers& integers) {
      if (integers.node.node == nullptr) return;
      integers.descriptor = words_.size();
      std::vector<uint64_t> words;
      if (integers.decoded) {
        words = {integers.node.node->count, fixed_.address(*integers.decoded)};
      } else {
        words = integers.node.descriptor();
      }
      words_.insert(words_.end(), words.begin(), words.end());
    };
    for (Job& job : jobs_) {
      describe(job.lengths);
      describe(job.second);
      describe(job.counts);
    }
    DeviceBuffer sent = upload(words_.data(), words_.size() * sizeof(uint64_t), stream_);
    sent_ = sent.as<uint64_t>();
    out_.memory.push_back(std::move(sent));
  }

  const uint64_t* descriptor(const Integers& integers) const { return sent_ + integers.descriptor; }
  uint64_t stream_address(const Job& job, uint32_t i) const { return job.node.addresses[i]; }
  uint64_t stream_bytes(const Job& job, uint32_t i) const { return job.node.node->streams[i].size(); }

  // The longest that texts of this job can be together: damaged lengths may ask for anything.
  uint64_t most_bytes(const Job& job) const {
    switch (job.kind) {
      case Kind::kPlain: return stream_bytes(job, plain::kBytes);
      case Kind::kFsst: return stream_bytes(job, fsst::kCodes) * fsst::kMaxSymbolBytes;
      case Kind::kTokens: return job.second.node.node->count * tokens::kLongestEntry;
      default: return job.bytes;
    }
  }

  void run_round(uint32_t round) {
    std::vector<Job*> measured;  // whose lengths are added up
    std::vector<Job*> placed;    // that have offsets of their own
    for (Job& job : jobs_) {
      if (job.round != round) continue;
      if (job.kind == Kind::kGathered) {
        gather(job);
      } else if (job.kind == Kind::kOne) {
        take_one(job);
      } else {
        placed.push_back(&job);
        if (job.kind != Kind::kNumbered) measured.push_back(&job);
      }
    }
    measure(measured);
    write(placed);
  }

  strings::TextWork work_of(const Job& job, uint64_t* text_starts) const {
    strings::TextWork work{};
    if (job.lengths.node.node != nullptr) work.lengths = descriptor(job.lengths);
    work.rows = static_cast<uint32_t>(job.count);
    work.text_starts = text_starts;
    work.text = reinterpret_cast<unsigned char*>(const_cast<uint64_t*>(job.at.words));
    work.offsets = const_cast<int64_t*>(job.at.offsets);
    work.fault = fault_;
    return work;
  }

  // Works in device memory, those of a kind of lengths next to each other: runs body(works, count, most tiles, kind).
  template <typename Work, typename KeyOf, typename MakeWork, typename Body>
  void together(const std::vector<Job*>& jobs, KeyOf key_of, MakeWork make_work, Body body) {
    std::map<decltype(key_of(*jobs[0])), std::vector<Job*>> groups;
    for (Job* job : jobs) groups[key_of(*job)].push_back(job);
    for (const auto& [key, members] : groups) {
      std::vector<Work> works;
      uint32_t most_tiles = 0;
      for (Job* job : members) {
        works.push_back(make_work(*job));
        most_tiles = std::max(most_tiles, works.back().tiles());
      }
      DeviceBuffer sent = upload(works.data(), works.size() * sizeof(Work), stream_);
      check(body(sent.as<Work>(), static_cast<uint32_t>(works.size()), most_tiles, members), "launching a decoder");
      out_.memory.push_back(std::move(sent));
    }
  }

  static Child lengths_kind(const Job& job) { return job.lengths.stored(); }

  // Adds up the lengths of rows: where texts of tiles begin, and how many bytes each job has.
  void measure(const std::vector<Job*>& jobs) {
    if (jobs.empty()) return;
    uint64_t words = 0;
    std::vector<uint64_t> places;
    for (const Job* job : jobs) {
      places.push_back(words);
      words += tile_count(job->count) + uint64_t{1};
    }
    DeviceBuffer starts(words * sizeof(uint64_t), stream_);
    auto* first = starts.as<uint64_t>();
    for (size_t i = 0; i < jobs.size(); ++i) jobs[i]->tile_starts = first + places[i];
    together<strings::TextWork>(
        jobs, lengths_kind, [&](const Job& job) { return work_of(job, const_cast<uint64_t*>(job.tile_starts)); },
        [&](const strings::TextWork* works, uint32_t count, uint32_t most_tiles, const std::vector<Job*>& members) {
          return strings::place_tiles(strings::text_batch(works, count, most_tiles, lengths_kind(*members[0])),
                                      stream_);
        });
    const Buffer sums = download(first, words * sizeof(uint64_t), stream_);
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i]->bytes = sums.as<uint64_t>()[places[i] + tile_count(jobs[i]->count)];
      if (jobs[i]->bytes > most_bytes(*jobs[i])) throw_corrupt();
    }
    out_.memory.push_back(std::move(starts));
  }

  // Takes memory for offsets and bytes, and fills them.
  void write(const std::vector<Job*>& jobs) {
    uint64_t bytes = 0;
    uint64_t offsets = 0;
    for (const Job* job : jobs) {
      offsets += job->count + 1;
      if (job->kind != Kind::kPlain) bytes += (job->bytes + kTextAlignment - 1) / kTextAlignment * kTextAlignment;
    }
    DeviceBuffer text(bytes, stream_);
    DeviceBuffer places(offsets * sizeof(int64_t), stream_);
    auto* next_text = text.as<unsigned char>();
    auto* next_offset = places.as<int64_t>();
    for (Job* job : jobs) {
      job->at.offsets = next_offset;
      next_offset += job->count + 1;
      if (job->kind == Kind::kPlain) {  // its bytes lie where they belong
        job->at.words = reinterpret_cast<const uint64_t*>(stream_address(*job, plain::kBytes));
        continue;
      }
      job->at.words = reinterpret_cast<const uint64_t*>(next_text);
      next_text += (job->bytes + kTextAlignment - 1) / kTextAlignment * kTextAlignment;
    }
    out_.memory.push_back(std::move(text));
    out_.memory.push_back(std::move(places));
    write_plain(of_kind(jobs, Kind::kPlain));
    write_fsst(of_kind(jobs, Kind::kFsst));
    write_tokens(of_kind(jobs, Kind::kTokens));
    write_numbered(of_kind(jobs, Kind::kNumbered));
  }

  static std::vector<Job*> of_kind(const std::vector<Job*>& jobs, Kind kind) {
    std::vector<Job*> out;
    std::ranges::copy_if(jobs, std::back_inserter(out), [&](const Job* job) { return job->kind == kind; });
    return out;
  }

  template <typename Work = strings::TextWork>
  Work work_to_write(const Job& job) const {
    Work work{};
    static_cast<strings::TextWork&>(work) = work_of(job, const_cast<uint64_t*>(job.tile_starts));
    return work;
  }

  void write_plain(const std::vector<Job*>& jobs) {
    if (jobs.empty()) return;
    together<strings::TextWork>(
        jobs, lengths_kind, [&](const Job& job) { return work_to_write(job); },
        [&](const strings::TextWork* works, uint32_t count, uint32_t most_tiles, const std::vector<Job*>& members) {
          return strings::place_rows(strings::text_batch(works, count, most_tiles, lengths_kind(*members[0])), stream_);
        });
    std::vector<TileStarts> list;
    uint64_t most = 0;
    for (const Job* job : jobs) {
      const uint64_t count = tile_count(job->count) + uint64_t{1};
      list.push_back(
          {reinterpret_cast<const uint64_t*>(stream_address(*job, plain::kTileStarts)), job->tile_starts, count});
      most = std::max(most, count);
    }
    DeviceBuffer sent = upload(list.data(), list.size() * sizeof(TileStarts), stream_);
    check_starts(sent.as<TileStarts>(), list.size(), most, fault_, stream_);
    out_.memory.push_back(std::move(sent));
  }

  void write_fsst(const std::vector<Job*>& jobs) {
    if (jobs.empty()) return;
    const auto make = [&](const Job& job) {
      fsst::Parameters params;
      std::memcpy(&params, job.node.node->params.data(), sizeof(params));
      auto work = work_to_write<fsst::DecodeWork>(job);
      work.tables = reinterpret_cast<const unsigned char*>(stream_address(job, fsst::kTables));
      work.starts = reinterpret_cast<const uint64_t*>(stream_address(job, fsst::kStarts));
      work.codes = reinterpret_cast<const unsigned char*>(stream_address(job, fsst::kCodes));
      if (stream_bytes(job, fsst::kPieces) > 0) {
        work.piece_starts = reinterpret_cast<const uint32_t*>(stream_address(job, fsst::kPieceStarts));
      }
      work.pieces = reinterpret_cast<const uint16_t*>(stream_address(job, fsst::kPieces));
      work.code_lengths = descriptor(job.second);
      work.table_shift = params.table_shift;
      return work;
    };
    const auto key = [](const Job& job) { return std::pair(job.lengths.stored(), job.second.stored()); };
    together<fsst::DecodeWork>(
        jobs, key, make,
        [&](const fsst::DecodeWork* works, uint32_t count, uint32_t most_tiles, const std::vector<Job*>& members) {
          uint64_t most_pieces = 0;
          for (const Job* job : members) {
            most_pieces = std::max(most_pieces, stream_bytes(*job, fsst::kPieces) / sizeof(uint16_t));
          }
          const auto [lengths, code_lengths] = key(*members[0]);
          return fsst::decode({works, count, most_tiles, most_pieces, lengths, code_lengths}, stream_);
        });
  }

  void write_tokens(const std::vector<Job*>& jobs) {
    if (jobs.empty()) return;
    uint64_t entries = 0;
    for (const Job* job : jobs) entries += jobs_[job->texts].count;
    DeviceBuffer slots(entries * sizeof(tokens::Slot), stream_);
    auto* next_slot = slots.as<tokens::Slot>();
    const auto make = [&](const Job& job) {
      const Job& words = jobs_[job.texts];
      auto work = work_to_write<tokens::DecodeWork>(job);
      work.starts = reinterpret_cast<const uint64_t*>(stream_address(job, tokens::kTileStarts));
      work.ids = descriptor(job.second);
      work.counts = descriptor(job.counts);
      work.entries = words.at;
      work.entry_count = static_cast<uint32_t>(words.count);
      work.slots = next_slot;
      next_slot += words.count;
      return work;
    };
    const auto key = [](const Job& job) {
      return std::array{job.lengths.stored(), job.second.stored(), job.counts.stored()};
    };
    together<tokens::DecodeWork>(
        jobs, key, make,
        [&](const tokens::DecodeWork* works, uint32_t count, uint32_t most_tiles, const std::vector<Job*>& members) {
          uint64_t most_entries = 0;
          for (const Job* job : members) most_entries = std::max(most_entries, jobs_[job->texts].count);
          const auto [lengths, ids, counts] = key(*members[0]);
          const tokens::DecodeBatch batch{works,   count, most_tiles, static_cast<uint32_t>(most_entries),
                                          lengths, ids,   counts};
          cudaError_t error = tokens::make_slots(batch, stream_);
          if (error == cudaSuccess) error = tokens::decode(batch, stream_);
          return error == cudaSuccess ? tokens::check_rows(batch, stream_) : error;
        });
    out_.memory.push_back(std::move(slots));
  }

  void write_numbered(const std::vector<Job*>& jobs) {
    if (jobs.empty()) return;
    const auto make = [&](const Job& job) {
      auto work = work_to_write<numbered::DecodeWork>(job);
      work.numbers = descriptor(job.second);
      work.prefix = sent_ + job.words_at;
      work.prefix_bytes = static_cast<uint32_t>(job.node.node->params.size() - 1);
      work.digits = static_cast<uint32_t>(job.node.node->params[0]);
      return work;
    };
    together<numbered::DecodeWork>(
        jobs, [](const Job& job) { return job.second.stored(); }, make,
        [&](const numbered::DecodeWork* works, uint32_t count, uint32_t most_tiles, const std::vector<Job*>& members) {
          return numbered::decode({works, count, most_tiles, members[0]->second.stored()}, stream_);
        });
  }

  void take_one(Job& job) {
    job.at.offsets = reinterpret_cast<const int64_t*>(sent_ + job.words_at);
    job.at.words = sent_ + job.words_at + 2;
    const auto* lengths = reinterpret_cast<const uint32_t*>(fixed_.address(*job.lengths.decoded));
    check_lengths(lengths, job.lengths.node.node->count, job.bytes, fault_, stream_);
  }

  // Entries that are themselves named by codes: few, and rare.
  void gather(Job& job) {
    const Job& texts = jobs_[job.texts];
    DeviceBuffer codes = cleared(job.count * sizeof(uint32_t), stream_);
    if (job.codes) {
      const auto* from = reinterpret_cast<const uint32_t*>(fixed_.address(*job.codes));
      copy_codes(from, job.count, texts.count, codes.as<uint32_t>(), fault_, stream_);
    }
    if (texts.count == 0 && job.count > 0) throw_corrupt();
    DeviceStrings gathered = gather_strings(texts.at, codes.as<uint32_t>(), job.count, stream_);
    job.bytes = gathered.byte_count;
    job.at = {gathered.bytes.as<uint64_t>(), gathered.offsets.as<int64_t>(), 0};
    out_.memory.push_back(std::move(gathered.bytes));
    out_.memory.push_back(std::move(gathered.offsets));
  }

  void finish() {
    uint64_t most_rows = 0;
    for (const Rows& rows : rows_) {
      if (rows.one_text) most_rows = std::max(most_rows, rows.count);
    }
    DeviceBuffer zeros = cleared(most_rows * sizeof(uint32_t), stream_);
    std::unordered_map<size_t, uint32_t> lists;
    for (const Rows& rows : rows_) {
      const auto [list, added] = lists.try_emplace(rows.job, static_cast<uint32_t>(out_.texts.size()));
      if (added) out_.texts.push_back({jobs_[rows.job].at, jobs_[rows.job].count});
      TextRows chunk;
      chunk.rows = rows.count;
      chunk.texts = list->second;
      if (rows.codes) chunk.codes = reinterpret_cast<const uint32_t*>(fixed_.address(*rows.codes));
      if (rows.one_text) chunk.codes = zeros.as<uint32_t>();
      if (rows.valid) chunk.valid = reinterpret_cast<const uint8_t*>(fixed_.address(*rows.valid));
      out_.chunks.push_back(chunk);
    }
    out_.memory.push_back(std::move(zeros));
    out_.memory.push_back(fixed_.take_memory());
  }

  const std::vector<TextChunk>& chunks_;
  bool entries_only_;
  Modules& modules_;
  cudaStream_t stream_;
  std::vector<std::unique_ptr<NodeView>> roots_;
  FixedArrays fixed_;
  std::vector<Job> jobs_;
  std::vector<Rows> rows_;
  std::unordered_map<ChunkKey, size_t, ChunkKeyHash> dictionaries_;
  std::vector<uint64_t> words_;  // descriptors and short texts, on their way to the device
  const uint64_t* sent_ = nullptr;
  uint32_t* fault_ = nullptr;
  DecodedTexts out_;
};

}  // namespace

DecodedTexts decode_texts(const std::vector<TextChunk>& chunks, Modules& modules, cudaStream_t stream) {
  return Decoding(chunks, false, modules, stream).run();
}

DecodedTexts decode_entries(const std::vector<TextChunk>& chunks, Modules& modules, cudaStream_t stream) {
  return Decoding(chunks, true, modules, stream).run();
}

}  // namespace basalt::cuda
