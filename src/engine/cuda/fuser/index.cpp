#include "engine/cuda/fuser/index.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace stoker::fuser {

namespace {

constexpr int64_t kUnbounded = int64_t(1) << 60;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t Quotient::bound() const {
  int64_t most = ceil_div(extent, divisor);
  return modulus > 0 ? std::min(most, modulus) : most;
}

bool same_base(const Quotient& a, const Quotient& b) {
  if (bool(a.sum) != bool(b.sum)) return false;
  return a.sum ? a.sum == b.sum || *a.sum == *b.sum : a.counter == b.counter;
}

Index Index::of(Counter counter, int64_t extent) {
  Index index;
  index.add(1, {.counter = counter, .extent = extent, .sum = nullptr});
  return index;
}

// --- sums ---

void Index::add(int64_t factor, const Quotient& quotient) {
  if (factor == 0 || quotient.bound() <= 1) return;
  for (Term& term : terms_) {
    if (same_base(term.quotient, quotient) && term.quotient.divisor == quotient.divisor &&
        term.quotient.modulus == quotient.modulus) {
      term.factor += factor;
      if (term.factor == 0) terms_.erase(terms_.begin() + (&term - terms_.data()));
      return;
    }
  }
  terms_.push_back({factor, quotient});
}

// f · (b / d % m) + f·m · (b / (d·m) % n) = f · (b / d % (m·n)).
void Index::merge() {
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t low = 0; low < terms_.size() && !merged; ++low) {
      for (size_t high = 0; high < terms_.size() && !merged; ++high) {
        const Term &a = terms_[low], &b = terms_[high];
        int64_t m = a.quotient.modulus;
        if (low == high || m == 0 || !same_base(a.quotient, b.quotient) ||
            b.factor != a.factor * m || b.quotient.divisor != a.quotient.divisor * m)
          continue;
        Term joined = a;
        joined.quotient.modulus = b.quotient.modulus > 0 ? m * b.quotient.modulus : 0;
        terms_.erase(terms_.begin() + long(std::max(low, high)));
        terms_.erase(terms_.begin() + long(std::min(low, high)));
        add(joined.factor, joined.quotient);
        merged = true;
      }
    }
  }
  // A remainder that never wraps is none.
  for (Term& term : terms_) {
    Quotient& q = term.quotient;
    if (q.modulus > 0 && ceil_div(q.extent, q.divisor) <= q.modulus) q.modulus = 0;
  }
}

Index Index::operator+(const Index& other) const {
  Index sum = *this;
  sum.limit_ = 0;
  sum.constant_ += other.constant_;
  for (const Term& term : other.terms_) sum.add(term.factor, term.quotient);
  sum.merge();
  return sum;
}

Index Index::operator*(int64_t factor) const {
  Index product;
  if (factor == 0) return product;
  product.constant_ = constant_ * factor;
  for (const Term& term : terms_) product.add(term.factor * factor, term.quotient);
  return product;
}

int64_t Index::bound() const {
  int64_t most = constant_ + 1;
  for (const Term& term : terms_) {
    if (term.factor < 0) return limit_ > 0 ? limit_ : kUnbounded;
    most += term.factor * (term.quotient.bound() - 1);
  }
  return limit_ > 0 ? std::min(most, limit_) : most;
}

Index Index::within(int64_t limit) const {
  Index same = *this;
  same.limit_ = limit;
  return same;
}

bool Index::uses(Counter counter) const {
  return std::ranges::any_of(terms_, [&](const Term& term) {
    return term.quotient.sum ? term.quotient.sum->uses(counter) : term.quotient.counter == counter;
  });
}

// --- division ---

// high · unit + low with 0 <= low < unit, where unit divides the divisor.
struct Index::Parts {
  int64_t unit;
  Index high, low;
};

std::optional<Index::Parts> Index::split(int64_t divisor) const {
  std::vector<int64_t> units = {divisor};
  for (const Term& term : terms_) units.push_back(std::gcd(divisor, term.factor));
  std::ranges::sort(units, std::greater<>());
  for (int64_t unit : units) {
    if (unit <= 1) break;
    Parts parts{.unit = unit, .high = {}, .low = {}};
    int64_t rest = ((constant_ % unit) + unit) % unit;
    parts.high.constant_ = (constant_ - rest) / unit;
    parts.low.constant_ = rest;
    bool negative = false;
    for (const Term& term : terms_) {
      bool divides = term.factor % unit == 0;
      if (divides)
        parts.high.add(term.factor / unit, term.quotient);
      else
        parts.low.add(term.factor, term.quotient);
      negative |= !divides && term.factor < 0;
    }
    if (negative || parts.low.bound() > unit) continue;
    if (limit_ > 0) parts.high.limit_ = ceil_div(limit_, unit);
    return parts;
  }
  return std::nullopt;
}

Quotient Index::as_quotient() const {
  bool plain = terms_.size() == 1 && terms_[0].factor == 1 && constant_ == 0;
  if (plain) return terms_[0].quotient;
  return {.extent = bound(), .sum = std::make_shared<const Index>(*this)};
}

