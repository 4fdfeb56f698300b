#include "observe/prescriptions.h"

#include <algorithm>
#include <cmath>

#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

Phrase megabytes(double bytes) { return say("{:.0f} MB", bytes * 1e-6); }

// Where elements are kept, in a chain that may have to be turned round for it.
Phrase place_of(const CacheAdvice& cache) {
  Phrase after(cache.after, "the source");
  if (cache.shuffle.empty()) return after;
  return say("{}, with {} behind it", after, Phrase(cache.shuffle, "shuffle()"));
}

}  // namespace

void Prescriptions::add(Proposal proposal) {
  if (proposal.seconds > (1 - kWorthIt) * run_.step()) return;
  list_.push_back({.action = proposal.action,
                   .what = proposal.what,
                   .why = proposal.why,
                   .predicted_step_seconds = std::max(proposal.seconds, 0.0),
                   .changes_results = proposal.changes_results,
                   .provided = std::move(proposal.provided),
                   .knob = proposal.knob});
}

std::vector<Prescription> Prescriptions::sorted() {
  auto left = [](const Prescription& each) {
    return each.predicted_step_seconds > 0 ? each.predicted_step_seconds : HUGE_VAL;
  };
  std::ranges::stable_sort(list_, {}, left);
  return std::move(list_);
}

void propose_workers(const Case& run, Prescriptions& list, Proposal proposal) {
  const PipelineFacts& pipeline = run.pipeline();
  bool deepens = proposal.action == Action::prefetch || proposal.action == Action::deepen;
  bool has_it = deepens ? pipeline.tunes_depth : pipeline.tunes_workers;
  if (has_it && pipeline.workers > 0) return;
  proposal.knob = Knob::pipeline;
  list.add(std::move(proposal));
}

void propose_keeping(const Case& run, Prescriptions& list) {
  const CacheAdvice& cache = run.pipeline().cache;
  if (cache.bytes <= 0 || cache.saved_ns <= 0) return;
  double saved = cache.saved_ns * double(run.evidence().batch_size);
  double work = run.pipeline().work_ns;
  double left = work > 0 ? std::max(0.0, 1 - saved / work) : 0;
  Phrase once = duration(cache.saved_ns * 1e-9), size = megabytes(cache.bytes);
  // By hand, a step of the chain more gives random steps behind it other numbers; tune = Auto keeps
  // the chain, and so every bit.
  bool changes = !cache.shuffle.empty() || cache.random_behind;
  std::string provided =
      changes ? "" : say("{} gives the same element every epoch", Phrase(cache.after, "it")).text();
  Phrase how = cache.tunable ? Phrase(", or fit({.tune = Auto}), which changes no result")
                             : Phrase(" in the chain");
  if (cache.fits)
    list.add({.action = Action::cache,
              .what = say("Keep elements in memory: .cache() after {}{}", place_of(cache), how),
              .why = say("{} would save {} per element from the second epoch on", size, once),
              .seconds = run.fed_with(left),
              .changes_results = changes,
              .provided = provided,
              .knob = cache.tunable ? Knob::cache : Knob::none});
  else
    list.add({.action = Action::save,
              .what = say("Do the work once, offline: save(\"DIR\") after {}, and train from "
                          "data::load(\"DIR\")",
                          place_of(cache)),
              .why = say("{} on disk would save {} per element; they do not fit into memory", size,
                         once),
              .seconds = run.fed_with(left),
              .changes_results = changes,
              .provided = provided,
              .knob = Knob::cache});
}

void propose_less_work(const Case& run, Prescriptions& list) {
  list.add(
      {.action = Action::less_work,
       .what = say("Give {} less to do: smaller images, less augmentation", run.slowest_name()),
       .why = say("{:.0f} cores do not make batches as fast as the {} takes them", run.cores(),
                  run.device_word()),
       .seconds = run.replayed(),
       .changes_results = true});
}

void propose_larger_batch(const Case& run, Prescriptions& list) {
  const DeviceFacts& device = run.device();
  if (device.memory_share >= kMemoryFull) return;  // it does not fit
  Phrase room = device.memory_share >= 0
                    ? say("{} of the memory is in use", percent(device.memory_share))
                    : Phrase("the same number of kernels for twice the samples");
  list.add({.action = Action::larger_batch,
            .what = say("Double the batch to {}", 2 * run.evidence().batch_size),
            .why = say("{}; the time is for as many samples as now, and the learning rate may "
                       "have to grow with the batch",
                       room),
            .seconds = run.doubled(),
            .changes_results = true});
}

