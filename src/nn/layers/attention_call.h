// The operands of a call of an attention layer: query, value [, key [, attention_mask]].
#pragma once

#include <stoker/attention_layers.h>

namespace stoker {

struct AttentionOperands {
  Value query, value, key;
  Value query_mask, value_mask, key_mask;  // undefined: none
  Value attention_mask;                    // undefined: none
  bool causal, with_scores;
};

// The base of attention layers: takes calls apart.
class AttentionBase : public LayerBase {
 public:
  std::vector<std::string> call_arguments() const override {
    return {"return_attention_scores", "use_causal_mask"};
  }
  bool supports_masking() const override { return true; }
  Values compute_mask(const Values& inputs, const Values& masks) const override;
  Values call(const Values& inputs, CallContext& context) final;

 protected:
  template <class Options>
  explicit AttentionBase(const Options& options) {
    LayerBase::set_name(options.name);
  }
  // The output, and the scores if they are asked for.
  virtual Values attend_to(const AttentionOperands& operands, CallContext& context) = 0;
  // The shapes of query, value and key among those of the operands.
  struct Shapes {
    Shape query, value, key;
  };
  Shapes operand_shapes(const std::vector<Shape>& inputs) const;
  void expect_floats(const AttentionOperands& operands) const;
};

}  // namespace stoker
