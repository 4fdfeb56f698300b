// What the builders of ops (ops/, one file per family) work with while a graph becomes a program.
// Every value is row-major; convolution kernels also exist in cuDNN's order, and matrices turned
// where a special case asks for it: converted many at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/cuda/attention_plan.h"
#include "engine/cuda/conv_plan.h"
#include "engine/cuda/fusion.h"
#include "engine/cuda/generated.h"
#include "engine/cuda/instruction.h"
#include "engine/cuda/kernels/shape.h"
#include "engine/cuda/matmul_plan.h"
#include "engine/plan_builder.h"

namespace stoker::cuda {

// What all programs of a backend share.
struct Shared {
  explicit Shared(const std::shared_ptr<Device>& opened)
      : device(opened), pool(std::make_shared<DevicePool>(opened)) {}

  std::shared_ptr<const Device> device;
  std::shared_ptr<DevicePool> pool;
  VariableHomes homes;
  PlanChoices choices{PlanChoices::usual_folder(), device->fingerprint()};
  ConvPlans conv_plans{choices};
  MatmulPlans matmul_plans{choices};
  AttentionPlans attention_plans;
  GeneratedKernels kernels;
};

// Weights that a kernel brings into another order, as part of an instruction.
class WeightLayouts {
 public:
  WeightLayouts() = default;
  WeightLayouts(DType from, DType to, size_t most) : from_(from), to_(to), most_(most) {}

  bool is_full() const { return places_.size() == most_; }
  // Of a value with this shape, whose channels are filled up to `padded`.
  void add(const Shape& shape, int64_t padded);
  // Where the operands begin once all are added: those read, and those written.
  void set_operands(size_t reads, size_t writes) {
    reads_ = reads;
    writes_ = writes;
  }
  template <class List>
  List bind(const Launch& at) const {
    List all;
    all.from_dtype = from_;
    all.to_dtype = to_;
    for (size_t i = 0; i < places_.size(); ++i)
      all.add(at.get(reads_ + i), at.get(writes_ + i), places_[i].pixels, places_[i].channels,
              places_[i].padded, places_[i].filters);
    return all;
  }

 private:
  struct Place {
    int64_t pixels, channels, padded, filters;
  };
  DType from_ = DType::float32, to_ = DType::float32;
  size_t most_ = 0;
  std::vector<Place> places_;
  size_t reads_ = 0, writes_ = 0;
};

using Call = InstructionCall;

// What the engine rewrites before it builds anything.
void rewrite(Graph& graph, const CompileOptions& options);

class Builder final : public PlanBuilder {
 public:
  Builder(std::unique_ptr<Graph> graph, Shared& shared, const CompileOptions& options);

  const Fusion& fusion() const { return fusion_; }
  const CompileOptions& options() const { return options_; }
  Shared& shared() { return shared_; }

  // --- operands: buffers ---
  int input(int value);
  bool is_defined(int value) const override { return buffer_of_[size_t(value)] >= 0; }
  int define(int value);
  // As define, in the buffer of one of `inputs` if its contents are not needed any more.
  int define_over(int value, std::initializer_list<int> inputs);
  int define_over(int value, std::span<const int> inputs);
  void define_alias(int value, int source);
  // The buffer of `output`, which replaces the contents of `input`: the variable itself where that
  // is legal, else memory that is assigned at the end.
  int define_update(int output, int input);
  int zeroed(size_t bytes);
  void adopt(int value, int buffer) { attach(value, buffer); }  // it lies there from now on

  // For work beside the step's own; the same for all nodes.
  const std::shared_ptr<Stream>& communication_stream();

  // What kept() gave, by the value it goes with.
  std::map<int, int>& attachments() { return attachments_; }

  // --- weights in another order ---
  // [filters, kh, kw, padded channels] of a value [kh, kw, channels, filters].
  int kernel_for_cudnn(int value, int64_t padded);
  // All kernels that would be brought into that order later, by a launch that has room for them:
  // none where they are large. Their operands are added to the call.
  WeightLayouts take_layouts(DType dtype, Call& call);
  // [columns, rows] of a matrix.
  int turned(int value) { return kernel_for_cudnn(value, shape(value)[0]); }
  // A gradient that cuDNN writes in its own order; it is transposed on demand.
  int define_from_cudnn(int value, int64_t padded);
  // Such a gradient as it lies there, for who can read that, if all of them are small: one launch
  // less. Large ones are turned in tiles.
  struct FromCudnn {
    int buffer;
    int64_t padded;
  };
  std::optional<FromCudnn> unturned(int value) const;

  // --- instructions ---
  void emit(Call call, Kernel kernel);
  void emit_on_host(Call call, Kernel kernel);
  // One that makes the graph's guard and does with it what Launch::guard says.
  void emit_guard(Call call, Kernel kernel);
  void emit_copy(int from, int to, size_t bytes) override;

  ProgramParts build();

 private:
  PlannedParts& parts() override { return parts_; }
  size_t instructions() const override { return parts_.instructions.size(); }
  void build_node() override;
  int row_major(int value) override { return input(value); }
  void place_variable(int value) override;
  bool lies_in_variable(int value) override;
  void write_assignments() override;

  void count_costs();
  void analyse();
  void attach(int value, int buffer);
  bool reads_only_constants(const Instruction& instruction) const;
  void cast_variables(int wanted);
  bool is_cast_to_make(int node, DType dtype) const;
  int leaf_of(int value) const;
  void add_layout(WeightLayouts& layouts, Call& call, int value, int from, int64_t padded);
  void add_all_layouts(WeightLayouts& layouts, Call& call, DType dtype, DType from_dtype);
  void turn_gradients();
  bool is_cast_of_variable(int value) const;

  ProgramParts parts_;
  Shared& shared_;
  CompileOptions options_;
  Fusion fusion_;
  std::vector<int> buffer_of_;                            // by value, or -1
  std::map<std::pair<int, int64_t>, int> cudnn_kernels_;  // (value, padded) → buffer
  std::map<int, FromCudnn> untaken_;                      // gradients still in cuDNN's order
  std::map<int, int> attachments_;
  std::shared_ptr<Stream> communication_;
};

// How many bytes a value takes.
inline size_t bytes_of(const TensorSpec& spec) {
  return size_t(spec.shape.elements()) * size_of(spec.dtype);
}

}  // namespace stoker::cuda
