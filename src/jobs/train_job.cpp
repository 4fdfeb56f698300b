#include "jobs/train_job.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <stoker/auto_batch.h>
#include <stoker/backup.h>
#include <stoker/version.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory_info.h"
#include "base/writable.h"
#include "engine/collective.h"
#include "formats/json.h"
#include "jobs/data_spec.h"
#include "jobs/memory_taken.h"
#include "jobs/save_trained.h"
#include "jobs/step_clock.h"
#include "jobs/strategy_of.h"
#include "observe/model_calls.h"
#include "train/checkpoint/run_lock.h"
#include "train/checkpoint/verify_resume.h"
#include "train/model/memory_table.h"
#include "train/model/model_base.h"
#include "train/model/settings.h"
#include "train/model/trainer.h"
#include "train/model/weights_hash.h"

namespace stoker::jobs {

namespace {

using nlohmann::json;

// While it lives, compile() does not say which settings have no effect.
class Quiet {
 public:
  Quiet() : out_(std::exchange(default_context().out, nullptr)) {}
  ~Quiet() { default_context().out = out_; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  std::ostream* out_;
};

// Calls a function when the fit begins: what it goes on from has been found and fits.
class AtBegin : public Callback {
 public:
  explicit AtBegin(std::function<void()> function) : function_(std::move(function)) {}
  void on_train_begin() override { function_(); }

 private:
  std::function<void()> function_;
};

class TrainingRun {
 public:
  TrainingRun(Job job, std::ostream* out, std::optional<int64_t> stop_after = {})
      : job_(std::move(job)), out_(first_ ? out : nullptr), stop_after_(stop_after) {}

  json run() {
    double begin = now();
    check_job(job_);
    if (writes()) lock_ = locks_.lock(job_.out, out_);
    adopt_choices();
    configure_context(job_, out_);
    strategy_ = strategy_of(job_);
    if (strategy_) scope_.emplace(*strategy_);
    job_.seed = default_context().seed.value();
    share_choices(job_);
    default_context().seed.set(*job_.seed);
    say("{}", device_line(default_context()));
    if (strategy_)
      say("ranks   {}, a batch of {} among them\n", strategy_->num_replicas_in_sync(),
          job_.batch.size == 0 ? std::string("auto") : std::to_string(job_.batch.size));
    JobData data = open_data(job_);
    job_ = fitted_job(std::move(job_), data.outputs());
    say("data    {}\n", data.text);
    memory_before_ = anonymous_memory();

    Model model = make_model(job_, data);
    {
      Quiet quiet;
      compile_model(job_, model);  // without a schedule, which has to know the steps
    }
    choose_batch(model, data);
    compile_model(job_, model, steps_in_all(data));
    prepare_folder();
    fit(model, data);
    json result = figures(model, data);
    if (writes()) keep(model, result);
    result["seconds"] = now() - begin;
    tell(result);
    return result;
  }

  const History& history() const { return history_; }

 private:
  // Of several processes the first one has the run's folder.
  bool writes() const { return !job_.out.empty() && first_; }

  std::string model_path() const { return job_.out + "/model.stoker"; }
  static double now() { return double(steady_clock().now()) * 1e-9; }

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (out_ != nullptr && job_.verbose > 0)
      *out_ << fmt::format(format, std::forward<Args>(args)...) << std::flush;
  }

  // A run that goes on keeps what was drawn or chosen for it.
  void adopt_choices() {
    std::string path = job_.out + "/job.json";
    if (job_.resume != "auto" || !local_files().exists(path)) return;
    Job before = read_job(path);
    if (!job_.seed) job_.seed = before.seed;
    if (job_.batch.size == 0) job_.batch = before.batch;
  }

  // 0: not known.
  int64_t steps_in_all(const JobData& data) const {
    if (job_.steps_per_epoch) return job_.epochs * *job_.steps_per_epoch;
    data::Cardinality count = data.train.elements.cardinality();
    if (!count.known() || count.infinite()) return 0;
    return job_.epochs * ((*count.count + job_.batch.size - 1) / job_.batch.size);
  }

