// Rows and classes chosen by integers.
#include <algorithm>

#include "engine/reference/kernel.h"

namespace stoker::reference {

namespace {

// An index outside the table reads its nearest row.
int64_t row_of(Number index, int64_t rows) {
  return int64_t(std::clamp(index, Number(0), Number(rows - 1)));
}

// table: [V, ..], indices: [..] -> [indices.., ..]
void gather(const Call& call) {
  const Array &table = call.in(0), &indices = call.in(1);
  int64_t rows = table.shape()[0], width = rows == 0 ? 0 : table.size() / rows;
  for (int64_t i = 0; i < indices.size(); ++i)
    for (int64_t column = 0; column < width; ++column)
      call.out()[i * width + column] = table[row_of(indices[i], rows) * width + column];
}

void gather_grad(const Call& call) {
  const Array &indices = call.in(0), &dy = call.in(1);
  Array& dtable = call.out();
  int64_t rows = dtable.shape()[0], width = rows == 0 ? 0 : dtable.size() / rows;
  for (int64_t i = 0; i < indices.size(); ++i)
    for (int64_t column = 0; column < width; ++column)
      dtable[row_of(indices[i], rows) * width + column] += dy[i * width + column];
}

void one_hot(const Call& call) {
  auto depth = call.attrs.get<int64_t>("depth");
  for (int64_t i = 0; i < call.in(0).size(); ++i) {
    auto index = int64_t(call.in(0)[i]);
    if (index >= 0 && index < depth) call.out()[i * depth + index] = 1;
  }
}

// predictions: [B, C], targets: [B]. A target that is no class is in no one's top k. Written so
// that NaN is larger than all, and a target's own NaN is behind all.
void in_top_k(const Call& call) {
  const Array &predictions = call.in(0), &targets = call.in(1);
  auto k = call.attrs.get<int64_t>("k");
  int64_t classes = predictions.shape()[1];
  for (int64_t b = 0; b < targets.size(); ++b) {
    auto target = int64_t(targets[b]);
    if (target < 0 || target >= classes) continue;
    int64_t better = 0;
    for (int64_t c = 0; c < classes; ++c)
      better += !(predictions[b * classes + c] <= predictions[b * classes + target]);
    call.out()[b] = better < k;
  }
}

}  // namespace

void add_lookup_kernels(KernelTable& table) {
  table["gather"] = gather;
  table["gather_grad"] = gather_grad;
  table["one_hot"] = one_hot;
  table["in_top_k"] = in_top_k;
}

}  // namespace stoker::reference
