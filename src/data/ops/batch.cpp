// batch: rows that stand on their own become one element. On random access, batch b is made of
// elements b * size …; on streams, of the next tickets. Either way its rows are made by several
// workers at once, each straight into its place.
#include <algorithm>

#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/rows_into.h"
#include "data/runtime/addresses.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

class CountedBatchMaker final : public RowsMaker {
 public:
  CountedBatchMaker(MakerRef input, int64_t length, int64_t size, std::optional<size_t> place)
      : RowsMaker(std::move(input), place), length_(length), size_(size) {}

  int64_t rows(const Ticket& ticket) const override {
    return std::min(size_, length_ - ticket.index * size_);
  }
  Made make_row(const Ticket& ticket, int64_t row, ElementWriter& out,
                Worker& worker) const override {
    return make_part("batch", *input_, {.epoch = ticket.epoch, .index = ticket.index * size_ + row},
                     out, worker);
  }
  int64_t make_row_run(const Ticket& ticket, int64_t begin, int64_t end, ElementWriter& out,
                       Worker& worker) const override {
    return input_->make_run({.epoch = ticket.epoch, .index = ticket.index * size_ + begin},
                            end - begin, out, worker);
  }
  void hint_row(const Ticket& ticket, int64_t row) const override {
    int64_t index = ticket.index * size_ + row;
    if (index < length_) input_->hint({.epoch = ticket.epoch, .index = index});
  }

 private:
  int64_t length_, size_;
};

class GroupTickets final : public RenumberedTickets {
 public:
  // Batches of each size in turn.
  GroupTickets(std::unique_ptr<Tickets> input, std::vector<int64_t> sizes, bool drop_remainder)
      : RenumberedTickets(std::move(input)),
        sizes_(std::move(sizes)),
        drop_remainder_(drop_remainder) {}

  bool next(Ticket& ticket) override {
    auto held = std::make_shared<Held>();
    int64_t size = sizes_[size_t(index_) % sizes_.size()];
    held->parts.reserve(size_t(std::min<int64_t>(size, 1024)));
    Ticket part;
    while (int64_t(held->parts.size()) < size && input_->next(part))
      held->parts.push_back(std::move(part)), part = {};
    if (held->parts.empty() || (drop_remainder_ && int64_t(held->parts.size()) < size))
      return false;
    ticket = numbered(std::move(held));
    return true;
  }
  void skip(int64_t count) override {
    if (sizes_.size() > 1) return Tickets::skip(count);
    input_->skip(product(count, sizes_[0]));
    index_ = sum(index_, count);
  }

 private:
  std::vector<int64_t> sizes_;
  bool drop_remainder_;
};

class GroupMaker final : public RowsMaker {
 public:
  using RowsMaker::RowsMaker;

  int64_t rows(const Ticket& ticket) const override { return int64_t(ticket.held->parts.size()); }
  Made make_row(const Ticket& ticket, int64_t row, ElementWriter& out,
                Worker& worker) const override {
    return make_part("batch", *input_, ticket.held->parts[size_t(row)], out, worker);
  }
};

class BatchNode final : public Node {
 public:
  BatchNode(const NodeRef& input, int64_t size, BatchOptions options)
      : Node("batch", {input}, batch_spec(input->spec(), rows(*input, size, options)),
             batch_count(input->cardinality(), size, options.drop_remainder),
             input->random_access()),
        size_(size),
        options_(options) {}

  std::string details() const override { return batch_details(size_, options_); }

  Planned plan(PlanContext& context) const override {
    int64_t size = context.rows_of_batch(size_);
    Planned planned = context.plan_input_with_gaps(*this);
    std::optional<size_t> place;
    if (std::exchange(planned.may_drop, false)) place = context.new_scratch();
    if (planned.length) {
      int64_t length = *planned.length;
      planned.maker =
          std::make_shared<CountedBatchMaker>(std::move(planned.maker), length, size, place);
      planned.length = *batch_count({length}, size, options_.drop_remainder).count;
    } else {
      planned.maker = group_maker(std::move(planned.maker), place);
      planned.stream = std::make_unique<GroupTickets>(
          std::move(planned.stream), std::vector<int64_t>{size}, options_.drop_remainder);
    }
    return planned;
  }

