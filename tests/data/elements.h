// What tests of datasets share.
#pragma once

#include <string>
#include <vector>

#include <stoker/context.h>
#include <stoker/dataset.h>
#include <stoker/error.h>

namespace stoker::data {

using Integers = std::vector<int64_t>;
inline const ElementSpec kNumber{{DType::int64, {}}};

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

inline Iterator walk_with(const Dataset& dataset, int threads, int64_t epochs = 1,
                          const std::string& state = {}) {
  Context context{.threads = {.pipeline = threads}};
  return dataset.iterate({.epochs = epochs, .state = state, .context = &context});
}

template <class F>
std::string message_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace stoker::data
