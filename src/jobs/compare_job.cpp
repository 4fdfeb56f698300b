// `stoker compare`.
#include <filesystem>
#include <ostream>

#include <stoker/compare.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/printable.h"
#include "compress/compared.h"
#include "jobs/compress_job.h"
#include "jobs/test_data.h"

namespace stoker::jobs {

nlohmann::json compare_models(const std::vector<std::string>& models, const Job& job,
                              double seconds, const std::string& page, std::ostream* out) {
  if (models.size() < 2)
    throw OptionError("compare: expected at least two models: `stoker compare runs/a runs/b`");
  std::vector<TrainedModel> opened;
  std::vector<ComparedModel> compared;
  for (const std::string& path : models) {
    opened.push_back(open_trained(path));
    compared.push_back({path, opened.back().model});
  }
  TestData test = open_test_data(opened.front(), job);
  Comparison comparison =
      compare(compared, test.batches(), {.batch_size = test.job.batch.size, .seconds = seconds});
  if (out != nullptr) *out << printable_lines(comparison.text());
  if (!page.empty()) write_file_atomically(page, comparison.html());
  return compress::comparison_json(comparison);
}

}  // namespace stoker::jobs
