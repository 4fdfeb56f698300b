// padded_batch: elements of different lengths become one batch; unknown dimensions are filled up.
#include <fmt/format.h>

#include "base/convert.h"
#include "base/visit_dtype.h"
#include "data/node.h"
#include "data/ops/rows_into.h"
#include "data/runtime/planning.h"
#include "data/runtime/worker.h"

namespace stoker::data {

namespace {

void fill(const TensorView& view, double value) {
  if (view.dtype == DType::bytes) {
    for (std::string& text : view.values<std::string>()) text.clear();
    return;
  }
  visit_numeric(view.dtype, [&]<class T>(std::type_identity<T>) {
    for (T& number : view.values<T>()) number = convert<T>(value);
  });
}

template <class T>
void copy_block(const T* from, const Shape& from_shape, T* to, const Shape& to_shape, int axis) {
  int64_t inner_from = 1, inner_to = 1;
  for (int i = axis + 1; i < from_shape.rank(); ++i)
    inner_from *= from_shape[i], inner_to *= to_shape[i];
  if (axis == from_shape.rank()) {
    *to = *from;
    return;
  }
  if (inner_from == inner_to) {
    std::copy(from, from + from_shape[axis] * inner_from, to);
    return;
  }
  for (int64_t i = 0; i < from_shape[axis]; ++i)
    copy_block(from + i * inner_from, from_shape, to + i * inner_to, to_shape, axis + 1);
}

class PaddedMaker final : public Maker {
 public:
  PaddedMaker(MakerRef rows, ElementSpec spec, Padding padding, size_t place)
      : rows_(std::move(rows)),
        spec_(std::move(spec)),
        padding_(std::move(padding)),
        place_(place) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    int64_t count = rows_->rows(ticket);
    std::vector<const ScratchElement*> rows;
    auto& places = worker.local<std::vector<std::unique_ptr<ScratchElement>>>(place_);
    for (int64_t row = 0; row < count; ++row) {
      if (places.size() == size_t(row))
        places.push_back(std::make_unique<ScratchElement>(worker.budget()));
      ScratchElement& element = *places[size_t(row)];
      element.clear(/*keeps=*/true);
      rows_->make_row(ticket, row, element, worker);
      rows.push_back(&element);
    }
    for (size_t i = 0; i < spec_.size(); ++i) write(i, rows, padded_shape(i, ticket, rows), out);
    if (padding_.mask) write_mask(rows, padded_shape(0, ticket, rows)[0], out);
    return {ticket.epoch, ticket.index};
  }

 private:
  Shape padded_shape(size_t component, const Ticket& ticket,
                     const std::vector<const ScratchElement*>& rows) const {
    Shape shape = spec_[component].shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] >= 0) continue;
      int64_t longest = 0;
      for (const ScratchElement* row : rows)
        longest = std::max(longest, row->views()[component].shape[axis]);
      shape.set(axis, padding_.extent(ticket, longest));
    }
    return shape;
  }

  void write(size_t i, const std::vector<const ScratchElement*>& rows, const Shape& row_shape,
             ElementWriter& out) const {
    Shape shape = row_shape.prepend(int64_t(rows.size()));
    TensorView place{.dtype = spec_[i].dtype, .shape = shape, .data = nullptr};
    place.data = out.put(i, place.dtype, shape);
    fill(place, padding_.values[i]);
    for (size_t row = 0; row < rows.size(); ++row)
      copy_row(rows[row]->views()[i], place, row, row_shape);
  }

  static void copy_row(const ConstTensorView& from, const TensorView& to, size_t row,
                       const Shape& row_shape) {
    auto offset = size_t(row_shape.elements()) * row;
    if (from.dtype == DType::bytes) {
      copy_block(static_cast<const std::string*>(from.data), from.shape,
                 static_cast<std::string*>(to.data) + offset, row_shape, 0);
      return;
    }
    visit_numeric(from.dtype, [&]<class T>(std::type_identity<T>) {
      copy_block(static_cast<const T*>(from.data), from.shape, static_cast<T*>(to.data) + offset,
                 row_shape, 0);
    });
  }

  void write_mask(const std::vector<const ScratchElement*>& rows, int64_t length,
                  ElementWriter& out) const {
    auto* mask =
        static_cast<bool*>(out.put(spec_.size(), DType::bool_, {int64_t(rows.size()), length}));
    for (const ScratchElement* row : rows)
      for (int64_t at = 0; at < length; ++at) *mask++ = at < row->views()[0].shape[0];
  }

  MakerRef rows_;
  ElementSpec spec_;  // of a row
  Padding padding_;
  size_t place_;
};

