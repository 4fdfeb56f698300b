// Why copies, launches, the host or a small batch hold the device up. Rows of cause_table.cpp, which alone includes this.
#pragma once

#include <algorithm>

#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

bool always_holds(const Case&) { return true; }

// --- copy ---

// The proof of a verdict about copies.
Phrase with_and_without_copy(const Case& run, const Phrase& why) {
  const CounterfactualFacts& what_if = run.what_if();
  if (!what_if.host_batch_ns || !what_if.device_batch_ns) return why;
  return say("{} (one batch again and again: {} with its copy, {} without)", why,
             duration(*what_if.host_batch_ns * 1e-9), duration(*what_if.device_batch_ns * 1e-9));
}

// --- sync ---

bool layer_is_longer(const Case& run) {
  const CallbackFacts* callback = run.longest_callback();
  return run.host_layer() != nullptr &&
         host_ns(run.device()) >= (callback != nullptr ? callback->ns : 0);
}

Phrase host_layer_name(const Case& run) {
  const OpFacts* op = run.host_layer();
  if (op == nullptr) return "a layer";
  return Phrase(op->layer.empty() ? op->op : op->layer, "a layer");
}

Phrase callback_name(const Case& run) {
  const CallbackFacts* callback = run.longest_callback();
  return Phrase(callback != nullptr ? callback->name : "", "a callback");
}

// --- kernels ---

// conv2d of "block_1" (46 % of the computing at 1 % of the limit)
Phrase described(const OpFacts& op) {
  return say("{} of \"{}\" ({} of the computing at {} of the limit)", Phrase(op.op, "an op"),
             Phrase(op.layer, "the step"), percent(op.share), percent(reach(op)));
}

// The three that would gain most.
Phrase slowest_ops(const Case& run) {
  constexpr size_t kNamed = 3;
  Case::SlowOps slow = run.slow_ops();
  if (slow.ops.empty()) return "an op";
  Phrase text = described(*slow.ops[0]);
  for (size_t i = 1; i < slow.ops.size() && i < kNamed; ++i)
    text = say("{}, {}", text, described(*slow.ops[i]));
  if (slow.ops.size() > kNamed) text = say("{} and {} more", text, slow.ops.size() - kNamed);
  return text;
}

Phrase slowest_op(const Case& run) {
  Case::SlowOps slow = run.slow_ops();
  if (slow.ops.empty()) return "an op";
  const OpFacts& op = *slow.ops[0];
  return Phrase(op.layer.empty() ? op.op : op.layer, "an op");
}