void propose_faster_ops(const Case& run, Prescriptions& list) {
  Case::SlowOps slow = run.slow_ops();
  if (slow.ops.empty()) return;
  const OpFacts& worst = *slow.ops.front();
  Phrase name = say("{} of \"{}\"", Phrase(worst.op, "the op"), Phrase(worst.layer, "the step"));
  if (slow.ops.size() > 1) name = say("{} and {} more ops", name, slow.ops.size() - 1);
  double computing = run.step() * run.share(Owner::compute);
  list.add({.action = Action::faster_ops,
            .what = say("Replace {}: by ops or sizes that the device has fast kernels for", name),
            .why = say("the time is what is left if they reach {} of their limit, as ops usually "
                       "do; `summary({{.measure = true}})` lists them all",
                       percent(kUsual)),
            .seconds = run.step() - computing * slow.gain,
            .changes_results = true});
}

void propose_cheaper_layers(const Case& run, Prescriptions& list) {
  double computing = run.step() * run.share(Owner::compute);
  if (wants_mixed_precision(run.device()))
    list.add({.action = Action::mixed_precision,
              .what = "Use mixed precision: set_global_policy(\"mixed_bfloat16\")",
              .why = "products of float32 leave the tensor cores idle",
              .seconds = run.step() - computing * (1 - kHalved),
              .changes_results = true});
  if (const OpFacts* conv = run.separable_convolution()) {
    double share = 0;
    for (const OpFacts& op : run.device().ops)
      if (op.layer == conv->layer && op.separable > 0) share += op.share;
    if (share >= kLargeConv)
      list.add(
          {.action = Action::separable_conv,
           .what = say("Make \"{}\" a SeparableConv2D", Phrase(conv->layer, "the convolution")),
           .why = say("it takes {} of the computing, and a depthwise separable convolution "
                      "needs {:.0f} times fewer FLOPs",
                      percent(share), conv->separable),
           .seconds = run.step() - computing * share * (1 - 1 / conv->separable),
           .changes_results = true});
  }
  auto [layer, share] = run.busiest_layer();
  if (share > 0)
    list.add({.action = Action::shrink_layer,
              .what = say("Make \"{}\" smaller", layer),
              .why = say("it takes {} of the computing, without what its weights cost the "
                         "optimiser",
                         percent(share)),
              .seconds = run.step() - computing * share / 2,
              .changes_results = true});
  propose_fewer_channels(run, list);
}

namespace {

bool is_product(const OpFacts& op) {
  return op.op.starts_with("conv") || op.op.find("matmul") != std::string::npos;
}

}  // namespace

// With half the FLOPs a layer reads and makes 0.71 times as many channels: products take half the
// time, so does the update of their weights, and what moves data takes 0.71 of it.
void propose_fewer_channels(const Case& run, Prescriptions& list) {
  double products = 0, saved = 0;
  for (const OpFacts& op : run.device().ops) {
    if (op.host) continue;
    bool squared = is_product(op) || op.layer == "optimizer";
    saved += op.share * (1 - (squared ? kPrunedFlops : std::sqrt(kPrunedFlops)));
    products += is_product(op) ? op.share : 0;
  }
  if (products < kManyProducts) return;
  list.add({.action = Action::prune_channels,
            .what = "Halve its FLOPs: prune(model, {.kind = PruneKind::channels, .flops = 0.5}), "
                    "a few epochs, strip()",
            .why = say("products take {} of the computing; compare() or `stoker compress` measures "
                       "what it gains, and what it costs in accuracy",
                       percent(products)),
            .seconds = run.step() * (1 - run.share(Owner::compute) * saved),
            .changes_results = true});
}

std::string results_words(const Prescription& prescription) {
  if (prescription.changes_results) return "results change";
  if (prescription.provided.empty()) return "results stay the same";
  return "results stay the same, provided that " + prescription.provided;
}

std::string to_line(const Prescription& prescription, double step_seconds) {
  const std::string& text = prescription.what;
  std::string results = results_words(prescription);
  if (prescription.predicted_step_seconds > 0)
    return fmt::format("{} (at best {:.1f}× faster; {})", text,
                       step_seconds / prescription.predicted_step_seconds, results);
  return fmt::format("{} ({})", text, results);
}

}  // namespace stoker::doctor
