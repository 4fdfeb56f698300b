// Text, or any sequence of tokens, from a model that predicts the next one: [B, T] ids → [B, T,
// vocabulary] logits, or probabilities from a softmax, or [B, vocabulary] for the last step alone.
//
//   std::vector<int64_t> tokens = generate(model, prompt, {.max_new_tokens = 200, .temperature = 0.8,
//                                                          .top_k = 40, .seed = 1});
//
// Each step computes the new token alone: keys and values of attention layers are kept from step to
// step, and so are the states of recurrent layers. The model needs no change: attention must be
// causal, and nothing else may look ahead. What else mixes steps (a convolution over time, attention
// without a causal mask) makes every step compute the whole sequence again, with the same results;
// one line says so. The cost of a cached step depends on the tokens so far, not on the length that
// the model was built for.
//
// A model of a fixed length T sees the last T tokens; from there on each step computes all T again.
// Generation reads the model, as predict does; two generations of one model take turns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <stoker/model.h>

namespace stoker {

using TokenIds = std::vector<int64_t>;

struct GeneratedToken {
  size_t row = 0;    // of the batch
  size_t index = 0;  // in its sequence, prompt included
  int64_t id = 0;
};

struct GenerateOptions {
  int64_t max_new_tokens = 100;  // per row
  double temperature = 1.0;      // divides the logits; 0: greedy, the largest logit
  int64_t top_k = 0;             // only the k largest; 0: all
  double top_p = 1.0;            // only the fewest whose probabilities sum to p
  // A token is a function of seed, row, index and logits. Empty: from the context's seed, another
  // one for every call.
  std::optional<uint64_t> seed = {};
  TokenIds stop = {};  // a row ends with the first of these that it generates
  // Called for every generated token, row by row; false ends the row.
  std::function<bool(const GeneratedToken&)> on_token = {};
  // May change the logits of a row before its next token is chosen: -infinity rules one out.
  std::function<void(size_t row, const TokenIds& so_far, std::span<float> logits)> adjust_logits =
      {};
  // The model's other inputs, one row per prompt, in their order: what an encoder reads. The
  // tokens are its last input.
  TensorList inputs = {};
  bool cache = true;  // false: every step computes the whole sequence
};

// The prompt and what follows it. ValueError for an empty prompt, and for options that are out of
// range or have no effect. NonFiniteError for logits that are NaN.
TokenIds generate(const Model& model, const TokenIds& prompt, const GenerateOptions& options = {});
// Prompts may differ in length. Rows do not influence each other.
std::vector<TokenIds> generate(const Model& model, const std::vector<TokenIds>& prompts,
                               const GenerateOptions& options = {});

}  // namespace stoker
