#include "compress/float_walk.h"

#include <algorithm>

#include <fmt/format.h>

#include "compress/rebuild.h"
#include "nn/layer_factory.h"
#include "train/model/model_base.h"

namespace stoker::compress {

namespace {

Values inputs_like(const QuantPlan& plan, PlanWalk& walk) {
  Values inputs;
  for (size_t i = 0; i < plan.inputs().size(); ++i) {
    const TensorSpec& whole = plan.inputs()[i].spec();
    inputs.push_back(sketch_input(plan.input_names()[i], {whole.dtype, whole.shape.drop_front()},
                                  whole.shape[0]));
    walk.at(int(i)) = inputs[i];
  }
  return inputs;
}

}  // namespace

Values FloatWalk::start(const QuantPlan& plan) { return inputs_like(plan, *this); }
Values SameWalk::start(const QuantPlan& plan) { return inputs_like(plan, *this); }

std::string FloatWalk::unique_name(const std::string& path) {
  std::string name = path;
  std::ranges::replace(name, '/', '_');
  std::string base = name;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

Layer FloatWalk::layer_for(const Layer& old, const std::string& path) {
  auto known = made_.find(&old.base());
  if (known != made_.end()) return known->second;
  Layer layer;
  if (ModelAccess::base(old) != nullptr) {
    Model whole = ModelAccess::wrap(std::dynamic_pointer_cast<ModelBase>(old.shared()));
    layer = rebuilt(
        whole,
        [&](const Layer& inner, const std::string& inner_path) {
          return made_again(inner, full_config(inner.base()), path + "/" + inner_path, objects_);
        },
        "quantize");
  } else {
    layer = made_again(old, full_config(old.base()), path, objects_);
  }
  layer.base().set_name(unique_name(path));
  made_.emplace(&old.base(), layer);
  return layer;
}

void FloatWalk::copy_weights() const {
  for (const auto& [base, layer] : made_) {
    std::vector<Variable> before = base->weights(), now = layer.weights();
    for (size_t i = 0; i < std::min(before.size(), now.size()); ++i) now[i].write(before[i].read());
  }
}

Variable FloatWalk::weight_for(const Variable& old) {
  return weight_of_made(made_, old, "quantize");
}

}  // namespace stoker::compress
