// Categories without a vocabulary: texts and whole numbers as the number of a bin, as Keras's Hashing
// and HashedCrossing give it. Steps of a dataset, as the lookups of text.h are; CategoryEncoding and
// Discretization are layers.
//
//   text::Hashing words(1000);
//   auto hashed = lines.map(words);
//   auto crossed = people.map(text::HashedCrossing(50).on({0, 2}));  // a further component
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/text.h>

namespace stoker::text {

struct HashingOptions {
  // The value that means "missing": it gets bin 0, and nothing else does.
  std::optional<std::variant<std::string, int64_t>> mask_value = {};
  std::optional<std::pair<uint64_t, uint64_t>> salt =
      {};                                     // SipHash64 with this key; none: FarmHash64
  OutputMode output_mode = OutputMode::int_;  // one_hot, multi_hot, count
};
// Numbers are hashed as their decimal digits. int64 in the shape of the input, or float32 columns.
class Hashing {
 public:
  explicit Hashing(int64_t num_bins, const HashingOptions& options = {});
  Tensor operator()(const Tensor& values) const;
  operator data::FunctionRef() const { return on(0); }
  data::FunctionRef on(size_t component) const;

 private:
  int64_t num_bins_;
  HashingOptions options_;
};

// Two or more features of one shape → one bin for each combination of theirs.
class HashedCrossing {
 public:
  explicit HashedCrossing(int64_t num_bins, OutputMode output_mode = OutputMode::int_);
  Tensor operator()(const std::vector<Tensor>& features) const;
  // The components stay; the crossed feature follows them.
  data::FunctionRef on(const std::vector<size_t>& components) const;

 private:
  int64_t num_bins_;
  OutputMode output_mode_;
};

}  // namespace stoker::text
