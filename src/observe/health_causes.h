// What is wrong with the machine: all that hold are reported. Rows of cause_table.cpp, which alone includes this.
#pragma once

#include <algorithm>

#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

bool bus_is_slow(const HealthFacts& health) {
  bool narrow = health.pcie_width > 0 && health.pcie_width < health.pcie_width_max;
  return narrow ||
         (health.pcie_generation > 0 && health.pcie_generation < health.pcie_generation_max);
}

constexpr CauseRule kHealthCauses[] = {
    // --- health: all that hold are reported ---
    {.cause = Cause::out_of_memory,
     .finding = Finding::health,
     .holds = [](const Case& run) { return !run.evidence().does_not_fit.empty(); },
     .says =
         [](const Case& run) {
           return say("the model does not fit into memory: {}",
                      Phrase(run.evidence().does_not_fit, "it is too large"));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           const Evidence& evidence = run.evidence();
           int64_t batch = evidence.fitting_batch;
           if (batch > 0)
             list.add({.action = Action::accumulate,
                       .what = say("A batch of {}, with gradient_accumulation_steps = {} of the "
                                   "optimiser",
                                   batch, (evidence.batch_size + batch - 1) / batch),
                       .why = "its plan fits, and the effective batch stays",
                       .changes_results = true});
           list.add({.action = Action::shrink_model,
                     .what = "A smaller model, or smaller inputs",
                     .why = "weights and activations are what is held",
                     .changes_results = true});
         }},
    {.cause = Cause::throttled,
     .finding = Finding::health,
     .holds = [](const Case& run) { return !run.health().gpu_throttle_reasons.empty(); },
     .says =
         [](const Case& run) {
           std::string reasons;
           for (const std::string& reason : run.health().gpu_throttle_reasons)
             reasons += (reasons.empty() ? "" : ", ") + reason;
           return say("the GPU is slowed down: {}", Phrase(reasons, "its driver does not say why"));
         },
     .prescribes =
         [](const Case&, Prescriptions& list) {
           list.add({.action = Action::cool,
                     .what = "Look at the GPU's cooling and power limit (nvidia-smi -q -d "
                             "PERFORMANCE)",
                     .why = "its clocks are below what it can do"});
         },
     .varies = true},
    {.cause = Cause::quota,
     .finding = Finding::health,
     .holds = [](const Case& run) { return run.health().throttled_share >= kThrottled; },
     .says =
         [](const Case& run) {
           return say(
               "the container's CPU quota of {:.1f} cores held this process back for {} of "
               "the time",
               run.health().quota_cores, percent(run.health().throttled_share));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::raise_quota,
                     .what = "Raise the container's CPU quota",
                     .why = say("the process was held back for {} of the time",
                                percent(run.health().throttled_share)),
                     .seconds = run.step() * (1 - run.health().throttled_share)});
         },
     .varies = true},
    {.cause = Cause::bus,
     .finding = Finding::health,
     .holds = [](const Case& run) { return bus_is_slow(run.health()); },
     .says =
         [](const Case& run) {
           const HealthFacts& health = run.health();
           return say("the GPU's bus runs as PCIe {} x{} of {} x{}", health.pcie_generation,
                      health.pcie_width, health.pcie_generation_max, health.pcie_width_max);
         },
     .prescribes =
         [](const Case&, Prescriptions& list) {
           list.add({.action = Action::full_slot,
                     .what = "Put the GPU into a full slot, and look at the BIOS",
                     .why = "copies take longer than the GPU's bus would need"});
         }},
    {.cause = Cause::cpu_contention,
     .finding = Finding::health,
     .holds =
         [](const Case& run) {
           return run.health().run_delay_share >= kRunDelay &&
                  run.health().other_cores >= kOtherCores;
         },
     .says =
         [](const Case& run) {
           const HealthFacts& health = run.health();
           return say(
               "other programs use {:.1f} of {:.0f} cores; the training thread had to wait "
               "for a core {} of the time",
               health.other_cores, health.available_cores, percent(health.run_delay_share));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::stop_others,
                     .what = "Stop what else runs on this machine, or give this program cores of "
                             "its own",
                     .why = say("they use {:.1f} cores", run.health().other_cores),
                     .seconds = run.step() * (1 - run.health().run_delay_share)});
         },
     .varies = true},
};

}  // namespace

}  // namespace stoker::doctor
