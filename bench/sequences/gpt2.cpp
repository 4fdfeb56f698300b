#include "sequences/gpt2.h"

#include <stoker/attention.h>

namespace stoker::bench {

namespace {

constexpr int64_t kWidth = 768, kHeads = 12, kBlocks = 12;

Initializer spread() { return RandomNormal({.stddev = 0.02}); }

struct Block {
  Layer first = LayerNormalization({.epsilon = 1e-5}),
        second = LayerNormalization({.epsilon = 1e-5});
  Layer qkv = Dense(3 * kWidth, {.kernel_initializer = spread()});
  Layer mixed = Dense(kWidth, {.kernel_initializer = spread()});
  Layer wide = Dense(4 * kWidth, {.kernel_initializer = spread()});
  Layer narrow = Dense(kWidth, {.kernel_initializer = spread()});

  Value operator()(const Value& input) const {
    Shape rows = input.shape();
    Values heads = ops::split(
        ops::reshape(qkv(first(input)), {rows[0], rows[1], 3 * kHeads, kWidth / kHeads}), 3, 2);
    Value attended = ops::dot_product_attention(heads[0], heads[1], heads[2], {.is_causal = true});
    Value x = input + mixed(ops::reshape(attended, rows));
    return x + narrow(ops::gelu(wide(second(x)), /*approximate=*/true));
  }
};

class Gpt2 : public LayerBase {
 public:
  std::string kind() const override { return "Gpt2"; }
  void build(const std::vector<Shape>&) override {
    words_ = add_weight("words", {kGptWords, kWidth}, {.initializer = spread()});
    places_ = add_weight("places", {kGptLength, kWidth}, {.initializer = spread()});
  }
  Values call(const Values& inputs, CallContext&) override {
    Value x = ops::cast(ops::gather(words_, inputs[0]) + places_, DType::bfloat16);
    for (const Block& block : blocks_) x = block(x);
    return {ops::matmul(last_(x), words_, {.transpose_b = true})};
  }

 private:
  Variable words_, places_;
  std::vector<Block> blocks_ = std::vector<Block>(kBlocks);
  Layer last_ = LayerNormalization({.epsilon = 1e-5});
};

}  // namespace

Model gpt2() {
  Value ids = Input({kGptLength}, {.dtype = DType::int32});
  return {ids, make_layer<Gpt2>()(ids)};
}

Batch gpt2_batch() {
  Tensor ids(DType::int32, {kGptBatch, kGptLength}), next(DType::int32, {kGptBatch, kGptLength});
  Rng rng(1);
  for (int32_t& id : std::span(ids.data_mut<int32_t>(), size_t(ids.elements())))
    id = int32_t(rng.integer(0, kGptWords));
  for (int64_t i = 0; i < ids.elements(); ++i)
    next.data_mut<int32_t>()[i] = ids.data<int32_t>()[(i + 1) % ids.elements()];
  return {ids, next};
}

}  // namespace stoker::bench
