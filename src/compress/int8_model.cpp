#include "compress/int8_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/flops.h>
#include <stoker/layers.h>

#include "compress/float_walk.h"
#include "compress/int8_weights.h"
#include "compress/int8_windows.h"
#include "compress/rebuild.h"
#include "graph/ops/quantized.h"
#include "nn/layer_factory.h"
#include "train/model/model_base.h"

namespace stoker::compress {

namespace {

// What each of the 256 codes of `from` becomes as a code of `to`.
Tensor code_table(const Layer& function, const CodeParams& from, const CodeParams& to) {
  Tensor x(DType::float32, {256, 1});
  for (int64_t code = 0; code < 256; ++code)
    x.data_mut<float>()[code] = float(double(code - from.zero_point) * from.scale);
  Value input = sketch_input("x", {DType::float32, {1}});
  Tensor y = Model(input, function(input)).predict({x});
  Tensor table(DType::uint8, {256});
  for (int64_t code = 0; code < 256; ++code)
    table.data_mut<uint8_t>()[code] = quantized::stored(
        y.data<float>()[code] / float(to.scale), float(to.zero_point), 0, quantized::kHighest);
  return table;
}

class Int8Walk : public FloatWalk {
 public:
  Int8Walk(const QuantPlan& plan, const GroupRanges& ranges, const Int8Request& request,
           QuantizeReport& report)
      : FloatWalk(request.custom_objects), plan_(plan), request_(request), report_(report) {
    for (const auto& [group, range] : ranges) params_[group] = params_for(range);
  }

  void run(const Step& step) {
    if (step.taken) return;
    if (!step.int8) {
      for (const auto& list : {step.inputs, step.masks})
        for (const Operand& one : list)
          if (one.edge >= 0) ensure_float(one.edge);
      return call(step);
    }
    Values inputs;
    for (const Operand& one : step.inputs) inputs.push_back(codes(one.edge));
    if (step.kind == StepKind::product || step.kind == StepKind::batch_norm)
      product(step, inputs[0]);
    else
      codes_[step.outputs[0]] = between(step, inputs);
  }

  Value result(int edge) {
    ensure_float(edge);
    return at(edge);
  }
  double int8_flops() const { return flops_; }

 private:
  const CodeParams& params(int edge) const { return params_.at(plan_.group_of(edge)); }

  Layer make(const char* kind, const std::string& path, const Attrs& config) {
    return layer_from_config(kind, unique_name(path), config);
  }

  Value codes(int edge) {
    if (auto found = codes_.find(edge); found != codes_.end()) return found->second;
    const CodeParams& as = params(edge);
    Layer layer = make("Quantize", plan_.edges()[size_t(edge)].name + "_quantize",
                       {{"scale", as.scale}, {"zero_point", as.zero_point}});
    return codes_[edge] = layer(at(edge));
  }

  void ensure_float(int edge) {
    if (has(edge)) return;
    const CodeParams& as = params(edge);
    Layer layer = make("Dequantize", plan_.edges()[size_t(edge)].name + "_dequantize",
                       {{"scale", as.scale}, {"zero_point", as.zero_point}});
    at(edge) = layer(codes_.at(edge));
  }

  // Where a result is stored, and which codes a relu leaves.
  void set_result(const Step& step, Attrs& config) const {
    const CodeParams& y = params(step.outputs[0]);
    config.set("output_scale", y.scale);
    config.set("output_zero_point", y.zero_point);
    if (!step.clip) return;
    config.set("low", y.zero_point);
    if (!step.clip->high) return;
    double high = std::nearbyint(*step.clip->high / y.scale) + double(y.zero_point);
    config.set("high", int64_t(std::clamp(high, double(y.zero_point), 255.0)));
  }

  void product(const Step& step, const Value& x) {
    int edge = step.outputs[0];
    bool floats = !plan_.edges()[size_t(edge)].stored;
    Product& made = products_[&step.layer.base()];
    if (!made.layer.shared()) made = make_product(step, floats);
    Value y = window_result(
        step, made.layer(window_input(step, x, params(step.inputs[0].edge).zero_point)));
    write(step, made.layer);
    count_flops_of(step);
    if (!floats) {
      codes_[edge] = y;
      return;
    }
    at(edge) = step.activation.shared() ? layer_for(step.activation, step.activation_path)(y) : y;
  }

