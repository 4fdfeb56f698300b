// Whole numbers and ranges as features, by Keras's names. Part of layers.h. Lookups and hashes of text
// and ids are steps of a pipeline: text.h, categories.h.
#pragma once

#include <string>
#include <vector>

#include <stoker/layer.h>
#include <stoker/layer_options.h>

namespace stoker {

struct CategoryEncodingOptions {
  // multi_hot: 1 for each token that occurs in a sample; count: how often; one_hot: one row per token.
  std::string output_mode = "multi_hot";
  std::string name = "";
  std::string dtype = "";
};
// Ids of [0, num_tokens) → float32. [B, n] → [B, num_tokens]; one_hot: [B, n, num_tokens], or [B,
// num_tokens] where n is 1. count takes weights as a second input: CategoryEncoding(…)({ids, weights}).
class CategoryEncoding : public Layer {
 public:
  explicit CategoryEncoding(int64_t num_tokens, const CategoryEncodingOptions& options = {});
};

struct DiscretizationOptions {
  std::vector<double> bin_boundaries = {};  // ascending; or
  int64_t num_bins = 0;                     // adapt() finds boundaries for this many bins
  double epsilon = 0.01;                    // how exact adapt() is, of the share of a bin
  std::string output_mode = "int";          // one_hot, multi_hot, count
  std::string name = "";
  std::string dtype = "";
};
// Numbers → which bin they fall into: bin i begins at boundary i - 1. int32, or an encoding in
// float32 as of CategoryEncoding.
class Discretization : public Layer {
 public:
  explicit Discretization(const DiscretizationOptions& options);
  // Boundaries between which equally many of these numbers lie; replaces what was there.
  void adapt(const Tensor& data) const;
  std::vector<double> bin_boundaries() const;  // empty: not adapted
};

}  // namespace stoker
