// ragged_batch: rows of different lengths one after the other, with their lengths beside them.
#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/rows_into.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

bool is_ragged(const TensorSpec& row) { return row.shape.rank() > 0 && row.shape[0] < 0; }

class RaggedMaker final : public Maker {
 public:
  RaggedMaker(MakerRef rows, ElementSpec spec, size_t place)
      : rows_(std::move(rows)), spec_(std::move(spec)), place_(place) {}

  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    RowElements made = make_rows(*rows_, ticket, worker, place_);
    RowElements rows = kept_rows(made, 0, int64_t(made.size()));
    size_t component = 0;
    for (size_t i = 0; i < spec_.size(); ++i) {
      if (is_ragged(spec_[i])) {
        write_values(i, rows, component, out);
        component += 2;
      } else if (rows.empty()) {
        out.put(component++, spec_[i].dtype, spec_[i].shape.prepend(0));
      } else {
        RowsInto whole(out, int64_t(rows.size()));
        for (size_t row = 0; row < rows.size(); ++row) {
          whole.begin(int64_t(row));
          whole.copy(component, rows[row]->views()[i]);
        }
        ++component;
      }
    }
    return {.epoch = ticket.epoch, .index = ticket.index, .whole = rows_->name_of(ticket).whole};
  }
  MakerRef sliced(const MakerRef&, const BatchSlice& slice, PlanContext& context) const override {
    return std::make_shared<RaggedMaker>(sliced_rows(rows_, slice, context), spec_, place_);
  }

 private:
  void write_values(size_t i, const RowElements& rows, size_t component, ElementWriter& out) const {
    int64_t total = 0;
    for (const ScratchElement* row : rows) total += row->views()[i].shape[0];
    Shape shape = spec_[i].shape;
    shape.set(0, total);
    auto* values = static_cast<std::byte*>(out.put(component, spec_[i].dtype, shape));
    auto* lengths =
        static_cast<int64_t*>(out.put(component + 1, DType::int64, {int64_t(rows.size())}));
    for (const ScratchElement* row : rows) {
      const ConstTensorView& view = row->views()[i];
      copy_values(view, {.dtype = view.dtype, .shape = view.shape, .data = values});
      values += view.bytes();
      *lengths++ = view.shape[0];
    }
  }

  MakerRef rows_;
  ElementSpec spec_;  // of a row
  size_t place_;
};

class RaggedBatchNode final : public Node {
 public:
  RaggedBatchNode(const NodeRef& input, int64_t size, BatchOptions options)
      : Node("ragged_batch", {input}, ragged_spec(input->spec()),
             batch_count(input->cardinality(), size, options.drop_remainder),
             input->random_access()),
        size_(size),
        options_(options) {}
  std::string details() const override { return batch_details(size_, options_); }
  Planned plan(PlanContext& context) const override {
    // An ordinary batch says which rows belong together.
    Dataset rows = Dataset(input()).batch(size_, options_);
    Planned planned = rows.node()->plan(context);
    planned.maker = std::make_shared<RaggedMaker>(std::move(planned.maker), input()->spec(),
                                                  context.new_scratch());
    return planned;
  }

 private:
  static ElementSpec ragged_spec(const ElementSpec& rows) {
    ElementSpec spec;
    for (const TensorSpec& row : rows) {
      if (!is_ragged(row)) {
        spec.push_back({row.dtype, row.shape.prepend(-1)});
        continue;
      }
      if (!row.shape.drop_front().is_known())
        throw ShapeError(fmt::format(
            "ragged_batch: elements are {}; only their first dimension may differ (padded_batch "
            "takes the others)",
            to_string(rows)));
      spec.push_back(row);
      spec.push_back({DType::int64, {-1}});
    }
    return spec;
  }
  int64_t size_;
  BatchOptions options_;
};

}  // namespace

Dataset Dataset::ragged_batch(int64_t size, const BatchOptions& options) const {
  if (size < 1) throw ValueError(fmt::format("ragged_batch({}): expected at least 1", size));
  return Dataset(std::make_shared<RaggedBatchNode>(node_, size, options));
}

}  // namespace stoker::data
