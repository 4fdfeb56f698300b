// Products of tensors, brought to matrix products.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>
#include <stoker/ops_linalg.h>
#include <stoker/ops_statistics.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

Shape to_dims(const Ints& dims) { return Shape(std::span<const int64_t>(dims)); }

// --- einsum: operands with a letter per axis ---

struct Lettered {
  Value value;
  std::string letters;
};

bool has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

// The axes in the order of `letters`, with a one for each that is missing.
Value in_order(const Lettered& x, const std::string& letters) {
  Ints perm, dims;
  for (char letter : letters) {
    size_t at = x.letters.find(letter);
    if (at != std::string::npos) perm.push_back(int64_t(at));
    dims.push_back(at == std::string::npos ? 1 : x.value.shape()[int(at)]);
  }
  return emit::reshape(emit::transpose(x.value, perm), to_dims(dims));
}

// Letters that stand twice are a diagonal; those that nothing else needs are summed.
Lettered reduced(Lettered x, const std::string& needed) {
  for (size_t at = 0; at < x.letters.size(); ++at) {
    size_t again = x.letters.find(x.letters[at], at + 1);
    if (again == std::string::npos) continue;
    char letter = x.letters[at];
    x.value = diagonal(x.value, 0, int(at), int(again));
    x.letters.erase(again, 1);
    x.letters.erase(at, 1);
    x.letters += letter;
    at = size_t(-1);
  }
  Ints gone;
  std::string kept;
  for (size_t at = 0; at < x.letters.size(); ++at)
    if (has(needed, x.letters[at]))
      kept += x.letters[at];
    else
      gone.push_back(int64_t(at));
  if (!gone.empty()) x.value = emit::reduce("sum", x.value, gone, false);
  return {x.value, kept};
}

int64_t extent_of(const Lettered& x, const std::string& letters) {
  int64_t extent = 1;
  for (char letter : letters) extent *= x.value.shape()[int(x.letters.find(letter))];
  return extent;
}

// [batch.., rows, sums] · [batch.., sums, columns]
Lettered joined(const Lettered& a, const Lettered& b, const std::string& needed) {
  std::string batch, sums, rows, columns;
  for (char letter : a.letters)
    (has(b.letters, letter) ? (has(needed, letter) ? batch : sums) : rows) += letter;
  for (char letter : b.letters)
    if (!has(a.letters, letter)) columns += letter;
  Value left = in_order(a, batch + rows + sums), right = in_order(b, batch + sums + columns);
  Ints dims = emit::dims(left.shape());
  dims.resize(batch.size());
  Ints with_rows = dims, with_columns = dims, result = dims;
  // Where one side has a one, it broadcasts.
  for (size_t i = 0; i < dims.size(); ++i)
    dims[i] = result[i] = with_rows[i] = with_columns[i] =
        std::max(left.shape()[int(i)], right.shape()[int(i)]);
  auto widened = [&](const Value& x) {
    Ints wide = emit::dims(x.shape());
    std::copy(dims.begin(), dims.end(), wide.begin());
    return emit::broadcast_to(x, to_dims(wide));
  };
  int64_t row_count = extent_of(a, rows), column_count = extent_of(b, columns);
  int64_t sum_count = std::max(extent_of(a, sums), extent_of(b, sums));
  with_rows.insert(with_rows.end(), {row_count, sum_count});
  with_columns.insert(with_columns.end(), {sum_count, column_count});
  Value y;
  if (sums.empty()) {
    y = emit::reshape(widened(left), to_dims(with_rows)) *
        emit::reshape(widened(right), to_dims(with_columns));
  } else {
    y = emit::matmul(emit::reshape(widened(left), to_dims(with_rows)),
                     emit::reshape(widened(right), to_dims(with_columns)), false, false);
  }
  for (char letter : rows) result.push_back(a.value.shape()[int(a.letters.find(letter))]);
  for (char letter : columns) result.push_back(b.value.shape()[int(b.letters.find(letter))]);
  return {emit::reshape(y, to_dims(result)), batch + rows + columns};
}

