#include "nn/initializers/draw.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <stoker/context.h>

#include "base/cores.h"
#include "base/thread_pool.h"
#include "nn/initializers/isa/kernels.h"

namespace stoker {

namespace {

// Numbers in a range of one thread: about half a millisecond, ten times what starting one costs.
constexpr int64_t kRange = 32768;

// Threads for one tensor; none where it is small.
class Crew {
 public:
  explicit Crew(int64_t numbers) {
    int wanted = default_context().threads.compute;
    int64_t threads = std::min<int64_t>(wanted > 0 ? wanted : available_cores(), numbers / kRange);
    if (threads > 1) pool_ = std::make_unique<ThreadPool>(ThreadPool::Options{int(threads) - 1});
  }
  // body(begin, end): ranges that begin at multiples of kRange.
  void run(int64_t count, const std::function<void(int64_t begin, int64_t end)>& body) {
    if (pool_)
      parallel_for(*pool_, count, kRange, body);
    else if (count > 0)
      body(0, count);
  }

 private:
  std::unique_ptr<ThreadPool> pool_;
};

// Moves the numbers within two deviations to the front; returns how many there are.
int64_t keep_likely(float* values, int64_t count) {
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    values[kept] = values[i];
    kept += std::abs(values[i]) <= 2 ? 1 : 0;
  }
  return kept;
}

// Fills `values` with the likely ones of as many candidates, from `first` on, a multiple of kRange as
// count is; returns how many there are.
int64_t draw_likely(Crew& crew, const RandomSequence& from, int64_t first, float* values,
                    int64_t count) {
  std::vector<int64_t> kept(size_t(count / kRange));
  crew.run(count, [&](int64_t begin, int64_t end) {
    for (; begin < end; begin += kRange) {
      draw::kernels().normals(from.seed, from.stream, uint64_t(first + begin) / 2, kRange,
                              values + begin);
      kept[size_t(begin / kRange)] = keep_likely(values + begin, kRange);
    }
  });
  int64_t filled = 0;
  for (size_t range = 0; range < kept.size(); ++range) {
    std::copy_n(values + int64_t(range) * kRange, kept[range], values + filled);
    filled += kept[range];
  }
  return filled;
}

}  // namespace

Tensor normal_values(const Shape& shape, const RandomSequence& from, double mean, double stddev) {
  Tensor tensor(DType::float32, shape);
  float* values = tensor.data_mut<float>();
  Crew(tensor.elements()).run(tensor.elements(), [&](int64_t begin, int64_t end) {
    draw::kernels().normals(from.seed, from.stream, uint64_t(begin) / 2, end - begin,
                            values + begin);
    draw::kernels().scale(values + begin, end - begin, mean, stddev);
  });
  return tensor;
}

Tensor truncated_normal_values(const Shape& shape, const RandomSequence& from, double mean,
                               double stddev) {
  Tensor tensor(DType::float32, shape);
  float* values = tensor.data_mut<float>();
  int64_t count = tensor.elements(), done = 0, first = 0;
  Crew crew(count);
  // 95 % are likely: what is missing is drawn in turn, in place as long as whole ranges are.
  for (int64_t wanted; (wanted = (count - done) / kRange * kRange) > 0; first += wanted)
    done += draw_likely(crew, from, first, values + done, wanted);
  for (std::vector<float> rest; done < count; first += int64_t(rest.size())) {
    rest.resize(size_t((count - done) * 11 / 10 + 31) / 32 * 32);
    draw::kernels().normals(from.seed, from.stream, uint64_t(first) / 2, int64_t(rest.size()),
                            rest.data());
    int64_t found = std::min(keep_likely(rest.data(), int64_t(rest.size())), count - done);
    std::copy_n(rest.data(), found, values + done);
    done += found;
  }
  crew.run(count, [&](int64_t begin, int64_t end) {
    draw::kernels().scale(values + begin, end - begin, mean, stddev);
  });
  return tensor;
}

Tensor uniform_values(const Shape& shape, const RandomSequence& from, double low, double high) {
  Tensor tensor(DType::float32, shape);
  float* values = tensor.data_mut<float>();
  auto least = float(low), range = float(high) - float(low);
  Crew(tensor.elements()).run(tensor.elements(), [&](int64_t begin, int64_t end) {
    draw::kernels().uniforms(from.seed, from.stream, uint64_t(begin) / 4, end - begin,
                             values + begin);
    for (int64_t i = begin; i < end; ++i) values[i] = least + range * values[i];
  });
  return tensor;
}

}  // namespace stoker