  struct Product {
    Layer layer;
    double products = 0;  // per sum
  };

  Product make_product(const Step& step, bool floats) {
    const CodeParams& input = params(step.inputs[0].edge);
    FloatKernel kernel = float_kernel(step);
    int64_t bits = is_aware(step.layer) ? step.layer.base().config().get<int64_t>("weight_bits")
                                        : request_.weight_bits;
    Int8Kernel stored = int8_kernel(kernel, input, bits);
    bool dense = kernel.shape.rank() == 2;
    Attrs config = {{"input_scale", input.scale},
                    {"input_zero_point", input.zero_point},
                    {"weight_bits", bits},
                    {"scales", stored.scales},
                    {dense ? "units" : "filters", kernel.shape[0]}};
    if (floats)
      config.set("output", std::string("float32"));
    else
      set_result(step, config);
    if (!dense) {
      set_window(step, config);
      config.set("groups", kernel.groups);
    }
    report_.layers.push_back({step.path, change_text(step, floats), stored.error});
    weights_[&step.layer.base()] = std::move(stored);
    bool volume = !dense && product_kind(step.layer) == "Conv3D";
    const char* kind = dense ? "QuantizedDense" : volume ? "QuantizedConv3D" : "QuantizedConv2D";
    return {make(kind, step.path, config),
            double(kernel.weights.size()) / double(kernel.bias.size())};
  }

  void write(const Step& step, const Layer& layer) {
    auto found = weights_.find(&step.layer.base());
    if (found == weights_.end()) return;
    layer.set_weights({found->second.weights, found->second.bias});
    weights_.erase(found);
  }

  static std::string change_text(const Step& step, bool floats) {
    std::string text = product_kind(step.layer);
    bool folded = is_aware(step.layer) && step.layer.base().config().get<bool>("batch_norm");
    if (step.batch_norm.shared() || folded) text += " + BatchNormalization";
    if (step.clip)
      text += step.clip->high ? fmt::format(" + relu to {}", *step.clip->high) : " + relu";
    return text + (floats ? " → int8, result in float32" : " → int8");
  }

  void count_flops_of(const Step& step) {
    const Shape& y = plan_.edges()[size_t(step.outputs[0])].spec.shape;
    double count = 2 * products_[&step.layer.base()].products;
    for (int axis = 1; axis < y.rank(); ++axis) count *= double(y[axis]);
    flops_ += y.drop_front().is_known() ? count : 0;
  }

  // Ops that are no products.
  Value between(const Step& step, const Values& inputs) {
    switch (step.kind) {
      case StepKind::add:
      case StepKind::multiply:
        return pair(step, inputs);
      case StepKind::activation:
        return looked_up(step, inputs[0]);
      case StepKind::mean_pool:
      case StepKind::max_pool:
        return pooled(step, inputs[0]);
      case StepKind::padding: {
        Attrs config = step.layer.base().config();
        config.set("zero_point", params(step.inputs[0].edge).zero_point);
        note(step);
        return make("QuantizedZeroPadding2D", step.path, config)(inputs[0]);
      }
      case StepKind::nothing:
        return inputs[0];
      default:
        return moved(step, inputs);
    }
  }

  void note(const Step& step) {
    std::string kind = step.layer.shared()          ? step.layer.base().kind()
                       : step.kind == StepKind::add ? "Add"
                                                    : "Multiply";
    if (step.clip) kind += " + relu";
    report_.layers.push_back({step.path, kind + " → int8", {}});
  }

  // Of a product with a gate, the gate is the second.
  Value pair(const Step& step, Values inputs) {
    const char* kind = step.kind == StepKind::add ? "QuantizedAdd" : "QuantizedMultiply";
    int first = step.inputs[0].edge, second = step.inputs[1].edge;
    if (inputs[0].shape() != inputs[1].shape() &&
        quantized::is_gate(inputs[1].shape(), inputs[0].shape())) {
      std::swap(first, second);
      std::swap(inputs[0], inputs[1]);
    }
    const CodeParams &a = params(first), &b = params(second);
    Attrs config = {{"first_scale", a.scale},
                    {"first_zero_point", a.zero_point},
                    {"second_scale", b.scale},
                    {"second_zero_point", b.zero_point}};
    set_result(step, config);
    note(step);
    return make(kind, step.path, config)(inputs);
  }

