// The end of a file: dictionaries, the metadata of every column, the footer and the postscript.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "basalt/core/types.h"
#include "core/output_file.h"
#include "file/column_writer.h"

namespace basalt::format_v1 {

struct FooterContents {
  const Schema& schema;
  const std::vector<ChunkInfo>& chunks;
  uint64_t rows = 0;
  const std::vector<uint32_t>& sort_columns;
  std::string created_by;
  const std::map<std::string, std::string>& metadata;
};

void write_header(OutputFile& out);
// `encoder` makes the arrays that file-wide dictionaries add.
void write_footer(const FooterContents& contents, std::vector<ColumnWriter>& columns, ShapeTable& shapes,
                  const ArrayEncoder& encoder, OutputFile& out);

}  // namespace basalt::format_v1
