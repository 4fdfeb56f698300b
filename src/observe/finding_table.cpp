// What limits a run, in the order of the rules.
#include <algorithm>

#include "base/enum_names.h"
#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

template <Limit limit>
Limit always(const Case&) {
  return limit;
}

// Two of: batches are not ready; waits are long, or short but for some late batches; the pipeline
// alone is slower than the model.
bool input_is_confirmed(const Case& run, const WindowFacts& window) {
  bool late = window.ready_share < kReady;
  bool long_waits = window.median_wait_ns > kLongWaitNs || window.late_share >= kLateShare;
  const CounterfactualFacts& what_if = run.what_if();
  bool slower = what_if.pipeline_alone_ns && what_if.host_batch_ns &&
                *what_if.pipeline_alone_ns > *what_if.host_batch_ns;
  return int(late) + int(long_waits) + int(slower) >= 2;
}

// Batches that would be ready if other programs left a core to the pipeline's threads and to the one
// that asks for them: that is the machine's health, and no setting of the pipeline mends it.
bool others_make_it_late(const Case& run) {
  const HealthFacts& health = run.health();
  double delay = std::max(health.run_delay_share, health.pipeline_delay_share);
  return run.pipeline().workers > 0 && run.is_fast_enough() && delay >= kRunDelay &&
         health.other_cores >= kOtherCores;
}

// The pipeline is fast enough, and yet a step is slower beside it: tried by pausing it, or seen by
// threads that wait for a core while the program's own want more than there are.
bool is_contended(const Case& run) {
  const HealthFacts& health = run.health();
  if (run.device().gpu || run.pipeline().workers == 0 || !run.is_fast_enough()) return false;
  if (run.lost_to_pipeline() >= kLost) return true;
  bool refuted = run.what_if().host_batch_ns &&
                 run.share(Owner::compute) * run.step() - run.replayed() < kLost * run.step();
  return !refuted && run.wants_more_cores() && health.run_delay_share >= kRunDelay &&
         health.other_cores < kOtherCores && health.own.pipeline < kPipelineCores * run.cores();
}

// The class of a device that computes all the time: by the peak that most of its ops are nearer to.
// How far they are from it says nothing about which one it is, only whether they are held up by
// something else; and what holds up small ops is the batch, unless a larger one was tried in vain.
bool is_busy(const Case& run, Finding as) {
  double computes = run.device().at_peak, moves = run.device().at_bandwidth;
  if (computes < 0 || moves < 0) return false;  // the machine was not measured
  Finding finding = Finding::mixed;
  if (moves >= kClearly * computes) finding = Finding::memory;
  if (computes >= kClearly * moves) finding = Finding::compute;
  double near = run.near_limits().value_or(computes + moves);
  if (near < kIdle && !run.larger_batch_is_refuted()) finding = Finding::latency;
  return finding == as;
}

bool has_slow_kernels(const Case& run, const WindowFacts&) {
  return run.slow_ops().gain >= kSlowGain;
}

// Ops were timed one by one, and steps that vary by so much do not bring them near to their limits.
bool has_slow_kernels_anyway(const Case& run) {
  return run.slow_ops(1 + 2 * run.evidence().variation).gain >= kSlowGain;
}

template <Finding finding>
bool busy_as(const Case& run, const WindowFacts&) {
  return is_busy(run, finding);
}

Phrase busiest(const Case& run) { return run.busiest_layer().first; }