struct Subscripts {
  std::vector<std::string> inputs;
  std::string output;
};

// "..." becomes capital letters from the end of the alphabet, aligned at its right.
std::string spelled(std::string text, int rank, size_t operand) {
  size_t dots = text.find("...");
  if (dots == std::string::npos) return text;
  int hidden = rank - (int(text.size()) - 3);
  if (hidden < 0)
    throw ShapeError(fmt::format("einsum: operand {} has too few axes for \"{}\"", operand, text));
  std::string letters;
  for (int i = hidden; i-- > 0;) letters += char('\x01' + i);
  return text.replace(dots, 3, letters);
}

Subscripts parsed(const std::string& given, const Values& operands) {
  std::string text;
  for (char c : given)
    if (c != ' ') text += c;
  size_t arrow = text.find("->");
  Subscripts found;
  std::string left = text.substr(0, arrow);
  for (size_t begin = 0; begin <= left.size();) {
    size_t end = std::min(left.find(',', begin), left.size());
    found.inputs.push_back(left.substr(begin, end - begin));
    begin = end + 1;
  }
  if (found.inputs.size() != operands.size())
    throw ValueError(fmt::format("einsum \"{}\": {} operands, got {}", given, found.inputs.size(),
                                 operands.size()));
  std::string dots;
  for (size_t i = 0; i < operands.size(); ++i) {
    std::string& letters = found.inputs[i];
    bool hides = letters.find("...") != std::string::npos;
    letters = spelled(letters, operands[i].shape().rank(), i);
    if (int(letters.size()) != operands[i].shape().rank())
      throw ShapeError(fmt::format("einsum \"{}\": expected {} axes of operand {}, got {}", given,
                                   letters.size(), i, to_string(operands[i].shape())));
    std::string own;
    for (char letter : letters)
      if (letter < ' ') own += letter;
    if (hides && own.size() > dots.size()) dots = own;
  }
  if (arrow != std::string::npos) {
    found.output = text.substr(arrow + 2);
    if (size_t at = found.output.find("..."); at != std::string::npos)
      found.output.replace(at, 3, dots);
    return found;
  }
  // Without an arrow: letters that stand once, in alphabetical order.
  std::string all = std::accumulate(found.inputs.begin(), found.inputs.end(), std::string());
  found.output = dots;
  std::string sorted = all;
  std::ranges::sort(sorted);
  for (char letter : sorted)
    if (letter >= ' ' && std::ranges::count(all, letter) == 1) found.output += letter;
  return found;
}

}  // namespace

Value einsum(const std::string& subscripts, const Values& operands) {
  if (operands.empty()) throw ValueError("einsum: expected at least one operand, got none");
  Subscripts found = parsed(subscripts, operands);
  auto needed_behind = [&](size_t index) {
    std::string letters = found.output;
    for (size_t i = index; i < found.inputs.size(); ++i) letters += found.inputs[i];
    return letters;
  };
  std::map<char, int64_t> extents;
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t axis = 0; axis < found.inputs[i].size(); ++axis) {
      int64_t extent = operands[i].shape()[int(axis)];
      auto [known, is_new] = extents.try_emplace(found.inputs[i][axis], extent);
      if (!is_new && known->second == 1) known->second = extent;
      if (!is_new && extent != 1 && known->second != extent)
        throw ShapeError(
            fmt::format("einsum \"{}\": axis {} of operand {} has {} elements, another "
                        "one with its letter has {}",
                        subscripts, axis, i, extent, known->second));
    }
  for (char letter : found.output)
    if (!extents.contains(letter))
      throw ValueError(fmt::format("einsum \"{}\": no operand has the axis \"{}\" of the result",
                                   subscripts, letter));
  Lettered result = reduced({operands[0], found.inputs[0]}, needed_behind(1));
  for (size_t i = 1; i < operands.size(); ++i) {
    Lettered next = reduced({operands[i], found.inputs[i]}, result.letters + needed_behind(i + 1));
    result = reduced(joined(result, next, needed_behind(i + 1)), needed_behind(i + 1));
  }
  return in_order(result, found.output);
}

