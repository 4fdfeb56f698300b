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
    RowElements made = make_rows(*rows_, ticket, worker, place_);
    auto count = int64_t(made.size());
    RowElements all = kept_rows(made, 0, count);
    RowElements rows = kept_rows(made, slice_.begin(count), slice_.end(count));
    for (size_t i = 0; i < spec_.size(); ++i) write(i, rows, padded_shape(i, ticket, all), out);
    if (padding_.mask) write_mask(rows, padded_shape(0, ticket, all)[0], out);
    int64_t whole = slice_.size > 1 ? count : rows_->name_of(ticket).whole;
    return {.epoch = ticket.epoch, .index = ticket.index, .whole = whole};
  }

  // Rows are padded to the longest of the whole batch, unless their extents are stated.
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    bool stated = extents_are_stated();
    auto result = std::make_shared<PaddedMaker>(stated ? sliced_rows(rows_, slice, context) : rows_,
                                                spec_, padding_, place_);
    if (!stated) result->slice_ = slice;
    if (!stated && !context.runs_all)
      context.note(
          "every rank makes all rows of a batch, to pad to its longest; padded_shapes would say "
          "how "
          "long without them");
    return result;
  }

 private:
  bool extents_are_stated() const {
    for (size_t i = 0; i < spec_.size(); ++i)
      for (int axis = 0; axis < spec_[i].shape.rank(); ++axis)
        if (spec_[i].shape[axis] < 0 && (padding_.shapes.empty() || padding_.shapes[i][axis] < 0))
          return false;
    return true;
  }

  Shape padded_shape(size_t component, const Ticket& ticket, const RowElements& rows) const {
    Shape shape = spec_[component].shape;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      int64_t stated = padding_.shapes.empty() ? -1 : padding_.shapes[component][axis];
      if (shape[axis] >= 0 && stated < 0) continue;
      int64_t longest = 0;
      for (const ScratchElement* row : rows)
        longest = std::max(longest, row->views()[component].shape[axis]);
      if (stated >= 0 && longest > stated)
        throw ShapeError(fmt::format(
            "dimension {} of component {} is {}, but padded_shapes says {}; cut it before, or give "
            "a larger shape",
            axis, component, longest, stated));
      shape.set(axis, stated >= 0 ? stated : padding_.extent(ticket, longest));
    }
    return shape;
  }

  void write(size_t i, const RowElements& rows, const Shape& row_shape, ElementWriter& out) const {
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

  void write_mask(const RowElements& rows, int64_t length, ElementWriter& out) const {
    auto* mask =
        static_cast<bool*>(out.put(spec_.size(), DType::bool_, {int64_t(rows.size()), length}));
    for (const ScratchElement* row : rows)
      for (int64_t at = 0; at < length; ++at) *mask++ = at < row->views()[0].shape[0];
  }

  MakerRef rows_;
  ElementSpec spec_;  // of a row
  Padding padding_;
  size_t place_;
  BatchSlice slice_;  // of the rows that are written
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

std::vector<double> values_of(const PaddedBatchOptions& options, size_t components) {
  if (!options.padding_values.empty()) return options.padding_values;
  return std::vector<double>(components, options.padding_value);
}

// The elements with the shapes that padding gives them.
ElementSpec shaped(ElementSpec rows, const std::vector<Shape>& shapes) {
  for (size_t i = 0; i < shapes.size(); ++i)
    for (int axis = 0; axis < shapes[i].rank(); ++axis)
      if (shapes[i][axis] >= 0) rows[i].shape.set(axis, shapes[i][axis]);
  return rows;
}

void check_shapes(const PaddedBatchOptions& options, const ElementSpec& rows) {
  const std::vector<Shape>& shapes = options.padded_shapes;
  bool fits = shapes.empty() || shapes.size() == rows.size();
  for (size_t i = 0; fits && i < shapes.size(); ++i) {
    fits = shapes[i].rank() == rows[i].shape.rank();
    for (int axis = 0; fits && axis < shapes[i].rank(); ++axis)
      fits = shapes[i][axis] < 0 || shapes[i][axis] >= rows[i].shape[axis];
  }
  if (!fits)
    throw ShapeError(fmt::format(
        "padded_batch: padded_shapes do not hold elements of {}; expected one shape per component, "
        "of the same rank and not smaller",
        to_string(rows)));
  size_t values = options.padding_values.size();
  if (values != 0 && values != rows.size())
    throw ValueError(
        fmt::format("padded_batch: got {} padding_values, expected {}, one per component", values,
                    rows.size()));
}

class PaddedBatchNode final : public Node {
 public:
  PaddedBatchNode(const NodeRef& input, int64_t size, PaddedBatchOptions options)
      : Node(
            "padded_batch", {input},
            padded_spec("padded_batch", shaped(input->spec(), options.padded_shapes), options.mask),
            batch_count(input->cardinality(), size, options.drop_remainder),
            input->random_access()),
        size_(size),
        options_(std::move(options)) {}

  std::string details() const override {
    std::string text = std::to_string(size_);
    if (!options_.lengths.empty())
      text += fmt::format(", lengths = {{{}}}", fmt::join(options_.lengths, ", "));
    if (options_.multiple_of != 1) text += fmt::format(", multiple_of = {}", options_.multiple_of);
    for (const Shape& shape : options_.padded_shapes)
      text += fmt::format(", padded_shape {}", to_string(shape));
    if (options_.padding_value != 0)
      text += fmt::format(", padding_value = {}", options_.padding_value);
    if (!options_.padding_values.empty())
      text += fmt::format(", padding_values = {{{}}}", fmt::join(options_.padding_values, ", "));
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
        .shapes = options_.padded_shapes,
        .values = values_of(options_, input()->spec().size()),
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

RowElements make_rows(const Maker& maker, const Ticket& ticket, Worker& worker, size_t place) {
  int64_t count = maker.rows(ticket);
  RowElements rows;
  auto& places = worker.local<std::vector<std::unique_ptr<ScratchElement>>>(place);
  for (int64_t row = 0; row < count; ++row) {
    if (places.size() == size_t(row))
      places.push_back(std::make_unique<ScratchElement>(worker.budget()));
    ScratchElement& element = *places[size_t(row)];
    element.clear(/*keeps=*/true);
    bool kept = maker.make_row(ticket, row, element, worker).kept;
    rows.push_back(kept ? &element : nullptr);
  }
  return rows;
}

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
  check_shapes(options, spec());
  check_padding("padded_batch", spec(), values_of(options, spec().size()));
  return Dataset(std::make_shared<PaddedBatchNode>(node_, size, options));
}

}  // namespace stoker::data
