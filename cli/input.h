// What `convert` reads: files of many kinds, globs, standard input; each becomes a query or an Arrow stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "basalt/core/error.h"
#include "basalt/sql/session.h"
#include "cli/input_schema.h"
#include "core/output_file.h"
#include "core/same_file.h"

namespace basalt::cli {

// Names for --input-format.
const std::vector<std::string>& input_formats();

// How CSV and TSV files are read; what is empty is found out from the files.
struct CsvOptions {
  std::string delimiter;
  std::string header;  // "true" or "false"
  std::vector<std::string> nulls;
  std::vector<std::string> types;  // "column=TYPE"
  bool ignore_errors = false;

  bool any() const {
    return !delimiter.empty() || !header.empty() || !nulls.empty() || !types.empty() || ignore_errors;
  }
  // ", delim = ';', header = true", to stand behind the name of a file.
  std::string arguments(const std::string& default_delimiter) const;
};

class InputSet {
 public:
  // `format`: one of input_formats(), or empty to go by extension, or by the first bytes for standard input ("-").
  InputSet(const std::vector<std::string>& paths, const std::string& format, CsvOptions csv = {});
  ~InputSet();

  uint64_t bytes() const { return bytes_; }  // of all files; 0 = unknown
  // One Arrow input needs no SQL.
  bool is_one_arrow() const;
  void open_arrow(ArrowArrayStream* out);
  bool can_repeat() const;     // false if standard input is read as it comes
  double arrow_share() const;  // of the bytes of Arrow inputs read so far; negative if unknown

  // Whether `path` is one of the files, under whatever name, or the file that standard input comes from.
  bool contains(const std::string& path) const;

  // All inputs, one after the other, columns matched by name. Inputs with other columns than the first one are an error
  // unless `union_by_name`. Arrow inputs are registered in the session.
  std::string query(Session& session, bool union_by_name);
  const Notices& notices() const { return notices_; }  // of query()
  // Whether `error` is that of an empty text in quotes among the numbers of a CSV file, and query() will now take such
  // texts for NULL.
  bool takes_empty_texts_for_null(const Error& error);
  // After the rows have been read: which of them were left out, as ignore_errors asks.
  static Notices rejected_rows(Session& session);

 private:
  struct Input {
    std::string path;
    std::string format;  // empty: the SQL library goes by the extension
    bool is_stdin = false;
    std::string front;               // bytes of standard input already read
    std::vector<std::string> files;  // what a pattern matches
    std::string compression;         // of standard input: "gzip", "zstd"
  };
  void add_path(const std::string& path, const std::string& format);
  void add_stdin(const std::string& format);
  void spool_stdin(Input& input);
  void open_arrow(const Input& input, ArrowArrayStream* out);
  std::string query_of(const Input& input, Session& session, std::vector<InputColumns>& columns);
  std::string reader_query(const std::string& path, const Input& input, Session& session) const;
  bool may_keep_empty_texts() const;

  std::vector<Input> inputs_;
  CsvOptions csv_;
  bool empty_is_null_ = false;  // also in quotes
  uint64_t bytes_ = 0;
  std::shared_ptr<std::atomic<uint64_t>> arrow_bytes_read_ = std::make_shared<std::atomic<uint64_t>>(0);
  Notices notices_;
  std::vector<std::unique_ptr<OutputFile>> spools_;
  std::vector<FileIdentity> files_;
};

}  // namespace basalt::cli
