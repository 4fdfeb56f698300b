// Metrics whose state is a table of counts: each element of a step adds 1, or its weight, to one
// cell. Counts without weights are int64, so that they stay exact; weights are summed in float32
// beside them, and results are of both together.
#pragma once

#include <stoker/metrics.h>

namespace stoker {

class CountingMetric : public MetricBase {
 protected:
  // `who` opens errors.
  explicit CountingMetric(std::string who) : who_(std::move(who)) {}

  void add_cells(int64_t cells);
  int64_t cells() const { return counts_.shape()[0]; }
  // One cell per element. cell: a whole number in [0, cells()) as float32, [..]; what is not one
  // (NaN) counts as cell 0. counts: bool [..], false: the element does not count; may be undefined.
  // sample_weight: as update_state has it, beside the first axes of `cell`.
  void add_to_cells(const Value& cell, const Value& counts, const Value& sample_weight) const;
  std::vector<double> read_cells() const;
  const std::string& who() const { return who_; }

 private:
  std::string who_;
  Variable counts_, sums_;
};

// Without a result per class or threshold the mean is it.
double mean_of(const std::vector<double>& results);
// 0 where the whole is 0.
double share_of(double part, double whole);

}  // namespace stoker
