// Elements that are in memory, or that follow from their number.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/mixing.h>

#include "base/counters.h"
#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/positions.h"
#include "formats/tensor_checksum.h"

namespace stoker::data {

namespace {

class SliceMaker final : public Maker {
 public:
  explicit SliceMaker(const std::vector<Tensor>& columns) : columns_(columns) {
    for (const Tensor& column : columns_) {
      Shape row = column.shape().drop_front();
      size_t bytes = size_t(row.elements()) * size_of(column.dtype());
      rows_.push_back({{column.dtype(), row, column.raw()}, bytes});
    }
  }
  void hint(const Ticket& ticket) const override {
    constexpr size_t kMost = 512;  // from there on the processor has understood by itself
    for (const Row& row : rows_) {
      const auto* data = static_cast<const std::byte*>(row.view.data);
      data += size_t(ticket.index) * row.bytes;
      for (size_t at = 0; at < std::min(row.bytes, kMost); at += kCacheLine)
        __builtin_prefetch(data + at);
    }
  }
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    for (size_t i = 0; i < rows_.size(); ++i) {
      ConstTensorView row = rows_[i].view;
      row.data = static_cast<const std::byte*>(row.data) + size_t(ticket.index) * rows_[i].bytes;
      out.copy(i, row);
    }
    return {ticket.epoch, ticket.index};
  }

 private:
  struct Row {
    ConstTensorView view;  // of row 0
    size_t bytes;
  };
  std::vector<Tensor> columns_;
  std::vector<Row> rows_;
};

class SlicesNode final : public Node {
 public:
  explicit SlicesNode(std::vector<Tensor> columns)
      : Node("from_slices", {}, row_specs(columns), {columns[0].shape()[0]}, true),
        columns_(std::move(columns)) {}
  std::string details() const override { return fmt::format("{} rows", columns_[0].shape()[0]); }
  std::string recipe() const override {
    std::string text;
    for (const Tensor& column : columns_)
      text += (text.empty() ? "" : ", ") + checksum_line(column);
    return text;
  }
  // Texts that name files are taken for paths, which a function behind reads.
  void add_sources(SourceFiles& files) const override {
    for (const Tensor& column : columns_)
      if (column.dtype() == DType::bytes && column.shape().rank() == 1)
        for (const std::string& text : column.values<std::string>()) files.add_if_file(text);
  }
  Planned plan(PlanContext& context) const override {
    Planned planned{.maker = std::make_shared<SliceMaker>(columns_),
                    .length = columns_[0].shape()[0]};
    bool files = context.slice && std::ranges::any_of(columns_, names_files);
    return files ? files_of_rank(std::move(planned), *this, context) : std::move(planned);
  }

 private:
  static bool names_files(const Tensor& column) {
    bool texts = column.dtype() == DType::bytes && column.shape().rank() == 1;
    return texts && column.elements() > 0 && local_files().exists(column.data<std::string>()[0]);
  }
  static ElementSpec row_specs(const std::vector<Tensor>& columns) {
    ElementSpec spec;
    for (const Tensor& column : columns)
      spec.push_back({column.dtype(), column.shape().drop_front()});
    return spec;
  }
  std::vector<Tensor> columns_;
};

class RangeMaker final : public Maker {
 public:
  RangeMaker(int64_t begin, int64_t step) : begin_(begin), step_(step) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    *static_cast<int64_t*>(out.put(0, DType::int64, {})) = begin_ + ticket.index * step_;
    return {ticket.epoch, ticket.index};
  }

 private:
  int64_t begin_, step_;
};

