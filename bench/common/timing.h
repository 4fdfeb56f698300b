// Times of contenders that take turns: on a shared machine only what ran side by side can be
// compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stoker::bench {

// Seconds since some moment; for differences.
double now();

class Samples {
 public:
  void add(double seconds) { seconds_.push_back(seconds); }
  size_t count() const { return seconds_.size(); }
  double quantile(double share) const;  // 0: the least, 0.5: the median
  double median() const { return quantile(0.5); }
  // The median of every `block` samples in a row.
  std::vector<double> block_medians(int block) const;
  // "12.3 ms (11.8–14.0)": the median, and the 10th and 90th percentile
  std::string text() const;

 private:
  std::vector<double> seconds_;
};

struct Contender {
  std::string name;
  std::function<void()> step;
};

struct Turns {
  int warm_up = 3;     // steps of each before anything is counted
  int block = 5;       // steps in a turn
  double seconds = 5;  // in all, for all contenders together
  int least_rounds = 3;
};

// One Samples a contender: blocks of steps in turn, until the time is up.
std::vector<Samples> take_turns(const std::vector<Contender>& contenders, const Turns& turns);

// The median over rounds of (median of a's block) / (median of b's block): a ratio that a slow
// minute of the machine changes less than the ratio of the two medians.
double paired_ratio(const Samples& a, const Samples& b, int block);

}  // namespace stoker::bench
