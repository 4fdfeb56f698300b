#include "jobs/scaling_model.h"

#include <algorithm>
#include <cmath>

#include <stoker/error.h>
#include <nlohmann/json.hpp>

namespace stoker::jobs {

namespace {

constexpr double kLeast = 1e-12;

// Messages that one sum waits for: to and from every other rank at the same time, twice.
double rounds(int64_t ranks) { return ranks > 1 ? 2 * std::log2(double(ranks)) : 0; }
// Of the bytes, that each rank sends: all but its own part, twice.
double share_sent(int64_t ranks) { return 2 * double(ranks - 1) / double(ranks); }

}  // namespace

double StepModel::sums(int64_t ranks) const {
  if (ranks < 2) return 0;
  return double(load.calls) * rounds(ranks) * link.latency +
         share_sent(ranks) * load.bytes / link.bandwidth;
}

double StepModel::tail(int64_t ranks) const {
  if (ranks < 2) return 0;
  return rounds(ranks) * link.latency + share_sent(ranks) * load.last_bytes / link.bandwidth;
}

double StepModel::visible(int64_t ranks) const {
  double hidden = overlap * backward_share * computing;
  double least = std::max(shown * sums(ranks), tail(ranks));
  return std::max(sums(ranks) - hidden, std::min(least, sums(ranks)));
}

namespace {

// How much of the sums is hidden: by sums that outlast the backward pass, how much of it they run beside;
// by shorter ones, how much of them shows although there is enough to hide behind.
void fit_overlap(StepModel& model, std::span<const ScalingPoint> points) {
  double overlap = 0, shown = 0;
  int64_t longer = 0, shorter = 0;
  for (const ScalingPoint& point : points) {
    if (point.ranks < 2 || point.sums <= 0) continue;
    double visible = std::clamp(point.step - point.computing, 0.0, point.sums);
    double backward = std::max(model.backward_share * point.computing, kLeast);
    if (point.sums > backward) {
      overlap += std::min((point.sums - visible) / backward, 1.0);
      ++longer;
    } else {
      shown += visible / point.sums;
      ++shorter;
    }
  }
  model.shown = shorter > 0 ? shown / double(shorter) : 0;
  model.overlap = longer > 0 ? overlap / double(longer) : 1 - model.shown;
}

}  // namespace

StepModel fit_step_model(std::span<const ScalingPoint> points, const SumLoad& load) {
  StepModel model{.link = {}, .load = load};
  // sums = a · latency + b / bandwidth, over all points: two unknowns, normal equations.
  double aa = 0, ab = 0, bb = 0, ay = 0, by = 0, computing = 0;
  int64_t several = 0;
  for (const ScalingPoint& point : points) {
    if (point.ranks < 2) continue;
    double a = double(load.calls) * rounds(point.ranks), b = share_sent(point.ranks) * load.bytes;
    aa += a * a, ab += a * b, bb += b * b;
    ay += a * point.sums, by += b * point.sums;
    computing += point.computing;
    ++several;
  }
  if (several == 0)
    throw ValueError("scaling: expected a measurement with two or more ranks, got none");
  double determinant = aa * bb - ab * ab;
  double latency = 0, per_byte = bb > 0 ? by / bb : 0;
  if (several > 1 && determinant > 1e-9 * aa * bb) {
    latency = (ay * bb - by * ab) / determinant;
    per_byte = (by * aa - ay * ab) / determinant;
    if (latency < 0 || per_byte < 0) {  // one of them does not show in these points
      bool no_latency = latency < 0;
      latency = no_latency ? 0 : ay / aa;
      per_byte = no_latency ? by / bb : 0;
    }
  }
  model.link = {.bandwidth = 1 / std::max(per_byte, 1e-15), .latency = latency};
  model.computing = computing / double(several);
  fit_overlap(model, points);
  return model;
}

std::string what_limits(const StepModel& model, int64_t ranks) {
  if (model.visible(ranks) < 0.05 * model.step(ranks)) return "computing";
  double latency = double(model.load.calls) * rounds(ranks) * model.link.latency;
  if (latency > 0.5 * model.sums(ranks)) return "the link's latency";
  bool tail_only = model.visible(ranks) <= 1.01 * model.tail(ranks);
  return tail_only ? "the last bucket" : "the link's bandwidth";
}

nlohmann::json to_json(const StepModel& model, std::span<const int64_t> ranks) {
  nlohmann::json rows = nlohmann::json::array();
  for (int64_t count : ranks)
    rows.push_back({{"ranks", count},
                    {"step_ms", 1e3 * model.step(count)},
                    {"sums_ms", 1e3 * model.sums(count)},
                    {"visible_ms", 1e3 * model.visible(count)},
                    {"efficiency", model.efficiency(count)},
                    {"limit", what_limits(model, count)}});
  return {{"bandwidth_bytes_per_second", model.link.bandwidth},
          {"latency_us", 1e6 * model.link.latency},
          {"computing_ms", 1e3 * model.computing},
          {"overlap", model.overlap},
          {"shown", model.shown},
          {"bytes", model.load.bytes},
          {"sums_per_step", model.load.calls},
          {"predicted", rows}};
}

}  // namespace stoker::jobs
