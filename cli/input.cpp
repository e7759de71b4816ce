// Telling inputs apart and opening them.
#include "cli/input.h"

#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "basalt/core/error.h"
#include "basalt/file/ipc.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/regular_file.h"

namespace basalt::cli {
namespace {

constexpr size_t kFrontBytes = 64 << 10;

bool has_glob(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> expand(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

bool is_missing(const std::string& path) {
  return ::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

// The SQL library would show a statement that nobody has written. It also knows `**`, which glob() does not.
void require_files(const std::string& path, const std::vector<std::string>& matches) {
  if (!matches.empty() && !is_missing(matches.front())) return;
  if (path.find("**") != std::string::npos || !is_missing(path)) return;
  throw Error(ErrorCode::kIo, path + (has_glob(path) ? ": no file matches" : ": no such file"));
}

uint64_t file_bytes(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
}

// What the bytes of an unnamed input look like.
std::string sniff(const std::string& front) {
  if (is_ipc(front)) return "arrow";
  if (front.starts_with("PAR1")) return "parquet";
  if (front.starts_with("BASALT\r\n")) return "basalt";
  const size_t first = front.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && front[first] == '[') return "json";
  if (first != std::string::npos && front[first] == '{') return "ndjson";
  const std::string line = front.substr(0, front.find('\n'));
  return std::count(line.begin(), line.end(), '\t') > std::count(line.begin(), line.end(), ',') ? "tsv" : "csv";
}

size_t read_stdin(void* out, size_t size) {
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, out, size);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) throw Error(ErrorCode::kIo, std::string("cannot read standard input: ") + std::strerror(errno));
  }
}

// What a path of a text file is, whatever compression follows: "csv" for x.csv.gz.
std::string text_format_of(const std::string& path) {
  std::string name = CLI::detail::to_lower(path);
  for (const std::string ending : {".gz", ".zst"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  for (const char* format : {"csv", "tsv", "txt", "tbl"}) {
    if (name.ends_with(std::string(".") + format)) return format;
  }
  return "";
}

std::string compression_of(const std::string& front) {
  if (front.starts_with("\x1f\x8b")) return "gzip";
  return front.starts_with("\x28\xb5\x2f\xfd") ? "zstd" : "";
}

// The first line of a compressed text; of one that is too long for a line of CSV, what JSON begins with.
std::string first_line(Session& session, const std::string& path, const std::string& compression) {
  std::string line;
  try {
    QueryResult result =
        session.execute("select line from read_csv(" + quote_literal(path) +
                        ", columns = {line: 'VARCHAR'}, delim = chr(1), quote = '', escape = '', " +
                        "header = false, auto_detect = false, compression = " + quote_literal(compression) +
                        ") where line <> '' limit 1");
    while (const std::unique_ptr<Table> rows = result.next()) {
      if (rows->rows > 0 && line.empty()) line = rows->columns[0].string_at(0);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    return "[";
  }
  return line + "\n";
}

// `query` calls a reader and nothing behind it.
std::string with_argument(const std::string& query, const std::string& argument) {
  return query.substr(0, query.size() - 1) + ", " + argument + ")";
}

// Quoted, an empty text is a text; unless a column of numbers would become one of texts by that.
std::string keeping_empty_texts(const std::string& query, const std::vector<ResultColumn>& columns, Session& session) {
  const std::string keeping = with_argument(query, "allow_quoted_nulls = false");
  return are_identical({{"", columns}, {"", session.describe(keeping)}}) ? keeping : query;
}

// Of a stream that import_stream() made, which cannot fail here.
Schema schema_of(ArrowArrayStream& stream) {
  ArrowSchema arrow;
  stream.get_schema(&stream, &arrow);
  const std::shared_ptr<void> releaser(nullptr, [&](void*) { arrow.release(&arrow); });
  return import_schema(arrow);
}

}  // namespace

const std::vector<std::string>& input_formats() {
  static const std::vector<std::string> names = {"parquet", "csv", "tsv", "json", "ndjson", "arrow", "basalt"};
  return names;
}

std::string CsvOptions::arguments(const std::string& default_delimiter) const {
  std::string out;
  const std::string& separator = delimiter.empty() ? default_delimiter : delimiter;
  if (!separator.empty()) out += ", delim = " + quote_literal(separator == "\\t" ? "\t" : separator);
  if (!header.empty()) out += ", header = " + header;
  if (!nulls.empty()) {
    std::string list;
    for (const std::string& text : nulls) list += (list.empty() ? "" : ", ") + quote_literal(text);
    out += ", nullstr = [" + list + "]";
  }
  if (!types.empty()) {
    std::string list;
    for (const std::string& type : types) {
      const size_t equals = type.rfind('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == type.size())
        throw UsageError("--types " + type + ": write COLUMN=TYPE, for example zip=VARCHAR");
      list += (list.empty() ? "" : ", ") + quote_literal(type.substr(0, equals)) + ": " +
              quote_literal(type.substr(equals + 1));
    }
    out += ", types = {" + list + "}";
  }
  // Which rows these are is kept in tables of the session.
  if (ignore_errors) out += ", store_rejects = true";
  return out;
}

InputSet::InputSet(const std::vector<std::string>& paths, const std::string& format, CsvOptions csv)
    : csv_(std::move(csv)) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) throw UsageError("standard input (-) can be read only once");
  for (const std::string& path : paths) path == "-" ? add_stdin(format) : add_path(path, format);
}

InputSet::~InputSet() = default;

bool InputSet::contains(const std::string& path) const {
  const auto file = identify_file(path);
  return file && std::find(files_.begin(), files_.end(), *file) != files_.end();
}

void InputSet::add_path(const std::string& path, const std::string& format) {
  const std::vector<std::string> matches = has_glob(path) ? expand(path) : std::vector<std::string>{path};
  require_files(path, matches);
  for (const std::string& match : matches) {
    check_regular_file(match);
    bytes_ += file_bytes(match);
    if (const auto file = identify_file(match)) files_.push_back(*file);
  }
  const bool arrow = format == "arrow" || (format.empty() && is_ipc_name(path));
  if (!arrow) {
    inputs_.push_back({path, format, false, {}, has_glob(path) ? matches : std::vector<std::string>{}, ""});
    return;
  }
  if (matches.empty()) throw Error(ErrorCode::kIo, path + ": no file matches");
  for (const std::string& match : matches) inputs_.push_back({match, "arrow", false, {}, {}, ""});
}

void InputSet::add_stdin(const std::string& format) {
  if (::isatty(STDIN_FILENO) == 1) throw UsageError("standard input is a terminal: pipe a file into it, or name one");
  if (const auto file = identify_file(STDIN_FILENO)) files_.push_back(*file);
  Input input{"-", format, true, {}, {}, ""};
  input.front.resize(kFrontBytes);
  size_t filled = 0;
  while (filled < kFrontBytes) {
    const size_t got = read_stdin(input.front.data() + filled, kFrontBytes - filled);
    if (got == 0) break;
    filled += got;
  }
  input.front.resize(filled);
  if (input.front.empty()) throw Error(ErrorCode::kIo, "standard input is empty");
  input.compression = compression_of(input.front);
  if (input.format.empty() && input.compression.empty()) input.format = sniff(input.front);
  if (input.format != "arrow") spool_stdin(input);
  inputs_.push_back(std::move(input));
}

// Readers look at a file more than once (types first, rows later; Parquet from its end), which a pipe does not allow.
// The spool has no name, so that nothing stays behind however the program ends.
void InputSet::spool_stdin(Input& input) {
  OutputFile& spool = *spools_.emplace_back(OutputFile::temporary());
  std::string block = std::move(input.front);
  while (!block.empty()) {
    spool.write({reinterpret_cast<const std::byte*>(block.data()), block.size()});
    bytes_ += block.size();
    block.resize(1 << 20);
    block.resize(read_stdin(block.data(), block.size()));
  }
  spool.flush();
  input.path = spool.path_to_open();
}

bool InputSet::is_one_arrow() const { return inputs_.size() == 1 && inputs_[0].format == "arrow"; }

void InputSet::open_arrow(ArrowArrayStream* out) { open_arrow(inputs_[0], out); }

void InputSet::open_arrow(const Input& input, ArrowArrayStream* out) {
  if (!input.is_stdin) return open_ipc(input.path, out, arrow_bytes_read_);
  auto front = std::make_shared<std::string>(input.front);
  const std::string name = "standard input";
  open_ipc(
      [=, counter = arrow_bytes_read_](void* into, size_t size) -> size_t {
        size_t got = std::min(size, front->size());
        if (got > 0) {
          std::memcpy(into, front->data(), got);
          front->erase(0, got);
        } else {
          ssize_t read = -1;
          while ((read = ::read(STDIN_FILENO, into, size)) < 0)
            if (errno != EINTR) throw Error(ErrorCode::kIo, name + ": cannot read: " + std::strerror(errno));
          got = static_cast<size_t>(read);
        }
        *counter += got;
        return got;
      },
      name, out);
}

bool InputSet::can_repeat() const {
  return std::none_of(inputs_.begin(), inputs_.end(),
                      [](const Input& input) { return input.is_stdin && input.format == "arrow"; });
}

double InputSet::arrow_share() const {
  return bytes_ == 0 ? -1 : std::min(1.0, static_cast<double>(*arrow_bytes_read_) / static_cast<double>(bytes_));
}

// The rows of one input; its columns, or those of each file that a pattern matches, are added to `columns`.
std::string InputSet::query_of(const Input& input, Session& session, std::vector<InputColumns>& columns) {
  if (input.format == "arrow") {
    ArrowArrayStream raw, stream;
    open_arrow(input, &raw);
    import_stream(&raw, &notices_, &stream);
    note_sql_types(schema_of(stream), notices_);
    const std::string name = "arrow_input_" + std::to_string(columns.size());
    session.register_arrow(name, &stream);
    const std::string query = "select * from " + quote_identifier(name);
    columns.push_back({input.is_stdin ? "standard input" : input.path, session.describe(query)});
    return query;
  }
  std::string query = reader_query(input.path, input, session);
  if (query.find("read_parquet(") != std::string::npos) note_parquet_columns(session, input.path, notices_);
  std::vector<InputColumns> files;
  for (const std::string& file : input.files)
    files.push_back({file, session.describe(reader_query(file, input, session))});
  // Readers take the first file's types for all of them otherwise, and drop columns that it does not have.
  const bool uniform = are_identical(files);
  if (!uniform) query = with_argument(query, "union_by_name = true");
  const bool is_csv = query.starts_with("select * from read_csv(");
  const bool is_one_of_several = files.empty() && inputs_.size() > 1;
  std::vector<ResultColumn> own;
  if (is_csv || is_one_of_several) own = session.describe(query);
  if (is_one_of_several) files.push_back({input.is_stdin ? "standard input" : input.path, own});
  columns.insert(columns.end(), files.begin(), files.end());
  if (!is_csv) return query;
  note_rounded_integers(session, query, own, notices_);
  return uniform && may_keep_empty_texts() ? keeping_empty_texts(query, own, session) : query;
}

// Who names a text for NULL means it in quotes, too; and rows that cannot be read are left out where errors are
// ignored.
bool InputSet::may_keep_empty_texts() const {
  return !empty_is_null_ && csv_.nulls.empty() && !csv_.ignore_errors && can_repeat();
}

bool InputSet::takes_empty_texts_for_null(const Error& error) {
  const bool is_empty_text = std::string_view(error.what()).find("onvert string \"\" to") != std::string_view::npos;
  if (!is_empty_text || !may_keep_empty_texts()) return false;
  empty_is_null_ = true;
  return true;
}

std::string InputSet::reader_query(const std::string& path, const Input& input, Session& session) const {
  std::string format = input.format;
  if (format.empty() && !input.compression.empty()) format = sniff(first_line(session, path, input.compression));
  const std::string text = format.empty() ? text_format_of(path) : format;
  const bool is_csv = text == "csv" || text == "tsv" || text == "txt" || text == "tbl";
  if (csv_.any() && !is_csv)
    throw UsageError(path + ": --delimiter, --header, --null, --types and --ignore-errors are for CSV and TSV files");
  const std::string packed = input.compression.empty() ? "" : ", compression = " + quote_literal(input.compression);
  const std::string file = quote_literal(path);
  if (is_csv && (csv_.any() || !format.empty()))
    return "select * from read_csv(" + file +
           csv_.arguments(text == "tsv"   ? "\t"
                          : text == "tbl" ? "|"
                                          : "") +
           packed + ")";
  // A file's own columns; files that a pattern finds have those of their path besides.
  const bool is_basalt = format == "basalt" || (format.empty() && format_by_name(path) == "basalt");
  if (is_basalt && input.files.empty()) return "select * from read_basalt(" + file + ", hive_partitioning = false)";
  if (format.empty()) return query_for_file(path);
  if (!packed.empty() && format != "json" && format != "ndjson")
    throw UsageError(format + " from standard input cannot be compressed; it is so inside, if at all");
  if (format == "parquet") return "select * from read_parquet(" + file + ")";
  if (format == "json") return "select * from read_json(" + file + packed + ")";
  if (format == "ndjson") return "select * from read_json(" + file + ", format='newline_delimited'" + packed + ")";
  return "select * from read_basalt(" + file + ")";
}

Notices InputSet::rejected_rows(Session& session) {
  constexpr uint64_t kMostNamed = 5;
  Notices notices;
  QueryResult result = session.execute(
      "select file_path, line::bigint, column_name, error_message, count(*) over () from (select distinct on "
      "(s.file_path, e.line) "
      "s.file_path, e.line, e.column_name, e.error_message from reject_errors e join reject_scans s using (scan_id, "
      "file_id)) order by 1, 2 limit " +
      std::to_string(kMostNamed));
  uint64_t all = 0;
  while (const std::unique_ptr<Table> rows = result.next()) {
    for (uint64_t row = 0; row < rows->rows; ++row) {
      all = static_cast<uint64_t>(rows->columns[4].values.as<int64_t>()[row]);
      std::string reason(rows->columns[3].string_at(row));
      reason = reason.substr(0, reason.find('\n'));
      const std::string column(rows->columns[2].string_at(row));
      notices.push_back(std::string(rows->columns[0].string_at(row)) + ", line " +
                        std::to_string(rows->columns[1].values.as<int64_t>()[row]) + " is left out" +
                        (column.empty() ? "" : ": column " + column) + ": " + reason);
    }
  }
  if (all > 0) notices.push_back(std::to_string(all) + (all == 1 ? " row was left out" : " rows were left out"));
  return notices;
}

std::string InputSet::query(Session& session, bool union_by_name) {
  notices_.clear();  // of an attempt that ran out of memory
  std::string out;
  std::vector<InputColumns> columns;
  for (const Input& input : inputs_)
    out += (out.empty() ? "" : " union all by name ") + query_of(input, session, columns);
  if (columns.size() < 2) return out;
  if (!union_by_name) require_same_columns(columns);
  if (!are_identical(columns)) note_widened_columns(columns, session.describe(out), notices_);
  return out;
}

}  // namespace basalt::cli