  // A last batch may be smaller than the others.
  double samples_per_step(const JobData& data) const {
    data::Cardinality count = data.train.elements.cardinality();
    if (job_.steps_per_epoch || !count.known() || count.infinite()) return double(job_.batch.size);
    return double(job_.epochs * *count.count) / double(steps_in_all(data));
  }

  void choose_batch(const Model& model, const JobData& data) {
    if (job_.batch.size == 0) {
      data::Cardinality count = data.train.elements.cardinality();
      int64_t samples = count.known() && !count.infinite() ? *count.count : 0;
      AutoBatch chosen = measure_batch_size(model, {.samples = samples});
      job_.batch.size = chosen.batch;
      say("{}", chosen.text());
    }
    predicted_ = planned_bytes(model);
    say("model   {}: {} parameters; a step of {} takes {}\n", job_.model, model.count_params(),
        job_.batch.size,
        predicted_ > 0 ? human_bytes(double(predicted_)) : std::string("more than there is"));
  }

  // 0: not known, or more than there is, which the fit says or works around.
  size_t planned_bytes(const Model& model) const {
    try {
      std::optional<MemoryUse> plan = model.memory_plan(job_.batch.size);
      return plan ? plan->total : 0;
    } catch (const OutOfMemoryError&) {
      return 0;
    }
  }

  // A run that begins anew has no use for the checkpoints of the one before.
  void prepare_folder() {
    if (writes()) check_can_write_file(model_path());
    std::string checkpoints = job_.out + "/checkpoints";
    if (!writes() || job_.resume != "never" || !local_files().exists(checkpoints)) return;
    auto lock = locks_.lock(checkpoints, nullptr);
    for (const DirectoryEntry& entry : local_files().list(checkpoints))
      if (entry.name != kLockName) local_files().remove_all(checkpoints + "/" + entry.name);
  }

  // Once nothing refuses the job any more: what a resume that fails finds is what it leaves.
  void write_job(const JobData& data) const {
    local_files().create_directories(job_.out);
    Job kept = job_;
    kept.allow_differences = false;
    write_file_atomically(job_.out + "/job.json", dump_json(to_json(kept), 2) + "\n");
    write_names(job_.out, data.names);
  }

  void fit(const Model& model, const JobData& data) {
    data::Dataset train = training_batches(job_, data, job_.batch.size);
    FitArgs args{.epochs = job_.epochs,
                 .steps_per_epoch = job_.steps_per_epoch,
                 .verbose = int(job_.verbose),
                 .callbacks = {clock_},
                 .on_out_of_memory =
                     job_.on_out_of_memory == "halve" ? OnOutOfMemory::halve : OnOutOfMemory::fail};
    if (writes()) args.callbacks.emplace_back(AtBegin([&] { write_job(data); }));
    if (data.validation)
      args.validation_data = plain_batches(job_, data, *data.validation, job_.batch.size);
    if (!job_.out.empty()) {
      args.run_directory = job_.out;
      args.callbacks.emplace_back(CSVLogger(job_.out + "/history.csv"));
      TensorBoardOptions board{.log_dir = job_.out + "/tensorboard"};
      if (job_.profile) board.profile_batch = {job_.profile->first, job_.profile->last};
      args.callbacks.emplace_back(TensorBoard(board));
      BackupOptions backup{.allow_differences = job_.allow_differences,
                           .stop_after_steps = stop_after_};
      if (job_.checkpoint_steps > 0) backup.save_freq = job_.checkpoint_steps;
      args.callbacks.emplace_back(BackupAndRestore(job_.out + "/checkpoints", backup));
    }
    trainer_of(ModelAccess::base(model)).device_said = true;
    try {
      FitServices services = observed_fit();
      services.locks = &locks_;
      history_ = fit_batches(model, train, args, services);
    } catch (const DifferentTraining& different) {
      throw ValueError(different.differences() +
                       ". Give the settings of that run, another --out, or --allow-differences to "
                       "go on all the same");
    } catch (const CollectiveError& error) {
      if (job_.out.empty()) throw;
      throw CollectiveError(
          fmt::format("{}; go on from the newest checkpoint, also with another number of ranks, "
                      "with: stoker train "
                      "--job {}/job.json --resume auto",
                      error.what(), job_.out));
    } catch (const Interrupted& interrupted) {
      throw Interrupted(fmt::format("{}\ngo on with: stoker train --job {}/job.json --resume auto",
                                    interrupted.what(), job_.out),
                        interrupted.signal());
    }
    explained_ = json::parse(train.explain_json());
  }

