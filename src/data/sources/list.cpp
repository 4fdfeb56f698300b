#include "data/sources/list.h"

#include <fmt/format.h>
#include <stoker/mixing.h>

#include "data/node.h"
#include "data/ops/common_spec.h"
#include "data/runtime/planning.h"
#include "formats/tensor_checksum.h"

namespace stoker::data {

namespace {

using Elements = std::shared_ptr<const std::vector<Batch>>;

class ListMaker final : public Maker {
 public:
  explicit ListMaker(Elements elements) : elements_(std::move(elements)) {}
  Made make(const Ticket& ticket, ElementWriter& out, Worker&) const override {
    const Batch& element = (*elements_)[size_t(ticket.index)];
    for (size_t i = 0; i < element.size(); ++i) out.copy(i, element[i]);
    return {ticket.epoch, ticket.index};
  }

 private:
  Elements elements_;
};

class ListNode final : public Node {
 public:
  ListNode(ElementSpec spec, Elements elements)
      : Node("from_list", {}, std::move(spec), {int64_t(elements->size())}, true),
        elements_(std::move(elements)) {}
  std::string details() const override { return fmt::format("{} elements", elements_->size()); }
  std::string recipe() const override {
    std::string text;
    for (const Batch& element : *elements_)
      for (const Tensor& component : element) text += checksum_line(component) + "; ";
    return text;
  }
  Planned plan(PlanContext&) const override {
    return {.maker = std::make_shared<ListMaker>(elements_), .length = cardinality().count};
  }

 private:
  Elements elements_;
};

ElementSpec spec_of(const Batch& element, size_t index) {
  ElementSpec spec;
  for (const Tensor& component : element) {
    if (!component.defined())
      throw ValueError(fmt::format("from_list: element {} has an undefined component", index));
    spec.push_back(component.spec());
  }
  return spec;
}

}  // namespace

Dataset from_list(ElementSpec spec, std::vector<Batch> elements) {
  return Dataset(std::make_shared<ListNode>(
      std::move(spec), std::make_shared<const std::vector<Batch>>(std::move(elements))));
}

Dataset from_list(std::vector<Batch> elements) {
  if (elements.empty()) throw ValueError("from_list: no elements were given");
  ElementSpec spec = spec_of(elements[0], 0);
  for (size_t i = 1; i < elements.size(); ++i)
    spec = common_spec("from_list", spec, spec_of(elements[i], i));
  return from_list(std::move(spec), std::move(elements));
}

}  // namespace stoker::data