 private:
  // -1 where a last batch may be shorter.
  static int64_t rows(const Node& input, int64_t size, const BatchOptions& options) {
    if (options.drop_remainder || input.cardinality().infinite()) return size;
    if (input.cardinality().known() && *input.cardinality().count % size == 0) return size;
    return -1;
  }

  int64_t size_;
  BatchOptions options_;
};

// Batches of several sizes, from rows.
class RebatchNode final : public Node {
 public:
  RebatchNode(const NodeRef& input, std::vector<int64_t> sizes, BatchOptions options)
      : Node("rebatch", {input}, batch_spec(input->spec(), -1),
             input->cardinality().infinite() ? input->cardinality() : Cardinality{}, false),
        sizes_(std::move(sizes)),
        options_(options) {}
  std::string details() const override {
    return fmt::format("{{{}}}{}", fmt::join(sizes_, ", "),
                       options_.drop_remainder ? ", drop_remainder = true" : "");
  }
  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    planned.maker = group_maker(std::move(planned.maker));
    planned.stream =
        std::make_unique<GroupTickets>(planned.tickets(), sizes_, options_.drop_remainder);
    planned.length.reset();
    return planned;
  }

 private:
  std::vector<int64_t> sizes_;
  BatchOptions options_;
};

// Undoes batch: rows of its elements, numbered through.
class UnbatchTickets final : public RenumberedTickets {
 public:
  explicit UnbatchTickets(std::unique_ptr<Tickets> input) : RenumberedTickets(std::move(input)) {}
  void begin(int64_t epoch) override {
    RenumberedTickets::begin(epoch);
    row_ = rows_ = 0;
  }
  bool next(Ticket& ticket) override {
    while (row_ >= rows_) {
      if (!input_->next(batch_)) return false;
      rows_ = batch_.held->error ? 1 : batch_.held->element[0].shape()[0];
      row_ = 0;
    }
    ticket = numbered(batch_.held, row_++);
    return true;
  }

 private:
  Ticket batch_;
  int64_t row_ = 0, rows_ = 0;
};

class RowMaker final : public Maker {
 public:
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    const Batch& batch = ticket.held->value();
    for (size_t i = 0; i < batch.size(); ++i) out.copy(i, batch[i][ticket.choice]);
    return {ticket.epoch, ticket.index};
  }
};

class UnbatchNode final : public Node {
 public:
  explicit UnbatchNode(const NodeRef& input)
      : Node("unbatch", {input}, row_spec(*input), rows(*input), false) {}

  Planned plan(PlanContext& context) const override {
    Planned planned = context.materialised(context.plan_input(*this), *this->input());
    planned.stream = std::make_unique<UnbatchTickets>(std::move(planned.stream));
    planned.maker = std::make_shared<RowMaker>();
    return planned;
  }

 private:
  static ElementSpec row_spec(const Node& input) {
    ElementSpec spec = input.spec();
    for (TensorSpec& component : spec) {
      if (component.shape.rank() == 0)
        throw ShapeError(fmt::format("unbatch after {}: elements are {}, and a scalar has no rows",
                                     input.kind(), to_string(input.spec())));
      component.shape = component.shape.drop_front();
    }
    return spec;
  }
  static Cardinality rows(const Node& input) {
    int64_t extent = input.spec().empty() ? -1 : input.spec()[0].shape[0];
    if (extent < 0) return input.cardinality().infinite() ? input.cardinality() : Cardinality{};
    return counted(input.cardinality(), [&](int64_t n) { return product(n, extent); });
  }
};

}  // namespace

