#include <fmt/format.h>
#include <stoker/image.h>

#include "data/image/run_op.h"

namespace stoker::image {
namespace {

class NewTensor : public Target {
 public:
  void* put(DType dtype, const Shape& shape) override {
    tensor = Tensor(dtype, shape);
    return tensor.raw_mut();
  }
  Tensor tensor;
};

}  // namespace

Op::Op(std::shared_ptr<const Step> step)
    : steps_(std::make_shared<const Steps>(Steps{std::move(step)})) {}

Op operator|(const Op& first, const Op& second) {
  Op::Steps steps = *first.steps_;
  steps.insert(steps.end(), second.steps_->begin(), second.steps_->end());
  return Op(std::make_shared<const Op::Steps>(std::move(steps)));
}

TensorSpec Op::infer(const TensorSpec& in) const {
  TensorSpec spec = in;
  for (const auto& step : *steps_) spec = step->infer(spec);
  return spec;
}

std::string Op::name() const {
  std::string text;
  for (const auto& step : *steps_) text += (text.empty() ? "" : " | ") + step->name();
  return text;
}

bool Op::is_random() const {
  for (const auto& step : *steps_)
    if (step->is_random()) return true;
  return false;
}

Tensor Op::operator()(const Tensor& in) const {
  if (is_random())
    throw ValueError(fmt::format("{} is random; pass an Rng: op(tensor, rng)", name()));
  NewTensor target;
  run(*this, in, nullptr, target);
  return target.tensor;
}

Tensor Op::operator()(const Tensor& in, Rng& rng) const {
  NewTensor target;
  run(*this, in, &rng, target);
  return target.tensor;
}

Image::Image(const ConstTensorView& view) : data(static_cast<const uint8_t*>(view.data)) {
  if (view.dtype != DType::uint8 || view.shape.rank() != 3)
    throw ShapeError(fmt::format("Image: got {}; expected a picture uint8[height, width, channels]",
                                 to_string(TensorSpec{view.dtype, view.shape})));
  height = view.shape[0];
  width = view.shape[1];
  channels = view.shape[2];
}

}  // namespace stoker::image
