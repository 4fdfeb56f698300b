// `stoker compress`.
#include "jobs/compress_job.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>
#include <stoker/compare.h>
#include <stoker/distill.h>
#include <stoker/prune.h>
#include <stoker/quantize.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/printable.h"
#include "compress/compared.h"
#include "formats/json.h"
#include "jobs/save_trained.h"
#include "jobs/test_data.h"
#include "jobs/train_job.h"
#include "observe/report_html.h"

namespace stoker::jobs {

namespace {

constexpr int64_t kCalibration = 32;   // batches
constexpr double kPruningSteps = 0.6;  // of the training; the rest recovers

void check_one(const Compression& what) {
  int asked = int(what.int8) + int(what.prune.has_value()) + int(what.channels.has_value()) +
              int(!what.student.empty());
  if (asked != 1)
    throw OptionError(
        fmt::format("compress: expected one of --int8, --prune SHARE, --channels SHARE and "
                    "--student MODEL, got {}",
                    asked));
}

class CompressRun {
 public:
  CompressRun(const std::string& run, const Compression& what, const Job& job, std::ostream* out)
      : run_(run),
        what_(what),
        before_(open_trained(run)),
        test_(open_test_data(before_, job)),
        out_(out) {}

  nlohmann::json go(double seconds) {
    std::string folder = out_folder();
    local_files().create_directories(folder);
    check_can_save_there(folder);
    Model smaller = made();
    ComparedModel after{what_.word(), smaller, predicted(smaller)};
    Comparison comparison = compare({{"before", before_.model}, after}, test_.batches(),
                                    {.batch_size = test_.job.batch.size, .seconds = seconds});
    nlohmann::json result = compress::comparison_json(comparison);
    keep(smaller, folder, result);
    if (out_ != nullptr)
      *out_ << printable_lines(comparison.text()) << "saved   "
            << printable(result["model"].get<std::string>()) << "\n";
    return result;
  }

 private:
  std::string out_folder() const {
    if (!test_.job.out.empty()) return test_.job.out;
    namespace fs = std::filesystem;
    fs::path place = fs::is_directory(run_) ? fs::path(run_) : fs::path(run_).parent_path();
    return (place / what_.word()).string();
  }

  // A model is trained for nothing where its folder is that of the one before.
  void check_can_save_there(const std::string& folder) const {
    namespace fs = std::filesystem;
    std::error_code none;
    if (fs::equivalent(folder + "/model.stoker", before_.path, none))
      throw ValueError(
          fmt::format("compress: --out {} holds the model itself; give another folder", folder));
  }

  Model made() {
    if (what_.int8) return quantized();
    if (!what_.student.empty()) return student();
    return pruned();
  }

  data::Dataset training() const {
    return training_batches(test_.job, test_.data, test_.job.batch.size);
  }

  // 0: not known.
  int64_t steps_per_epoch() const {
    data::Cardinality count = test_.data.train.elements.cardinality();
    if (test_.job.steps_per_epoch) return *test_.job.steps_per_epoch;
    if (!count.known() || count.infinite()) return 0;
    return (*count.count + test_.job.batch.size - 1) / test_.job.batch.size;
  }

  void fit(const Model& model, const std::vector<CallbackRef>& callbacks) const {
    FitArgs args{.epochs = test_.job.epochs,
                 .steps_per_epoch = test_.job.steps_per_epoch,
                 .verbose = int(test_.job.verbose),
                 .callbacks = callbacks};
    if (test_.data.validation) args.validation_data = test_.batches();
    model.fit(training(), args);
  }

  Model quantized() const {
    Quantized made = quantize(before_.model, training(), {.steps = kCalibration});
    if (out_ != nullptr) *out_ << printable_lines(made.report.text()) << "\n";
    return made.model;
  }