class RangeNode final : public Node {
 public:
  RangeNode(int64_t begin, int64_t step)  // without end
      : Node("counter", {}, {{DType::int64, {}}}, {Cardinality::kInfinite}, true),
        begin_(begin),
        end_(0),
        step_(step) {}
  RangeNode(int64_t begin, int64_t end, int64_t step)
      : Node("range", {}, {{DType::int64, {}}}, {count(begin, end, step)}, true),
        begin_(begin),
        end_(end),
        step_(step) {}
  std::string details() const override { return fmt::format("{}, {}, {}", begin_, end_, step_); }
  Planned plan(PlanContext&) const override {
    return {.maker = std::make_shared<RangeMaker>(begin_, step_), .length = cardinality().count};
  }

 private:
  static int64_t count(int64_t begin, int64_t end, int64_t step) {
    if (step > 0) return end > begin ? (end - begin - 1) / step + 1 : 0;
    return begin > end ? (begin - end - 1) / -step + 1 : 0;
  }
  int64_t begin_, end_, step_;
};

class RandomMaker final : public Maker {
 public:
  RandomMaker(uint64_t key, bool rerandomize) : key_(key), rerandomize_(rerandomize) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    Rng rng(mixed(key_, rerandomize_ ? uint64_t(ticket.epoch) : 0), uint64_t(ticket.index));
    *static_cast<int64_t*>(out.put(0, DType::int64, {})) = rng.integer(0, int64_t(1) << 32);
    return {ticket.epoch, ticket.index};
  }

 private:
  uint64_t key_;
  bool rerandomize_;
};

class RandomNode final : public Node {
 public:
  explicit RandomNode(RandomOptions options)
      : Node("random", {}, {{DType::int64, {}}}, {Cardinality::kInfinite}, true),
        options_(options) {}
  std::string details() const override {
    std::string text = options_.seed ? fmt::format("seed = {}", *options_.seed) : "";
    if (!options_.rerandomize_each_iteration) return text;
    return text + (text.empty() ? "" : ", ") + "rerandomize_each_iteration = true";
  }
  bool draws_at_random() const override { return !options_.seed; }
  Planned plan(PlanContext& context) const override {
    uint64_t key = options_.seed ? mixed(*options_.seed, 0x4D) : context.key(*this);
    return {.maker = std::make_shared<RandomMaker>(key, options_.rerandomize_each_iteration),
            .length = cardinality().count};
  }

 private:
  RandomOptions options_;
};

}  // namespace

Dataset from_slices(std::vector<Tensor> columns) {
  if (columns.empty()) throw ValueError("from_slices: no tensors were given");
  for (size_t i = 0; i < columns.size(); ++i) {
    const Tensor& column = columns[i];
    if (!column.defined() || column.shape().rank() == 0)
      throw ShapeError(fmt::format("from_slices: tensor {} has no rows", i));
    if (column.shape()[0] != columns[0].shape()[0])
      throw ShapeError(fmt::format("from_slices: tensor {} has {} rows, tensor 0 has {}", i,
                                   column.shape()[0], columns[0].shape()[0]));
  }
  return Dataset(std::make_shared<SlicesNode>(std::move(columns)));
}

Dataset from_slices(std::initializer_list<Tensor> columns) {
  return from_slices(std::vector<Tensor>(columns));
}

Dataset from_slices(const Tensor& column) { return from_slices(std::vector<Tensor>{column}); }

Dataset from_tensors(std::vector<Tensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined())
      throw ValueError(fmt::format("from_tensors: tensor {} is undefined", i));
    tensors[i] = tensors[i].reshape(tensors[i].shape().prepend(1));
  }
  return from_slices(std::move(tensors));
}

Dataset range(int64_t end) { return range(0, end); }

Dataset range(int64_t begin, int64_t end, int64_t step) {
  if (step == 0) throw ValueError("range: the step is 0");
  return Dataset(std::make_shared<RangeNode>(begin, end, step));
}

Dataset counter(int64_t start, int64_t step) {
  return Dataset(std::make_shared<RangeNode>(start, step));
}

Dataset random(const RandomOptions& options) {
  return Dataset(std::make_shared<RandomNode>(options));
}

}  // namespace stoker::data
