#include "data/text/adapting.h"

#include <charconv>

#include "base/file.h"
#include "formats/lines.h"

namespace stoker::text {

TensorSpec adapted_component(const std::string& owner, const data::Dataset& dataset,
                             const AdaptOptions& options) {
  if (dataset.cardinality().infinite())
    throw ValueError(owner + ": adapt on a dataset without an end; use take(n)");
  if (options.component >= dataset.spec().size())
    throw ValueError(fmt::format("{}: adapt on component {} of elements that have {}", owner,
                                 options.component, dataset.spec().size()));
  return dataset.spec()[options.component];
}

void walk_component(const data::Dataset& dataset, const AdaptOptions& options,
                    const std::function<void(const Tensor&)>& visit) {
  data::Iterator walk = dataset.iterate();
  while (const Batch* element = walk.next()) visit((*element)[options.component]);
}

std::vector<std::string> tokens_of_file(const std::string& path, std::type_identity<std::string>) {
  auto file = local_files().open(path);
  LineReader reader(*file);
  std::vector<std::string> tokens;
  while (auto line = reader.next()) tokens.emplace_back(*line);
  return tokens;
}

std::vector<int64_t> tokens_of_file(const std::string& path, std::type_identity<int64_t>) {
  std::vector<int64_t> tokens;
  uint64_t number = 0;
  for (const std::string& line : tokens_of_file(path, std::type_identity<std::string>())) {
    ++number;
    int64_t value = 0;
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc() || end != line.data() + line.size())
      throw FileError(fmt::format("{}: line {} is no integer", path, number));
    tokens.push_back(value);
  }
  return tokens;
}

}  // namespace stoker::text
