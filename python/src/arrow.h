// Arrow's C structures as Python objects: what has been read, what is being read, and what Python hands in.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "basalt/core/arrow.h"
#include "basalt/core/error.h"

namespace pybasalt {

namespace nb = nanobind;

// A structure of Arrow's that is released with its last owner.
template <typename Structure>
std::shared_ptr<Structure> own(Structure&& structure) {
  auto* held = new Structure(structure);
  structure.release = nullptr;
  return std::shared_ptr<Structure>(held, [](Structure* value) {
    if (value->release != nullptr) value->release(value);
    delete value;
  });
}

// Names of columns and their types as SQL spells them.
using ColumnNames = std::vector<std::pair<std::string, std::string>>;

struct TableSchema {
  std::shared_ptr<const ArrowSchema> arrow;
  ColumnNames columns;
};
TableSchema describe(const basalt::Schema& schema);

// Rows in memory, in batches. Any number of streams may be made of them; all share the buffers.
struct Batches {
  TableSchema schema;
  std::vector<std::shared_ptr<const ArrowArray>> batches;

  int64_t rows() const;
  void open(ArrowArrayStream* out) const;
  nb::capsule stream() const;
};

nb::capsule schema_capsule(const TableSchema& schema);

// A stream of what `next` gives, until that is nullptr. What it throws is told as a sentence.
void open_stream(const TableSchema& schema, std::function<std::shared_ptr<const ArrowArray>()> next,
                 ArrowArrayStream* out);

// A stream that is read batch by batch; whatever it needs lives as long as it does.
class Reader {
 public:
  // `cancel` makes the stream end soon, from any thread. `failure`: where the stream leaves the exception that it has
  // only a sentence for.
  Reader(ArrowArrayStream&& stream, TableSchema schema, std::function<void()> cancel,
         std::shared_ptr<std::exception_ptr> failure)
      : stream_(own(std::move(stream))),
        schema_(std::move(schema)),
        cancel_(std::move(cancel)),
        failure_(std::move(failure)) {}

  const TableSchema& schema() const { return schema_; }
  // The next batch; without one at the end.
  Batches next();
  Batches all();
  // Hands the rest over.
  nb::capsule stream();
  // Ends it: there are no more rows.
  void close();

 private:
  std::shared_ptr<ArrowArrayStream> open_stream();
  std::shared_ptr<const ArrowArray> next_of(ArrowArrayStream& stream) const;

  std::mutex mutex_;                          // of the stream while a thread reads
  std::shared_ptr<ArrowArrayStream> stream_;  // nullptr: handed over, or closed
  bool closed_ = false;
  TableSchema schema_;
  std::function<void()> cancel_;
  std::shared_ptr<std::exception_ptr> failure_;
};

// The next array of a stream, nullptr at the end. Throws basalt::Error with the stream's sentence, since Arrow has no
// codes: kCancelled, kOutOfMemory, or the one for all others.
std::shared_ptr<const ArrowArray> next_array(ArrowArrayStream& stream,
                                             basalt::ErrorCode other = basalt::ErrorCode::kIo);

// Takes over what an object with __arrow_c_stream__ or __arrow_c_array__ gives.
void open_python(nb::handle object, ArrowArrayStream* out);
bool speaks_arrow(nb::handle object);

// Copies whose buffers belong to `keeper`.
template <typename Structure>
void share(const Structure& from, const std::shared_ptr<const void>& keeper, Structure* out) {
  struct Shared {
    std::shared_ptr<const void> keeper;
    std::vector<Structure> children;
    std::vector<Structure*> places;
    Structure dictionary{};
  };
  auto shared = std::make_unique<Shared>();
  shared->keeper = keeper;
  shared->children.resize(static_cast<size_t>(from.n_children));
  for (int64_t i = 0; i < from.n_children; ++i) {
    Structure& child = shared->children[static_cast<size_t>(i)];
    share(*from.children[i], keeper, &child);
    shared->places.push_back(&child);
  }
  *out = from;
  out->children = shared->places.data();
  if (from.dictionary != nullptr) {
    share(*from.dictionary, keeper, &shared->dictionary);
    out->dictionary = &shared->dictionary;
  }
  out->private_data = shared.release();
  out->release = [](Structure* structure) {
    auto* owner = static_cast<Shared*>(structure->private_data);
    for (Structure& child : owner->children) {
      if (child.release != nullptr) child.release(&child);
    }
    if (owner->dictionary.release != nullptr) owner->dictionary.release(&owner->dictionary);
    delete owner;
    structure->release = nullptr;
  };
}

// A capsule as the Arrow PyCapsule interface has it: it owns a structure until somebody moves that out.
template <typename Structure>
nb::capsule capsule_of(std::unique_ptr<Structure> structure, const char* name) {
  nb::capsule capsule(structure.get(), name, [](void* pointer) noexcept {
    auto* held = static_cast<Structure*>(pointer);
    if (held->release != nullptr) held->release(held);
    delete held;
  });
  structure.release();
  return capsule;
}

void bind_arrow(nb::module_& module);

}  // namespace pybasalt
