// Why batches come late, or take cores from the computing. Rows of cause_table.cpp, which alone includes this.
#pragma once

#include <algorithm>

#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

bool spare_cores(const Case& run) { return run.pipeline().workers < run.cores(); }

bool all_cores_busy(const Case& run) {
  return run.health().process_cores >= kSaturated * run.cores();
}

// Waiting for a core that others hold is no waiting for storage.
bool waits_for_storage(const Case& run) {
  const StageFacts* stage = run.slowest_stage();
  return stage != nullptr && stage->cpu_share >= 0 &&
         1 - stage->cpu_share - run.health().pipeline_delay_share >= kBlocked;
}

Phrase workers_of(const Case& run) {
  double workers = run.pipeline().workers;
  if (workers == 0) return "the training thread itself";
  return workers == 1 ? Phrase("1 worker") : say("{:.0f} workers", workers);
}

constexpr CauseRule kInputCauses[] = {
    // --- contention ---
    {.cause = Cause::spinning,
     .finding = Finding::contention,
     .holds = [](const Case& run) { return run.spinning_cores() >= kSpinning; },
     .says =
         [](const Case& run) {
           return say(
               "threads that wait for their next work hold {:.1f} of {:.0f} cores, and compute "
               "threads wait for a core {} of the time",
               run.spinning_cores(), run.cores(), percent(run.health().run_delay_share));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::sleep_waiting,
                     .what = "Let threads that wait sleep sooner: GOMP_SPINCOUNT=1000 in the "
                             "environment",
                     .why = "cores that they hold are there for the pipeline",
                     .seconds = run.undisturbed()});
         }},
    {.cause = Cause::pipeline_threads,
     .finding = Finding::contention,
     .holds = [](const Case&) { return true; },
     .says =
         [](const Case& run) {
           if (run.what_if().host_batch_ns)
             return say("a step computes for {}, and for {} while the pipeline is paused",
                        duration(run.share(Owner::compute) * run.step()), duration(run.replayed()));
           return say(
               "they want {:.1f} cores of {:.0f}, and compute threads wait for one {} of "
               "the time",
               run.health().own.wanted, run.cores(), percent(run.health().run_delay_share));
         }},
    // --- input: where the pipeline alone is fast enough, batches come at the wrong time ---
    {.cause = Cause::no_prefetch,
     .finding = Finding::input,
     .holds =
         [](const Case& run) {
           return run.pipeline().known && run.pipeline().workers == 0 && run.is_fast_enough();
         },
     .says =
         [](const Case&) {
           return Phrase("no batch is prefetched: each is made while the device waits for it");
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           propose_workers(run, list,
                           {.action = Action::prefetch,
                            .what = "Prefetch batches: .prefetch(AUTOTUNE), or leave as_written "
                                    "off",
                            .why = "each batch is made while the device computes the one before",
                            .seconds = run.fed_with(1)});
         }},
    {.cause = Cause::jitter,
     .finding = Finding::input,
     .holds =
         [](const Case& run) {
           if (!run.pipeline().known || all_cores_busy(run)) return false;
           bool all_busy = run.pipeline().workers == 0 || run.pipeline().busy_share >= kWorkersBusy;
           return run.is_fast_enough() ||
                  (!waits_for_storage(run) && spare_cores(run) && !all_busy);
         },
     .says =
         [](const Case& run) {
           return say(
               "batches are made fast enough on average, but unevenly ({}), and too few lie ready",
               run.slowest_name());
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           propose_workers(run, list,
                           {.action = Action::deepen,
                            .what = "Let more batches lie ready: .prefetch(AUTOTUNE)",
                            .why = say("{:.0f} batches lie ready at most, and an element of {} "
                                       "took {} once",
                                       run.pipeline().depth, run.slowest_name(),
                                       duration(run.longest_element())),
                            .seconds = run.fed_with(1)});
         }},
    // --- where it is not ---
    {.cause = Cause::storage,
     .finding = Finding::input,
     .holds =
         [](const Case& run) {
           return run.pipeline().known && !run.is_fast_enough() && waits_for_storage(run);
         },
     .says =
         [](const Case& run) {
           return say("{} waits for storage more than it computes", run.slowest_name());
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           propose_workers(
               run, list,
               {.action = Action::parallel_reads,
                .what = "Read more files at the same time: .map(…, {.parallel = "
                        "AUTOTUNE}).prefetch(AUTOTUNE)",
                .why = say("{} waits for storage; waiting needs no core", run.slowest_name()),
                .seconds = run.fed_with(1, true)});
         }},
    {.cause = Cause::parallelism,
     .finding = Finding::input,
     .holds =
         [](const Case& run) {
           return run.pipeline().known && !all_cores_busy(run) && spare_cores(run);
         },
     .says =
         [](const Case& run) {
           return say("{} runs on {} while there are {:.0f} cores", run.slowest_name(),
                      workers_of(run), run.cores());
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           propose_workers(run, list,
                           {.action = Action::parallel_map,
                            .what = say("Spread {} over the cores: .map(…, {{.parallel = "
                                        "AUTOTUNE}}).prefetch(AUTOTUNE)",
                                        run.slowest_name()),
                            .why = say("there are {:.0f} cores", run.cores()),
                            .seconds = run.fed_with(1)});
         }},
    {.cause = Cause::cpu_saturated,
     .finding = Finding::input,
     .holds = [](const Case& run) { return run.pipeline().known; },
     .says =
         [](const Case& run) {
           return say("all {:.0f} cores are busy, most of all with {}", run.cores(),
                      run.slowest_name());
         },
     .prescribes = propose_less_work},
};

}  // namespace

}  // namespace stoker::doctor
