// scan: the nodes of the body, one after another, in every step.
#include <algorithm>
#include <map>

#include "engine/reference/kernel.h"
#include "graph/ops/scan.h"

namespace stoker::reference {

namespace {

class ScanLoop {
 public:
  explicit ScanLoop(const Call& call) : call_(call), scan_(call.attrs) {
    for (const ValueInfo& info : scan_.body->values()) values_.emplace_back(info.spec);
    for (const GraphConstant& constant : scan_.body->constants())
      load(constant.tensor, values_[size_t(constant.value)]);
    for (size_t i = 0; i < scan_.roles.size(); ++i)
      if (scan_.roles[i] != ScanRole::sequence) input(i).data = call.in(i).data;
  }

  void run() {
    for (int64_t step = 0; step < scan_.length; ++step) run_step(scan_.slice(step));
    std::vector<size_t> carries = scan_.inputs_of(ScanRole::carry);
    for (size_t i = 0; i < carries.size(); ++i) call_.out(i).data = input(carries[i]).data;
  }

 private:
  Array& input(size_t index) { return values_[size_t(scan_.body->inputs()[index].value)]; }
  Array& output(size_t index) { return values_[size_t(scan_.body->outputs()[index].value)]; }

  static void put(const Array& slice, Array& stack, int64_t at) {
    std::ranges::copy(slice.data, stack.data.begin() + at * slice.size());
  }

  void run_step(int64_t slice) {
    std::vector<size_t> carries = scan_.inputs_of(ScanRole::carry);
    size_t results = scan_.body->outputs().size();
    for (size_t i : scan_.inputs_of(ScanRole::sequence)) {
      Array& to = input(i);
      auto from = call_.in(i).data.begin() + slice * to.size();
      std::copy(from, from + to.size(), to.data.begin());
    }
    for (size_t i = 0; i < carries.size(); ++i)
      put(input(carries[i]), call_.out(results + i), slice);
    if (scan_.gate >= 0 && input(size_t(scan_.gate)).data[0] == 0) return;
    for (const Node& node : scan_.body->nodes()) run_node(node);
    for (size_t i = carries.size(); i < results; ++i) put(output(i), call_.out(i), slice);
    std::vector<Array> next;
    for (size_t i = 0; i < carries.size(); ++i) next.push_back(output(i));
    for (size_t i = 0; i < carries.size(); ++i) input(carries[i]).data = std::move(next[i].data);
  }

  void run_node(const Node& node) {
    std::vector<const Array*> inputs;
    std::vector<Array*> outputs;
    for (int id : node.inputs) inputs.push_back(&values_[size_t(id)]);
    for (int id : node.outputs) outputs.push_back(&values_[size_t(id)]);
    for (Array* output : outputs) std::ranges::fill(output->data, Number(0));
    find_kernel(node)({node.attrs, inputs, outputs, call_.rounding});
    for (Array* output : outputs) round(*output, call_.rounding);
  }

  const Call& call_;
  ScanCall scan_;
  std::vector<Array> values_;  // by value of the body
};

void scan(const Call& call) { ScanLoop(call).run(); }

}  // namespace

void add_scan_kernels(KernelTable& table) { table["scan"] = scan; }

}  // namespace stoker::reference