constexpr FindingRule kFindings[] = {
    {.finding = Finding::unstable,
     .limit = always<Limit::none>,
     .holds = nullptr,
     .says =
         [](const Case& run) {
           const Evidence& evidence = run.evidence();
           if (evidence.steady_steps < kLeastSteps)
             return say("Too early to say: {} steps were seen, {} are needed",
                        evidence.steady_steps, kLeastSteps);
           if (evidence.variation > kMostVariation)
             return say("Unstable: the steps themselves vary by {}", percent(evidence.variation));
           return Phrase("Unstable: what limits the run changes all the time");
         }},
    {.finding = Finding::health,  // its causes say what it is
     .limit = always<Limit::none>,
     .holds = nullptr,
     .says = [](const Case&) { return Phrase("The machine holds the run up"); }},
    {.finding = Finding::epochs,
     .limit = always<Limit::epochs>,
     .holds =
         [](const Case& run, const WindowFacts& window) {
           const EpochFacts& epochs = run.evidence().epochs;
           double between = epochs.validation_ns + epochs.turn_ns;
           double waits = 1 - window.accounting.shares()[Owner::compute];
           return epochs.count > 0 && between >= kBetween * epochs.wall_ns() &&
                  between >= waits * epochs.steps_ns;
         },
     .says =
         [](const Case& run) {
           const EpochFacts& epochs = run.evidence().epochs;
           return say("Between the epochs: the steps are {} of the time",
                      percent(epochs.steps_ns / epochs.wall_ns()));
         },
     .varies = true},
    {.finding = Finding::contention,
     .limit = always<Limit::contention>,
     .holds =
         [](const Case& run, const WindowFacts& window) {
           return window.accounting.shares()[Owner::sync] < kSync && is_contended(run);
         },
     .says =
         [](const Case&) { return Phrase("CPU contention between pipeline and compute threads"); },
     .high = [](const Case& run) { return run.health().run_delay_share >= kInputHigh; },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           propose_keeping(run, list);
           double threads = run.device().threads;
           if (threads < 2) return;
           list.add({.action = Action::leave_core,
                     .what = say("Leave the pipeline a core of its own: set_threads({{.compute = "
                                 "{:.0f}}})",
                                 threads - 1),
                     .why = "compute threads no longer wait for one that the pipeline holds up; "
                            "their number decides the order of sums",
                     .seconds = std::max(run.undisturbed() * threads / (threads - 1),
                                         run.pipeline().cpu_ns * 1e-9),
                     .changes_results = true});
         },
     .varies = true},
    {.finding = Finding::ranks,
     .limit = always<Limit::ranks>,
     .holds = [](const Case& run,
                 const WindowFacts&) { return run.waiting_for_ranks() >= kRanksWait; },
     .says =
         [](const Case& run) {
           return say("Ranks wait for each other {} of a step", percent(run.waiting_for_ranks()));
         },
     .high = [](const Case& run) { return run.waiting_for_ranks() >= kRanksHigh; },
     .varies = true},
    {.finding = Finding::input,
     .limit = always<Limit::input>,
     .holds =
         [](const Case& run, const WindowFacts& window) {
           return window.accounting.shares()[Owner::input] >= kInputModerate &&
                  input_is_confirmed(run, window) && !others_make_it_late(run);
         },
     .says =
         [](const Case& run) {
           return say("Input-bound: the {} waits for batches {} of the time", run.device_word(),
                      percent(run.share(Owner::input)));
         },
     .high = [](const Case& run) { return run.share(Owner::input) >= kInputHigh; },
     .culprit = [](const Case& run) { return run.slowest_name(); },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           if (run.pipeline().known) return propose_keeping(run, list);
           list.add({.action = Action::pass_dataset,
                     .what = "Give fit a Dataset instead of single batches",
                     .why = "its stages are then measured, prefetched and spread over the cores",
                     .seconds = run.without(Owner::input),
                     .provided = "it gives the same batches"});
         },
     .waits = true},
    {.finding = Finding::copy,
     .limit = always<Limit::copy>,
     .holds =
         [](const Case& run, const WindowFacts& window) {
           StepShares share = window.accounting.shares();
           double copy = share[Owner::copy];
           return !run.host_holds(share) && copy >= kCopy &&
                  copy >= kCopyOfInput * (share[Owner::input] + copy) && run.copies_are_proven();
         },
     .says =
         [](const Case& run) {
           return say("Copy-bound: the {} waits for copies {} of the time", run.device_word(),
                      percent(run.share(Owner::copy)));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           if (run.device().float_bytes < kFloats * run.device().copy_bytes) return;
           list.add({.action = Action::small_elements,
                     .what = "Copy images as uint8, and convert them on the device: Rescaling(1. / "
                             "255)",
                     .why = "a quarter of the bytes of float32",
                     // A quarter may fit beside the computing altogether.
                     .seconds = run.step() - (run.device().pinned ? 1 : 0.75) * run.copying(),
                     .changes_results = true});
         },
     .waits = true},
    {.finding = Finding::launch,
     .limit = always<Limit::launch>,
     .holds =
         [](const Case& run, const WindowFacts& window) {
           StepShares share = window.accounting.shares();
           return !run.host_holds(share) && share[Owner::launch] >= kLaunchModerate;
         },
     .says =
         [](const Case& run) {
           return say("Launch-bound: the {} waits for the host to start its work {} of the time",
                      run.device_word(), percent(run.share(Owner::launch)));
         },
     .high = [](const Case& run) { return run.share(Owner::launch) >= kLaunchHigh; },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           if (run.what_if().captured_ns)
             list.add({.action = Action::capture,
                       .what = "Replay the captured step: Context{.capture = true}",
                       .why = say("{} kernels are started one by one", run.device().kernels),
                       .seconds = *run.what_if().captured_ns * 1e-9,
                       .knob = Knob::capture});
           propose_larger_batch(run, list);
         },
     .waits = true},
    {.finding = Finding::sync,
     .limit = always<Limit::sync>,
     .holds =
         [](const Case& run, const WindowFacts& window) {
           StepShares share = window.accounting.shares();
           double late = run.host_holds(share) ? share[Owner::copy] + share[Owner::launch] : 0;
           return share[Owner::sync] + late >= kSync;
         },
     .says =
         [](const Case& run) {
           return say("Held up by the host: {} of the time goes to work between the steps",
                      percent(run.share(Owner::sync)));
         },
     .waits = true},
    {.finding = Finding::kernels,
     .limit = always<Limit::kernels>,
     .holds = has_slow_kernels,
     .says =
         [](const Case& run) {
           return say(
               "Slow kernels: the {} is busy, and {} of its time goes into ops that are far "
               "below its limits",
               run.device_word(), percent(run.slow_ops().share));
         },
     .anyway = has_slow_kernels_anyway,
     .high = [](const Case& run) { return run.slow_ops().gain >= 2 * kSlowGain; },
     .prescribes = propose_faster_ops},
    {.finding = Finding::memory,
     .limit = always<Limit::memory>,
     .holds = busy_as<Finding::memory>,
     .says =
         [](const Case& run) {
           return say("Memory-bound: the {} moves data at {} of its bandwidth", run.device_word(),
                      percent(run.device().bandwidth_share));
         },
     .culprit = busiest,
     .prescribes = propose_cheaper_layers},
    {.finding = Finding::compute,
     .limit = always<Limit::compute>,
     .holds = busy_as<Finding::compute>,
     .says =
         [](const Case& run) {
           return say("Compute-bound: the {} computes at {} of its peak", run.device_word(),
                      percent(run.device().compute_share));
         },
     .culprit = busiest,
     .prescribes = propose_cheaper_layers},
    {.finding = Finding::latency,
     .limit = always<Limit::latency>,
     .holds = busy_as<Finding::latency>,
     .says =
         [](const Case& run) {
           return say("Latency-bound: the {} reaches {} of its peak and {} of its bandwidth",
                      run.device_word(), percent(run.device().compute_share),
                      percent(run.device().bandwidth_share));
         },
     .prescribes = propose_larger_batch},
    {.finding = Finding::mixed,
     .limit =
         [](const Case& run) {
           return run.device().compute_share >= run.device().bandwidth_share ? Limit::compute
                                                                             : Limit::memory;
         },
     .holds = busy_as<Finding::mixed>,
     .says =
         [](const Case& run) {
           return say("The {} is busy: {} of its peak, {} of its bandwidth", run.device_word(),
                      percent(run.device().compute_share), percent(run.device().bandwidth_share));
         },
     .culprit = busiest,
     .prescribes = propose_cheaper_layers},
    {.finding = Finding::healthy,
     .limit = always<Limit::none>,
     .holds = [](const Case&, const WindowFacts&) { return true; },
     .says =
         [](const Case& run) {
           return say("Healthy: the {} computes {} of the time", run.device_word(),
                      percent(run.share(Owner::compute)));
         }},
};