  Model pruned() const {
    Model model = open_trained(run_).model;  // its own weights
    int64_t steps = test_.job.epochs * steps_per_epoch();
    compile_model(test_.job, model, steps);
    if (what_.channels) {
      PruneReport report = prune(model, {.kind = PruneKind::channels, .flops = *what_.channels});
      if (out_ != nullptr) *out_ << printable_lines(report.text()) << "\n";
      fit(model, {});
      return strip(model);
    }
    int64_t end = std::max<int64_t>(1, int64_t(kPruningSteps * double(steps)));
    Pruning pruning(
        {.sparsity = *what_.prune},
        PolynomialSparsity{.end_step = end, .frequency = std::max<int64_t>(1, end / 20)});
    fit(model, {pruning});
    if (out_ != nullptr) *out_ << printable_lines(pruning.report().text()) << "\n";
    return strip(model);
  }

  Model student() const {
    Job job = test_.job;
    job.model = what_.student;
    Model model = make_model(job, test_.data);
    Distiller distiller(before_.model, model);
    compile_model(job, distiller, job.epochs * steps_per_epoch());
    fit(distiller, {});
    return model;
  }

  // Of channels that leave: what the doctor promises for fewer FLOPs is checked.
  std::optional<double> predicted(const Model& smaller) const {
    if (!what_.channels) return std::nullopt;
    for (const Batch& batch : test_.batches().take(1))
      return predict_speedup(before_.model, smaller, batch);
    return std::nullopt;
  }

  void keep(const Model& smaller, const std::string& folder, nlohmann::json& result) const {
    SavedModel saved = save_trained(smaller, folder);
    result["model"] = saved.path;
    if (!saved.problem.empty()) result["problems"].push_back(saved.problem);
    Job kept = test_.job;
    kept.out = folder;
    write_file_atomically(folder + "/job.json", dump_json(to_json(kept), 2) + "\n");
    write_names(folder, before_.names);
    write_file_atomically(folder + "/compare.json", dump_report(result, 2) + "\n");
    write_file_atomically(folder + "/compare.html", page_with(result));
  }

  // The doctor's page of the run, where there is one, with the comparison in it.
  std::string page_with(const nlohmann::json& comparison) const {
    std::string diagnosis =
        (std::filesystem::path(before_.path).parent_path() / "doctor.json").string();
    nlohmann::json page = nlohmann::json::object();
    if (local_files().exists(diagnosis)) page = try_parse_json(read_text(diagnosis));
    if (!page.is_object() || !page.contains("verdict")) page = nlohmann::json::object();
    page["comparison"] = comparison;
    return doctor::page_of(page);
  }

  std::string run_;
  const Compression& what_;
  TrainedModel before_;
  TestData test_;
  std::ostream* out_;
};

}  // namespace

std::optional<double> share_option(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  double share = 0;
  auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), share);
  bool number = error == std::errc() && behind == text.data() + text.size();
  if (!number || !(share > 0 && share < 1))
    throw ValueError(
        fmt::format("{} {}: expected a number between 0 and 1, such as 0.5", option, text));
  return share;
}

std::string Compression::word() const {
  return int8 ? "int8" : prune ? "pruned" : channels ? "channels" : "student";
}

Job compression_job(const Compression& what, Job trained_by) {
  trained_by.out = "";
  trained_by.resume = "never";
  trained_by.profile = {};
  if (what.int8 || !what.student.empty()) return trained_by;
  trained_by.epochs = std::max<int64_t>(2, trained_by.epochs / 3);
  trained_by.warmup_epochs = 0;
  double rate = trained_by.learning_rate.value_or(
      Optimizer(trained_by.optimizer).config().get<double>("learning_rate"));
  trained_by.learning_rate = 0.3 * rate;
  return trained_by;
}

nlohmann::json compress_model(const std::string& run, const Compression& what, Job job,
                              double seconds, std::ostream* out) {
  check_one(what);
  return CompressRun(run, what, job, out).go(seconds);
}

}  // namespace stoker::jobs
