// quantize_aware(): the plan of quantize(), emitted as layers that train.
#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/quantize.h>

#include "base/field_types.h"
#include "compress/float_walk.h"
#include "compress/quant_plan.h"
#include "nn/layer_factory.h"
#include "train/model/model_base.h"

namespace stoker {

namespace {

using compress::Operand;
using compress::QuantPlan;
using compress::Step;

class AwareWalk : public compress::FloatWalk {
 public:
  AwareWalk(const QuantPlan& plan, const AwareOptions& options)
      : FloatWalk(options.custom_objects), plan_(plan), options_(options) {}

  void run(const Step& step) {
    if (step.taken) return;
    // Codes that are only moved are rounded once, behind the last move.
    bool moves = step.int8 && step.kind >= compress::StepKind::max_pool;
    std::map<int, Value> plain;
    for (const auto& list : {step.inputs, step.masks})
      for (const Operand& one : list)
        if (one.edge >= 0 && !moves && plan_.edges()[size_t(one.edge)].stored) {
          plain.emplace(one.edge, at(one.edge));
          at(one.edge) = rounded(one.edge);
        }
    if (step.int8 && step.kind == compress::StepKind::product)
      product(step);
    else
      call(step);
    for (const auto& [edge, value] : plain) at(edge) = value;
  }

  Value result(int edge) { return plan_.edges()[size_t(edge)].stored ? rounded(edge) : at(edge); }

 private:
  Value rounded(int edge) {
    auto [found, fresh] = rounded_.try_emplace(edge);
    if (fresh) {
      std::string name = unique_name(plan_.edges()[size_t(edge)].name + "_range");
      Layer range =
          layer_from_config(compress::kRangeLayer, name, {{"momentum", options_.momentum}});
      found->second = range(at(edge));
    }
    return found->second;
  }

  void product(const Step& step) {
    Layer& layer = aware_[&step.layer.base()];
    bool first = !layer.shared();
    if (first) layer = made_aware(step);
    Value y = layer(operand(step.inputs[0]));
    if (first) copy(step, layer);
    if (step.activation.shared()) y = layer_for(step.activation, step.activation_path)(y);
    at(step.outputs[0]) = y;
  }

  Layer made_aware(const Step& step) {
    Attrs config = {{"layer", step.layer.base().kind()}, {"weight_bits", options_.weight_bits}};
    fields::put_nested(config, "layer", step.layer.base().config());
    if (step.batch_norm.shared()) {
      Attrs norm = step.batch_norm.base().config();
      config.set("batch_norm", true);
      config.set("epsilon", norm.get<double>("epsilon"));
      config.set("momentum", norm.get<double>("momentum"));
      config.set("gamma", norm.get<bool>("scale"));
      config.set("beta", norm.get<bool>("center"));
    }
    Layer layer = layer_from_config(compress::kAwareLayer, unique_name(step.path), config);
    if (!step.layer.trainable()) layer.set_trainable(false);
    return layer;
  }

  // By the last part of their names.
  static void copy(const Step& step, const Layer& layer) {
    auto local = [](const Variable& weight) {
      return weight.name().substr(weight.name().rfind('/') + 1);
    };
    std::map<std::string, Tensor> known;
    for (const Variable& each : step.layer.weights()) known[local(each)] = each.read();
    if (step.batch_norm.shared())
      for (const Variable& each : step.batch_norm.weights()) known[local(each)] = each.read();
    for (Variable& each : layer.weights())
      if (auto found = known.find(local(each)); found != known.end()) each.write(found->second);
  }

  const QuantPlan& plan_;
  const AwareOptions& options_;
  std::map<int, Value> rounded_;  // by edge
  std::map<const LayerBase*, Layer> aware_;
};

}  // namespace

Model quantize_aware(const Model& model, const AwareOptions& options) {
  if (options.weight_bits != 7 && options.weight_bits != 8)
    throw ValueError(
        fmt::format("quantize_aware: weight_bits is {}, expected 7 or 8", options.weight_bits));
  if (!(options.momentum >= 0 && options.momentum < 1))
    throw ValueError(fmt::format("quantize_aware: momentum is {}, expected a number in [0, 1)",
                                 options.momentum));
  QuantPlan plan(model, {options.layers, options.exclude, "quantize_aware"});
  bool any = false;
  for (const Step& step : plan.steps()) any |= step.int8;
  if (!any) throw ValueError("quantize_aware: the model has no layer that can be int8");
  AwareWalk walk(plan, options);
  Values inputs = walk.start(plan), outputs;
  for (const Step& step : plan.steps()) walk.run(step);
  for (int edge : plan.output_edges()) outputs.push_back(walk.result(edge));
  Model made(inputs, outputs, {.name = ModelAccess::base(model).label()});
  walk.copy_weights();
  return made;
}

}  // namespace stoker
