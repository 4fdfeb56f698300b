// oneDNN's gradient of a convolution's weights. The threads of its team add up sums of their own
// and wait for each other, so that one thread cannot take all the parts. Alone, the same bits come
// from primitives that were made for one thread: either one over all images, or one over each
// worker's images, whose results are added in the order of the workers. Which of the two the team
// computes, for the weights and for the bias, is tried on random numbers before the first step that
// runs alone; where it is neither, the team runs.
#pragma once

#include <memory>

#include "engine/cpu/ops/conv2d.h"

namespace stoker::cpu {

using WeightGradDesc = dnnl::convolution_backward_weights::primitive_desc;

// The primitive of the geometry for so many images; `like`: in the layouts of that one.
WeightGradDesc weight_grad_desc(const Convolution& c, bool with_bias);
WeightGradDesc weight_grad_desc(const Convolution& c, bool with_bias, int64_t images,
                                const WeightGradDesc& like);

// Operands: x, dy, dw [, db] [, scratchpad].
class TeamWeightGrad final : public Kernel {
 public:
  TeamWeightGrad(const Convolution& convolution, bool with_bias, const WeightGradDesc& desc,
                 const dnnl::stream& stream);
  ~TeamWeightGrad() override;
  void run(Pointers pointers) const override;

 private:
  struct Call;
  struct Alone;

  const Convolution convolution_;
  const bool with_bias_;
  const WeightGradDesc desc_;
  const dnnl::stream stream_;
  const int workers_;
  std::unique_ptr<Call> team_;
  mutable std::unique_ptr<Alone> alone_;
  mutable bool tried_ = false;
};

}  // namespace stoker::cpu
