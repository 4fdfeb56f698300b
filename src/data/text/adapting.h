// What the steps that learn from a dataset share.
#pragma once

#include <functional>
#include <type_traits>

#include <fmt/format.h>
#include <stoker/text.h>

#include "data/text/vocabulary.h"

namespace stoker::text {

// The spec of the component that is learned from. ValueError: there is none, or the dataset has no
// end.
TensorSpec adapted_component(const std::string& owner, const data::Dataset& dataset,
                             const AdaptOptions& options);
// That component of every element of one epoch.
void walk_component(const data::Dataset& dataset, const AdaptOptions& options,
                    const std::function<void(const Tensor&)>& visit);

// One token per line. FileError names the line that is none.
std::vector<std::string> tokens_of_file(const std::string& path, std::type_identity<std::string>);
std::vector<int64_t> tokens_of_file(const std::string& path, std::type_identity<int64_t>);

// The vocabulary; ValueError where there is none yet.
template <class Token>
const std::shared_ptr<const Vocabulary<Token>>& known(
    const std::string& owner, const std::shared_ptr<const Vocabulary<Token>>& vocabulary) {
  if (!vocabulary)
    throw ValueError(owner + ": it has no vocabulary yet; call adapt or set_vocabulary before");
  return vocabulary;
}

}  // namespace stoker::text
