#include "data/image/run_op.h"

#include "data/image/picture_pass.h"
#include "data/image/workspace.h"

namespace stoker::image {
namespace {

// Runs a plan's passes one after the other. Results that only the next pass reads are written to
// two buffers in turn.
class PassRunner {
 public:
  PassRunner(Workspace& workspace, const Kernels& kernels)
      : workspace_(workspace), kernels_(kernels) {}

  // `last`: where the last pass writes; null: to one of the buffers.
  ConstTensorView run(const ConstTensorView& in, void* last) {
    const std::vector<Pass>& passes = workspace_.plan.passes();
    ConstTensorView value = in;
    for (const Pass& pass : passes) {
      bool to_buffer = last == nullptr || &pass != &passes.back();
      TensorView out{pass.out.dtype, pass.out.shape, to_buffer ? buffer(pass.out) : last};
      if (pass.kind == Pass::Kind::whole)
        pass.step->run_keyed(value, out, pass.key);
      else
        PicturePass(pass, workspace_, kernels_).run(value, out.data);
      value = out;
    }
    return value;
  }

 private:
  void* buffer(const TensorSpec& spec) {
    turn_ = 1 - turn_;
    if (spec.dtype == DType::bytes) return &workspace_.bytes[turn_];
    return workspace_.between[turn_].need(size_t(spec.shape.elements()) * size_of(spec.dtype));
  }

  Workspace& workspace_;
  const Kernels& kernels_;
  int turn_ = 0;
};

// Frees what a single large picture took, also when it turned out to be corrupt.
struct Trimmed {
  Workspace& workspace;
  ~Trimmed() { workspace.trim(); }
};

}  // namespace

Workspace& Workspace::of_thread() {
  thread_local Workspace workspace;
  return workspace;
}

void Workspace::trim() {
  for (Buffer* buffer : {&pixels, &between[0], &between[1], &line, &row, &floats}) buffer->trim();
}

void run(const Op& op, const ConstTensorView& in, Rng* rng, Target& target,
         const Kernels& kernels) {
  Workspace& workspace = Workspace::of_thread();
  Trimmed trimmed{workspace};
  PassRunner runner(workspace, kernels);
  Plan& plan = workspace.plan;
  ConstTensorView value = in;
  plan.begin({value.dtype, value.shape});
  for (const auto& step : op.steps()) {
    if (step->reads_value() && !plan.passes().empty()) {
      value = runner.run(value, nullptr);
      plan.begin({value.dtype, value.shape});
    }
    step->infer(plan.value());  // also what only the element shows: sizes, channels
    step->plan(value, plan, rng);
  }
  plan.end();
  TensorSpec result = plan.value();
  runner.run(value, target.put(result.dtype, result.shape));
}

}  // namespace stoker::image
