#include "cuda/query/common_texts.h"

#include "cuda/query/number_rows.h"
#include "cuda/query/text_pool.h"

namespace basalt::cuda {

CommonTexts number_together(const std::vector<TextColumn>& columns, cudaStream_t stream) {
  std::vector<TextList> lists;
  std::vector<DeviceBuffer> used;
  std::vector<TextPool::List> wanted;
  for (const TextColumn& column : columns) {
    lists.push_back(list_of(*column.column, stream));
    used.push_back(mark_used(column.column->values.as<uint32_t>(), column.rows, lists.back().count, stream));
    if (lists.back().count > 0) wanted.push_back({lists.back().at, lists.back().count, used.back().as<uint8_t>()});
  }
  TextPool pool(stream);
  const DeviceBuffer numbers = pool.intern(wanted);
  CommonTexts out;
  uint64_t first = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    DeviceBuffer own(columns[i].rows * sizeof(uint32_t), stream);
    look_up(columns[i].column->values.as<uint32_t>(), columns[i].rows, numbers.as<uint32_t>() + first, lists[i].count,
            own.as<uint32_t>(), stream);
    out.numbers.push_back(std::move(own));
    first += lists[i].count;
  }
  out.texts = as_device_texts(pool.take());
  return out;
}

}  // namespace basalt::cuda