Index Index::operator/(int64_t divisor) const {
  if (divisor == 1) return *this;
  if (is_constant()) return {constant_ / divisor};
  if (bound() <= divisor) return {0};
  if (auto parts = split(divisor); parts && (parts->unit > 1))
    return parts->unit == divisor ? parts->high : parts->high / (divisor / parts->unit);
  Quotient quotient = as_quotient();
  if (quotient.modulus > 0 && quotient.modulus % divisor != 0) {
    auto base = std::make_shared<const Index>(*this);
    quotient = {.extent = bound(), .sum = base};
  }
  quotient.divisor *= divisor;
  if (quotient.modulus > 0) quotient.modulus /= divisor;
  Index result;
  result.add(1, quotient);
  result.merge();
  return result;
}

Index Index::operator%(int64_t divisor) const {
  if (divisor == 1) return {0};
  if (is_constant()) return {constant_ % divisor};
  if (bound() <= divisor) return *this;
  if (auto parts = split(divisor)) {
    if (parts->unit == divisor) return parts->low;
    return parts->high % (divisor / parts->unit) * parts->unit + parts->low;
  }
  Quotient quotient = as_quotient();
  if (quotient.modulus > 0 && quotient.modulus % divisor != 0)
    quotient = {.extent = bound(), .sum = std::make_shared<const Index>(*this)};
  quotient.modulus = divisor;
  Index result;
  result.add(1, quotient);
  result.merge();
  return result;
}

// --- reading ---

int64_t Index::value(int64_t kept, int64_t gone) const {
  int64_t sum = constant_;
  for (const Term& term : terms_) {
    const Quotient& q = term.quotient;
    int64_t base = q.sum ? q.sum->value(kept, gone) : q.counter == Counter::kept ? kept : gone;
    base /= q.divisor;
    sum += term.factor * (q.modulus > 0 ? base % q.modulus : base);
  }
  return sum;
}

std::string Index::text() const {
  std::string text;
  for (const Term& term : terms_) {
    const Quotient& q = term.quotient;
    std::string one = q.sum ? "(" + q.sum->text() + ")" : q.counter == Counter::kept ? "k" : "r";
    if (q.divisor > 1) one += fmt::format("/{}u", q.divisor);
    if (q.modulus > 0) one = fmt::format("{}%{}u", one, q.modulus);
    if (term.factor != 1) one = fmt::format("Int({})*({})", term.factor, one);
    text += text.empty() ? one : "+" + one;
  }
  if (constant_ != 0 || text.empty())
    text += fmt::format("{}Int({})", text.empty() ? "" : "+", constant_);
  return text;
}

// --- tensors ---

Index linear(const std::vector<Index>& coordinates, const Shape& shape) {
  Index sum;
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    sum = sum + coordinates[size_t(axis)] * stride;
    stride *= shape[axis];
  }
  return sum.within(std::max<int64_t>(stride, 1));
}

std::vector<Index> coordinates(const Index& linear, const Shape& shape) {
  std::vector<Index> result(size_t(shape.rank()));
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    int64_t extent = std::max<int64_t>(shape[axis], 1);
    result[size_t(axis)] = linear / stride % extent;
    stride *= extent;
  }
  return result;
}

// --- lanes ---

namespace {

LaneForm lane_form(const Quotient& q, Counter counter, int lanes) {
  LaneForm base{.regular = true, .stride = 0, .alignment = 1};
  if (q.sum)
    base = fuser::lane_form(*q.sum, counter, lanes);
  else if (q.counter == counter)
    base = {.regular = true, .stride = 1, .alignment = lanes};
  if (!base.regular) return base;
  int64_t divided = base.alignment % q.divisor == 0 ? base.alignment / q.divisor : 1;
  int64_t left = q.modulus > 0 ? std::gcd(divided, q.modulus) : divided;
  if (base.stride == 0) return {true, 0, left};
  if (base.stride != 1) return {};
  // Lanes do not cross a multiple of what divides start, divisor and modulus.
  if (q.divisor > 1) {
    if (std::gcd(base.alignment, q.divisor) % lanes != 0) return {};
    return {true, 0, left};
  }
  if (q.modulus > 0 && std::gcd(base.alignment, q.modulus) % lanes != 0) return {};
  return {true, 1, left};
}

}  // namespace

LaneForm lane_form(const Index& index, Counter counter, int lanes) {
  LaneForm form{.regular = true, .stride = 0, .alignment = 0};
  for (const Index::Term& term : index.terms()) {
    LaneForm one = lane_form(term.quotient, counter, lanes);
    if (!one.regular) return {};
    form.stride += term.factor * one.stride;
    form.alignment = std::gcd(form.alignment, term.factor * one.alignment);
  }
  form.alignment = std::gcd(form.alignment, index.constant());
  if (form.alignment == 0) form.alignment = int64_t(1) << 30;  // the constant 0
  return form;
}

bool Range::holds(int64_t kept, int64_t gone) const {
  int64_t at = index.value(kept, gone);
  return low <= at && at < high;
}

std::string Range::text() const {
  return fmt::format("Int({}-Int({}))<Int({})", index.text(), low, high - low);
}

bool Range::is_uniform(Counter counter, int lanes) const {
  LaneForm form = lane_form(index, counter, lanes);
  if (!form.regular) return false;
  if (form.stride == 0) return true;
  return form.stride == 1 && form.alignment % lanes == 0 && low % lanes == 0 && high % lanes == 0;
}

}  // namespace stoker::fuser
