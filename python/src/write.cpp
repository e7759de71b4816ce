// Arrow streams to files.
#include "write.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>

#include "arrow.h"
#include "basalt/core/error.h"
#include "basalt/cuda/backend.h"
#include "basalt/encoding/tree.h"
#include "work.h"

namespace pybasalt {

namespace {

basalt::Effort parse_effort(const std::string& name) {
  if (name == "fast") return basalt::Effort::kFast;
  if (name == "balanced") return basalt::Effort::kBalanced;
  if (name == "best") return basalt::Effort::kBest;
  throw nb::value_error("effort is 'fast', 'balanced' or 'best'");
}

basalt::Purpose parse_purpose(const std::string& name) {
  if (name == "balanced") return basalt::Purpose::kBalanced;
  if (name == "resident") return basalt::Purpose::kResident;
  if (name == "transfer") return basalt::Purpose::kTransfer;
  if (name == "disk") return basalt::Purpose::kDisk;
  throw nb::value_error("purpose is 'balanced', 'resident', 'transfer' or 'disk'");
}

// Both backends write the same bytes: what the GPU has no encoder for, the CPU encodes.
basalt::Node encode_on_gpu(const basalt::Values& values, const basalt::Tree& tree, basalt::Aims aims) {
  basalt::GpuBackend& backend = *basalt::gpu().backend;
  const bool can = backend.why_not_encode(values.type, tree).empty();
  return can ? backend.encode(values, tree, aims) : basalt::encode_tree(values, tree, aims);
}

}  // namespace

basalt::WriteOptions write_options(const nb::dict& arguments) {
  basalt::WriteOptions options;
  options.threads = nb::cast<uint32_t>(arguments["threads"]);
  options.memory_limit = nb::cast<uint64_t>(arguments["memory_limit"]);
  options.append = nb::cast<bool>(arguments["append"]);
  options.effort = parse_effort(nb::cast<std::string>(arguments["effort"]));
  options.purpose = parse_purpose(nb::cast<std::string>(arguments["purpose"]));
  if (const auto link = nb::cast<double>(arguments["link"]); link > 0) options.link_gbs = link;
  options.sort_columns = nb::cast<std::vector<std::string>>(arguments["sort_by"]);
  options.metadata = nb::cast<std::map<std::string, std::string>>(arguments["metadata"]);
  if (const auto rows = nb::cast<uint64_t>(arguments["chunk_rows"]); rows > 0) options.chunk_rows = rows;
  for (const auto& [column, tree] : nb::cast<std::map<std::string, std::string>>(arguments["encoding"])) {
    options.encodings[column] = basalt::parse_tree(tree);
  }
  if (nb::cast<std::string>(arguments["device"]) == "cuda") {
    if (basalt::gpu().backend == nullptr) {
      throw basalt::Error(basalt::ErrorCode::kDevice, "CUDA is not available: " + basalt::gpu().reason);
    }
    const basalt::Aims aims(options.effort, options.purpose);
    options.encoder = [aims](const basalt::Values& values, const basalt::Tree& tree) {
      return encode_on_gpu(values, tree, aims);
    };
  }
  return options;
}

nb::dict to_python(const basalt::WriteSummary& summary) {
  nb::list columns;
  for (const basalt::ColumnSummary& column : summary.columns) {
    nb::dict out;
    out["name"] = column.path;
    out["type"] = column.type;
    out["encodings"] = column.trees;
    out["plain_bytes"] = column.plain_bytes;
    out["encoded_bytes"] = column.encoded_bytes;
    columns.append(out);
  }
  nb::dict out;
  out["rows"] = summary.rows;
  out["chunks"] = summary.chunks;
  out["file_bytes"] = summary.file_bytes;
  out["plain_bytes"] = summary.plain_bytes;
  out["columns"] = columns;
  out["notices"] = summary.notices;
  return out;
}

WriteWatch::WriteWatch(basalt::WriteOptions& options, nb::object callback) : callback_(std::move(callback)) {
  options.progress = [this](const basalt::WriteProgress& progress) {
    rows_ = progress.rows;
    plain_bytes_ = progress.plain_bytes;
    written_bytes_ = progress.written_bytes;
  };
}

void WriteWatch::tick() {
  if (!callback_.is_none()) callback_(rows_.load(), plain_bytes_.load(), written_bytes_.load());
}

namespace {

nb::dict write(nb::handle table, const std::string& path, const nb::dict& arguments, nb::object progress) {
  basalt::WriteOptions options = write_options(arguments);
  basalt::CancelToken cancel;
  options.cancel = &cancel;
  ArrowArrayStream stream{};
  open_python(table, &stream);
  const auto owned = own(std::move(stream));
  WriteWatch watch(options, progress);
  const auto work = [&] { return basalt::write_arrow_stream(path, owned.get(), options); };
  const auto tick = progress.is_none() ? std::function<void()>() : [&] { watch.tick(); };
  const basalt::WriteSummary summary = run_watched(work, {[&] { cancel.cancel(); }, tick});
  watch.tick();
  return to_python(summary);
}

}  // namespace

void bind_write(nb::module_& module) {
  module.def("write", &write, nb::arg("table"), nb::arg("path"), nb::arg("arguments"), nb::arg("progress").none());
}

}  // namespace pybasalt
