#include "nn/layers/einsum.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <stoker/error.h>

namespace stoker {

namespace {

bool has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

[[noreturn]] void fail_equation(const std::string& equation) {
  throw ValueError(
      fmt::format("expected an equation like \"ab,bc->ac\", \"...ab,bc->...ac\" or "
                  "\"ab...,bc->ac...\", got \"{}\"",
                  equation));
}

// The letters of one operand, without "..." at the side where it stands.
std::string letters_of(std::string term, bool& left, bool& right, const std::string& equation) {
  left = term.starts_with("...");
  if (left) term.erase(0, 3);
  right = term.ends_with("...");
  if (right) term.erase(term.size() - 3);
  std::string sorted = term;
  std::ranges::sort(sorted);
  bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (term.empty() || twice || !std::ranges::all_of(term, letter)) fail_equation(equation);
  return term;
}

}  // namespace

EinsumEquation::EinsumEquation(const std::string& equation) {
  std::string text;
  std::ranges::copy_if(equation, std::back_inserter(text), [](char c) { return c != ' '; });
  size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma)
    fail_equation(equation);
  bool x_left, x_right, kernel_left, kernel_right, y_left, y_right;
  x_ = letters_of(text.substr(0, comma), x_left, x_right, equation);
  kernel_ =
      letters_of(text.substr(comma + 1, arrow - comma - 1), kernel_left, kernel_right, equation);
  y_ = letters_of(text.substr(arrow + 2), y_left, y_right, equation);
  if (kernel_left || kernel_right || x_left != y_left || x_right != y_right || (x_left && x_right))
    fail_equation(equation);
  elided_ = x_left ? Elided::left : x_right ? Elided::right : Elided::none;
  for (char letter : y_)
    if (!has(x_, letter) && !has(kernel_, letter)) fail_equation(equation);
  for (char letter : kernel_)
    if (!has(x_, letter) && !has(y_, letter)) fail_equation(equation);
}

EinsumEquation::Plan EinsumEquation::plan(const Shape& input, const Shape& output_shape) const {
  int more = input.rank() - int(x_.size());
  if (more < 0 || (more > 0 && elided_ == Elided::none))
    throw ShapeError(fmt::format("expected input of {}{} dimensions for \"{},{}->{}\", got {}",
                                 elided_ == Elided::none ? "" : "at least ", x_.size(), x_, kernel_,
                                 y_, to_string(input)));
  std::string axes;
  for (int i = 0; i < more; ++i) axes += char('0' + i);
  Plan plan{x_, kernel_, y_, {}, {}};
  for (std::string* term : {&plan.x, &plan.y})
    *term = elided_ == Elided::left ? axes + *term : *term + axes;

  // Extents: of the input, then what output_shape says of the others. Where axes are elided on the
  // left, the batch is among them.
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < plan.x.size(); ++i) extents[plan.x[i]] = input[int(i)];
  bool batch_elided = elided_ == Elided::left && more > 0;
  std::string settled = batch_elided ? y_ : y_.substr(1);
  if (output_shape.rank() != int(settled.size()))
    throw ShapeError(
        fmt::format("expected an output_shape of {} extents, one for each of \"{}\", got {}",
                    settled.size(), settled, to_string(output_shape)));
  for (size_t i = 0; i < settled.size(); ++i) {
    int64_t extent = output_shape[int(i)];
    auto [known, is_new] = extents.try_emplace(settled[i], extent);
    if (!is_new && extent >= 0 && known->second >= 0 && known->second != extent)
      throw ShapeError(fmt::format("output_shape has {} for \"{}\", of which the input {} has {}",
                                   extent, settled[i], to_string(input), known->second));
  }
  int64_t inputs = 1, outputs = 1;
  std::vector<int64_t> kernel;
  for (char letter : kernel_) {
    int64_t extent = extents.at(letter);
    kernel.push_back(extent);
    (has(y_, letter) ? outputs : inputs) *= extent;
  }
  plan.kernel_shape = Shape(std::span<const int64_t>(kernel));
  if (plan.kernel_shape.is_known()) plan.drawn_as = {inputs, outputs};
  return plan;
}