ElementSpec batch_spec(const ElementSpec& rows, int64_t count) {
  ElementSpec spec = rows;
  for (TensorSpec& component : spec) component.shape = component.shape.prepend(count);
  return spec;
}

std::string batch_details(int64_t size, const BatchOptions& options) {
  return fmt::format("{}{}", size, options.drop_remainder ? ", drop_remainder = true" : "");
}

MakerRef group_maker(MakerRef input, std::optional<size_t> place) {
  return std::make_shared<GroupMaker>(std::move(input), place);
}

Cardinality batch_count(Cardinality of, int64_t size, bool drop_remainder) {
  return counted(of, [&](int64_t n) { return n / size + (n % size > 0 && !drop_remainder); });
}

Made make_part(const char* stage, const Maker& input, const Ticket& part, ElementWriter& out,
               Worker& worker) {
  try {
    return input.make(part, out, worker);
  } catch (...) {
    rethrow_addressed(stage, part.epoch, part.index, input.origin(part));
  }
}

namespace {

// Where rows may be dropped, it is known only afterwards how many there are.
Made make_kept_rows(const Maker& maker, const Ticket& ticket, ElementWriter& out, Worker& worker,
                    size_t place) {
  RowElements rows = make_rows(maker, ticket, worker, place);
  RowElements kept = kept_rows(rows, 0, int64_t(rows.size()));
  if (kept.empty()) throw_no_rows(ticket, int64_t(rows.size()));
  write_rows(kept, out);
  return {ticket.epoch, ticket.index};
}

}  // namespace

void throw_no_rows(const Ticket& ticket, int64_t rows) {
  throw Error(fmt::format("batch {} of epoch {}: none of its {} rows could be made", ticket.index,
                          ticket.epoch, rows));
}

void write_rows(const RowElements& rows, ElementWriter& out) {
  RowsInto into(out, int64_t(rows.size()));
  for (size_t row = 0; row < rows.size(); ++row) {
    into.begin(int64_t(row));
    for (size_t i = 0; i < rows[row]->views().size(); ++i) into.copy(i, rows[row]->views()[i]);
  }
}

Made make_all_rows(const Maker& maker, const Ticket& ticket, ElementWriter& out, Worker& worker,
                   std::optional<size_t> place) {
  if (place) return make_kept_rows(maker, ticket, out, worker, *place);
  int64_t count = maker.rows(ticket);
  RowsInto rows(out, count);
  for (int64_t row = 0; row < count; ++row) {
    rows.begin(row);
    while (int64_t made = maker.make_row_run(ticket, row, count, rows, worker)) {
      row += made;
      if (row == count) return {ticket.epoch, ticket.index};
      rows.begin(row);
    }
    maker.hint_row(ticket, row + kRowsAhead);
    maker.make_row(ticket, row, rows, worker);
  }
  return {ticket.epoch, ticket.index};
}

Dataset Dataset::batch(int64_t size, const BatchOptions& options) const {
  if (size < 1) throw ValueError(fmt::format("batch({}): expected at least 1", size));
  return Dataset(std::make_shared<BatchNode>(node_, size, options));
}

Dataset Dataset::rebatch(int64_t size, const BatchOptions& options) const {
  return unbatch().batch(size, options);
}

Dataset Dataset::rebatch(std::vector<int64_t> sizes, const BatchOptions& options) const {
  if (sizes.empty() || *std::min_element(sizes.begin(), sizes.end()) < 1)
    throw ValueError(fmt::format("rebatch: sizes are {{{}}}, expected one or more of at least 1",
                                 fmt::join(sizes, ", ")));
  return Dataset(std::make_shared<RebatchNode>(unbatch().node(), std::move(sizes), options));
}

Dataset Dataset::unbatch() const { return Dataset(std::make_shared<UnbatchNode>(node_)); }

}  // namespace stoker::data
