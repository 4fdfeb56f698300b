// Attention and AdditiveAttention: without projections.
#include <fmt/format.h>

#include "nn/layers/attention.h"
#include "nn/layers/attention_call.h"
#include "nn/layers/configured_layer.h"
#include "nn/layers/families.h"
#include "nn/masks.h"

namespace stoker {

namespace {

struct AttentionConfig : AttentionOptions {
  static constexpr const char* kKind = "Attention";
  static Fields<AttentionConfig> fields() {
    using C = AttentionConfig;
    return {{"use_scale", &C::use_scale},
            {"score_mode", &C::score_mode, {.check = one_of({"dot", "concat"})}},
            {"dropout", &C::dropout, {.check = in_half_open(0, 1)}}};
  }
};

struct AdditiveAttentionConfig : AdditiveAttentionOptions {
  static constexpr const char* kKind = "AdditiveAttention";
  static Fields<AdditiveAttentionConfig> fields() {
    using C = AdditiveAttentionConfig;
    return {{"use_scale", &C::use_scale}, {"dropout", &C::dropout, {.check = in_half_open(0, 1)}}};
  }
};

// What both share: inputs [B, T, features], and weights from scores in memory.
template <class Config>
class UnprojectedAttention : public Configured<AttentionBase, Config> {
 public:
  using Configured<AttentionBase, Config>::Configured;

  void build(const std::vector<Shape>& inputs) final {
    AttentionBase::Shapes shapes = this->operand_shapes(inputs);
    check(shapes);
    add_weights(shapes.query[-1]);
  }

 protected:
  virtual void add_weights(int64_t features) = 0;

  void check(const AttentionBase::Shapes& s) const {
    for (const Shape* each : {&s.query, &s.value, &s.key})
      if (each->rank() != 3) this->fail_input("inputs [B, T, features]", *each);
    if (s.query[-1] != s.key[-1])
      this->fail_input(fmt::format("query and key of the same features, got {} and {}",
                                   to_string(s.query), to_string(s.key)));
  }

  // scores: [B, Tq, Tk]
  Values weigh(const Value& scores, const AttentionOperands& in, CallContext& context) const {
    Value seen = this->seen(in);
    if (in.causal) {
      Value causal = causal_mask(scores.shape()[1], scores.shape()[2]);
      seen = seen.defined() ? both(seen, causal) : causal;
    }
    Value weights = masked_softmax(scores, seen);
    Value y = ops::matmul(dropped(weights, this->options().dropout, context), in.value);
    y = without_masked(y, in.query_mask);
    return in.with_scores ? Values{y, weights} : Values{y};
  }

  // bool, broadcast to [B, Tq, Tk]; undefined: all.
  Value seen(const AttentionOperands& in) const {
    Value mask = in.value_mask.defined() ? ops::expand_dims(in.value_mask, 1) : Value();
    if (!in.attention_mask.defined()) return mask;
    return mask.defined() ? both(mask, in.attention_mask) : in.attention_mask;
  }

  // Σ tanh(scale · (query + key)), or Σ scale · tanh(query + key): [B, Tq, Tk]
  static Value sums(const AttentionOperands& in, const Value& inside, const Value& outside) {
    Value sum = ops::expand_dims(in.query, 2) + ops::expand_dims(in.key, 1);
    Value bent = ops::tanh(inside.defined() ? sum * inside : sum);
    return ops::sum(outside.defined() ? bent * outside : bent, {.axes = {-1}});
  }
};

class DotAttentionLayer : public UnprojectedAttention<AttentionConfig> {
 public:
  using UnprojectedAttention::UnprojectedAttention;

 protected:
  void add_weights(int64_t) override {
    if (options().use_scale) scale_ = add_weight("scale", {}, {.initializer = "ones"});
    if (options().score_mode == "concat")
      concat_ = add_weight("concat_score_weight", {}, {.initializer = "ones"});
  }

  Values attend_to(const AttentionOperands& in, CallContext& context) override {
    check({in.query.shape(), in.value.shape(), in.key.shape()});
    Value scale = options().use_scale ? Value(scale_) : Value();
    if (options().score_mode == "concat") return weigh(sums(in, scale, {}) * concat_, in, context);
    Value query = scale.defined() ? in.query * scale : in.query;
    Attended a{.query = ops::expand_dims(query, 2),
               .key = ops::expand_dims(in.key, 2),
               .value = ops::expand_dims(in.value, 2),
               .key_mask = in.value_mask,
               .attention_mask = in.attention_mask,
               .causal = in.causal,
               .rate = options().dropout,
               .with_scores = in.with_scores};
    AttendedResult result = attend(a, context);
    Value y = without_masked(ops::squeeze(result.output, 2), in.query_mask);
    return in.with_scores ? Values{y, ops::squeeze(result.scores, 1)} : Values{y};
  }

 private:
  Variable scale_, concat_;
};

class AdditiveAttentionLayer : public UnprojectedAttention<AdditiveAttentionConfig> {
 public:
  using UnprojectedAttention::UnprojectedAttention;

 protected:
  void add_weights(int64_t features) override {
    if (options().use_scale) scale_ = add_weight("scale", {features});
  }

  Values attend_to(const AttentionOperands& in, CallContext& context) override {
    check({in.query.shape(), in.value.shape(), in.key.shape()});
    return weigh(sums(in, {}, options().use_scale ? Value(scale_) : Value()), in, context);
  }

 private:
  Variable scale_;
};

}  // namespace

Attention::Attention(const AttentionOptions& options)
    : AttentionLayer(configured<DotAttentionLayer>({options}).shared(), options.dtype) {}

AdditiveAttention::AdditiveAttention(const AdditiveAttentionOptions& options)
    : AttentionLayer(configured<AdditiveAttentionLayer>({options}).shared(), options.dtype) {}

void add_dot_attention_layers(LayerKinds& kinds) {
  add_layer<DotAttentionLayer>(kinds);
  add_layer<AdditiveAttentionLayer>(kinds);
}

}  // namespace stoker
