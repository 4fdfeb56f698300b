#include "data/image/function.h"

#include <fmt/format.h>

#include "data/image/run_op.h"
#include "data/image/scratch.h"

namespace stoker::data {
namespace {

class ImageFunction : public ElementFunction {
 public:
  ImageFunction(image::Op op, size_t component) : op_(std::move(op)), component_(component) {}

  std::string name() const override { return op_.name(); }
  bool is_random() const override { return op_.is_random(); }
  std::string identity() const override {
    std::string text = component_ == 0 ? "" : fmt::format("component {}: ", component_);
    std::string_view between;
    for (const auto& step : op_.steps()) {
      std::string options = step->options();
      text += fmt::format("{}{}{}", between, step->name(),
                          options.empty() ? "" : fmt::format(" {{{}}}", options));
      between = " | ";
    }
    return text;
  }

  ElementSpec infer(const ElementSpec& in) const override {
    if (component_ >= in.size())
      throw ShapeError(fmt::format("{}: applies to component {} of elements that have {}", name(),
                                   component_, in.size()));
    ElementSpec out = in;
    out[component_] = op_.infer(in[component_]);
    return out;
  }

  void apply(std::span<const ConstTensorView> in, ElementWriter& out, Rng& rng) const override {
    for (size_t index = 0; index < in.size(); ++index) {
      if (index != component_) {
        out.copy(index, in[index]);
        continue;
      }
      Place place(out, index);
      image::run(op_, in[index], &rng, place);
    }
  }

 private:
  class Place : public image::Target {
   public:
    Place(ElementWriter& writer, size_t index) : writer_(writer), index_(index) {}
    void* put(DType dtype, const Shape& shape) override {
      return writer_.put(index_, dtype, shape);
    }

   private:
    ElementWriter& writer_;
    size_t index_;
  };

  image::Op op_;
  size_t component_;
};

}  // namespace

FunctionRef as_function(const image::Op& op, size_t component) {
  return std::make_shared<ImageFunction>(op, component);
}

size_t image_scratch_bytes() { return image::scratch_bytes(); }

}  // namespace stoker::data
