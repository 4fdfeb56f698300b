// Rows chosen by indices: gather and its gradient, one_hot, in_top_k.
#include <algorithm>
#include <cstring>

#include "engine/cpu/isa/kernels.h"
#include "engine/cpu/ops/op_builders.h"
#include "engine/cpu/team.h"

namespace stoker::cpu {

namespace {

using ReadIndex = int64_t (*)(const void*, int64_t);

template <class T>
int64_t read_index(const void* indices, int64_t i) {
  return static_cast<const T*>(indices)[i];
}

ReadIndex index_reader(DType dtype) {
  return dtype == DType::int32 ? read_index<int32_t> : read_index<int64_t>;
}

// table: [V, ..], indices → [indices.., ..]; an index outside the table reads its nearest row
void build_gather(Builder& b, const Node& node) {
  const TensorSpec& table = b.spec(node.inputs[0]);
  int64_t rows = table.shape[0], count = b.shape(node.inputs[1]).elements();
  size_t width = rows == 0 ? 0 : size_t(table.shape.elements() / rows) * size_of(table.dtype);
  ReadIndex read = index_reader(b.spec(node.inputs[1]).dtype);
  int from = b.plain(node.inputs[0]), indices = b.plain(node.inputs[1]);
  b.emit({"gather", {from, indices}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(count, kGrain / int64_t(width / 4 + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = std::clamp<int64_t>(read(p.in<void>(1), i), 0, rows - 1);
        std::memcpy(p.out<char>(2) + size_t(i) * width, p.in<char>(0) + size_t(row) * width, width);
      }
    });
  });
}

// indices, dy → dtable. Every worker owns some rows of the table and walks all indices, so each row
// is summed in the order of the indices, whatever the size of the team.
void build_gather_grad(Builder& b, const Node& node) {
  const Shape& table = b.shape(node.outputs[0]);
  int64_t rows = table[0], count = b.shape(node.inputs[0]).elements();
  int64_t width = rows == 0 ? 0 : table.elements() / rows;
  ReadIndex read = index_reader(b.spec(node.inputs[0]).dtype);
  int indices = b.plain(node.inputs[0]), dy = b.plain(node.inputs[1]);
  auto add = kernels().binary[kAdd];
  b.emit({own_kernel(), {indices, dy}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    float* out = p.out<float>(2);
    parallel_team((rows + count) * width, kGrain, [&](int worker, int workers) {
      Part mine = part_of(rows, worker, workers);
      std::memset(out + mine.begin * width, 0,
                  size_t((mine.end - mine.begin) * width) * sizeof(float));
      for (int64_t i = 0; i < count; ++i) {
        int64_t row = std::clamp<int64_t>(read(p.in<void>(0), i), 0, rows - 1);
        if (row < mine.begin || row >= mine.end) continue;
        add(out + row * width, p.in<float>(1) + i * width, out + row * width, width);
      }
    });
  });
}

// indices → rows with a single one; outside [0, depth) a row of zeros
void build_one_hot(Builder& b, const Node& node) {
  auto depth = node.attrs.get<int64_t>("depth");
  int64_t count = b.shape(node.inputs[0]).elements();
  DType dtype = b.spec(node.outputs[0]).dtype;
  size_t size = size_of(dtype);
  // The bit pattern of one.
  uint32_t one = dtype == DType::float16    ? Float16(1).bits
                 : dtype == DType::bfloat16 ? BFloat16(1).bits
                                            : std::bit_cast<uint32_t>(1.0F);
  ReadIndex read = index_reader(b.spec(node.inputs[0]).dtype);
  int indices = b.plain(node.inputs[0]);
  b.emit({"one_hot", {indices}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(count, kGrain / (depth + 1) + 1, [&](int64_t begin, int64_t end) {
      char* out = p.out<char>(1);
      std::memset(out + size_t(begin * depth) * size, 0, size_t((end - begin) * depth) * size);
      for (int64_t i = begin; i < end; ++i) {
        int64_t index = read(p.in<void>(0), i);
        if (index >= 0 && index < depth)
          std::memcpy(out + size_t(i * depth + index) * size, &one, size);
      }
    });
  });
}

// predictions: [B, C], targets: [B] → bool [B]
void build_in_top_k(Builder& b, const Node& node) {
  int64_t rows = b.shape(node.inputs[0])[0], classes = b.shape(node.inputs[0])[1];
  auto k = node.attrs.get<int64_t>("k");
  ReadIndex read = index_reader(b.spec(node.inputs[1]).dtype);
  int predictions = b.plain(node.inputs[0]), targets = b.plain(node.inputs[1]);
  b.emit({"in_top_k", {predictions, targets}, {b.define(node.outputs[0])}}, [=](Pointers p) {
    parallel_for(rows, kGrain / (classes + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float* row = p.in<float>(0) + i * classes;
        int64_t target = read(p.in<void>(1), i), better = 0;
        bool valid = target >= 0 && target < classes;
        for (int64_t c = 0; valid && c < classes; ++c) better += !(row[c] <= row[target]);
        p.out<bool>(2)[i] = valid && better < k;
      }
    });
  });
}

}  // namespace

void add_lookup_builders(OpBuilders& table) {
  table["gather"] = {anything, build_gather};
  table["gather_grad"] = {integers, build_gather_grad};
  table["one_hot"] = {integers, build_one_hot};
  table["in_top_k"] = {floats, build_in_top_k};
}

}  // namespace stoker::cpu
