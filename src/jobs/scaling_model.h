// A model of one data-parallel step: computing, and sums over ranks that hide behind the backward pass as
// far as they can. Fitted to measured steps, it predicts other numbers of ranks and other links.
//
//   sums(n) = calls · rounds(n) · latency + 2 (n - 1) / n · bytes / bandwidth
//   step(n) = computing + max(sums(n) - overlap · backward, shown · sums(n), tail(n))
//
// tail(n): the sum of the last bucket, whose gradients are made last, so that nothing is left to hide it
// behind. shown: the share of sums that shows however long the backward pass is, since a CPU sends and
// adds on the cores that compute.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace stoker::jobs {

// What carries the sums.
struct Link {
  double bandwidth = 0;  // bytes per second of one rank, in one direction
  double latency = 0;    // seconds of one message
};

// What a step sends, by the network and the strategy alone.
struct SumLoad {
  double bytes = 0;       // of all gradients on the wire
  int64_t calls = 1;      // sums per step
  double last_bytes = 0;  // of the last bucket
};

// Steps as they were measured; seconds.
struct ScalingPoint {
  int64_t ranks = 1;
  double step = 0;
  double computing = 0;  // the same step without its sums
  double sums = 0;       // the same sums without a step
};

struct StepModel {
  Link link;
  SumLoad load;
  double computing = 0;             // seconds, of one rank's rows
  double backward_share = 2.0 / 3;  // of the computing: it costs about twice the forward pass
  double overlap = 1;               // of the backward pass, that sums run beside
  double shown = 0;                 // of sums that are shorter than it, that a step is longer for

  double sums(int64_t ranks) const;
  double tail(int64_t ranks) const;
  double visible(int64_t ranks) const;  // of the sums, that a step is longer for
  double step(int64_t ranks) const { return computing + visible(ranks); }
  // Throughput of n ranks per rank, against one rank with as many rows.
  double efficiency(int64_t ranks) const { return computing / step(ranks); }
};

// Least squares over the points with more than one rank. ValueError without one.
StepModel fit_step_model(std::span<const ScalingPoint> points, const SumLoad& load);

// What limits the model's step first, in words: "computing", "the link's bandwidth", "the link's latency",
// "the last bucket".
std::string what_limits(const StepModel& model, int64_t ranks);

nlohmann::json to_json(const StepModel& model, std::span<const int64_t> ranks);

}  // namespace stoker::jobs
