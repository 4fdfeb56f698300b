// Places as arithmetic: where an element lies, as a function of a kernel's loop counters. An index
// is a sum of quotients and remainders with constant divisors, which is what slices, paddings,
// transposes, broadcasts and reshapes of row-major tensors compose to. Sums are kept simplified, so
// that reshape(transpose⁻¹(transpose(x))) is x again, and a kernel divides no more than it must.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stoker/shape.h>

namespace stoker::fuser {

// The loop counters of a kernel: outputs, and what is reduced into each.
enum class Counter : uint8_t { kept, gone };

class Index;

// base / divisor % modulus, where base is a counter or a sum that does not simplify.
struct Quotient {
  Counter counter = Counter::kept;
  int64_t extent = 1;                // of the base: it lies in [0, extent)
  std::shared_ptr<const Index> sum;  // the base, if it is not the counter
  int64_t divisor = 1;
  int64_t modulus = 0;  // 0: none

  int64_t bound() const;  // it lies in [0, bound)
};
bool same_base(const Quotient& a, const Quotient& b);

class Index {
 public:
  struct Term {
    int64_t factor;
    Quotient quotient;
  };

  Index() = default;
  Index(int64_t constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor)
  static Index of(Counter counter, int64_t extent);

  Index operator+(const Index& other) const;
  Index operator*(int64_t factor) const;
  Index operator/(int64_t divisor) const;
  Index operator%(int64_t divisor) const;
  // The same, known to lie in [0, limit) wherever it is used.
  Index within(int64_t limit) const;

  int64_t constant() const { return constant_; }
  const std::vector<Term>& terms() const { return terms_; }
  int64_t bound() const;  // at most this, exclusively
  bool is_constant() const { return terms_.empty(); }
  bool uses(Counter counter) const;

  int64_t value(int64_t kept, int64_t gone) const;
  // As an expression of C with the counters `k` and `r`.
  std::string text() const;
  bool operator==(const Index& other) const { return text() == other.text(); }

 private:
  void add(int64_t factor, const Quotient& quotient);
  void merge();
  struct Parts;
  std::optional<Parts> split(int64_t divisor) const;
  Quotient as_quotient() const;

  std::vector<Term> terms_;
  int64_t constant_ = 0;
  int64_t limit_ = 0;  // 0: none is known
};

// Row-major: the element of `shape` at these coordinates, and back.
Index linear(const std::vector<Index>& coordinates, const Shape& shape);
std::vector<Index> coordinates(const Index& linear, const Shape& shape);

// How an index moves over `lanes` consecutive values of a counter that starts at a multiple of
// `lanes`: by a constant stride, from a start that is a multiple of `alignment`.
struct LaneForm {
  bool regular = false;
  int64_t stride = 0, alignment = 1;
};
LaneForm lane_form(const Index& index, Counter counter, int lanes);

// low <= index < high
struct Range {
  Index index;
  int64_t low = 0, high = 0;
  bool holds(int64_t kept, int64_t gone) const;
  std::string text() const;
  // Whether it is the same for all lanes.
  bool is_uniform(Counter counter, int lanes) const;
};

}  // namespace stoker::fuser