// --- by name ---

Value tensordot(const Value& a, const Value& b, const std::vector<int64_t>& axes_a,
                const std::vector<int64_t>& axes_b) {
  if (axes_a.size() != axes_b.size())
    throw ValueError(fmt::format("tensordot: expected as many axes of a as of b, got {} and {}",
                                 axes_a.size(), axes_b.size()));
  std::string left, right, result;
  char next = 'a';
  for (int i = 0; i < a.shape().rank(); ++i) left += next++;
  for (int i = 0; i < b.shape().rank(); ++i) right += next++;
  for (size_t i = 0; i < axes_a.size(); ++i)
    right[size_t(normalize_axis("tensordot", axes_b[i], b.shape().rank()))] =
        left[size_t(normalize_axis("tensordot", axes_a[i], a.shape().rank()))];
  for (char letter : left + right)
    if (!has(left, letter) || !has(right, letter)) result += letter;
  return einsum(left + "," + right + "->" + result, {a, b});
}

Value tensordot(const Value& a, const Value& b, int axes) {
  if (axes < 0 || axes > a.shape().rank() || axes > b.shape().rank())
    throw ShapeError(fmt::format("tensordot: {} axes of {} and {}", axes, to_string(a.shape()),
                                 to_string(b.shape())));
  Ints last, first;
  for (int i = 0; i < axes; ++i) {
    last.push_back(a.shape().rank() - axes + i);
    first.push_back(i);
  }
  return tensordot(a, b, last, first);
}

Value dot(const Value& a, const Value& b) {
  if (a.shape().rank() == 0 || b.shape().rank() == 0) return a * b;
  return tensordot(a, b, {-1}, {b.shape().rank() == 1 ? -1 : -2});
}

Value inner(const Value& a, const Value& b) {
  if (a.shape().rank() == 0 || b.shape().rank() == 0) return a * b;
  return tensordot(a, b, {-1}, {-1});
}

Value outer(const Value& a, const Value& b) {
  return emit::reshape(ravel(a), {-1, 1}) * emit::reshape(ravel(b), {1, -1});
}

Value vdot(const Value& a, const Value& b) { return sum(ravel(a) * ravel(b)); }

// [n, 1, m, 1] · [1, p, 1, q] → [n · p, m · q], for any number of axes
Value kron(const Value& a, const Value& b) {
  Ints left = emit::dims(a.shape()), right = emit::dims(b.shape()), wide_left, wide_right, dims;
  while (left.size() < right.size()) left.insert(left.begin(), 1);
  while (right.size() < left.size()) right.insert(right.begin(), 1);
  for (size_t i = 0; i < left.size(); ++i) {
    wide_left.insert(wide_left.end(), {left[i], 1});
    wide_right.insert(wide_right.end(), {1, right[i]});
    dims.push_back(left[i] * right[i]);
  }
  return emit::reshape(emit::reshape(a, to_dims(wide_left)) * emit::reshape(b, to_dims(wide_right)),
                       to_dims(dims));
}

Value cross(const Value& a, const Value& b, int axis) {
  int64_t at = normalize_axis("cross", axis, a.shape().rank());
  if (a.shape()[int(at)] != 3 ||
      b.shape()[int(normalize_axis("cross", axis, b.shape().rank()))] != 3)
    throw ShapeError(fmt::format("cross: expected vectors of 3 elements, got {} and {}",
                                 to_string(a.shape()), to_string(b.shape())));
  return roll(a, -1, axis) * roll(b, 1, axis) - roll(a, 1, axis) * roll(b, -1, axis);
}

// |a|² + |b|² - 2 a·b would cancel for neighbours: the differences themselves.
Value cdist(const Value& a, const Value& b) {
  return norm(expand_dims(a, -2) - expand_dims(b, -3), {.axes = {-1}});
}

}  // namespace stoker::ops
