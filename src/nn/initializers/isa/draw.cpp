#include <math.h>

#include "base/ivdep.h"
#include "base/philox_lanes.h"
#include "nn/initializers/isa/kernels.h"

namespace stoker::draw::STOKER_ISA {

namespace {

constexpr int kNormals = kPhiloxWords / 2;
constexpr float kPi = 3.14159265358979323846F;

[[gnu::always_inline]] inline float unit(uint32_t bits) { return float(bits >> 8) * 0x1p-24F; }

void uniforms(uint64_t seed, uint64_t stream, uint64_t block, int64_t n, float* out) {
  for (int64_t begin = 0; begin < n; begin += kPhiloxWords) {
    uint32_t bits[kPhiloxWords];
    philox_lanes(seed, stream, block + uint64_t(begin) / 4, bits);
    int64_t count = n - begin < kPhiloxWords ? n - begin : kPhiloxWords;
    for (int64_t l = 0; l < count; ++l) out[begin + l] = unit(bits[l]);
  }
}

struct Cosine {
  double value;
  bool certain;  // that cosf rounds to the same float
};

// The cosine of x in [0, 2π], with an error of a few units in the last place of a double. A cosf
// that errs by up to 0.565 units of a float (glibc's: 0.561) may round the other way only where the
// cosine lies within 0.065 units of the middle between two floats.
[[gnu::always_inline]] inline Cosine cosine(double x) {
  constexpr double kRound = 0x1.8p52;  // x + kRound - kRound is the nearest integer
  constexpr double kHalfPi = 0x1.921fb544p0, kHalfPiRest = 0x1.0b4611a626331p-34;
  double shifted = x * 0x1.45f306dc9c883p-1 + kRound;
  double quarters = shifted - kRound;
  auto quadrant = __builtin_bit_cast(uint64_t, shifted);
  double r = x - quarters * kHalfPi - quarters * kHalfPiRest, r2 = r * r;
  double even =
      1 + r2 * (-1 / 2.0 +
                r2 * (1 / 24.0 +
                      r2 * (-1 / 720.0 +
                            r2 * (1 / 40320.0 + r2 * (-1 / 3628800.0 + r2 * (1 / 479001600.0))))));
  double odd =
      r + r * r2 *
              (-1 / 6.0 +
               r2 * (1 / 120.0 +
                     r2 * (-1 / 5040.0 + r2 * (1 / 362880.0 +
                                               r2 * (-1 / 39916800.0 + r2 * (1 / 6227020800.0))))));
  auto bits =
      (quadrant & 1) != 0 ? __builtin_bit_cast(uint64_t, odd) : __builtin_bit_cast(uint64_t, even);
  bits ^= ((quadrant + 1) & 2) << 62;  // negative in the second and third quarter
  auto value = __builtin_bit_cast(double, bits);
  auto binade = __builtin_bit_cast(double, bits & 0x7ff0000000000000U);
  double off = value - double(float(value));
  return {value, (off < 0 ? -off : off) < 0.435 * 0x1p-23 * binade};
}

// radius · cos(angle), with the radius of word 0 and the angle of word 1, as Rng::normal.
void normals(uint64_t seed, uint64_t stream, uint64_t block, int64_t n, float* out) {
  for (int64_t begin = 0; begin < n; begin += kNormals) {
    uint32_t bits[kPhiloxWords], uncertain[kNormals];
    philox_lanes(seed, stream, block + uint64_t(begin) / 2, bits);
    float angles[kNormals], cosines[kNormals], radii[kNormals];
    for (int l = 0; l < kNormals; ++l) {
      angles[l] = 2 * kPi * unit(bits[2 * l + 1]);
      Cosine found = cosine(double(angles[l]));
      cosines[l] = float(found.value);
      uncertain[l] = found.certain ? 0 : 1;
    }
    for (int l = 0; l < kNormals; ++l) radii[l] = logf(1 - unit(bits[2 * l]));
    // By a list: a branch that is taken one time in eight would be mispredicted as often.
    int asked[kNormals], count_asked = 0;
    for (int l = 0; l < kNormals; ++l) {
      asked[count_asked] = l;
      count_asked += int(uncertain[l]);
    }
    for (int k = 0; k < count_asked; ++k) cosines[asked[k]] = cosf(angles[asked[k]]);
    for (int l = 0; l < kNormals; ++l) radii[l] = sqrtf(-2 * radii[l]) * cosines[l];
    int64_t count = n - begin < kNormals ? n - begin : kNormals;
    for (int64_t l = 0; l < count; ++l) out[begin + l] = radii[l];
  }
}

void scale(float* values, int64_t n, double mean, double stddev) {
  for (int64_t i = 0; i < n; ++i) values[i] = float(mean + stddev * double(values[i]));
}

// One sum would wait for itself at every addition.
double dot(const double* a, const double* b, int64_t n) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  int64_t whole = n / kLanes * kLanes;
  for (int64_t begin = 0; begin < whole; begin += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[begin + lane] * b[begin + lane];
  for (int64_t rest = whole; rest < n; ++rest) sums[0] += a[rest] * b[rest];
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

void subtract(double* from, const double* what, double factor, int64_t n) {
  STOKER_IVDEP
  for (int64_t i = 0; i < n; ++i) from[i] -= factor * what[i];
}

}  // namespace

}  // namespace stoker::draw::STOKER_ISA

namespace stoker::draw {

void fill_table(Kernels& table, isa::STOKER_ISA) {
  using namespace STOKER_ISA;
  table = {uniforms, normals, scale, dot, subtract};
}

}  // namespace stoker::draw