static_assert(names_each(kFindings, &FindingRule::finding));

constexpr HintRule kHints[] = {
    {.holds = [](const Case& run) { return wants_mixed_precision(run.device()); },
     .says =
         [](const Case&) {
           return Phrase(
               "products are computed in float32 on a GPU with tensor cores; the policy "
               "mixed_bfloat16 is several times faster, with results that differ in the last "
               "digits");
         }},
    {.holds = [](const Case& run) { return run.health().gpu_power_limit > 0; },
     .says =
         [](const Case& run) {
           return say(
               "the GPU works at its power limit of {:.0f} W, with clocks below their highest: it "
               "cannot compute harder",
               run.health().gpu_power_limit);
         }},
    {.holds =
         [](const Case& run) {
           const DeviceFacts& device = run.device();
           double fed = run.share(Owner::input) + run.share(Owner::copy);
           return device.memory_share >= kMemoryFull && device.use >= 0 && device.use < kIdle &&
                  fed >= kInputModerate;
         },
     .says =
         [](const Case& run) {
           return say(
               "{} of the GPU's memory is in use, and the GPU works {} of the time: look at the "
               "input, not at the batch or the model",
               percent(run.device().memory_share), percent(run.device().use));
         }},
};

}  // namespace

std::span<const FindingRule> finding_rules() { return kFindings; }
std::span<const HintRule> hint_rules() { return kHints; }

const FindingRule& rule_of(Finding finding) {
  return *std::ranges::find(kFindings, finding, &FindingRule::finding);
}

}  // namespace stoker::doctor
