// A connection: a session that threads take in turn. Results are fetched as a whole while it is theirs, or streamed.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <tuple>

#include "arrow.h"
#include "basalt/core/error.h"
#include "basalt/sql/session.h"
#include "device.h"
#include "file.h"
#include "streamed_rows.h"
#include "work.h"
#include "write.h"

namespace pybasalt {

using basalt::Error;
using basalt::ErrorCode;

namespace {

using Parameters = std::vector<std::tuple<std::string, std::string, std::optional<std::string>>>;

std::vector<basalt::Parameter> to_parameters(const Parameters& given) {
  std::vector<basalt::Parameter> out;
  for (const auto& [name, type, text] : given) out.push_back({name, type, text});
  return out;
}

// An object that other threads may let go of.
std::shared_ptr<nb::object> hold(nb::object object) {
  return {new nb::object(std::move(object)),
          [](nb::object* held) { InterpreterEnd::unless_come([&] { delete held; }); }};
}

// DuckDB's threads call these: what Python raises becomes an error of ours.
template <typename Body>
auto with_python(const Body& body) {
  const nb::gil_scoped_acquire acquired;
  try {
    return body();
  } catch (const nb::python_error& error) {
    throw Error(ErrorCode::kInvalidArgument, error.what());
  }
}

std::function<basalt::StreamOpener(const std::string&)> table_finder(nb::object find) {
  return [find = hold(std::move(find))](const std::string& name) -> basalt::StreamOpener {
    const auto table = with_python([&] {
      nb::object found = (*find)(name);
      return found.is_none() ? nullptr : hold(std::move(found));
    });
    if (table == nullptr) return {};
    return [table](ArrowArrayStream* out) { with_python([&] { open_python(*table, out); }); };
  };
}

template <typename Body>
auto with_remote_file(const std::string& name, const Body& body) {
  const nb::gil_scoped_acquire acquired;
  try {
    return body();
  } catch (const nb::python_error& error) {
    throw Error(ErrorCode::kIo, sentence_about(name, error));
  }
}

basalt::RemoteFiles remote_files(nb::object find, nb::object open) {
  basalt::RemoteFiles files;
  files.find = [find = hold(std::move(find))](const std::string& pattern) {
    return with_remote_file(pattern, [&] { return nb::cast<std::vector<std::string>>((*find)(pattern)); });
  };
  files.open = [open = hold(std::move(open))](const std::string& name) -> std::shared_ptr<const basalt::File> {
    return with_remote_file(name, [&] { return outlasting(nb::cast<std::shared_ptr<basalt::File>>((*open)(name))); });
  };
  return files;
}

struct Result {
  Batches rows;
  bool has_rows = false;
  std::string explained;
  basalt::QueryReport report;
};

nb::dict to_python(const basalt::QueryReport& report) {
  nb::dict out;
  out["rows"] = report.rows;
  out["total_ms"] = report.total_ms;
  out["ran_on"] = report.ran_on == basalt::Device::kCuda ? "cuda" : "cpu";
  out["device_name"] = report.device_name;
  out["in_basalt"] = report.in_basalt;
  out["in_duckdb"] = report.in_duckdb;
  out["notes"] = report.notes;
  out["notices"] = report.notices;
  out["why_cpu"] = report.why_cpu;
  out["tiles"] = report.tiles.total;
  out["tiles_skipped"] = report.tiles.skipped;
  out["texts_in_place"] = report.tiles.texts_in_place;
  out["texts_decoded"] = report.tiles.texts_decoded;
  out["bytes_transferred"] = report.bytes_transferred;
  out["compile_ms"] = report.compile_ms;
  out["transfer_ms"] = report.transfer_ms;
  out["kernel_ms"] = report.kernel_ms;
  out["summary"] = report.summary();
  return out;
}

basalt::QueryReport report_on(const DeviceRows& rows) {
  const basalt::RunReport& run = rows.report;
  basalt::QueryReport out;
  out.rows = static_cast<uint64_t>(rows.result->array.array.length);
  out.total_ms = run.total_ms;
  out.used_basalt = true;
  out.ran_on = run.ran_on;
  out.device_name = run.device_name;
  for (const basalt::RunReport& step : run.steps) out.in_basalt.push_back(step.what);
  if (run.steps.empty()) out.in_basalt.push_back(run.what);
  out.why_cpu = run.why_cpu;
  out.tiles = run.tiles;
  out.bytes_transferred = run.bytes_transferred;
  out.compile_ms = run.compile_ms;
  out.transfer_ms = run.transfer_ms;
  out.kernel_ms = run.kernel_ms;
  return out;
}

class Connection {
 public:
  Connection(const std::string& device, uint32_t threads, uint64_t memory_limit, uint64_t gpu_memory,
             const std::string& database, const std::string& temp_dir, bool strict, nb::object find_table,
             nb::object find_remote, nb::object open_remote) {
    basalt::SessionOptions options;
    options.device = parse_device(device);
    options.threads = threads;
    options.memory_limit = memory_limit;
    options.gpu_memory = gpu_memory;
    options.database = database;
    options.temp_dir = temp_dir;
    options.strict = strict;
    options.find_table = table_finder(std::move(find_table));
    options.remote_files = remote_files(std::move(find_remote), std::move(open_remote));
    device_ = options.device;
    threads_ = threads;
    const nb::gil_scoped_release released;
    session_ = std::make_shared<basalt::Session>(options);
  }
  ~Connection() {
    run_unlocked([&] { end(); });
  }

