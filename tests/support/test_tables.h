// Small tables, columns of every type filled by simple deterministic rules, and files of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "basalt/core/column.h"
#include "basalt/file/reader.h"
#include "basalt/file/writer.h"
#include "support/crafted_file.h"

namespace basalt::test {

// A field and one column for it; `values` writes row i of a fixed-width column as an integer.
struct NamedColumn {
  Field field;
  Column column;
};

DataType type_of(TypeKind kind, uint8_t precision = 0, uint8_t scale = 0, TimeUnit unit = TimeUnit::kMicro);

using IsNull = std::function<bool(uint64_t)>;
NamedColumn integers(const std::string& name, const DataType& type, uint64_t rows,
                     const std::function<int64_t(uint64_t)>& value, const IsNull& is_null = {});
NamedColumn reals(const std::string& name, TypeKind kind, uint64_t rows, const std::function<double(uint64_t)>& value,
                  const IsNull& is_null = {});
NamedColumn strings(const std::string& name, TypeKind kind, uint64_t rows,
                    const std::function<std::string(uint64_t)>& value, const IsNull& is_null = {});
NamedColumn list_of(const std::string& name, uint64_t rows, const std::function<uint64_t(uint64_t)>& length,
                    const std::function<NamedColumn(uint64_t)>& elements, const IsNull& is_null = {});
NamedColumn struct_of(const std::string& name, uint64_t rows, std::vector<NamedColumn> members,
                      const IsNull& is_null = {});

Table make_table(uint64_t rows, std::vector<NamedColumn> columns);

// Columns of every type, with and without NULLs, lists and structs.
Table everything(uint64_t rows);

// A pseudo-random number that depends on its argument alone.
uint64_t scramble(uint64_t value);

// A fresh folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

std::vector<std::byte> read_bytes(const std::string& path);
Buffer to_buffer(const std::vector<std::byte>& bytes);
WriteOptions chunks_of(uint64_t rows, uint32_t threads = 0);
// Never wrapped, so that tests can look into the file.
WriteSummary write(const std::string& path, const Table& table, const WriteOptions& options = {});
std::shared_ptr<File> open_bytes(const std::vector<std::byte>& bytes);

}  // namespace basalt::test
