// AugMix for one picture: what the layer does with ops, with draws of its own.
#include <algorithm>

#include "base/augment_mix.h"
#include "data/image/float_step.h"

namespace stoker::image {
namespace {

// Streams of a picture's key; those of the chains follow.
constexpr uint64_t kWeightStream = 1, kChainStreams = 2;

class AugMixStep : public FloatStep {
 public:
  explicit AugMixStep(const AugMix& options)
      : options_(options),
        stages_(augment::aug_mix_stages("aug_mix", options.factor, options.interpolation,
                                        {options.range.low, options.range.high}, options.all_ops)) {
    if (options.num_chains < 1 || options.chain_depth < 1 || !(options.alpha > 0))
      throw ValueError(
          fmt::format("aug_mix: num_chains is {}, chain_depth {} and alpha {}, expected 1 or more, "
                      "1 or more and a "
                      "number above 0",
                      options.num_chains, options.chain_depth, options.alpha));
  }
  std::string name() const override { return "aug_mix"; }
  std::string options() const override {
    std::string text =
        fmt::format("{} {} {}", options_.num_chains, options_.chain_depth, options_.alpha);
    for (double number : augment::numbers_of(stages_)) text += fmt::format(" {}", number);
    return text;
  }
  bool is_random() const override { return true; }

 protected:
  void change(const augment::Picture<float>& from, float* to, uint64_t key) const override {
    augment::Draws draws = {{key, kWeightStream}};
    std::vector<float> weights = dirichlet(draws);
    float own = augment::beta_draw(draws, float(options_.alpha));
    size_t count = elements(from);
    std::fill(to, to + count, 0.0F);
    for (size_t chain = 0; chain < weights.size(); ++chain) {
      std::vector<float> end = chained(from, key, chain);
      for (size_t i = 0; i < count; ++i) to[i] += weights[chain] * end[i];
    }
    for (size_t i = 0; i < count; ++i)
      to[i] = augment::clipped(own * from.data[i] + (1 - own) * to[i], float(options_.range.low),
                               float(options_.range.high));
  }

 private:
  std::vector<float> dirichlet(augment::Draws& draws) const {
    std::vector<float> weights;
    for (int64_t chain = 0; chain < options_.num_chains; ++chain)
      weights.push_back(augment::log_gamma_draw(draws, float(options_.alpha)));
    float most = *std::ranges::max_element(weights), sum = 0;
    for (float& weight : weights) sum += weight = std::exp(weight - most);
    for (float& weight : weights) weight /= sum;
    return weights;
  }

  std::vector<float> chained(const augment::Picture<float>& from, uint64_t key,
                             size_t chain) const {
    std::vector<float> now(from.data, from.data + elements(from)), next(now.size());
    std::vector<float> scratch(size_t(augment::kMostBins) * size_t(from.channels));
    for (int64_t depth = 0; depth < options_.chain_depth; ++depth) {
      uint64_t stream =
          kChainStreams + uint64_t(chain) * uint64_t(options_.chain_depth) + uint64_t(depth);
      augment::run_sample<float>(stages_, {.seed = key, .stream = stream},
                                 {now.data(), from.height, from.width, from.channels},
                                 {from.height, from.width}, next.data(), scratch.data());
      now.swap(next);
    }
    return now;
  }

  AugMix options_;
  std::vector<augment::Stage> stages_;
};

}  // namespace

Op aug_mix(const AugMix& options) { return Op(std::make_shared<AugMixStep>(options)); }

}  // namespace stoker::image