constexpr CauseRule kDeviceCauses[] = {
    // --- copy ---
    {.cause = Cause::link,
     .finding = Finding::copy,
     .holds =
         [](const Case& run) {
           const DeviceFacts& device = run.device();
           double rate = device.copy_ns > 0 ? device.copy_bytes / device.copy_ns * 1e9 : 0;
           return device.link_bandwidth > 0 && rate >= kBusy * device.link_bandwidth;
         },
     .says = [](const Case& run) { return with_and_without_copy(run, "the bus is full"); }},
    {.cause = Cause::pageable,
     .finding = Finding::copy,
     .holds = [](const Case& run) { return !run.device().pinned; },
     .says =
         [](const Case& run) {
           return with_and_without_copy(run, "batches are copied from memory that is not pinned");
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           // Batches that no Dataset made are pinned by one more copy: that is not meant.
           bool dataset = run.pipeline().known;
           const std::optional<double>& pinned = run.what_if().pinned_ns;
           list.add({.action = dataset ? Action::page_lock : Action::pass_dataset,
                     .what = dataset ? Phrase("Keep batches in pinned memory: Context{.pin "
                                              "= true}, as_written off")
                                     : Phrase("Give fit a Dataset: its batches lie in pinned "
                                              "memory"),
                     .why = "the GPU then copies them itself, beside the computing",
                     .seconds = pinned ? *pinned * 1e-9 : run.without(Owner::copy),
                     .provided = dataset ? "" : "it gives the same batches",
                     .knob = dataset ? Knob::page_lock : Knob::none});
         }},
    {.cause = Cause::small_copies,
     .finding = Finding::copy,
     .holds = always_holds,
     .says =
         [](const Case& run) {
           return with_and_without_copy(run, "copies are too small to use the bus");
         },
     .prescribes = propose_larger_batch},
    // --- launch ---
    {.cause = Cause::delayed_host,
     .finding = Finding::launch,
     .holds = [](const Case& run) { return run.health().run_delay_share >= kRunDelay; },
     .says =
         [](const Case& run) {
           return say("the thread that starts its work waits for a core {} of the time",
                      percent(run.health().run_delay_share));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::keep_core,
                     .what = say("Leave the training thread a core: set_threads({{.pipeline = "
                                 "{:.0f}}})",
                                 std::max(1.0, run.cores() - 1)),
                     .why = "it waits for a core while the device waits for it",
                     .seconds = run.without(Owner::launch)});
         }},
    {.cause = Cause::many_small_ops,
     .finding = Finding::launch,
     .holds = always_holds,
     .says =
         [](const Case&) { return Phrase("many small ops, each of which the host has to start"); }},
    // --- sync ---
    {.cause = Cause::recompiling,
     .finding = Finding::sync,
     .holds =
         [](const Case& run) {
           return run.evidence().making_ns >= kMade * run.share(Owner::sync) * 1e9 * run.step();
         },
     .says =
         [](const Case& run) {
           return say(
               "{} of the steps are compiled first, because the shapes of their batches are "
               "new",
               percent(run.evidence().making_share));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add(
               {.action = Action::fixed_shapes,
                .what = "Give batches few shapes: .padded_batch(n, {.lengths = {64, 128, 256}}) "
                        "or {.multiple_of = 32}",
                .why = say("compiling takes {} of a step on average, and at most 32 shapes are "
                           "kept",
                           duration(run.evidence().making_ns * 1e-9)),
                .seconds = run.step() - run.evidence().making_ns * 1e-9,
                .provided = "the model masks what is padded"});
         }},
    {.cause = Cause::host_layer,
     .finding = Finding::sync,
     .holds = layer_is_longer,
     .says =
         [](const Case& run) {
           return say("the layer \"{}\" runs on the host", host_layer_name(run));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add(
               {.action = Action::write_with_ops,
                .what = say("Write the layer \"{}\" with ops instead of a function on the host",
                            host_layer_name(run)),
                .why = "it stops the device, and runs on one core",
                .seconds = run.without_host_layer(),
                .changes_results = true});
         },
     .culprit = host_layer_name},
    {.cause = Cause::callback,
     .finding = Finding::sync,
     .holds = [](const Case& run) { return run.longest_callback() != nullptr; },
     .says =
         [](const Case& run) {
           return say("the callback {} works between the steps", callback_name(run));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           Phrase callback = callback_name(run);
           list.add(
               {.action = Action::seldom_callback,
                .what = say("Do the work of {} once per epoch, or every hundredth step", callback),
                .why = "the device waits while it runs",
                .seconds = run.without_callbacks(),
                .provided = say("{} changes nothing about the training", callback)});
         },
     .culprit = callback_name},
    {.cause = Cause::read_back,
     .finding = Finding::sync,
     .holds = always_holds,
     .says = [](const Case&) { return Phrase("results are read back between the steps"); },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::seldom_metrics,
                     .what = "Read loss and metrics once per epoch",
                     .why = "each reading waits for the device",
                     .seconds = run.without_callbacks()});
         }},
    // --- kernels ---
    {.cause = Cause::slow_op,
     .finding = Finding::kernels,
     .holds = [](const Case& run) { return run.slow_ops().together >= kTogether; },
     .says = slowest_ops,
     .culprit = slowest_op},
    {.cause = Cause::slow_kernels,
     .finding = Finding::kernels,
     .holds = always_holds,
     .says = [](const Case& run) { return say("ops of several kinds: {}", slowest_ops(run)); },
     .culprit = slowest_op},
    // --- latency ---
    {.cause = Cause::memory_unused,
     .finding = Finding::latency,
     .holds =
         [](const Case& run) {
           double used = run.device().memory_share;
           return used >= 0 && used <= kMemoryFree;
         },
     .says =
         [](const Case& run) {
           return say(
               "a batch of {} keeps neither the arithmetic nor the memory busy, and {} of "
               "the GPU's memory is in use",
               run.evidence().batch_size, percent(run.device().memory_share));
         }},
    {.cause = Cause::small_batch,
     .finding = Finding::latency,
     .holds = always_holds,
     .says =
         [](const Case& run) {
           return say("a batch of {} keeps neither the arithmetic nor the memory busy",
                      run.evidence().batch_size);
         }},
};

}  // namespace

}  // namespace stoker::doctor
