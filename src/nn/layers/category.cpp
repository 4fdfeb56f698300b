// CategoryEncoding, Discretization.
#include <algorithm>

#include <fmt/format.h>
#include <stoker/category_layers.h>

#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/layers/quantiles.h"
#include "nn/layers/single_input_layer.h"

namespace stoker {

namespace {

// ids: whole numbers [B, ..]; weights: of each id, may be undefined.
Value encoded(Value ids, int64_t depth, const std::string& mode, const Value& weights = {}) {
  if (mode == "one_hot") {
    if (ids.shape().rank() > 1 && ids.shape()[-1] == 1) ids = ops::squeeze(ids, -1);
    return ops::one_hot(ids, depth);
  }
  if (ids.shape().rank() < 2) ids = ops::expand_dims(ids, -1);
  Value rows = ops::one_hot(ids, depth);
  if (weights.defined()) {
    Value own = weights.shape().rank() < 2 ? ops::expand_dims(weights, -1) : weights;
    rows = rows * ops::expand_dims(as_float32(own), -1);
  }
  ops::Reduce over{.axes = {mode == "count" ? 1 : -2}};
  return mode == "count" ? ops::sum(rows, over) : ops::max(rows, over);
}

void check_ids(const Value& ids, const std::function<void(const std::string&)>& fail) {
  if (!is_integer(ids.dtype()))
    fail(fmt::format("expected whole numbers, got {}; ops::cast converts them",
                     to_string(ids.spec())));
}

struct CategoryEncodingConfig : CategoryEncodingOptions {
  int64_t num_tokens = 0;
  static constexpr const char* kKind = "CategoryEncoding";
  static Fields<CategoryEncodingConfig> fields() {
    using C = CategoryEncodingConfig;
    return {{"num_tokens", &C::num_tokens, {.check = at_least(1), .required = true}},
            {"output_mode", &C::output_mode, one_of({"multi_hot", "one_hot", "count"})}};
  }
};

class NamedLayer : public LayerBase {
 protected:
  template <class Options>
  explicit NamedLayer(const Options& options) {
    LayerBase::set_name(options.name);
  }
};

class CategoryEncodingLayer : public Configured<NamedLayer, CategoryEncodingConfig> {
 public:
  using Configured::Configured;

  Values call(const Values& inputs, CallContext&) override {
    bool weighted = inputs.size() == 2;
    if (inputs.empty() || inputs.size() > 2 || (weighted && options().output_mode != "count"))
      fail_input(fmt::format("expected ids, or with \"count\" ids and weights, got {} inputs",
                             inputs.size()));
    check_ids(inputs[0], [&](const std::string& what) { fail_input(what); });
    return {encoded(inputs[0], options().num_tokens, options().output_mode,
                    weighted ? inputs[1] : Value())};
  }
};

struct DiscretizationConfig : DiscretizationOptions {
  static constexpr const char* kKind = "Discretization";
  static Fields<DiscretizationConfig> fields() {
    using C = DiscretizationConfig;
    return {{"bin_boundaries", &C::bin_boundaries, {.sparse = true}},
            {"num_bins", &C::num_bins, {.check = at_least(0), .sparse = true}},
            {"epsilon", &C::epsilon, in_open(0, 1)},
            {"output_mode", &C::output_mode, one_of({"int", "one_hot", "multi_hot", "count"})}};
  }
};

class DiscretizationLayer : public Configured<SingleInputLayer, DiscretizationConfig> {
 public:
  explicit DiscretizationLayer(DiscretizationConfig config)
      : Configured(std::move(config)), boundaries_(options().bin_boundaries) {
    if (boundaries_.empty() && options().num_bins == 0)
      fail_option("needs bin_boundaries, or num_bins for adapt()");
    if (!std::ranges::is_sorted(boundaries_)) fail_option("bin_boundaries are not ascending");
  }

  // With what adapt() found.
  Attrs config() const override {
    Attrs attrs = Configured::config();
    if (!boundaries_.empty()) attrs.set("bin_boundaries", boundaries_);
    return attrs;
  }

  void adapt(const Tensor& data) {
    if (options().num_bins == 0)
      fail_option("it was made with bin_boundaries; adapt() is for a layer with num_bins");
    if (!data.defined() || data.elements() == 0) fail_input("adapt() expects numbers, got none");
    std::vector<float> values;
    for (int64_t i = 0; i < data.elements(); ++i) values.push_back(float(data.at(i)));
    boundaries_ =
        quantile_boundaries(std::move(values), int(options().num_bins), options().epsilon);
  }
  const std::vector<double>& boundaries() const { return boundaries_; }

 protected:
  Value forward(const Value& x, CallContext&) override {
    if (boundaries_.empty()) fail_input("has no boundaries yet; call adapt(data) first");
    auto count = int64_t(boundaries_.size());
    std::vector<float> floats(boundaries_.begin(), boundaries_.end());
    Value passed = ops::greater_equal(ops::expand_dims(as_float32(x), -1),
                                      Value(Tensor::from(floats, {count})));
    Value bins =
        ops::cast(ops::sum(ops::cast(passed, DType::float32), {.axes = {-1}}), DType::int32);
    return options().output_mode == "int" ? bins : encoded(bins, count + 1, options().output_mode);
  }

 private:
  std::vector<double> boundaries_;
};

}  // namespace

CategoryEncoding::CategoryEncoding(int64_t num_tokens, const CategoryEncodingOptions& options)
    : Layer(configured<CategoryEncodingLayer>({options, num_tokens})) {}

Discretization::Discretization(const DiscretizationOptions& options)
    : Layer(configured<DiscretizationLayer>({options})) {}
void Discretization::adapt(const Tensor& data) const {
  static_cast<DiscretizationLayer&>(base()).adapt(data);
}
std::vector<double> Discretization::bin_boundaries() const {
  return static_cast<const DiscretizationLayer&>(base()).boundaries();
}

void add_category_layers(LayerKinds& kinds) {
  add_layer<CategoryEncodingLayer>(kinds);
  add_layer<DiscretizationLayer>(kinds);
}

}  // namespace stoker
