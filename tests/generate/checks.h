// What the tests of generation ask of a model.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include <stoker/context.h>

#include "generate/models.h"

namespace stoker::test {

inline const TokenIds kPrompt = {3, 14, 15, 9, 2, 6, 5};

inline GenerateOptions greedy(int64_t tokens = 20) {
  return {.max_new_tokens = tokens, .temperature = 0};
}
inline GenerateOptions without_cache(GenerateOptions options) {
  options.cache = false;
  return options;
}

// Cached logits are those of the whole sequence but for the order of sums: 2·10⁻⁵ of the largest.
inline void expect_same_logits(const Model& model, const std::vector<TokenIds>& prompts,
                               const GenerateOptions& options = greedy(12)) {
  auto cached = logits_of(model, prompts, options);
  auto whole = logits_of(model, prompts, without_cache(options));
  ASSERT_EQ(cached.size(), whole.size());
  for (size_t step = 0; step < cached.size(); ++step) {
    float most = 1;
    for (float logit : whole[step]) most = std::max(most, std::abs(logit));
    for (size_t i = 0; i < whole[step].size(); ++i)
      ASSERT_NEAR(cached[step][i], whole[step][i], 2e-5F * most) << "step " << step;
  }
  EXPECT_EQ(generate(model, prompts, options), generate(model, prompts, without_cache(options)));
}

// What a model says while it generates: nothing where it is cached.
inline std::string said(const Model& model, const TokenIds& prompt) {
  std::ostringstream out;
  std::ostream* before = default_context().out;
  default_context().out = &out;
  generate(model, prompt, greedy(2));
  default_context().out = before;
  return out.str();
}

}  // namespace stoker::test
