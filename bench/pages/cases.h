// What the pairs of bench_pages train on: page 000's chain and the chains and arrays of the 15
// examples, small enough that an epoch takes milliseconds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <stoker/stoker.h>

namespace stoker::bench {

// How a chain is to run; the defaults are those of a chain without any setting.
struct ChainSettings {
  int64_t parallel = AUTOTUNE;
  std::optional<int64_t> depth = {};
  bool as_written = false;  // every stage on its own, by the consumer: the plain loop
};

struct Case {
  std::string name;
  Shape sample;  // of x
  // One of the two.
  std::function<data::Dataset(const ChainSettings&)> chain = {};
  Tensor x = {}, y = {};
  bool waits = false;  // its function sleeps
  int64_t epochs = 0;  // of a turn with small steps; 0: as many as fill it
};

std::vector<Case> cases();

// A model of one layer that learns, or of two wide ones.
Sequential model_for(const Shape& sample, bool large);

}  // namespace stoker::bench
