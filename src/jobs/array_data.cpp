// Arrays of NumPy as a job's data.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <stoker/numpy.h>

#include "jobs/table_data.h"

namespace stoker::jobs {

namespace {

namespace fs = std::filesystem;

using Pair = std::pair<std::string, std::string>;

// The first pair that is there.
std::optional<Pair> pair_in(const TensorMap& arrays, std::initializer_list<Pair> pairs) {
  for (const Pair& pair : pairs)
    if (arrays.contains(pair.first) && arrays.contains(pair.second)) return pair;
  return {};
}

Tensor pictures_or_rows(const Tensor& array, const std::string& name, const std::string& place) {
  const Shape& shape = array.shape();
  if (shape.rank() == 2) return array.cast(DType::float32);
  bool known = array.dtype() == DType::uint8 || is_floating(array.dtype());
  if ((shape.rank() != 3 && shape.rank() != 4) || !known)
    throw FileError(fmt::format(
        "{}: {} is {}; expected pictures [N, H, W] or [N, H, W, C] of uint8 or floats, or rows [N, "
        "columns]",
        place, name, to_string(array.spec())));
  Tensor pictures = array.dtype() == DType::uint8 ? array : array.cast(DType::float32);
  return shape.rank() == 4 ? pictures : pictures.reshape({shape[0], shape[1], shape[2], 1});
}

// Numbers to predict, [N, n].
Tensor numbers_of(const Tensor& array, const std::string& name, const std::string& place) {
  const Shape& shape = array.shape();
  if (shape.rank() != 1 && shape.rank() != 2)
    throw FileError(fmt::format("{}: {} is {}; expected numbers to predict, [N] or [N, n]", place,
                                name, to_string(array.spec())));
  Tensor numbers = array.cast(DType::float32);
  return shape.rank() == 2 ? numbers : numbers.reshape({shape[0], 1});
}

Tensor labels_of(const Tensor& array, const std::string& name, const std::string& place) {
  const Shape& shape = array.shape();
  bool column = shape.rank() == 2 && shape[1] == 1;
  if ((shape.rank() != 1 && !column) || !is_integer(array.dtype()))
    throw FileError(fmt::format("{}: {} is {}; expected labels [N] of whole numbers", place, name,
                                to_string(array.spec())));
  Tensor labels = array.cast(DType::int64);
  if (labels.elements() > 0 && labels.min() < 0)
    throw FileError(
        fmt::format("{}: {} holds {}; classes are numbered from 0", place, name, labels.min()));
  return column ? labels.reshape({shape[0]}) : labels;
}

LabelledArrays labelled(const Job& job, const TensorMap& arrays, const std::string& place) {
  std::optional<Pair> train = pair_in(arrays, {{"x_train", "y_train"}, {"x", "y"}});
  if (!train) {
    std::vector<std::string> names;
    for (const auto& [name, array] : arrays) names.push_back(name);
    throw FileError(fmt::format("{}: expected arrays x_train and y_train, or x and y; there are {}",
                                place, fmt::join(names, ", ")));
  }
  const Tensor& labels = arrays.at(train->second);
  bool rows = arrays.at(train->first).shape().rank() == 2;
  bool numbers = rows && (is_floating(labels.dtype()) || !learns_classes(job));
  auto examples = [&](const Pair& pair) {
    const auto& [x, y] = pair;
    return data::from_slices(
        {pictures_or_rows(arrays.at(x), x, place),
         numbers ? numbers_of(arrays.at(y), y, place) : labels_of(arrays.at(y), y, place)});
  };
  LabelledArrays result{.train = examples(*train)};
  if (!numbers) result.classes = labels.elements() > 0 ? int64_t(labels.max()) + 1 : 0;
  if (auto validation = pair_in(arrays, {{"x_test", "y_test"}, {"x_val", "y_val"}}))
    result.validation = examples(*validation);
  return result;
}

}  // namespace

LabelledArrays open_npz(const Job& job, const std::string& path) {
  return labelled(job, load_npz(path), path);
}

LabelledArrays open_npy(const Job& job, const std::string& folder) {
  TensorMap arrays;
  for (const char* name : {"x_train", "y_train", "x", "y", "x_test", "y_test", "x_val", "y_val"})
    if (std::string path = fmt::format("{}/{}.npy", folder, name); fs::exists(path))
      arrays[name] = load_npy(path);
  return labelled(job, arrays, folder);
}

Tensor npy_inputs(const std::string& path) {
  return pictures_or_rows(load_npy(path), "the array", path);
}

Tensor npz_inputs(const std::string& path) {
  TensorMap arrays = load_npz(path);
  for (const char* usual : {"x_test", "x_val", "x"})
    if (auto found = arrays.find(usual); found != arrays.end())
      return pictures_or_rows(found->second, usual, path);
  if (arrays.size() == 1)
    return pictures_or_rows(arrays.begin()->second, arrays.begin()->first, path);
  throw FileError(path + ": expected one array, or one named x_test, x_val or x");
}

}  // namespace stoker::jobs
