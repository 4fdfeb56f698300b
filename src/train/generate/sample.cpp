#include "train/generate/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/random.h>

namespace stoker {

namespace {

// [0, 1), all 53 bits.
double draw_unit(const DrawPlace& place) {
  uint64_t high = random_bits(place.seed, place.row, 2 * place.index);
  uint64_t low = random_bits(place.seed, place.row, 2 * place.index + 1);
  return double((high << 32 | low) >> 11) * 0x1p-53;
}

size_t largest(std::span<const float> logits, const DrawPlace& place) {
  size_t best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      throw NonFiniteError(
          fmt::format("generate: the logit of token {} is NaN in row {}, at index {}; the model's "
                      "weights are not finite, or a step overflowed",
                      i, place.row, place.index));
    if (logits[i] > logits[best]) best = i;
  }
  if (std::isinf(logits[best]))
    throw NonFiniteError(fmt::format(
        "generate: the largest logit of row {} at index {} is {}; adjust_logits must leave a token",
        place.row, place.index, logits[best]));
  return best;
}

// The ids in question; those of top_k and top_p with the most probable first.
std::vector<size_t> candidates(std::span<const float> logits, int64_t top_k, bool sorted) {
  std::vector<size_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), size_t(0));
  size_t count = top_k > 0 ? std::min(size_t(top_k), ids.size()) : ids.size();
  if (!sorted && count == ids.size()) return ids;
  auto before = [&](size_t a, size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::partial_sort(ids.begin(), ids.begin() + int64_t(count), ids.end(), before);
  ids.resize(count);
  return ids;
}

// How many of the first weights reach the share `p` of their sum; all for 1.
size_t nucleus(const std::vector<double>& weights, double p) {
  if (p >= 1) return weights.size();
  double wanted = p * std::accumulate(weights.begin(), weights.end(), 0.0), sum = 0;
  for (size_t i = 0; i < weights.size(); ++i)
    if ((sum += weights[i]) >= wanted) return i + 1;
  return weights.size();
}

// The place where the running sum passes `unit` of the whole.
size_t draw_index(std::span<const double> weights, double unit) {
  double wanted = unit * std::accumulate(weights.begin(), weights.end(), 0.0), sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    last = i;
    if ((sum += weights[i]) > wanted) break;
  }
  return last;
}

}  // namespace

void check_sampling(const GenerateOptions& options) {
  auto fail = [](const std::string& what) { throw ValueError("generate: " + what); };
  if (options.max_new_tokens < 0)
    fail(fmt::format("expected max_new_tokens of 0 or more, got {}", options.max_new_tokens));
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    fail(fmt::format("expected a temperature of 0 or more, got {}", options.temperature));
  if (options.top_k < 0)
    fail(fmt::format("expected top_k of 0 (all) or more, got {}", options.top_k));
  if (!(options.top_p > 0 && options.top_p <= 1))
    fail(fmt::format("expected top_p in (0, 1], got {}", options.top_p));
  if (options.temperature > 0) return;
  if (options.top_k > 0 || options.top_p < 1)
    fail(
        "top_k and top_p have no effect at temperature 0, which takes the largest logit; leave "
        "them out, or set a temperature");
  if (options.seed)
    fail(
        "a seed has no effect at temperature 0, which takes the largest logit; leave it out, or "
        "set a temperature");
}

int64_t sample_token(std::span<const float> logits, const GenerateOptions& options,
                     const DrawPlace& place) {
  size_t best = largest(logits, place);
  if (options.temperature == 0) return int64_t(best);
  std::vector<size_t> ids = candidates(logits, options.top_k, options.top_p < 1);
  std::vector<double> weights(ids.size());
  for (size_t i = 0; i < ids.size(); ++i)
    weights[i] = std::exp((double(logits[ids[i]]) - double(logits[best])) / options.temperature);
  weights.resize(nucleus(weights, options.top_p));
  return int64_t(ids[draw_index(weights, draw_unit(place))]);
}

}  // namespace stoker