  Result execute(const std::string& sql, const Parameters& parameters, nb::object progress) {
    const auto values = to_parameters(parameters);
    return watched([&] { return fetch(session().execute(sql, values)); }, progress);
  }

  // The same, but rows come as they are found. The session is free for other statements meanwhile.
  std::unique_ptr<Reader> stream(const std::string& sql, const Parameters& parameters) {
    const auto values = to_parameters(parameters);
    const auto work = [&] {
      basalt::QueryResult result = session().execute(sql, values);
      auto [schema, found] = take_rows(result);
      const auto rows = StreamedRows::make(session_, std::move(found));
      streamed_ = rows;
      const auto failure = std::make_shared<std::exception_ptr>();
      const auto next = [rows, failure] {
        try {
          return rows->next();
        } catch (...) {
          *failure = std::current_exception();
          throw;
        }
      };
      ArrowArrayStream out{};
      open_stream(schema, next, &out);
      return std::make_unique<Reader>(
          std::move(out), schema, [rows] { rows->cancel(); }, failure);
    };
    return watched(work, nb::none());
  }

  // A query of rows of files, filtered or not, as a scan by Basalt's own threads; nothing where it is more than that.
  std::unique_ptr<Reader> scan(const std::string& sql, uint32_t threads, uint64_t memory_limit) {
    const auto work = [&]() -> std::unique_ptr<Reader> {
      basalt::Query query;
      try {
        query = session().lower(sql);
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kUnsupported) return nullptr;
        throw;
      }
      basalt::Pipeline& stage = query.stages.front();
      const bool all_rows = stage.order.empty() && stage.limit == basalt::kAllRows && stage.offset == 0 &&
                            stage.steps.empty() && !stage.files.empty();
      if (query.stages.size() != 1 || stage.sink != basalt::Sink::kRows || !all_rows) return nullptr;
      basalt::ScanOptions options;
      for (const basalt::Expr& expr : stage.rows) {
        if (expr.op != basalt::ExprOp::kColumn) return nullptr;
        options.columns.push_back(stage.columns[expr.column].name);
      }
      options.has_filter = stage.has_filter;
      options.filter = std::move(stage.filter);
      if (stage.has_filter) options.filter_columns = std::move(stage.columns);
      options.threads = threads;
      if (memory_limit > 0) options.decoded_limit = memory_limit;
      return scan_files(std::move(stage.files), std::move(options));
    };
    return watched(work, nb::none());
  }

