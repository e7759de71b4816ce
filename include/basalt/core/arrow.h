// Arrow's C data interface at the border of Basalt: schemas, arrays and streams in and out of Table and Column.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "basalt/core/column.h"
#include "basalt/core/notices.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};
#endif

namespace basalt {

// Imports a struct schema. Types that Basalt cannot hold are all named in one Error(kUnsupported); those that it holds
// as another type (zone names, lists of a fixed size, dictionaries) are noted.
Schema import_schema(const ArrowSchema& schema, Notices* notices = nullptr);
// Copies a record batch (a struct array) into columns of the given schema, in canonical form (see make_canonical), also
// where values lie under a NULL struct or a NULL list. Does not release the array.
Table import_batch(const ArrowArray& array, const ArrowSchema& arrow_schema, const Schema& schema);

void export_schema(const Schema& schema, ArrowSchema* out);
// Moves the table's buffers into an array that owns them.
void export_batch(Table&& table, ArrowArray* out);

// The stream's batches as Basalt holds them, in its types and in canonical form; takes the stream over.
void import_stream(ArrowArrayStream* stream, Notices* notices, ArrowArrayStream* out);

// A stream that asks `next` for tables until it returns nullptr. Errors become the stream's error text.
void export_stream(const Schema& schema, std::function<std::unique_ptr<Table>()> next, ArrowArrayStream* out);

}  // namespace basalt
