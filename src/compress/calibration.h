// The range of an activation from the values that calibration sees. Counts values in bins whose
// width doubles when larger ones come: memory does not depend on how many there are.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <stoker/quantize.h>

namespace stoker::compress {

// How a tensor is stored: value = (stored − zero_point) · scale.
struct CodeParams {
  double scale = 1;
  int64_t zero_point = 0;
};

struct Range {
  double low = 0, high = 0;
};

// Holds 0 exactly, and both ends of the range but for rounding. A range without extent becomes [0, 1].
CodeParams params_for(Range range);

class ValueCounts {
 public:
  // ValueError, naming `layer`, for a value that is not finite.
  void add(std::span<const float> values, const std::string& layer);
  bool empty() const { return count_ == 0; }
  Range range(Calibration how, double percentile) const;

 private:
  static constexpr int64_t kBins = 4096;  // half of them below 0
  void widen(double largest);
  Range percentile_range(double percentile) const;
  Range entropy_range() const;
  double edge(int64_t bin) const { return double(bin - kBins / 2) * width_; }

  std::vector<double> counts_ = std::vector<double>(size_t(kBins), 0.0);
  double width_ = 0;  // of a bin
  double count_ = 0;
  double low_ = 0, high_ = 0;
};

}  // namespace stoker::compress
