#include "distribute/replicated.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/cores.h"
#include "distribute/replicated_program.h"
#include "graph/passes/passes.h"
#include "train/fit/processes.h"
#include "train/step/program_cache.h"

namespace stoker::distribute {

Replicated::Shared::Shared(std::shared_ptr<ReplicaPlan> given)
    : plan(std::move(given)), mirrors(plan->group->replicas()), team(plan->group->replicas()) {
  for (const std::string& device : plan->devices) arenas.push_back(backend(device).make_arena());
  if (plan->shard_optimizer && plan->group->ranks() > 1)
    state = std::make_unique<SharedState>(plan->group->ranks(), plan->group->replicas(),
                                          plan->transport);
}

Replicated::Replicated(std::shared_ptr<ReplicaPlan> plan)
    : shared_(std::make_shared<Shared>(std::move(plan))) {}

namespace {

// Whether the launcher gave this process cores of its own.
bool has_own_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return false;
  return CPU_COUNT(&mask) < sysconf(_SC_NPROCESSORS_ONLN);
}

// The cores of a host are shared by its processes, and those of a process by its replicas.
int threads_of_replica(int threads, const ReplicaPlan& plan) {
  int sharing = plan.group->replicas();
  if (plan.transport != nullptr && !has_own_cores()) sharing *= plan.transport->local_processes();
  return std::max(1, threads / sharing);
}

}  // namespace

std::unique_ptr<Program> Replicated::compile_one(Graph& graph, int replica,
                                                 const Context& context) const {
  const ReplicaPlan& plan = *shared_->plan;
  Backend& engine = backend(plan.devices[size_t(replica)]);
  CompileOptions options = compile_options(context);
  options.threads = plan.threads > 0 ? plan.threads : threads_of_replica(options.threads, plan);
  options.arena = shared_->arenas[size_t(replica)];
  // A replica that learns late of a step that was skipped would begin sums that others do not.
  if (plan.group->ranks() > 1) options.status_lag = 0;
  passes::use_fused_forms(
      graph, [&](std::string_view op, DType dtype) { return engine.supports(op, dtype); });
  return engine.compile(graph, options);
}

namespace {

std::vector<TensorSpec> with_rows(std::span<const TensorSpec> specs, int64_t rows) {
  std::vector<TensorSpec> own(specs.begin(), specs.end());
  for (TensorSpec& spec : own)
    if (spec.shape.rank() > 0) spec.shape.set(0, rows);
  return own;
}

// Of the batch; scalars have none.
int64_t rows_in(std::span<const TensorSpec> specs) {
  for (const TensorSpec& spec : specs)
    if (spec.shape.rank() > 0) return spec.shape[0];
  return 1;
}

void add_variables(std::vector<Variable>& all, const std::vector<Variable>& more) {
  for (const Variable& variable : more)
    if (std::ranges::find(all, variable) == all.end()) all.push_back(variable);
}

}  // namespace

std::vector<Variable> Replicated::bind(Graph& graph, int replica) const {
  return shared_->mirrors.bind(graph, replica, [&](const Variable& variable) {
    return shared_->state != nullptr && shared_->state->has(variable);
  });
}

Distribution::Made Replicated::compile(const DistributedStep& step, const Context& context) {
  std::lock_guard turn(shared_->plan->turn);
  if (step.predicts) return compile_prediction(step, context);
  const ReplicaPlan& plan = *shared_->plan;
  ReplicaGroup& group = *plan.group;
  int64_t rows = rows_in(step.specs), whole = step.whole >= 0 ? step.whole : rows;
  bool part = step.whole >= 0;
  RowRange of_process{rows_of(whole, group.rank_of(0), group.ranks()).begin,
                      rows_of(whole, group.rank_of(group.replicas() - 1), group.ranks()).end};
  bool uneven = part && of_process.size() != rows;  // elements were left out, here or elsewhere
  int64_t before = part && !uneven ? of_process.begin : 0;
  Made made;
  ReplicatedProgram::Parts parts;
  for (int replica = 0; replica < group.replicas(); ++replica) {
    RowRange own = uneven ? rows_of(rows, replica, group.replicas())
                          : rows_of(whole, group.rank_of(replica), group.ranks());
    Replica place{.ranks = group.ranks(),
                  .rank = group.rank_of(replica),
                  .rows = own.size(),
                  .whole = whole,
                  .wire = plan.wire,
                  .bucket_bytes = plan.bucket_bytes};
    if (group.ranks() > 1)
      place.group = std::make_shared<CommunicatorLink>(plan.communicators[size_t(replica)]);
    if (shared_->state != nullptr) place.shards = shared_->state->shards();
    std::vector<TensorSpec> specs = with_rows(step.specs, std::max<int64_t>(own.size(), 1));
    std::unique_ptr<Graph> graph = step.trace(place, specs);
    add_variables(parts.variables, bind(*graph, replica));
    ReplicatedProgram::Piece piece{.program = compile_one(*graph, replica, context),
                                   .rows = {own.begin - before, own.end - before}};
    if (own.size() == 0)
      for (const TensorSpec& spec : specs)
        piece.stand_in.push_back(Tensor::zeros(spec.shape, spec.dtype));
    parts.pieces.push_back(std::move(piece));
    if (replica == 0) made.graph = std::move(graph);
  }
  parts.trains = made.graph->training();
  parts.joined = made.graph->notes<JoinedOutputs>().list;
  made.program = std::make_unique<ReplicatedProgram>(shared_, std::move(parts));
  return made;
}