  // The rows, and the report on them. `chunk`: of a query over one file, only that part of it.
  std::pair<DeviceRows, nb::dict> on_device(const std::string& sql, const Parameters& parameters,
                                            const std::string& device, std::optional<uint32_t> chunk) {
    check_process();
    const auto values = to_parameters(parameters);
    basalt::CancelToken cancel;
    basalt::RunOptions options;
    options.device = device.empty() ? device_ : parse_device(device);
    options.threads = threads_;
    options.cancel = &cancel;
    const auto work = [&] {
      const basalt::Query query = alone([&] { return session().lower(sql, values); });
      if (chunk) {
        const auto& files = query.stages.front().files;
        if (query.stages.size() != 1 || files.size() != 1) {
          throw Error(ErrorCode::kUnsupported, "a query of a chunk reads one file and does nothing but filter");
        }
        options.tiles = tiles_of_chunk(*files.front(), chunk);
      }
      return run_on_device(query, options);
    };
    DeviceRows rows = run_watched(work, {[&] { cancel.cancel(); }, {}});
    nb::dict report = to_python(report_on(rows));
    return {std::move(rows), std::move(report)};
  }

  nb::dict convert(const std::string& sql, const std::string& path, const nb::dict& arguments, nb::object progress) {
    check_process();
    basalt::WriteOptions options = write_options(arguments);
    WriteWatch watch(options, progress);
    const auto work = [&] { return alone([&] { return session().convert(sql, path, options); }); };
    const auto tick = progress.is_none() ? std::function<void()>() : [&] { watch.tick(); };
    const basalt::WriteSummary summary = run_watched(work, {[&] { interrupt(); }, tick});
    watch.tick();
    return pybasalt::to_python(summary);
  }

  ColumnNames describe(const std::string& sql) {
    const auto work = [&] {
      ColumnNames out;
      for (const basalt::ResultColumn& column : session().describe(sql)) out.emplace_back(column.name, column.type);
      return out;
    };
    return watched(work, nb::none());
  }

  bool is_query(const std::string& sql) {
    check_process();
    // It only parses: worth watching where another thread's statement is waited for, or its rows are.
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock() && streamed_.expired()) {
      return session().is_query(sql);
    }
    const auto work = [&] {
      const std::lock_guard lock(mutex_);
      return session().is_query(sql);
    };
    return run_watched(work, {[&] { interrupt(); }, {}});
  }

  std::vector<std::pair<std::string, std::string>> tables() {
    const auto work = [&] {
      std::vector<std::pair<std::string, std::string>> out;
      for (const basalt::TableInfo& table : session().tables()) out.emplace_back(table.name, table.kind);
      return out;
    };
    return watched(work, nb::none());
  }

  // From any thread, of the statement that runs now.
  double progress() const { return session_ == nullptr ? -1 : session_->progress(); }

  void interrupt() {
    ++interrupts_;
    if (session_ != nullptr) session_->interrupt();
  }

  void close() {
    const nb::gil_scoped_release released;
    if (process_.is_ours()) {
      const std::lock_guard lock(mutex_);
      end();
    }
  }

 private:
  void check_process() const {
    if (!process_.is_ours()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the connection belongs to the process that this one was forked from: open another");
    }
  }
  // A forked process has none of the threads that ending it would wait for: there it is left as it is.
  void end() {
    if (process_.is_ours()) {
      session_.reset();
    } else {
      new std::shared_ptr<basalt::Session>(std::move(session_));  // NOLINT: left to the process
    }
  }
  basalt::Session& session() {
    if (session_ == nullptr) throw Error(ErrorCode::kInvalidArgument, "the connection is closed");
    return *session_;
  }

