// Rows that wait beside the device, for which it has no room: in a temporary file, which stages read as any other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "core/private_folder.h"

namespace basalt::cuda {

// Throws Error(kOutOfMemory) where they cannot wait there, either.
class ParkedRows {
 public:
  // Files that are finished are listed in `made`, which must outlive this object.
  ParkedRows(uint32_t threads, const CancelToken* cancel, std::vector<std::weak_ptr<const File>>& made)
      : threads_(threads), cancel_(cancel), made_(made) {}
  // All of the same columns.
  void append(Table rows);
  // What was appended, which is at least one table. The file is gone when nobody has it open any longer.
  std::shared_ptr<const File> finish();

 private:
  void begin(const Schema& schema);

  uint32_t threads_;
  const CancelToken* cancel_;
  std::vector<std::weak_ptr<const File>>& made_;
  std::unique_ptr<PrivateFolder> folder_;
  std::unique_ptr<Writer> writer_;
};

// All of them on the host, with their own names.
Table unparked(const File& file, const std::vector<Field>& fields, uint32_t threads);

}  // namespace basalt::cuda
