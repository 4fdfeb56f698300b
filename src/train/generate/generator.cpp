#include "train/generate/generator.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "graph/emit.h"
#include "train/model/trainer.h"
#include "train/step/step_tap.h"

namespace stoker {

namespace {

// A chunk's activations and scores stay small beside the caches.
constexpr int64_t kLongestChunk = 512;

Program& run_generation(const Context& context, CachedProgram& cached,
                        std::span<const Tensor> inputs) {
  run_tapped(
      {.context = context, .cached = cached, .inputs = inputs, .kind = "generate", .alone = true});
  return *cached.program;
}

Tensor positions(int64_t begin, int64_t count) {
  std::vector<int32_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), int32_t(begin));
  return Tensor::from(all, {count});
}

}  // namespace

Tensor token_tensor(const TokenRows& rows, int64_t begin, int64_t end, DType dtype) {
  Tensor tokens(DType::int64, {int64_t(rows.size()), end - begin});
  int64_t* to = tokens.data_mut<int64_t>();
  for (const TokenIds& row : rows) to = std::copy(row.begin() + begin, row.begin() + end, to);
  return dtype == DType::int64 ? tokens : tokens.cast(dtype);
}

int64_t fixed_length(ModelBase& model) {
  return model.topology("generate").inputs.back().shape()[1];
}

CachedSteps::CachedSteps(Context& context, StepModel model)
    : context_(context), model_(std::move(model)) {
  program(1);  // what cannot be built so is found out now
}

void CachedSteps::begin(std::span<const Tensor> other_inputs) {
  other_inputs_.assign(other_inputs.begin(), other_inputs.end());
  run_fixed();
}

void CachedSteps::run_fixed() {
  CachedProgram* cached = programs_.find(0, other_inputs_);
  if (cached == nullptr || fixed_known_ != model_.fixed.size()) {
    std::lock_guard lock(building());
    std::unique_ptr<Graph> graph = fixed_graph(model_);
    fixed_known_ = model_.fixed.size();
    if (graph == nullptr) return;
    cached = &programs_.add(0, specs_of(other_inputs_), std::move(graph), context_);
  }
  Program& program = run_generation(context_, *cached, other_inputs_);
  for (size_t i = 0; i < model_.masks.size() && !masks_checked_; ++i)
    if (!is_causal_mask(program.output(i)))
      throw NotInSteps{"an attention mask lets a step see later ones"};
  masks_checked_ = true;
}

CachedProgram& CachedSteps::program(int64_t chunk) {
  const TensorSpec& tokens = model_.graph().spec(model_.traced.tokens.value);
  std::vector<TensorSpec> specs = {{tokens.dtype, tokens.shape.with(1, chunk)},
                                   {DType::int32, {chunk}}};
  if (CachedProgram* known = programs_.find(int(chunk), specs)) return *known;
  std::lock_guard lock(building());
  return programs_.add(int(chunk), specs, chunk_graph(model_, chunk), context_);
}

Tensor CachedSteps::logits(const TokenRows& rows, int64_t begin, int64_t end) {
  DType dtype = model_.graph().spec(model_.traced.tokens.value).dtype;
  for (;;) {
    auto chunk = int64_t(std::bit_floor(uint64_t(std::min(end - begin, kLongestChunk))));
    CachedProgram& cached = program(chunk);
    if (fixed_known_ != model_.fixed.size()) run_fixed();
    std::vector<Tensor> inputs = {token_tensor(rows, begin, begin + chunk, dtype),
                                  positions(begin, chunk)};
    Program& ran = run_generation(context_, cached, inputs);
    begin += chunk;
    if (begin == end) return ran.output(0);
  }
}

namespace {

// tokens, other inputs, and the row of [B · T, V] that each sequence ends with → [B, V]
std::unique_ptr<Graph> whole_graph(ModelBase& model, std::span<const TensorSpec> specs) {
  TracedLogits traced = trace_logits(model, specs);
  Graph& graph = *traced.graph;
  Graph::Scope scope(graph, "generate");
  Value logits = graph.value(traced.logits);
  Value rows = graph.input("rows", {DType::int32, {specs.back().shape[0]}});
  if (logits.shape().rank() == 3) {
    int64_t width = logits.shape()[2];
    logits =
        apply1("gather", {emit::reshape(logits, {logits.shape().elements() / width, width}), rows});
  }
  graph.output(logits, "logits");
  return std::move(traced.graph);
}

bool gives_last_step(ModelBase& model) {
  return model.topology("generate").outputs[0].shape().rank() == 2;
}

}  // namespace

Tensor WholeSequences::logits(const TokenRows& rows, std::span<const Tensor> other_inputs) {
  auto length = int64_t(rows[0].size()), fixed = fixed_length(model_);
  int64_t taken = fixed < 0 ? length : std::min(length, fixed), width = fixed < 0 ? length : fixed;
  TokenRows windows;
  std::vector<int32_t> ends;
  for (const TokenIds& row : rows) {
    TokenIds window(row.end() - taken, row.end());
    window.insert(gives_last_step(model_) ? window.begin() : window.end(), size_t(width - taken),
                  0);
    ends.push_back(int32_t(int64_t(ends.size()) * width + taken - 1));
    windows.push_back(std::move(window));
  }
  const Topology& topology = model_.topology("generate");
  std::vector<Tensor> inputs(other_inputs.begin(), other_inputs.end());
  inputs.push_back(token_tensor(windows, 0, width, topology.inputs.back().dtype()));
  std::vector<TensorSpec> specs = specs_of(inputs);
  inputs.push_back(Tensor::from(ends, {int64_t(ends.size())}));
  Context& context = *trainer_of(model_).context;
  CachedProgram* cached = programs_.find(0, inputs);
  if (cached == nullptr) {
    std::lock_guard lock(building());
    cached = &programs_.add(0, specs_of(inputs), whole_graph(model_, specs), context);
  }
  return run_generation(context, *cached, inputs).output(0);
}

}  // namespace stoker
