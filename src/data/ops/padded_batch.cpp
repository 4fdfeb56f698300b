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
  PaddedMaker(MakerRef rows, ElementSpec spec, PaddedBatchOptions options, size_t place)
      : rows_(std::move(rows)),
        spec_(std::move(spec)),
        options_(std::move(options)),
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
    for (size_t i = 0; i < spec_.size(); ++i) write(i, rows, out);
    if (options_.mask) write_mask(rows, out);
    return {ticket.epoch, ticket.index};
  }

 private:
  Shape padded_shape(size_t component, const std::vector<const ScratchElement*>& rows) const {
    Shape shape = spec_[component].shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] >= 0) continue;
      int64_t longest = 0;
      for (const ScratchElement* row : rows)
        longest = std::max(longest, row->views()[component].shape[axis]);
      shape.set(axis, rounded_up(longest));
    }
    return shape;
  }

  int64_t rounded_up(int64_t length) const {
    if (options_.lengths.empty()) return length;
    for (int64_t allowed : options_.lengths)
      if (length <= allowed) return allowed;
    throw ShapeError(
        fmt::format("an element has length {}, but the longest of padded_batch's "
                    "lengths is {}; cut it before, or add a length",
                    length, options_.lengths.back()));
  }

  void write(size_t i, const std::vector<const ScratchElement*>& rows, ElementWriter& out) const {
    Shape row_shape = padded_shape(i, rows), shape = row_shape.prepend(int64_t(rows.size()));
    TensorView place{.dtype = spec_[i].dtype, .shape = shape, .data = nullptr};
    place.data = out.put(i, place.dtype, shape);
    fill(place, options_.padding_value);
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

  void write_mask(const std::vector<const ScratchElement*>& rows, ElementWriter& out) const {
    int64_t length = padded_shape(0, rows)[0];
    auto* mask =
        static_cast<bool*>(out.put(spec_.size(), DType::bool_, {int64_t(rows.size()), length}));
    for (const ScratchElement* row : rows)
      for (int64_t at = 0; at < length; ++at) *mask++ = at < row->views()[0].shape[0];
  }

  MakerRef rows_;
  ElementSpec spec_;  // of a row
  PaddedBatchOptions options_;
  size_t place_;
};

class PaddedBatchNode final : public Node {
 public:
  PaddedBatchNode(const NodeRef& input, int64_t size, PaddedBatchOptions options)
      : Node("padded_batch", {input}, padded_spec(input->spec(), options),
             batch_count(input->cardinality(), size, options.drop_remainder),
             input->random_access()),
        size_(size),
        options_(std::move(options)) {}

  std::string details() const override {
    std::string text = std::to_string(size_);
    if (!options_.lengths.empty())
      text += fmt::format(", lengths = {{{}}}", fmt::join(options_.lengths, ", "));
    if (options_.padding_value != 0)
      text += fmt::format(", padding_value = {}", options_.padding_value);
    if (options_.mask) text += ", mask = true";
    return text + (options_.drop_remainder ? ", drop_remainder = true" : "");
  }

  Planned plan(PlanContext& context) const override {
    // An ordinary batch says which rows belong together.
    Dataset rows = Dataset(input()).batch(size_, {.drop_remainder = options_.drop_remainder});
    Planned planned = rows.node()->plan(context);
    planned.maker = std::make_shared<PaddedMaker>(std::move(planned.maker), input()->spec(),
                                                  options_, context.new_scratch());
    return planned;
  }

 private:
  static ElementSpec padded_spec(const ElementSpec& rows, const PaddedBatchOptions& options) {
    ElementSpec spec = batch_spec(rows, -1);
    if (!options.mask) return spec;
    if (rows.empty() || rows[0].shape.rank() == 0)
      throw ShapeError(
          fmt::format("padded_batch: a mask needs a first component with a length, but "
                      "elements are {}",
                      to_string(rows)));
    spec.push_back({DType::bool_, {-1, rows[0].shape[0]}});
    return spec;
  }

  int64_t size_;
  PaddedBatchOptions options_;
};

}  // namespace

Dataset Dataset::padded_batch(int64_t size, const PaddedBatchOptions& options) const {
  if (size < 1) throw ValueError(fmt::format("padded_batch({}): expected at least 1", size));
  if (options.lengths.size() > 8 ||
      !std::is_sorted(options.lengths.begin(), options.lengths.end(), std::less_equal<>()) ||
      (!options.lengths.empty() && options.lengths[0] < 1))
    throw ValueError(
        fmt::format("padded_batch: lengths are {{{}}}, expected at most eight positive "
                    "numbers, ascending",
                    fmt::join(options.lengths, ", ")));
  for (const TensorSpec& component : spec())
    if (is_integer(component.dtype) && !component.shape.is_known() &&
        !holds(component.dtype, options.padding_value))
      throw ValueError(fmt::format("padded_batch: padding_value is {}, which {} cannot hold",
                                   options.padding_value, stoker::to_string(component)));
  return Dataset(std::make_shared<PaddedBatchNode>(node_, size, options));
}

}  // namespace stoker::data