  Value looked_up(const Step& step, const Value& x) {
    Layer layer = make("QuantizedActivation", step.path + "_table", {});
    Value y = layer(x);
    Layer function = made_again(step.layer, full_config(step.layer.base()), step.path, {});
    layer.set_weights({code_table(function, params(step.inputs[0].edge), params(step.outputs[0]))});
    note(step);
    return y;
  }

  Value pooled(const Step& step, const Value& x) {
    bool mean = step.kind == StepKind::mean_pool;
    const char* kind = mean ? "QuantizedAveragePooling2D" : "QuantizedMaxPooling2D";
    note(step);
    Value y = x;
    for (PoolStage& stage : pool_stages(step, x.shape())) {
      if (mean) {
        const CodeParams& input = params(step.inputs[0].edge);
        stage.options.set("input_scale", input.scale);
        stage.options.set("input_zero_point", input.zero_point);
        set_result(step, stage.options);
      }
      if (stage.before.rank() > 0) y = as_image(y, stage.before);
      y = make(kind, step.path, stage.options)(y);
    }
    const Shape& own = plan_.edges()[size_t(step.outputs[0])].spec.shape;
    if (own.rank() == 3 && y.shape().rank() == 4) return ops::squeeze(y, 1);
    return y.shape().rank() == own.rank() ? y : ops::reshape(y, own.with(0, -1));
  }

  // Rows of -1: as many as there are.
  static Value as_image(const Value& x, const Shape& image) {
    const Shape& from = x.shape();
    if (from.rank() == 3) return ops::expand_dims(x, 1);
    int64_t all = 1;
    for (int axis = 1; axis < from.rank(); ++axis) all *= from[axis];
    int64_t rows = image[0] >= 0 ? image[0] : all / (image[1] * image[2]);
    return ops::reshape(x, {-1, rows, image[1], image[2]});
  }

  Value moved(const Step& step, const Values& inputs) {
    if (!step.layer.shared()) {
      const auto& op = std::get<SketchOp>(step.node->what);
      return stoker::apply1(op.op, inputs, op.attrs);
    }
    if (step.kind == StepKind::concat) note(step);
    Layer layer = layer_from_config(step.layer.base().kind(), unique_name(step.path),
                                    full_config(step.layer.base()));
    return layer(inputs);
  }

  const QuantPlan& plan_;
  const Int8Request& request_;
  QuantizeReport& report_;
  std::map<int, CodeParams> params_;  // by group
  std::map<int, Value> codes_;        // by edge
  std::map<const LayerBase*, Product> products_;
  std::map<const LayerBase*, Int8Kernel> weights_;
  double flops_ = 0;
};

int64_t bytes_of(const Model& model) {
  int64_t bytes = 0;
  for (const Variable& weight : model.weights())
    bytes += weight.shape().elements() * int64_t(size_of(weight.dtype()));
  return bytes;
}

}  // namespace

Model int8_model(const Model& model, const QuantPlan& plan, const GroupRanges& ranges,
                 const Int8Request& request, QuantizeReport& report) {
  Int8Walk walk(plan, ranges, request, report);
  Values inputs = walk.start(plan);
  for (const Step& step : plan.steps()) walk.run(step);
  Values outputs;
  for (int edge : plan.output_edges()) outputs.push_back(walk.result(edge));
  walk.copy_weights();
  Model made(inputs, outputs, {.name = ModelAccess::base(model).label()});
  for (const auto& [group, range] : ranges) {
    const CodeParams as = params_for(range);
    report.activations.push_back(
        {plan.edges()[size_t(group)].name, range.low, range.high, as.scale, as.zero_point});
  }
  report.in_float = plan.in_float();
  report.weight_bytes_before = bytes_of(model);
  report.weight_bytes_after = bytes_of(made);
  try {
    report.int8_share = walk.int8_flops() / count_flops(model);
  } catch (const Error&) {  // shapes that only a batch has
  }
  return made;
}

}  // namespace stoker::compress
