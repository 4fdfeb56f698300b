// What faults are made of.
#pragma once

#include "doctor/faults.h"

namespace stoker::bench {

inline constexpr int64_t kFeatures = 256, kClasses = 8;

void spin(int64_t microseconds);  // on a core

// Random rows and labels.
data::Dataset rows(uint64_t seed, int64_t features = kFeatures, int64_t count = 2048);
// What a map does with an element besides handing it on.
using Work = std::function<void(int64_t label, Rng& rng)>;
data::Dataset doing(const data::Dataset& dataset, const data::MapOptions& options, Work work);
data::Dataset as_written(const data::Dataset& dataset, uint64_t seed);

struct ModelSize {
  int64_t features = kFeatures, units = 384, layers = 2;
  std::string optimizer = "sgd";
  std::optional<Layer> extra = {};
};
struct Machine {
  std::string device = "cpu", policy = "float32";
  int compute_threads = 1;  // so that a core is left for the pipeline on a machine of two
  bool capture = true, pin = true;
};
// `layers`: those of the model, instead of dense ones of that size.
Patient patient(uint64_t seed, const Batches& batches, const ModelSize& size = {},
                const Machine& machine = {}, std::vector<Layer> layers = {});

// A convolution of 7×7 over [16, 16, 16] with two channels per group: few products share what is
// loaded, so that it reaches a few hundredths of any device's limit. Takes and returns [4096].
inline constexpr int64_t kGrouped = 4096;
Layer grouped_convolutions(int count);

// Passes its input on after some time on a core.
Layer host_layer(int64_t microseconds);

}  // namespace stoker::bench
