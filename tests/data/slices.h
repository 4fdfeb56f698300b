// Walks over the rows of ranks, and the datasets that tests of them have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "elements.h"
#include "support/chain_walks.h"

namespace stoker::data::slices {

inline BatchSlice rank_of(int64_t rank, int64_t size) {
  return {.rank = rank, .size = size, .ranks_of_host = size};
}

// All batches of some epochs; an end of an epoch is a batch of no tensors.
inline std::vector<Batch> walked(const Dataset& dataset, std::optional<BatchSlice> slice,
                                 int threads = 2, int64_t epochs = 2,
                                 const std::string& state = {}) {
  Context context{.threads = {.pipeline = threads}};
  Iterator walk =
      dataset.iterate({.epochs = epochs, .state = state, .context = &context, .slice = slice});
  std::vector<Batch> batches;
  while (!walk.finished()) {
    const Batch* batch = walk.next();
    std::vector<Tensor> copies;
    if (batch != nullptr)
      for (const Tensor& tensor : *batch) copies.push_back(tensor.clone());
    batches.emplace_back(std::move(copies));
  }
  return batches;
}

// The rows of all parts, one part behind the other.
inline test::Value joined(const std::vector<test::Value>& parts) {
  test::Value whole = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    whole.shape[0] += parts[i].shape[0];
    whole.numbers.insert(whole.numbers.end(), parts[i].numbers.begin(), parts[i].numbers.end());
    whole.texts.insert(whole.texts.end(), parts[i].texts.begin(), parts[i].texts.end());
  }
  return whole;
}

// Batch by batch, the rows of all ranks in the order of the ranks.
inline std::vector<std::string> together(const std::vector<std::vector<Batch>>& ranks) {
  std::vector<std::string> batches;
  for (size_t at = 0; at < ranks[0].size(); ++at) {
    test::Element whole;
    for (size_t component = 0; component < ranks[0][at].size(); ++component) {
      std::vector<test::Value> parts;
      for (const auto& rank : ranks) parts.push_back(test::element_of(rank[at])[component]);
      whole.push_back(joined(parts));
    }
    batches.push_back(to_string(whole));
  }
  return batches;
}

// together() of as many ranks.
inline std::vector<std::string> of_ranks(const Dataset& dataset, int64_t size, int threads = 2,
                                         int64_t epochs = 2, const std::string& state = {}) {
  std::vector<std::vector<Batch>> ranks;
  for (int64_t rank = 0; rank < size; ++rank)
    ranks.push_back(walked(dataset, rank_of(rank, size), threads, epochs, state));
  for (const auto& rank : ranks) EXPECT_EQ(rank.size(), ranks[0].size());
  return together(ranks);
}

// 0, 1, …; 3, 10, 17, … cannot be made.
inline Dataset bad_sevenths(int64_t count) {
  return range(count).map(
      [](int64_t x) {
        if (x % 7 == 3) throw std::runtime_error("a seventh");
        return x;
      },
      {.name = "f"});
}

inline Dataset counted_texts(int64_t count) {
  std::vector<std::string> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(std::string(size_t(i % 40), 'a' + char(i % 26)));
  return from_slices(Tensor::from(all, {count}));
}

inline Dataset noisy(const Dataset& dataset) {
  return dataset.map([](int64_t x, Rng& rng) { return 1000 * x + rng.integer(0, 1000); },
                     {.name = "noise"});
}

// A kind of dataset, and what to call it where a test fails.
struct Family {
  std::string name;
  Dataset dataset;
};

}  // namespace stoker::data::slices