int64_t rounded_up(int64_t length, const PaddedBatchOptions& options) {
  if (options.lengths.empty())
    return (length + options.multiple_of - 1) / options.multiple_of * options.multiple_of;
  for (int64_t allowed : options.lengths)
    if (length <= allowed) return allowed;
  throw ShapeError(
      fmt::format("an element has length {}, but the longest of padded_batch's "
                  "lengths is {}; cut it before, or add a length",
                  length, options.lengths.back()));
}

class PaddedBatchNode final : public Node {
 public:
  PaddedBatchNode(const NodeRef& input, int64_t size, PaddedBatchOptions options)
      : Node("padded_batch", {input}, padded_spec("padded_batch", input->spec(), options.mask),
             batch_count(input->cardinality(), size, options.drop_remainder),
             input->random_access()),
        size_(size),
        options_(std::move(options)) {}

  std::string details() const override {
    std::string text = std::to_string(size_);
    if (!options_.lengths.empty())
      text += fmt::format(", lengths = {{{}}}", fmt::join(options_.lengths, ", "));
    if (options_.multiple_of != 1) text += fmt::format(", multiple_of = {}", options_.multiple_of);
    if (options_.padding_value != 0)
      text += fmt::format(", padding_value = {}", options_.padding_value);
    if (options_.mask) text += ", mask = true";
    return text + (options_.drop_remainder ? ", drop_remainder = true" : "");
  }

  Planned plan(PlanContext& context) const override {
    // An ordinary batch says which rows belong together.
    Dataset rows = Dataset(input()).batch(size_, {.drop_remainder = options_.drop_remainder});
    Planned planned = rows.node()->plan(context);
    Padding padding{
        .extent = [options = options_](const Ticket&,
                                       int64_t longest) { return rounded_up(longest, options); },
        .values = std::vector<double>(input()->spec().size(), options_.padding_value),
        .mask = options_.mask};
    planned.maker = padded_maker(std::move(planned.maker), input()->spec(), std::move(padding),
                                 context.new_scratch());
    return planned;
  }

 private:
  int64_t size_;
  PaddedBatchOptions options_;
};

void check_lengths(const PaddedBatchOptions& options) {
  constexpr size_t kMost = 32;  // as many programs as a model keeps
  if (options.lengths.size() > kMost ||
      !std::is_sorted(options.lengths.begin(), options.lengths.end(), std::less_equal<>()) ||
      (!options.lengths.empty() && options.lengths[0] < 1))
    throw ValueError(
        fmt::format("padded_batch: lengths are {{{}}}, expected at most {} positive "
                    "numbers, ascending",
                    fmt::join(options.lengths, ", "), kMost));
  if (options.multiple_of < 1 || (options.multiple_of > 1 && !options.lengths.empty()))
    throw ValueError(fmt::format(
        "padded_batch: multiple_of is {}, expected at least 1, and 1 where lengths are given",
        options.multiple_of));
}

}  // namespace

MakerRef padded_maker(MakerRef rows, ElementSpec spec, Padding padding, size_t scratch) {
  return std::make_shared<PaddedMaker>(std::move(rows), std::move(spec), std::move(padding),
                                       scratch);
}

ElementSpec padded_spec(const std::string& op, const ElementSpec& rows, bool mask) {
  ElementSpec spec = batch_spec(rows, -1);
  if (!mask) return spec;
  if (rows.empty() || rows[0].shape.rank() == 0)
    throw ShapeError(
        fmt::format("{}: a mask needs a first component with a length, but elements are {}", op,
                    to_string(rows)));
  spec.push_back({DType::bool_, {-1, rows[0].shape[0]}});
  return spec;
}

void check_padding(const std::string& op, const ElementSpec& rows,
                   const std::vector<double>& values) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (is_integer(rows[i].dtype) && !rows[i].shape.is_known() && !holds(rows[i].dtype, values[i]))
      throw ValueError(fmt::format("{}: padding_value is {}, which {} cannot hold", op, values[i],
                                   stoker::to_string(rows[i])));
}

Dataset Dataset::padded_batch(int64_t size, const PaddedBatchOptions& options) const {
  if (size < 1) throw ValueError(fmt::format("padded_batch({}): expected at least 1", size));
  check_lengths(options);
  check_padding("padded_batch", spec(), std::vector<double>(spec().size(), options.padding_value));
  return Dataset(std::make_shared<PaddedBatchNode>(node_, size, options));
}

}  // namespace stoker::data