Shape EinsumEquation::bias_shape(const Plan& plan, const Shape& output_shape,
                                 const std::string& axes) const {
  size_t first = y_.size();
  for (char letter : axes) {
    if (!has(y_, letter))
      throw ValueError(
          fmt::format("bias_axes: \"{}\" is no axis of the output \"{}\"", letter, y_));
    first = std::min(first, y_.find(letter));
  }
  size_t skipped = y_.size() - size_t(output_shape.rank());  // the batch, unless it is elided
  std::vector<int64_t> extents;
  for (size_t i = first; i < y_.size(); ++i) {
    int64_t extent = 1;
    if (has(axes, y_[i])) {
      size_t in_kernel = plan.kernel.find(y_[i]);
      extent = in_kernel != std::string::npos ? plan.kernel_shape[int(in_kernel)]
                                              : output_shape[int(i - skipped)];
    }
    extents.push_back(extent);
  }
  if (elided_ == Elided::right) extents.resize(extents.size() + plan.y.size() - y_.size(), 1);
  return Shape(std::span<const int64_t>(extents));
}

namespace {

struct Letters {
  std::string both, free, summed,
      out;  // of x and the kernel in y; x alone; neither in y; kernel alone
};

Letters sorted_letters(const EinsumEquation::Plan& plan) {
  Letters letters;
  for (char letter : plan.x) {
    bool in_kernel = has(plan.kernel, letter), in_y = has(plan.y, letter);
    if (in_kernel)
      (in_y ? letters.both : letters.summed) += letter;
    else if (in_y)
      letters.free += letter;
  }
  for (char letter : plan.kernel)
    if (!has(plan.x, letter)) letters.out += letter;
  return letters;
}

Value arranged(const Value& x, const std::string& from, const std::string& to) {
  if (from == to) return x;
  std::vector<int64_t> perm;
  for (char letter : to) perm.push_back(int64_t(from.find(letter)));
  return ops::transpose(x, perm);
}

// Extents of the letters in turn, as `shape` has them.
std::vector<int64_t> extents_of(const std::string& letters, const std::string& axes,
                                const Shape& shape) {
  std::vector<int64_t> extents;
  for (char letter : letters) extents.push_back(shape[int(axes.find(letter))]);
  return extents;
}

int64_t product(const std::vector<int64_t>& extents) {
  int64_t all = 1;
  for (int64_t extent : extents) all *= extent;
  return all;
}

Shape joined(std::initializer_list<std::vector<int64_t>> parts) {
  std::vector<int64_t> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return Shape(std::span<const int64_t>(all));
}

// Axes of x that are in neither of the others are summed first.
Value without_lost(const Value& x, std::string& axes, const EinsumEquation::Plan& plan) {
  std::vector<int64_t> lost;
  std::string kept;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (has(plan.kernel, axes[i]) || has(plan.y, axes[i]))
      kept += axes[i];
    else
      lost.push_back(int64_t(i));
  }
  axes = kept;
  return lost.empty() ? x : ops::sum(x, {.axes = lost});
}

}  // namespace

Value einsum_product(const EinsumEquation::Plan& plan, const Value& given, const Value& kernel,
                     const Value& bias) {
  Letters l = sorted_letters(plan);
  std::string axes = plan.x;
  Value x = without_lost(given, axes, plan);
  auto both = extents_of(l.both, axes, x.shape()), free = extents_of(l.free, axes, x.shape());
  auto summed = extents_of(l.summed, axes, x.shape());
  auto out = extents_of(l.out, plan.kernel, kernel.shape());
  int64_t inner = product(summed), columns = product(out);
  // x: [both.., free.., inner], or [both.., free, inner] where the kernel is a stack.
  Value left = arranged(x, axes, l.both + l.free + l.summed);
  left = ops::reshape(
      left, l.both.empty() ? joined({free, {inner}}) : joined({both, {product(free)}, {inner}}));
  Value right = ops::reshape(arranged(kernel, plan.kernel, l.both + l.summed + l.out),
                             joined({both, {inner, columns}}));
  if (left.shape().rank() == 1) left = ops::reshape(left, {1, inner});
  Value y = ops::matmul(left, right);
  std::string made = l.both + l.free + l.out;
  // The bias before the reshape, where that is the same, so that an engine can join it to the product.
  bool early = bias.defined() && made == plan.y && l.both.empty() && bias.shape() == joined({out});
  if (early) y = y + ops::reshape(bias, {columns});
  y = arranged(ops::reshape(y, joined({both, free, out})), made, plan.y);
  return early || !bias.defined() ? y : y + bias;
}

}  // namespace stoker
