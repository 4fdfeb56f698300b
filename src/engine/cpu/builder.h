// What the builders of ops (one file per family) work with while a graph becomes a program: they
// ask for their inputs in the layout they want, define their outputs in the layout they give, and
// append instructions. A reorder is inserted only where the two differ, and remembered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/cpu/instruction.h"
#include "engine/cpu/layout.h"
#include "engine/cpu/residence.h"
#include "engine/cpu/runtime.h"
#include "engine/plan_builder.h"

namespace stoker::cpu {

// A oneDNN memory object and the buffer it is bound to.
struct BoundMemory {
  dnnl::memory memory;
  int buffer;
};

using Call = InstructionCall;

// One argument of a oneDNN primitive.
struct Argument {
  int id;  // DNNL_ARG_…
  int buffer;
  Desc desc;
  bool write = false;
};

// Everything a program is made of.
struct ProgramParts : PlannedParts {
  dnnl::stream stream;
  std::vector<Instruction> instructions;
  std::vector<BoundMemory> memories;
  std::vector<std::shared_ptr<CpuResidence>> homes;  // by variable
  std::vector<int> watched;  // variables whose NaN only the guard can tell of
};

// What the engine rewrites before it builds anything.
// keep_order: only what it has no kernel for.
void rewrite(Graph& graph, bool keep_order = false);

std::string own_kernel();  // "own:avx2": how own kernels call themselves in reports

class Builder final : public PlanBuilder {
 public:
  Builder(std::unique_ptr<Graph> graph, VariableHomes& homes);

  // --- the graph ---
  // Nodes that use a value, if nothing else does (outputs, assignments, the guard): else none.
  std::vector<const Node*> users(int value) const;
  // As guard_sees.h says; from then on the program watches the weights, which must be variables,
  // for NaN too.
  bool guard_sees(const Node& product);
  // A builder that does another node's work too says what is to happen when that node's turn comes.
  void claim(const Node& node, std::function<void(Builder&)> build);
  // What is to be built as soon as the value is, while that is in a cache; build_awaited(value) builds
  // it at once.
  void await(int value, std::function<void(Builder&)> build);
  void build_awaited(int value);
  // The work of a node that is still to come is done by the kernel of `other`.
  void take_into(const Node& node, const Node& other);

  // --- operands ---
  // The layout a value has now; a variable that no instruction has used yet is placed as `otherwise`.
  const Layout& layout(int value, const Layout& otherwise = {});
  int input(int value, const Layout& wanted);  // its buffer in that layout
  int plain(int value) { return input(value, {}); }
  bool is_defined(int value) const override {
    return !copies_[size_t(value)].empty() || alias_[size_t(value)] >= 0;
  }
  int define(int value, const Layout& layout = {});
  // The value lies in that buffer, row-major.
  void define_in(int value, int buffer) { attach(value, {}, buffer); }
  // Writes the value there, row-major, from whichever layout it has.
  void emit_row_major(int value, int to);
  // As define, in the buffer of one of `inputs` if its contents are not needed any more.
  int define_over(int value, const Layout& layout, std::initializer_list<int> inputs);
  // `value` is the same row-major bytes as `source`: no instruction, no copy. source_of() tells
  // builders that can work on the original (a matmul on an image in blocks).
  void define_alias(int value, int source);
  int source_of(int value) const;
  // The buffer of `output`, which replaces the contents of `input`: the variable itself where that
  // is legal, else a copy that is assigned at the end.
  int define_update(int output, int input, const Layout& layout);
  // What kept() gave, by the value it goes with.
  std::map<int, std::vector<int>>& attachments() { return attachments_; }

  // --- instructions ---
  template <class F>
  void emit(Call call, F function) {
    append(std::make_unique<FunctionKernel<F>>(std::move(function)), std::move(call));
  }
  template <class Primitive>
  void emit_primitive(const typename Primitive::primitive_desc& desc,
                      std::vector<Argument> arguments, std::string op = {},
                      MakeAlone make_alone = {}) {
    Primitive primitive(desc);
    if (kSpreads<Primitive>)
      make_alone = [primitive, scratchpad = desc.scratchpad_desc()] {
        return AloneForm{primitive, scratchpad};
      };
    if (size_t bytes = desc.scratchpad_desc().get_size(); bytes > 0)
      arguments.push_back(
          {DNNL_ARG_SCRATCHPAD, scratch(bytes + kBeyondScratchpad), desc.scratchpad_desc(), true});
    append(primitive, desc.impl_info_str(), arguments, std::move(op), std::move(make_alone));
  }
  void emit_kernel(std::unique_ptr<const Kernel> kernel, Call call) {
    append(std::move(kernel), std::move(call));
  }
  const dnnl::stream& stream() const { return parts_.stream; }
  VariableHomes& homes() { return homes_; }
  void emit_copy(int from, int to, size_t bytes) override;
  void emit_reorder(int from, const Desc& from_desc, int to, const Desc& to_desc);

  ProgramParts build();

 private:
  struct Copy {
    Layout layout;
    int buffer;
  };

  PlannedParts& parts() override { return parts_; }
  size_t instructions() const override { return parts_.instructions.size(); }
  void build_node() override;
  bool computes_nothing();  // and then its results have their places
  void build_it();
  template <class Ready>
  void build_awaited_if(const Ready& ready);
  int row_major(int value) override { return plain(value); }
  void place_variable(int value) override { place_variable(value, {}); }
  bool lies_in_variable(int value) override;
  void write_assignments() override;

  void append(std::unique_ptr<const Kernel> kernel, Call call);
  void append(dnnl::primitive primitive, const char* name, const std::vector<Argument>& arguments,
              std::string op, MakeAlone make_alone);
  // Primitives whose threads never wait for each other: any number of threads runs them.
  template <class Primitive>
  static constexpr bool kSpreads = std::is_same_v<Primitive, dnnl::convolution_forward> ||
                                   std::is_same_v<Primitive, dnnl::convolution_backward_data> ||
                                   std::is_same_v<Primitive, dnnl::reorder>;
  dnnl_memory_t memory_on(int buffer, const Desc& desc);
  void attach(int value, const Layout& layout, int buffer);
  int place_variable(int value, const Layout& layout);
  void place_leaf(int value, const Layout& wanted);
  int reordered(int value, const Copy& from, const Layout& wanted);
  void analyse();

  ProgramParts parts_;
  VariableHomes& homes_;
  std::vector<std::vector<int>> users_;    // by value: positions in the schedule
  std::vector<std::vector<Copy>> copies_;  // by value; the first is as produced
  std::vector<int> alias_;  // by value: the value whose row-major bytes it shares, or -1
  std::map<int, std::function<void(Builder&)>> claims_;                 // by node
  std::vector<std::pair<int, std::function<void(Builder&)>>> awaited_;  // value, work
  std::map<int, std::vector<int>> attachments_;
  std::vector<int> into_;  // by node: the one whose kernel does its work, or -1
};

}  // namespace stoker::cpu
