// unique: every element once, where it occurs first.
#include <unordered_set>

#include "data/ops/in_order.h"

namespace stoker::data {

namespace {

void append_bytes(std::string& key, const void* data, size_t bytes) {
  key.append(static_cast<const char*>(data), bytes);
}

// The values of an element, so that only equal ones have equal keys.
std::string key_of(const Batch& element) {
  std::string key;
  for (const Tensor& component : element) {
    for (int64_t extent : component.shape()) append_bytes(key, &extent, sizeof(extent));
    if (component.dtype() != DType::bytes) {
      append_bytes(key, component.raw(), component.bytes());
      continue;
    }
    for (const std::string& text : component.values<std::string>()) {
      size_t size = text.size();
      append_bytes(key, &size, sizeof(size));
      key += text;
    }
  }
  return key;
}

class UniquePass final : public Pass {
 public:
  explicit UniquePass(std::shared_ptr<MemoryBudget> budget) : budget_(std::move(budget)) {}
  ~UniquePass() override { budget_->release(charged_); }
  Verdict see(Ticket& ticket) override {
    auto [place, fresh] = seen_.insert(key_of(ticket.held->element));
    if (!fresh) return Verdict::drop;
    auto bytes = int64_t(sizeof(std::string) + place->capacity());
    budget_->charge(bytes);
    charged_ += bytes;
    return Verdict::keep;
  }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  std::unordered_set<std::string> seen_;
  int64_t charged_ = 0;
};

class UniqueNode final : public Node {
 public:
  explicit UniqueNode(const NodeRef& input) : Node("unique", {input}, input->spec(), {}, false) {}
  Planned plan(PlanContext& context) const override {
    return in_order(*this, context, [budget = context.budget](int64_t) {
      return std::make_unique<UniquePass>(budget);
    });
  }
};

}  // namespace

Dataset Dataset::unique() const { return Dataset(std::make_shared<UniqueNode>(node_)); }

}  // namespace stoker::data
