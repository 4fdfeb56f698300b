// split_dataset and get_single_element.
#include <cmath>

#include <fmt/format.h>
#include <stoker/mixing.h>

#include "data/node.h"

namespace stoker::data {

namespace {

using Size = std::optional<std::variant<int64_t, double>>;

// How many elements a side gets; none: what the other leaves.
std::optional<int64_t> count_of(const Size& size, int64_t total, const char* name) {
  if (!size) return {};
  if (const double* share = std::get_if<double>(&*size)) {
    if (!(*share >= 0 && *share <= 1))
      throw ValueError(
          fmt::format("split_dataset: {} is {}, expected a share in [0, 1]", name, *share));
    return int64_t(std::llround(*share * double(total)));
  }
  int64_t count = std::get<int64_t>(*size);
  if (count < 0 || count > total)
    throw ValueError(
        fmt::format("split_dataset: {} is {}, but there are {} elements", name, count, total));
  return count;
}

}  // namespace

std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset, const SplitOptions& options) {
  Cardinality known = dataset.cardinality();
  if (!known.known() || known.infinite())
    throw ValueError(
        fmt::format("split_dataset after {}: how many elements there are is not known; say it with "
                    "assert_cardinality(count)",
                    title(*dataset.node())));
  if (!options.left_size && !options.right_size)
    throw ValueError("split_dataset: give left_size or right_size");
  int64_t total = *known.count;
  std::optional<int64_t> left = count_of(options.left_size, total, "left_size"),
                         right = count_of(options.right_size, total, "right_size");
  if (!left) left = total - *right;
  if (!right) right = total - *left;
  if (*left + *right > total)
    throw ValueError(
        fmt::format("split_dataset: {} and {} elements are more than {}", *left, *right, total));
  Dataset all = options.shuffle
                    ? dataset.shuffle({.seed = options.seed, .reshuffle_each_epoch = false})
                    : dataset;
  return {all.take(*left), all.skip(*left).take(*right)};
}

Batch Dataset::get_single_element() const {
  Iterator walk = iterate();
  const Batch* element = walk.next();
  if (element == nullptr) throw ValueError("get_single_element: the dataset is empty");
  Batch only = *element;
  if (walk.next() != nullptr)
    throw ValueError("get_single_element: the dataset has more than one element; take(1) is one");
  return only;
}

}  // namespace stoker::data
