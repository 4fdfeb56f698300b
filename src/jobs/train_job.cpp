#include "jobs/train_job.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <stoker/auto_batch.h>
#include <stoker/version.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory_info.h"
#include "jobs/classes_file.h"
#include "jobs/data_spec.h"
#include "jobs/step_clock.h"
#include "train/memory_table.h"
#include "train/weights_hash.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

class TrainingRun {
 public:
  TrainingRun(Job job, std::ostream* out) : job_(std::move(job)), out_(out) {}

  json run() {
    double begin = now();
    check_job(job_);
    configure_context(job_, out_);
    job_.seed = default_context().seed.value();
    JobData data = open_data(job_);
    say("data    {}\n", data.text);
    reset_peak_resident_memory();
    resident_before_ = resident_memory();

    Model model = make_model(job_, data.picture, data.classes);
    compile_model(job_, model);
    choose_batch(model, data);
    prepare_folder(data);
    fit(model, data);
    if (!job_.out.empty()) model.save(job_.out + "/model.stoker");
    json result = figures(model);
    result["seconds"] = now() - begin;
    tell(result);
    return result;
  }

 private:
  static double now() { return double(steady_clock().now()) * 1e-9; }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (out_ != nullptr && job_.verbose > 0)
      *out_ << fmt::format(format, std::forward<Args>(args)...) << std::flush;
  }

  void choose_batch(const Model& model, const JobData& data) {
    if (job_.batch.size == 0) {
      data::Cardinality count = data.train.elements.cardinality();
      job_.batch.size = auto_batch_size(model, {.samples = count.count.value_or(0)});
      say("batch   {}, chosen\n", job_.batch.size);
    }
    std::optional<MemoryUse> plan = model.memory_plan(job_.batch.size);
    predicted_ = plan ? plan->total : 0;
    say("model   {}: {} parameters; a step of {} takes {}\n", job_.model, model.count_params(),
        job_.batch.size, human_bytes(double(predicted_)));
  }

  void prepare_folder(const JobData& data) const {
    if (job_.out.empty()) return;
    local_files().create_directories(job_.out);
    write_file_atomically(job_.out + "/job.json", to_json(job_).dump(2) + "\n");
    if (!data.class_names.empty()) write_classes(job_.out, data.class_names);
  }

  void fit(const Model& model, const JobData& data) {
    data::Dataset train = training_batches(job_, data, job_.batch.size);
    FitArgs args{.epochs = job_.epochs,
                 .steps_per_epoch = job_.steps_per_epoch,
                 .verbose = int(job_.verbose),
                 .callbacks = {clock_}};
    if (data.validation)
      args.validation_data = plain_batches(job_, data, *data.validation, job_.batch.size);
    history_ = model.fit(train, args);
    explained_ = json::parse(train.explain_json());
  }

  json figures(const Model& model) const {
    RunPlan plan = model.run_plan();
    plan.batch_size = job_.batch.size;
    json result{{"stoker", version()},
                {"job", to_json(job_)},
                {"epochs", history_.epochs().size()},
                {"steps", clock_.steps()},
                {"batch", job_.batch.size},
                {"ms_per_step", 1e3 * clock_.seconds_per_step()},
                {"first_step_ms", 1e3 * clock_.first_seconds()},
                {"samples_per_second", double(job_.batch.size) / clock_.seconds_per_step()},
                {"input_wait_share", explained_.value("consumer_wait_share", 0.0)},
                {"predicted_memory_bytes", predicted_},
                {"peak_memory_bytes", peak_resident_memory() - resident_before_},
                {"process_peak_bytes", peak_resident_memory()},
                {"final_weights_sha256", weights_sha256(model)},
                {"run_plan", json::parse(stoker::to_json(plan))},
                {"history", json::object()}};
    for (const std::string& name : history_.names()) {
      result["history"][name] = history_[name];
      if (!history_[name].empty()) result[name] = history_[name].back();
    }
    return result;
  }

  void tell(const json& result) const {
    if (!job_.out.empty()) write_file_atomically(job_.out + "/result.json", result.dump(2) + "\n");
    say("speed   {:.0f} samples/s, {:.2f} ms a step; waited for input {:.1f} % of the time\n",
        result["samples_per_second"].get<double>(), result["ms_per_step"].get<double>(),
        100 * result["input_wait_share"].get<double>());
    say("weights {}\n", result["final_weights_sha256"].get<std::string>());
    if (!job_.out.empty()) say("saved   {}/model.stoker\n", job_.out);
  }

  Job job_;
  std::ostream* out_;
  int64_t resident_before_ = 0;
  size_t predicted_ = 0;
  StepClock clock_;
  History history_;
  json explained_;
};

}  // namespace

json train(const Job& job, std::ostream* out) { return TrainingRun(job, out).run(); }

}  // namespace stoker::jobs
