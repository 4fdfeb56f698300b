// window: neighbours as rows of one element. On random access the rows are positions; on a stream,
// elements that are kept as long as a window needs them.
#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/check_count.h"
#include "data/ops/rows_into.h"
#include "data/runtime/planning.h"

namespace stoker::data {

namespace {

struct Windows {
  int64_t size, shift, stride;
  bool drop_remainder;

  // From the first row to behind the last.
  int64_t span() const { return sum(product(size - 1, stride), 1); }
  int64_t count(int64_t elements) const {
    if (drop_remainder) return elements < span() ? 0 : (elements - span()) / shift + 1;
    return elements / shift + (elements % shift > 0);
  }
  Cardinality counted_of(Cardinality elements) const {
    return counted(elements, [&](int64_t n) { return count(n); });
  }
  int64_t rows(int64_t start, int64_t elements) const {
    return std::min(size, (elements - start - 1) / stride + 1);
  }
};

class CountedWindowMaker final : public RowsMaker {
 public:
  CountedWindowMaker(MakerRef input, int64_t length, Windows windows)
      : RowsMaker(std::move(input)), length_(length), windows_(windows) {}

  int64_t rows(const Ticket& ticket) const override {
    return windows_.rows(ticket.index * windows_.shift, length_);
  }
  Made make_row(const Ticket& ticket, int64_t row, ElementWriter& out,
                Worker& worker) const override {
    int64_t index = ticket.index * windows_.shift + row * windows_.stride;
    return make_part("window", *input_, {.epoch = ticket.epoch, .index = index}, out, worker);
  }

 private:
  int64_t length_;
  Windows windows_;
};

// Tickets of elements that are made; those that the next windows need stay.
class WindowsOfTickets final : public RenumberedTickets {
 public:
  WindowsOfTickets(std::unique_ptr<Tickets> input, Windows windows)
      : RenumberedTickets(std::move(input)), windows_(windows) {}

  void begin(int64_t epoch) override {
    RenumberedTickets::begin(epoch);
    passed_ = 0;
    kept_.clear();
    ended_ = false;
  }
  bool next(Ticket& ticket) override {
    pass_over();
    take(windows_.span());
    auto there = int64_t(kept_.size());
    if (there == 0 || (windows_.drop_remainder && there < windows_.span())) return false;
    auto held = std::make_shared<Held>();
    for (int64_t row = 0; row < windows_.rows(0, there); ++row)
      held->parts.push_back(kept_[size_t(row * windows_.stride)]);
    passed_ = windows_.shift;
    ticket = numbered(std::move(held));
    return true;
  }

 private:
  // Elements in front of the next window.
  void pass_over() {
    while (passed_ > 0) {
      take(1);
      if (kept_.empty()) return;
      kept_.pop_front();
      --passed_;
    }
  }
  void take(int64_t count) {
    while (!ended_ && int64_t(kept_.size()) < count) {
      Ticket part;
      ended_ = !input_->next(part);
      if (!ended_) kept_.push_back(std::move(part));
    }
  }

  Windows windows_;
  std::deque<Ticket> kept_;
  bool ended_ = false;
  int64_t passed_ = 0;
};

class WindowNode final : public Node {
 public:
  WindowNode(const NodeRef& input, Windows windows)
      : Node("window", {input}, batch_spec(input->spec(), rows(input->cardinality(), windows)),
             windows.counted_of(input->cardinality()), input->random_access()),
        windows_(windows) {}

  std::string details() const override {
    return fmt::format("{}, shift = {}, stride = {}{}", windows_.size, windows_.shift,
                       windows_.stride, windows_.drop_remainder ? ", drop_remainder = true" : "");
  }

  Planned plan(PlanContext& context) const override {
    Planned planned = context.plan_input(*this);
    if (planned.length) {
      int64_t length = *planned.length;
      planned.maker =
          std::make_shared<CountedWindowMaker>(std::move(planned.maker), length, windows_);
      planned.length = windows_.counted_of({length}).count;
      return planned;
    }
    // Made once, whatever the number of windows they are in.
    planned = context.materialised(std::move(planned), *input());
    planned.maker = group_maker(std::move(planned.maker));
    planned.stream = std::make_unique<WindowsOfTickets>(std::move(planned.stream), windows_);
    return planned;
  }

 private:
  // -1 where the last windows may be shorter.
  static int64_t rows(Cardinality of, const Windows& windows) {
    if (windows.drop_remainder || of.infinite()) return windows.size;
    bool whole =
        of.known() && *of.count > 0 &&
        windows.rows((windows.count(*of.count) - 1) * windows.shift, *of.count) == windows.size;
    return whole ? windows.size : -1;
  }

  Windows windows_;
};

}  // namespace

Dataset Dataset::window(int64_t size, const WindowOptions& options) const {
  check_count("window", size, 1);
  check_count("window: shift", options.shift.value_or(size), 1);
  check_count("window: stride", options.stride, 1);
  return Dataset(std::make_shared<WindowNode>(
      node_, Windows{size, options.shift.value_or(size), options.stride, options.drop_remainder}));
}

}  // namespace stoker::data
