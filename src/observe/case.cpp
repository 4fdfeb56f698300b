#include "observe/case.h"

#include <algorithm>
#include <map>

#include "base/cores.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

double host_ns(const DeviceFacts& device) {
  double sum = 0;
  for (const OpFacts& op : device.ops)
    if (op.host) sum += op.ns;
  return sum;
}

bool wants_mixed_precision(const DeviceFacts& device) {
  return device.gpu && device.tensor_cores && !device.sixteen_bit;
}

double Case::cores() const { return std::max(1.0, health().available_cores); }

// --- input ---

double Case::replayed() const {
  return what_if().host_batch_ns ? *what_if().host_batch_ns * 1e-9 : without(Owner::input);
}

double Case::alone() const {
  if (what_if().pipeline_alone_ns) return *what_if().pipeline_alone_ns * 1e-9;
  return pipeline().work_ns / std::max(1.0, pipeline().workers) * 1e-9;
}

double Case::crowding() const {
  bool beside = pipeline().workers > 0 && !device().gpu && what_if().host_batch_ns;
  if (!beside || pipeline().cpu_ns * 1e-9 < kBesides * step() || replayed() <= 0) return 1;
  return std::clamp(share(Owner::compute) * step() / replayed(), 1.0, 2.0);
}

double Case::fed_with(double left, bool waiting) const {
  double fed = replayed();
  // Beside the pipeline, and behind batches that another core has written.
  double computing = share(Owner::compute) * step();
  if (!device().gpu) fed += std::min(1.0, left) * std::max(0.0, computing - fed);
  // What was measured while the computing took a part of the time takes longer when it takes all.
  double grown = crowding() / (1 + share(Owner::compute) * (crowding() - 1));
  double work = left * pipeline().work_ns * 1e-9 * grown;
  double cpu = pipeline().cpu_ns > 0 ? left * pipeline().cpu_ns * 1e-9 * grown : work;
  double free = device().gpu ? std::max(1.0, cores() - 1) : cores();
  double workers = waiting ? std::max(double(kWaitingThreads), free) : free;
  double needs = std::max(cpu / free, work / workers);
  if (!device().gpu)
    needs = std::max(needs, (cpu + fed * std::min(device().threads, cores())) / cores());
  return std::max(fed, needs);
}

double Case::lost_to_pipeline() const {
  bool beside = pipeline().workers > 0 && !device().gpu;
  if (!beside || !what_if().host_batch_ns || step() <= 0) return 0;
  double felt = share(Owner::compute);
  if (wants_more_cores() && is_fast_enough()) felt += share(Owner::input);
  double lost = std::min(felt * step() - replayed(), pipeline().cpu_ns * 1e-9);
  return std::max(0.0, lost / step());
}

bool Case::wants_more_cores() const { return health().own.wanted >= kWanted * cores(); }

double Case::undisturbed() const {
  if (what_if().host_batch_ns) return replayed();
  return share(Owner::compute) * step() * (1 - std::min(1.0, health().run_delay_share));
}

double Case::spinning_cores() const {
  double useful = share(Owner::compute) * device().threads;
  return device().gpu ? 0 : std::max(0.0, health().own.computing - useful - share(Owner::sync));
}

const StageFacts* Case::slowest_stage() const {
  auto found = std::ranges::max_element(pipeline().stages, {}, &StageFacts::ns);
  return found == pipeline().stages.end() ? nullptr : &*found;
}

Phrase Case::slowest_name() const {
  const StageFacts* stage = slowest_stage();
  return Phrase(stage != nullptr ? stage->name : "", "the pipeline");
}

double Case::longest_element() const {
  double most = 0;
  for (const StageFacts& stage : pipeline().stages) most = std::max(most, stage.longest_ns);
  return most * 1e-9;
}

// --- copy, launch, sync ---

double Case::copying() const {
  if (!what_if().host_batch_ns || !what_if().device_batch_ns) return step() * share(Owner::copy);
  double gone = (*what_if().host_batch_ns - *what_if().device_batch_ns) * 1e-9;
  return std::clamp(gone, 0.0, step());
}

// A copy that is late for another reason, as a batch that came late itself, is no cause: then the
// same batch takes as long with its copy as without. Where that was not tried, it counts.
bool Case::copies_are_proven() const {
  if (!what_if().host_batch_ns || !what_if().device_batch_ns) return true;
  return copying() >= kProof * share(Owner::copy) * step();
}

// A callback that waits for the device, or a layer on the host, lets it run dry: every call and
// every copy then comes too late, and that is its fault, too.
bool Case::host_holds(const StepShares& share) const {
  double callbacks = 0;
  for (const CallbackFacts& callback : evidence_.callbacks) callbacks += callback.ns;
  double held = share[Owner::sync];
  if (evidence_.step_ns > 0) held = std::max(held, callbacks / evidence_.step_ns);
  return held >= kHeld && held >= share[Owner::copy];
}

// Callbacks have no part in a replayed step.
double Case::without_callbacks() const {
  double pipeline = what_if().pipeline_alone_ns.value_or(0) * 1e-9;
  if (what_if().host_batch_ns) return std::max(*what_if().host_batch_ns * 1e-9, pipeline);
  double best = without(Owner::sync);
  if (host_holds(shares_)) best -= step() * (share(Owner::copy) + share(Owner::launch));
  return best;
}

