// group_by_window: elements with the same key become a dataset of their own, and then whatever that is
// turned into.
#include <map>

#include <fmt/format.h>

#include "data/node.h"
#include "data/ops/expanding.h"
#include "data/runtime/addresses.h"
#include "data/sources/list.h"

namespace stoker::data {

namespace {

// Its tickets hold the elements of one window, and their key as their choice.
class WindowGroupTickets final : public RenumberedTickets {
 public:
  WindowGroupTickets(std::unique_ptr<Tickets> input, ElementKey key, GroupOptions options,
                     std::string stage)
      : RenumberedTickets(std::move(input)),
        key_(std::move(key)),
        options_(std::move(options)),
        stage_(std::move(stage)) {}

  void begin(int64_t epoch) override {
    RenumberedTickets::begin(epoch);
    groups_.clear();
    ended_ = false;
  }
  bool next(Ticket& ticket) override {
    Ticket part;
    while (!ended_ && input_->next(part)) {
      try {
        int64_t key = key_(part.held->value());
        Group& group = groups_[key];
        if (group.parts.empty()) group.size = size_of_window(key);
        group.parts.push_back(std::move(part));
        part = {};
        if (int64_t(group.parts.size()) == group.size) return give(groups_.find(key), ticket);
      } catch (...) {
        auto failed = std::make_shared<Held>();
        failed->error = addressed_error(stage_, part.epoch, part.index, "");
        ticket = numbered(std::move(failed));
        return true;
      }
    }
    ended_ = true;
    return !groups_.empty() && give(groups_.begin(), ticket);
  }

 private:
  struct Group {
    std::vector<Ticket> parts;
    int64_t size = 0;
  };

  int64_t size_of_window(int64_t key) const {
    int64_t size =
        options_.window_size_func ? options_.window_size_func(key) : options_.window_size;
    if (size < 1)
      throw ValueError(
          fmt::format("window_size_func gave {} for key {}, expected at least 1", size, key));
    return size;
  }
  bool give(std::map<int64_t, Group>::iterator group, Ticket& ticket) {
    auto held = std::make_shared<Held>();
    held->parts = std::move(group->second.parts);
    ticket = numbered(std::move(held), group->first);
    groups_.erase(group);
    return true;
  }

  ElementKey key_;
  GroupOptions options_;
  std::string stage_;
  std::map<int64_t, Group> groups_;
  bool ended_ = false;
};

class GroupNode final : public Node {
 public:
  GroupNode(const NodeRef& input, ElementSpec spec, ElementKey key, Dataset::ReduceGroup reduce,
            GroupOptions options)
      : Node("group_by_window", {input}, std::move(spec), {}, false),
        key_(std::move(key)),
        reduce_(std::move(reduce)),
        options_(std::move(options)) {}
  std::string details() const override {
    std::string text = options_.name.empty() ? "" : fmt::format("\"{}\", ", options_.name);
    return text + (options_.window_size_func
                       ? "window_size_func"
                       : fmt::format("window_size = {}", options_.window_size));
  }
  const std::type_info* unknown_code() const override { return &reduce_.target_type(); }
  Planned plan(PlanContext& context) const override {
    Planned planned = context.materialised(context.plan_input(*this), *input());
    if (planned.replay.empty())
      planned.replay = title(*this) + " fills its windows element by element";
    planned.stream = std::make_unique<WindowGroupTickets>(std::move(planned.stream), key_, options_,
                                                          title(*this));
    ExpandTicket expand = [reduce = reduce_, rows = input()->spec()](const Ticket& group) {
      group.held->value();  // throws where there is none
      std::vector<Batch> elements;
      for (const Ticket& part : group.held->parts) elements.push_back(part.held->element);
      return reduce(group.choice, from_list(rows, std::move(elements)));
    };
    return expanded(std::move(planned), *this, std::move(expand), {}, context);
  }

 private:
  ElementKey key_;
  Dataset::ReduceGroup reduce_;
  GroupOptions options_;
};

}  // namespace

Dataset Dataset::group_by_window(ElementSpec spec, ElementKey key_func, ReduceGroup reduce_func,
                                 const GroupOptions& options) const {
  if (!key_func || !reduce_func)
    throw ValueError("group_by_window: key_func and reduce_func are needed");
  if ((options.window_size > 0) == bool(options.window_size_func) || options.window_size < 0)
    throw ValueError(fmt::format(
        "group_by_window: window_size is {}, expected at least 1, or a window_size_func instead",
        options.window_size));
  return Dataset(std::make_shared<GroupNode>(node_, std::move(spec), std::move(key_func),
                                             std::move(reduce_func), options));
}

}  // namespace stoker::data
