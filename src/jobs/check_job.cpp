#include <fmt/format.h>
#include <stoker/error.h>

#include "formats/json.h"
#include "jobs/job.h"

namespace stoker::jobs {

namespace {

void require(bool holds, const char* name, const nlohmann::json& got, const char* expected) {
  if (!holds)
    throw OptionError(fmt::format("{}: expected {}, got {}", name, expected, dump_report(got)));
}

}  // namespace

void check_job(const Job& job) {
  require(job.epochs >= 1, "epochs", job.epochs, "1 or more");
  require(job.validation_split >= 0 && job.validation_split < 1, "validation_split",
          job.validation_split, "a share from 0 to below 1");
  require(!job.steps_per_epoch || *job.steps_per_epoch >= 1, "steps_per_epoch",
          job.steps_per_epoch.value_or(0), "1 or more");
  require(!job.classes || *job.classes >= 2, "classes", job.classes.value_or(0), "2 or more");
  require(!job.learning_rate || *job.learning_rate > 0, "learning_rate",
          job.learning_rate.value_or(0), "a rate above 0");
  require(job.schedule == "cosine" || job.schedule == "constant", "schedule", job.schedule,
          "cosine or constant");
  require(job.warmup_epochs >= 0 && job.warmup_epochs < double(job.epochs), "warmup_epochs",
          job.warmup_epochs, "0 to less than epochs");
  require(job.on_out_of_memory == "fail" || job.on_out_of_memory == "halve", "on_out_of_memory",
          job.on_out_of_memory, "fail or halve");
  require(job.memory_limit >= 0, "memory_limit", job.memory_limit, "0 (all there is) or more");
  require(job.resume == "auto" || job.resume == "never", "resume", job.resume, "auto or never");
  require(job.resume == "never" || !job.out.empty(), "resume", job.resume,
          "an --out to go on with");
  require(job.checkpoint_steps >= 0, "checkpoint_steps", job.checkpoint_steps, "0 or more");
  require(!job.profile || !job.out.empty(), "profile", "steps", "an --out to write it to");
  require(job.momentum >= 0 && job.momentum < 1, "momentum", job.momentum,
          "a share from 0 to below 1");
  require(job.deterministic_shards >= 0 && job.deterministic_shards <= 4096, "deterministic_shards",
          job.deterministic_shards, "0 (off) to 4096");
  require(job.timeout > 0 && job.timeout <= 1e6, "timeout", job.timeout, "seconds, more than 0");
  require(job.threads >= 0 && job.threads <= 4096, "threads", job.threads, "0 to 4096");
  require(job.pipeline_threads >= 0 && job.pipeline_threads <= 4096, "pipeline_threads",
          job.pipeline_threads, "0 to 4096");
  require(job.verbose >= 0 && job.verbose <= 2, "verbose", job.verbose, "0, 1 or 2");
}

}  // namespace stoker::jobs
