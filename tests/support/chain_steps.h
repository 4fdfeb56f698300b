// The steps that a chain is drawn from, each a Dataset's operation beside its naive twin.
#pragma once

#include "support/chain.h"
#include "support/chain_functions.h"

namespace stoker::test {

uint64_t key_of(uint64_t depth, const Keys& keys);
Rng rng_of(uint64_t key, const Item& item);

class InputStep : public Step {
 public:
  explicit InputStep(StepRef input) : input_(std::move(input)) {}
  uint64_t depth() const override { return input_->depth() + 1; }

 protected:
  std::string after(const std::string& text) const { return input_->text() + "." + text; }
  StepRef input_;
};

// --- chain_sources.cpp; range_step is in chain.h ---

StepRef slices_step(int64_t rows);  // of a number, a text and a vector of two
StepRef generator_step(int64_t count);

// --- chain_elements.cpp: what elements become ---

StepRef map_step(StepRef input, PlainFunction function, int64_t parallel);
StepRef filter_step(StepRef input, PlainPredicate predicate);
struct BatchForm {
  int64_t size = 1;
  bool drop = false, padded = false;
  std::vector<int64_t> lengths = {};
  std::vector<int64_t> boundaries = {};  // of buckets, all of this size; none: there are no buckets
};
StepRef batch_step(StepRef input, BatchForm form);
bool gives_batches(const Step& step);  // is one of those
StepRef unbatch_step(StepRef input);
StepRef enumerate_step(StepRef input);
StepRef cache_step(StepRef input);
StepRef prefetch_step(StepRef input);
StepRef on_error_step(StepRef input, data::OnError policy);

// --- chain_order.cpp: which elements, in which order ---

StepRef shuffle_step(StepRef input, data::ShuffleOptions options);
StepRef window_shuffle_step(StepRef input, int64_t size);
StepRef repeat_step(StepRef input, int64_t count, int64_t take);  // count -1: cut after `take`
enum class Cut { take, skip, shard };
StepRef cut_step(StepRef input, Cut kind, int64_t count, int64_t index);
enum class Pair { zip, concatenate };
StepRef pair_step(StepRef first, StepRef second, Pair kind);
// Every element becomes a small random chain of its own; cycle 0: flat_map.
StepRef interleave_step(StepRef input, int64_t cycle, int64_t block, int64_t parallel);

}  // namespace stoker::test
