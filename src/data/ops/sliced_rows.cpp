// The rows of batches that one of several ranks makes.
#include "data/ops/rows_into.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class SlicedRowsMaker final : public Maker {
 public:
  SlicedRowsMaker(MakerRef batches, const BatchSlice& slice, size_t place)
      : batches_(std::move(batches)), slice_(slice), place_(place) {}

  int64_t rows(const Ticket& ticket) const override {
    int64_t whole = batches_->rows(ticket);
    return slice_.end(whole) - slice_.begin(whole);
  }
  Made make_row(const Ticket& ticket, int64_t row, ElementWriter& out,
                Worker& worker) const override {
    return batches_->make_row(ticket, first(ticket) + row, out, worker);
  }
  void hint_row(const Ticket& ticket, int64_t row) const override {
    if (row < rows(ticket)) batches_->hint_row(ticket, first(ticket) + row);
  }
  Made make(const Ticket& ticket, ElementWriter& out, Worker& worker) const override {
    RowElements made = make_rows(*this, ticket, worker, place_);
    RowElements kept = kept_rows(made, 0, int64_t(made.size()));
    if (kept.empty())
      write_none(ticket, out, worker);
    else
      write_rows(kept, out);
    return name_of(ticket);
  }
  Made name_of(const Ticket& ticket) const override {
    Made made = batches_->name_of(ticket);
    made.whole = batches_->rows(ticket);
    return made;
  }
  std::string origin(const Ticket& ticket) const override { return batches_->origin(ticket); }

 private:
  int64_t first(const Ticket& ticket) const { return slice_.begin(batches_->rows(ticket)); }

  // A batch without rows has the shape of the others' rows: one of them is made for it.
  void write_none(const Ticket& ticket, ElementWriter& out, Worker& worker) const {
    for (int64_t row = 0; row < batches_->rows(ticket); ++row) {
      ScratchElement& element = worker.scratch(place_);
      if (!batches_->make_row(ticket, row, element, worker).kept) continue;
      for (size_t i = 0; i < element.views().size(); ++i)
        out.put(i, element.views()[i].dtype, element.views()[i].shape.prepend(0));
      return;
    }
    throw_no_rows(ticket, batches_->rows(ticket));
  }

  MakerRef batches_;
  BatchSlice slice_;
  size_t place_;
};

}  // namespace

MakerRef sliced_rows(MakerRef batches, const BatchSlice& slice, PlanContext& context) {
  return std::make_shared<SlicedRowsMaker>(std::move(batches), slice, context.new_scratch());
}

RowElements kept_rows(const RowElements& rows, int64_t begin, int64_t end) {
  RowElements kept;
  for (int64_t row = begin; row < end; ++row)
    if (rows[size_t(row)] != nullptr) kept.push_back(rows[size_t(row)]);
  return kept;
}

}  // namespace stoker::data
