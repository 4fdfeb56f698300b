// What tests of datasets share.
#pragma once

#include <vector>

#include <stoker/dataset.h>

namespace stoker::data {

using Integers = std::vector<int64_t>;

// One epoch; the batches keep their contents.
inline std::vector<Batch> all_of(const Dataset& dataset) {
  std::vector<Batch> elements;
  for (const Batch& element : dataset) {
    std::vector<Tensor> copies;
    for (const Tensor& tensor : element) copies.push_back(tensor.clone());
    elements.emplace_back(std::move(copies));
  }
  return elements;
}

inline Integers integers(const Dataset& dataset) {
  Integers values;
  for (const Batch& element : dataset)
    for (int64_t i = 0; i < element[0].elements(); ++i)
      values.push_back(element[0].dtype() == DType::int64 ? element[0].data<int64_t>()[i]
                                                          : int64_t(element[0].at(i)));
  return values;
}

}  // namespace stoker::data
