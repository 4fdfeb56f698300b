#include "data/runtime/slicing.h"

#include <fmt/format.h>

#include "data/runtime/worker.h"

namespace stoker::data {

namespace {

// Rows [begin, end) of a component.
ConstTensorView rows_of(const ConstTensorView& whole, int64_t begin, int64_t end) {
  Shape row = whole.shape.drop_front();
  size_t row_bytes = size_t(row.elements()) * size_of(whole.dtype);
  return {whole.dtype, row.prepend(end - begin),
          static_cast<const std::byte*>(whole.data) + size_t(begin) * row_bytes};
}

// Makes whole batches and keeps the rows of the slice.
class WholeBatchMaker final : public Maker {
 public:
  WholeBatchMaker(MakerRef input, const BatchSlice& slice, size_t scratch)
      : input_(std::move(input)), slice_(slice), scratch_(scratch) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    ScratchElement& whole = worker.scratch(scratch_);
    Made made = input_->make(ticket, whole, worker);
    if (!made.kept) return made;
    int64_t rows = whole.views().empty() ? 0 : whole.views()[0].shape[0];
    for (size_t i = 0; i < whole.views().size(); ++i) {
      const ConstTensorView& view = whole.views()[i];
      if (view.shape[0] != rows)
        throw ShapeError(fmt::format(
            "component {} has {} rows, component 0 has {}: the rows of rank {} cannot be cut out "
            "of it (ragged_batch can be shared among ranks where no map follows it)",
            i, view.shape[0], rows, slice_.rank));
      out.copy(i, rows_of(view, slice_.begin(rows), slice_.end(rows)));
    }
    made.whole = rows;
    return made;
  }
  std::string origin(const Ticket& ticket) const override { return input_->origin(ticket); }

 private:
  MakerRef input_;
  BatchSlice slice_;
  size_t scratch_;
};

std::string policy_advice(const PlanContext& context) {
  bool enough = context.source_files >= context.slice->size;
  if (!enough || context.policy == AutoShardPolicy::data) return "";
  return fmt::format(
      "; auto_shard_policy = file would share its {} files, with other batches for another number "
      "of "
      "ranks",
      context.source_files);
}

}  // namespace

MakerRef slice_of(const MakerRef& maker, const BatchSlice& slice, PlanContext& context) {
  if (MakerRef own = maker->sliced(maker, slice, context)) return own;
  context.whole_batches = true;
  return std::make_shared<WholeBatchMaker>(maker, slice, context.new_scratch());
}

Planned sliced(Planned planned, const Node& node, PlanContext& context) {
  const BatchSlice& slice = *context.slice;
  for (const TensorSpec& component : node.spec())
    if (component.shape.rank() == 0)
      throw ShapeError(fmt::format(
          "rank {} of {}: elements of {} are {}, which have no rows to share among ranks; put "
          "batch() at the end",
          slice.rank, slice.size, title(node), to_string(node.spec())));
  planned.maker = slice_of(planned.maker, slice, context);
  planned.limits.ordered = true;  // ranks take the same batches at the same time
  std::string share = fmt::format("rank {} of {}: ", slice.rank, slice.size);
  if (context.whole_batches)
    context.note(share +
                 "every rank makes whole batches and keeps its rows, because a step behind batch() "
                 "may look at all rows; put it before batch(), or state per_row for a map");
  else if (context.runs_all)
    context.note(share + "every rank makes the elements up to the batch and keeps its rows" +
                 policy_advice(context));
  else
    context.note(share + "makes its rows of every batch and no others");
  return planned;
}

ElementSpec sliced_spec(const ElementSpec& spec) {
  ElementSpec result = spec;
  for (TensorSpec& component : result) component.shape.set(0, -1);
  return result;
}

Batch empty_batch(const ElementSpec& spec) {
  std::vector<Tensor> tensors;
  for (const TensorSpec& component : spec) {
    Shape shape = component.shape;
    for (int axis = 0; axis < shape.rank(); ++axis)
      if (axis == 0 || shape[axis] < 0) shape.set(axis, 0);
    tensors.emplace_back(component.dtype, shape);
  }
  return tensors;
}

}  // namespace stoker::data
