// Writing .basalt files: rows come in as tables or an Arrow stream, chunks are encoded in parallel and written in
// order. The same rows and options give the same bytes, whatever the threads. The file appears under its name only when
// it is complete: until then it is a temporary file beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "basalt/codec/codec.h"
#include "basalt/core/arrow.h"
#include "basalt/core/column.h"
#include "basalt/core/threads.h"
#include "basalt/encoding/chooser.h"

namespace basalt {

struct WriteProgress {
  uint64_t rows = 0;
  uint64_t plain_bytes = 0;
  uint64_t written_bytes = 0;
};

struct WriteOptions {
  // The path is a folder, made where there is none: a file of a new name is added to those that are there, which must
  // have the same columns. It appears at once when it is complete.
  bool append = false;
  uint32_t threads = 0;                                // 0 = all cores
  uint64_t chunk_rows = kMaxChunkRows;                 // at most 2^20, a multiple of 8192
  uint64_t chunk_bytes = 0;                            // plain bytes after which a chunk is closed early; 0: by purpose
  uint64_t memory_limit = 0;                           // for rows and finished chunks; 0: write_memory()
  std::map<std::string, Tree> encodings;               // column ("a", "a.b") → forced tree
  Effort effort = Effort::kBalanced;                   // time for fewer bytes
  Purpose purpose = Purpose::kBalanced;                // of the file: fast to read, or small
  double link_gbs = kUsualLink;                        // what copies to a device take, with Purpose::kTransfer
  std::vector<std::string> sort_columns;               // as rows must come; recorded in the footer
  std::function<void(const WriteProgress&)> progress;  // called from the appending thread
  const CancelToken* cancel = nullptr;
  bool wrap_small = true;                       // files of up to 128 KiB become one zstd frame where that pays
  bool durable = true;                          // on the disk before it appears; not what a process keeps for itself
  std::string created_by;                       // empty: this build's name and version
  std::map<std::string, std::string> metadata;  // kept in the footer
  // Encodes one array; the GPU backend replaces it. Must give the same bytes as encode_tree() with the same aims.
  std::function<Node(const Values&, const Tree&)> encoder;
};

// What a writer without a limit takes: half a gigabyte at least, and with many threads a few chunks for each, up to an
// eighth of the machine and to `most`.
uint64_t write_memory(uint32_t threads, uint64_t most = ~uint64_t{0});

struct ColumnSummary {
  std::string path;
  std::string type;
  std::vector<std::string> trees;  // text form, most frequent first
  uint64_t plain_bytes = 0;
  uint64_t encoded_bytes = 0;
};
struct WriteSummary {
  uint64_t rows = 0;
  uint64_t chunks = 0;
  uint64_t file_bytes = 0;
  uint64_t plain_bytes = 0;
  std::vector<ColumnSummary> columns;
  Notices notices;  // what the rows' source holds otherwise than the file
};

class Writer {
 public:
  // Throws before anything is created if a type is not supported, an option names an unknown column, or `path` is a
  // file that is neither empty nor a Basalt file.
  Writer(const std::string& path, const Schema& schema, const WriteOptions& options = {});
  ~Writer();  // without finish(): removes the temporary file
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  uint64_t memory_limit() const;  // as given, or write_memory()

  // Keeps the rows until they are encoded: moving a table here saves a copy of it.
  void append(Table rows);
  WriteSummary finish();  // writes the footer, syncs, renames

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// One table as one file.
WriteSummary write_table(const std::string& path, Table table, const WriteOptions& options = {});

WriteSummary write_arrow_stream(const std::string& path, ArrowArrayStream* stream, const WriteOptions& options = {});

}  // namespace basalt
