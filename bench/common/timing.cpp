#include "common/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace stoker::bench {

namespace {

double quantile_of(std::vector<double> values, double share) {
  if (values.empty()) return std::nan("");
  auto at = values.begin() + std::ptrdiff_t(share * double(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Samples::quantile(double share) const { return quantile_of(seconds_, share); }

std::vector<double> Samples::block_medians(int block) const {
  std::vector<double> medians;
  for (auto at = seconds_.begin(); seconds_.end() - at >= block; at += block)
    medians.push_back(quantile_of({at, at + block}, 0.5));
  return medians;
}

std::string Samples::text() const {
  return fmt::format("{:.2f} ms ({:.2f}–{:.2f}, {} steps)", median() * 1e3, quantile(0.1) * 1e3,
                     quantile(0.9) * 1e3, count());
}

std::vector<Samples> take_turns(const std::vector<Contender>& contenders, const Turns& turns) {
  for (const Contender& contender : contenders)
    for (int i = 0; i < turns.warm_up; ++i) contender.step();
  std::vector<Samples> samples(contenders.size());
  double begin = now();
  for (int round = 0; round < turns.least_rounds || now() - begin < turns.seconds; ++round)
    for (size_t c = 0; c < contenders.size(); ++c)
      for (int i = 0; i < turns.block; ++i) {
        double before = now();
        contenders[c].step();
        samples[c].add(now() - before);
      }
  return samples;
}

double paired_ratio(const Samples& a, const Samples& b, int block) {
  std::vector<double> left = a.block_medians(block), right = b.block_medians(block), ratios;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
    ratios.push_back(left[i] / right[i]);
  return quantile_of(ratios, 0.5);
}

}  // namespace stoker::bench
