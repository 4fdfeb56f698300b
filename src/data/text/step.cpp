#include "data/text/step.h"

#include <fmt/format.h>

namespace stoker::text {

namespace {

class WriterPlace final : public Place {
 public:
  WriterPlace(data::ElementWriter& writer, size_t index) : writer_(writer), index_(index) {}
  void* put(DType dtype, const Shape& shape) override { return writer_.put(index_, dtype, shape); }

 private:
  data::ElementWriter& writer_;
  size_t index_;
};

class TensorPlace final : public Place {
 public:
  void* put(DType dtype, const Shape& shape) override {
    tensor = Tensor(dtype, shape);
    return tensor.raw_mut();
  }
  Tensor tensor;
};

class TextFunction final : public data::ElementFunction {
 public:
  TextFunction(StepRef step, size_t component) : step_(std::move(step)), component_(component) {}

  std::string name() const override { return step_->name(); }
  std::string identity() const override {
    std::string known = step_->identity();
    return known.empty() || component_ == 0 ? known
                                            : fmt::format("component {}: {}", component_, known);
  }
  data::ElementSpec infer(const data::ElementSpec& in) const override {
    if (component_ >= in.size())
      throw ShapeError(fmt::format("{}: applies to component {} of elements that have {}", name(),
                                   component_, in.size()));
    data::ElementSpec out = in;
    out[component_] = step_->infer(in[component_]);
    return out;
  }
  void apply(std::span<const ConstTensorView> in, data::ElementWriter& out, Rng&) const override {
    for (size_t index = 0; index < in.size(); ++index) {
      if (index != component_) {
        out.copy(index, in[index]);
        continue;
      }
      WriterPlace place(out, index);
      step_->run(in[index], place);
    }
  }

 private:
  StepRef step_;
  size_t component_;
};

}  // namespace

data::FunctionRef as_function(StepRef step, size_t component) {
  return std::make_shared<TextFunction>(std::move(step), component);
}

Tensor run_step(const Step& step, const Tensor& in) {
  step.infer(in.spec());
  TensorPlace place;
  step.run(in, place);
  return place.tensor;
}

}  // namespace stoker::text
