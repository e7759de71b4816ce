#include "cuda/query/joins/parked_rows.h"

#include <utility>

#include "basalt/core/error.h"
#include "core/output_file.h"

namespace basalt::cuda {

namespace {

// Chunks are what parts of a stage are made of.
constexpr uint64_t kChunkRows = 1 << 15;

// Whoever has more memory goes on where rows cannot be written.
template <typename F>
void or_no_memory(const F& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo) throw;
    throw Error(ErrorCode::kOutOfMemory,
                std::string("rows that the device's memory does not hold cannot wait in a file: ") + error.what());
  }
}

std::string path_in(const PrivateFolder& folder) { return folder.path() + "/rows.basalt"; }

}  // namespace

void ParkedRows::begin(const Schema& given) {
  Schema schema = given;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    schema.fields[i].name = std::to_string(i);  // several may have the same
    schema.fields[i].nullable = true;
  }
  WriteOptions options;
  options.threads = threads_;
  options.cancel = cancel_;
  options.chunk_rows = kChunkRows;
  options.effort = Effort::kFast;
  options.wrap_small = false;
  options.durable = false;
  folder_ = std::make_unique<PrivateFolder>(PrivateFolder::unused_name(temporary_folder(), "basalt-rows"));
  writer_ = std::make_unique<Writer>(path_in(*folder_), schema, options);
}

void ParkedRows::append(Table rows) {
  or_no_memory([&] {
    if (writer_ == nullptr) begin(rows.schema);
    writer_->append(std::move(rows));
  });
}

std::shared_ptr<const File> ParkedRows::finish() {
  std::shared_ptr<const File> file;
  or_no_memory([&] {
    writer_->finish();
    writer_.reset();
    file = File::open(path_in(*folder_));
  });
  folder_.reset();
  made_.push_back(file);
  return file;
}

Table unparked(const File& file, const std::vector<Field>& fields, uint32_t threads) {
  ReadOptions options;
  options.threads = threads;
  options.limits.bytes = ~uint64_t{0};
  Table rows = read_table(file, options);
  rows.schema.fields = fields;
  return rows;
}

}  // namespace basalt::cuda