// Without a layer on the host, copies run beside the computing again: the longer of both is left.
double Case::without_host_layer() const {
  if (!what_if().host_batch_ns) return without_callbacks();
  double ns = what_if().device_batch_ns.value_or(*what_if().host_batch_ns) - host_ns(device());
  return std::max({ns * 1e-9, copying(), what_if().pipeline_alone_ns.value_or(0) * 1e-9, 0.0});
}

const CallbackFacts* Case::longest_callback() const {
  auto found = std::ranges::max_element(evidence_.callbacks, {}, &CallbackFacts::ns);
  return found == evidence_.callbacks.end() || found->ns <= 0 ? nullptr : &*found;
}

const OpFacts* Case::host_layer() const {
  auto found = std::ranges::find_if(device().ops, &OpFacts::host);
  return found == device().ops.end() ? nullptr : &*found;
}

// --- a busy device ---

// What the optimiser does is done for the weights of layers.
std::pair<Phrase, double> Case::busiest_layer() const {
  std::map<std::string, double> shares;
  for (const OpFacts& op : device().ops)
    if (op.layer != "optimizer" && op.layer != "loss")
      shares[op.layer.empty() ? op.op : op.layer] += op.share;
  auto most = std::ranges::max_element(shares, {}, [](const auto& each) { return each.second; });
  if (most == shares.end()) return {"a layer", 0};
  return {Phrase(most->first, "a layer"), most->second};
}

const OpFacts* Case::separable_convolution() const {
  const OpFacts* found = nullptr;
  for (const OpFacts& op : device().ops)
    if (op.separable >= kSeparable && (found == nullptr || op.share > found->share)) found = &op;
  return found;
}

double reach(const OpFacts& op) { return std::max(op.compute_share, op.bandwidth_share); }

namespace {

// An op without FLOPs and bytes is one whose costs are not known. One that may have found its data
// in a nearer cache is as fast as its limit allows, for all that is known.
bool is_known(const OpFacts& op) { return !op.host && reach(op) > 0; }

bool is_far_below(const OpFacts& op, double margin) {
  return is_known(op) && margin * std::max(reach(op), op.bandwidth_at_most) < kFarBelow;
}

// It comes nearer to its limit in a larger batch.
bool lacks_batch(const OpFacts& op) { return reach(op) < kBatchHelps * op.reach_doubled; }

}  // namespace

Case::SlowOps Case::slow_ops(double margin) const {
  auto gain_of = [](const OpFacts& op) { return op.share * (1 - reach(op) / kUsual); };
  bool tried = std::ranges::any_of(device().ops, [](auto& op) { return op.reach_doubled >= 0; });
  SlowOps slow;
  if (!tried && what_if().double_batch_ns && doubled() < kBatchHelps * replayed()) return slow;
  for (const OpFacts& op : device().ops) {
    bool small = lacks_batch(op) && !larger_batch_is_refuted();
    if (op.ns < kLongOpNs || !is_far_below(op, margin) || small) continue;
    slow.ops.push_back(&op);
    slow.share += op.share;
    slow.gain += gain_of(op);
  }
  std::ranges::sort(slow.ops, std::ranges::greater(),
                    [&](const OpFacts* op) { return gain_of(*op); });
  std::map<std::string, double> kinds, layers;
  for (const OpFacts* op : slow.ops)
    for (double together : {kinds[op->op] += gain_of(*op), layers[op->layer] += gain_of(*op)})
      slow.together = std::max(slow.together, together / slow.gain);
  return slow;
}

std::optional<double> Case::near_limits() const {
  double known = 0, near = 0;
  for (const OpFacts& op : device().ops) {
    if (is_known(op)) known += op.share;
    if (is_known(op) && !is_far_below(op, 1)) near += op.share;
  }
  return known > 0 ? std::optional(near / known) : std::nullopt;
}

double Case::doubled() const {
  return what_if().double_batch_ns ? *what_if().double_batch_ns * 0.5e-9 : kDoubled * step();
}

bool Case::larger_batch_is_refuted() const {
  return what_if().double_batch_ns && doubled() > (1 - kWorthIt) * replayed();
}

namespace {

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  auto at = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

const RankFacts* Case::slowest_rank() const {
  const std::vector<RankFacts>& ranks = evidence_.ranks;
  auto found = std::ranges::max_element(ranks, {}, &RankFacts::own_ns);
  return found == ranks.end() ? nullptr : &*found;
}

double Case::middle_of_others(double (*of)(const RankFacts&)) const {
  std::vector<double> values;
  for (const RankFacts& rank : evidence_.ranks)
    if (&rank != slowest_rank()) values.push_back(of(rank));
  return middle(std::move(values));
}

double Case::waiting_for_ranks() const {
  std::vector<double> shares;
  for (const RankFacts& rank : evidence_.ranks)
    if (rank.step_ns > 0) shares.push_back(rank.wait_ns / rank.step_ns);
  return middle(std::move(shares));
}

}  // namespace stoker::doctor