// The rows of the process among its replicas, where every output has the batch as its first
// dimension; else the first replica does all of it.
Distribution::Made Replicated::compile_prediction(const DistributedStep& step,
                                                  const Context& context) {
  int64_t rows = step.specs[0].shape[0];
  Made made;
  made.graph = step.trace({}, step.specs);
  bool joins = std::ranges::all_of(made.graph->outputs(), [&](const GraphOutput& output) {
    const Shape& shape = made.graph->spec(output.value).shape;
    return shape.rank() > 0 && shape[0] == rows;
  });
  auto replicas = joins ? std::min<int64_t>(shared_->plan->group->replicas(), rows) : 1;
  ReplicatedProgram::Parts parts;
  for (int replica = 0; replica < int(replicas); ++replica) {
    RowRange own = rows_of(rows, replica, replicas);
    std::unique_ptr<Graph> graph = step.trace({}, with_rows(step.specs, own.size()));
    add_variables(parts.variables, bind(*graph, replica));
    parts.pieces.push_back({.program = compile_one(*graph, replica, context), .rows = own});
    if (replica == 0) made.graph = std::move(graph);
  }
  if (replicas > 1) parts.joined.assign(made.graph->outputs().size(), true);
  made.program = std::make_unique<ReplicatedProgram>(shared_, std::move(parts));
  return made;
}

uint64_t Replicated::agreed(uint64_t value) {
  if (Transport* transport = shared_->plan->transport)
    transport->broadcast(&value, sizeof(value), 0);
  return value;
}

namespace {

class TransportProcesses final : public Processes {
 public:
  explicit TransportProcesses(Transport& transport) : transport_(transport) {}
  BatchSlice slice() const override {
    return {.rank = transport_.process(),
            .size = transport_.processes(),
            .ranks_of_host = transport_.local_processes()};
  }
  std::string host(int64_t process) const override { return transport_.host(int(process)); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    transport_.all_gather(mine.data(), mine.size(), all.data());
  }
  void broadcast(std::span<std::byte> bytes) override {
    transport_.broadcast(bytes.data(), bytes.size(), 0);
  }
  void set_place(int64_t epoch, int64_t step) override { transport_.set_place(epoch, step); }
  void failed(const std::string& why) noexcept override { transport_.fail(why); }

 private:
  Transport& transport_;
};

}  // namespace

Processes* Replicated::processes() {
  Transport* transport = shared_->plan->transport;
  if (transport == nullptr || transport->processes() == 1) return nullptr;
  if (!processes_) processes_ = std::make_unique<TransportProcesses>(*transport);
  return processes_.get();
}

std::shared_ptr<void> Replicated::without_sums() {
  return std::make_shared<AloneReplica>(shared_->plan->communicators);
}

double Replicated::time_sums(std::span<const int64_t> bytes) {
  std::lock_guard turn(shared_->plan->turn);
  auto replicas = size_t(shared_->plan->group->replicas());
  std::vector<std::vector<std::vector<float>>> buffers(replicas);
  for (auto& own : buffers)
    for (int64_t each : bytes) own.emplace_back(size_t(each) / sizeof(float), 0.0F);
  if (shared_->plan->transport != nullptr) shared_->plan->transport->barrier();
  int64_t begin = steady_clock().now();
  shared_->team.run(
      [&](int replica) {
        std::shared_ptr<Communicator> communicator = shared_->plan->group->communicator(replica);
        std::vector<uint64_t> tickets;
        for (std::vector<float>& sum : buffers[size_t(replica)])
          tickets.push_back(communicator->start_sum({.data = sum.data(), .elements = sum.size()}));
        for (uint64_t ticket : tickets) communicator->wait(ticket);
      },
      [&](const std::exception_ptr&) { shared_->plan->group->fail("timing sums"); });
  return double(steady_clock().now() - begin) * 1e-9;
}

void Replicated::broadcast(std::span<const Variable> variables) {
  Transport* transport = shared_->plan->transport;
  if (transport == nullptr) return;
  std::vector<uint64_t> mine = {0, variables.size()}, all(2 * size_t(transport->processes()));
  for (const Variable& variable : variables)
    for (int64_t extent : variable.shape()) mine[0] = mine[0] * 1000003 + uint64_t(extent);
  transport->all_gather(mine.data(), mine.size() * sizeof(uint64_t), all.data());
  for (int process = 0; process < transport->processes(); ++process)
    if (all[2 * size_t(process)] != all[0] || all[2 * size_t(process) + 1] != all[1])
      throw CollectiveError(
          fmt::format("the models of processes 0 and {} differ: {} and {} variables, or other "
                      "shapes; every process must build the same model",
                      process, all[1], all[2 * size_t(process) + 1]));
  for (Variable variable : variables) {
    int source = shared_->state != nullptr ? shared_->state->source_of(variable) : 0;
    bool own = source == transport->process();
    Tensor contents = own ? variable.read() : Tensor(variable.dtype(), variable.shape());
    transport->broadcast(contents.raw_mut(), contents.bytes(), source);
    if (!own) variable.write(contents);
  }
  if (shared_->state != nullptr) shared_->state->set_whole();
}

void Replicated::collect_state(StateAt at) {
  if (shared_->state != nullptr) shared_->state->collect(at);
}

}  // namespace stoker::distribute