  json figures(const Model& model, const JobData& data) const {
    RunPlan plan = model.run_plan();
    plan.batch_size = job_.batch.size;
    json result{{"stoker", version()},
                {"job", to_json(job_)},
                {"epochs", history_.epochs().size()},
                {"steps", clock_.steps()},
                {"batch", job_.batch.size},
                {"ms_per_step", 1e3 * clock_.seconds_per_step()},
                {"first_step_ms", 1e3 * clock_.first_seconds()},
                {"samples_per_second",
                 clock_.steps() > 0 ? samples_per_step(data) / clock_.seconds_per_step() : 0},
                {"input_wait_share", explained_.value("consumer_wait_share", 0.0)},
                {"predicted_memory_bytes", predicted_},
                {"peak_memory_bytes", memory_taken(model, memory_before_)},
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

  void keep(const Model& model, json& result) const {
    SavedModel saved = save_trained(model, job_.out);
    result["model"] = saved.path;
    if (!saved.problem.empty()) result["problems"].push_back(saved.problem);
  }

  void keep_result(json& result) const {
    try {
      write_file_atomically(job_.out + "/result.json", dump_report(result, 2) + "\n");
    } catch (const FileError& error) {
      result["problems"].push_back(error.what());
    }
  }

  void tell(json& result) const {
    if (writes()) keep_result(result);
    say("speed   {:.0f} samples/s, {:.2f} ms/step; waited for input {:.1f} % of the time\n",
        result["samples_per_second"].get<double>(), result["ms_per_step"].get<double>(),
        100 * result["input_wait_share"].get<double>());
    say("weights {}\n", result["final_weights_sha256"].get<std::string>());
    if (writes()) say("saved   {}\n", result["model"].get<std::string>());
  }

  Job job_;
  const bool first_ = process_number() == 0;
  std::ostream* out_;
  std::unique_ptr<Strategy> strategy_;    // null: one device
  std::optional<Strategy::Scope> scope_;  // of it
  std::optional<int64_t> stop_after_;
  RunLocks locks_;
  std::shared_ptr<FolderLock> lock_;  // of `out`; null: there is none
  int64_t memory_before_ = 0;
  size_t predicted_ = 0;
  StepClock clock_;
  History history_;
  json explained_;
};

}  // namespace

json train(const Job& job, std::ostream* out) { return TrainingRun(job, out).run(); }

json verify_resume(const Job& job, const std::vector<int64_t>& stops, const std::string& directory,
                   std::ostream* out) {
  Job trial = job;
  trial.resume = "auto";
  trial.verbose = 0;
  if (!trial.seed) trial.seed = default_context().seed.value();
  auto training = [&](const std::string& folder, std::optional<int64_t> stop_after) {
    trial.out = folder;
    TrainingRun run(trial, nullptr, stop_after);
    json result = run.run();
    return TrainingResult{.weights_sha256 = result["final_weights_sha256"],
                          .history = run.history()};
  };
  ResumeReport report = stoker::verify_resume(training, {.directory = directory, .stops = stops});
  if (out != nullptr) *out << to_string(report);
  return {{"same", report.same()},
          {"stops", report.stops},
          {"differences", report.differences},
          {"undisturbed_sha256", report.undisturbed.weights_sha256},
          {"resumed_sha256", report.resumed.weights_sha256}};
}

}  // namespace stoker::jobs