  static std::pair<TableSchema, std::shared_ptr<ArrowArrayStream>> take_rows(basalt::QueryResult& result) {
    TableSchema schema;
    for (const basalt::ResultColumn& column : result.columns()) schema.columns.emplace_back(column.name, column.type);
    ArrowArrayStream stream{};
    result.to_arrow(&stream);
    auto rows = own(std::move(stream));
    ArrowSchema arrow{};
    if (rows->get_schema(rows.get(), &arrow) != 0) {
      throw Error(ErrorCode::kUnsupported, rows->get_last_error(rows.get()));
    }
    schema.arrow = own(std::move(arrow));
    return {std::move(schema), std::move(rows)};
  }

  static Result fetch(basalt::QueryResult result) {
    Result out;
    out.has_rows = result.has_rows();
    out.explained = result.explain_text();
    out.report = result.report();
    if (!out.has_rows) {
      out.rows.schema = pybasalt::describe({});  // a table, too: of no columns
      return out;
    }
    auto [schema, rows] = take_rows(result);
    out.rows.schema = std::move(schema);
    // What fails behind the first rows is almost always a value: a cast, a division.
    while (auto batch = next_array(*rows, ErrorCode::kInvalidArgument)) out.rows.batches.push_back(std::move(batch));
    if (out.explained.empty()) out.report = result.report();
    return out;
  }

  // Has the session to itself. Rows of an earlier statement that are still to come are fetched first.
  template <typename Work>
  std::invoke_result_t<Work> alone(const Work& work) {
    const std::lock_guard lock(mutex_);
    const uint64_t interrupts = interrupts_;
    if (const auto rows = streamed_.lock()) rows->settle();
    if (interrupts_ != interrupts) throw Error(ErrorCode::kCancelled, "the statement was interrupted");
    return work();
  }

  template <typename Work>
  std::invoke_result_t<Work> watched(const Work& work, const nb::object& progress) {
    check_process();
    const auto tick = progress.is_none() ? std::function<void()>() : [&] { progress(this->progress()); };
    return run_watched([&] { return alone(work); }, {[&] { interrupt(); }, tick});
  }

  std::mutex mutex_;
  Process process_;
  std::shared_ptr<basalt::Session> session_;  // nullptr: closed
  std::weak_ptr<StreamedRows> streamed_;      // of the newest statement whose rows are streamed
  std::atomic<uint64_t> interrupts_ = 0;
  basalt::Device device_ = basalt::Device::kAuto;
  uint32_t threads_ = 0;
};

}  // namespace

}  // namespace pybasalt

// A module of its own: opening DuckDB's library takes longer than everything else.
NB_MODULE(_session, module) {
  using namespace pybasalt;  // NOLINT: this is the end of the file
  nb::module_::import_("pybasalt._core");
  InterpreterEnd::watch();
  nb::class_<Result>(module, "Result")
      .def_ro("rows", &Result::rows)
      .def_ro("has_rows", &Result::has_rows)
      .def_ro("explained", &Result::explained)
      .def_prop_ro("report", [](const Result& self) { return to_python(self.report); });
  nb::class_<Connection>(module, "Connection")
      .def(nb::init<const std::string&, uint32_t, uint64_t, uint64_t, const std::string&, const std::string&, bool,
                    nb::object, nb::object, nb::object>())
      .def("execute", &Connection::execute, nb::arg("sql"), nb::arg("parameters"), nb::arg("progress").none())
      .def("stream", &Connection::stream)
      .def("scan", &Connection::scan)
      .def("on_device", &Connection::on_device, nb::arg("sql"), nb::arg("parameters"), nb::arg("device"),
           nb::arg("chunk").none() = nb::none())
      .def("convert", &Connection::convert, nb::arg("sql"), nb::arg("path"), nb::arg("arguments"),
           nb::arg("progress").none())
      .def("describe", &Connection::describe)
      .def("is_query", &Connection::is_query)
      .def("tables", &Connection::tables)
      .def("progress", &Connection::progress)
      .def("interrupt", &Connection::interrupt)
      .def("close", &Connection::close);
  module.def("query_for_file", &basalt::query_for_file);
}
