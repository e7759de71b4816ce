#include "gen/texts.h"

#include <fstream>

#include "basalt/core/error.h"

namespace basalt::gen {

Texts read_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path + ": cannot be read");
  Texts texts;
  for (std::string line; std::getline(file, line);) texts.add(line);
  if (texts.bytes() == 0) throw Error(ErrorCode::kInvalidArgument, path + ": holds no text");
  return texts;
}

}  // namespace basalt::gen
