#include <stoker/generate.h>

#include <algorithm>
#include <bit>
#include <ostream>

#include <fmt/format.h>
#include <stoker/error.h>

#include "train/generate/generator.h"
#include "train/generate/sample.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

// Capacities of caches are powers of two from here on, so that few programs are made.
constexpr int64_t kSmallestCache = 64;
constexpr size_t kKeptSizes = 4;  // of batch and cache
constexpr uint64_t kGeneratePurpose = kPredictPurpose + 1;

void check_prompts(const std::vector<TokenIds>& prompts) {
  if (prompts.empty()) throw ValueError("generate: expected at least one prompt, got none");
  for (size_t row = 0; row < prompts.size(); ++row)
    if (prompts[row].empty())
      throw ValueError(fmt::format(
          "generate: prompt {} is empty; begin it with a token, such as one that starts a text",
          row));
}

void check_inputs(ModelBase& model, const TensorList& others, size_t rows) {
  const Topology& topology = model.topology("generate");
  size_t wanted = topology.inputs.size() - 1;
  if (others.size() != wanted)
    throw ValueError(fmt::format("generate: {} has {} inputs beside the tokens, got {} in .inputs",
                                 model.title(), wanted, others.size()));
  for (size_t i = 0; i < others.size(); ++i) {
    check_input(others[i].spec(), topology.input_row(i), "generate", topology.input_names[i]);
    if (others[i].shape()[0] != int64_t(rows))
      throw ShapeError(fmt::format("generate: input \"{}\" has {} rows for {} prompts",
                                   topology.input_names[i], others[i].shape()[0], rows));
  }
  if (topology.inputs.back().shape().rank() != 2)
    throw ShapeError(fmt::format("generate: {}: expected tokens [B, T] as its last input, got {}",
                                 model.title(), to_string(topology.inputs.back().shape())));
}

// One call of generate.
class Generation {
 public:
  Generation(ModelBase& model, Generator& generator, const std::vector<TokenIds>& prompts,
             const GenerateOptions& options)
      : model_(model), generator_(generator), options_(options), rows_(prompts) {
    for (const TokenIds& prompt : prompts) ends_.push_back(prompt.size() + new_tokens());
    done_.resize(rows_.size(), options.max_new_tokens == 0);
    Trainer& trainer = trainer_of(model);
    seed_ = options.seed ? *options.seed
                         : derived_seed(trainer.context->seed.value(),
                                        kGeneratePurpose + (generator.calls++ << 8));
  }

  std::vector<TokenIds> run() {
    if (std::ranges::all_of(done_, [](bool done) { return done; })) return rows_;
    prepare();
    size_t first = std::ranges::min(rows_, {}, &TokenIds::size).size();
    for (const TokenIds& row : rows_) fed_.emplace_back(row.begin(), row.begin() + int64_t(first));
    for (Tensor logits = next_logits(0);; logits = next_logits(fed_[0].size() - 1)) {
      choose(logits);
      if (std::ranges::all_of(done_, [](bool done) { return done; })) return std::move(rows_);
      feed();
    }
  }

 private:
  size_t new_tokens() const { return size_t(options_.max_new_tokens); }

  // The logits for the next token of every row; `begin`: the first that was not given before.
  Tensor next_logits(size_t begin) {
    size_t end = fed_[0].size();
    int64_t fixed = fixed_length(model_);
    if (steps_ == nullptr || (fixed >= 0 && int64_t(end) > fixed))
      return generator_.whole.logits(fed_, options_.inputs.list());
    return steps_->logits(fed_, int64_t(begin), int64_t(end));
  }

  void choose(const Tensor& logits) {
    size_t at = fed_[0].size();
    int64_t width = logits.shape()[1];
    for (size_t row = 0; row < rows_.size(); ++row) {
      if (done_[row] || at < rows_[row].size()) continue;  // the prompt goes on
      auto values = logits[int64_t(row)].to_vector<float>();
      if (options_.adjust_logits)
        options_.adjust_logits(row, rows_[row], std::span(values.data(), size_t(width)));
      int64_t id = sample_token(values, options_, {seed_, row, at});
      rows_[row].push_back(id);
      bool goes_on = !options_.on_token || options_.on_token({row, at, id});
      done_[row] = !goes_on || rows_[row].size() == ends_[row] ||
                   std::ranges::find(options_.stop, id) != options_.stop.end();
    }
  }

  // Rows that have ended repeat their last token: what follows it is not looked at.
  void feed() {
    size_t at = fed_[0].size();
    for (size_t row = 0; row < rows_.size(); ++row)
      fed_[row].push_back(at < rows_[row].size() ? rows_[row][at] : rows_[row].back());
  }

  // --- steps ---

  void prepare() {
    if (!options_.cache || !generator_.in_steps) return;
    try {
      steps_ = &steps();
      steps_->begin(options_.inputs.list());
    } catch (const NotInSteps& reason) {
      generator_.in_steps = false;
      generator_.steps.clear();
      steps_ = nullptr;
      say(reason.why);
    }
  }

  void say(const std::string& why) const {
    if (std::ostream* out = trainer_of(model_).context->out)
      *out << fmt::format(
          "generate: {} computes the whole sequence for every token, without a cache: {}\n",
          model_.title(), why);
  }

  CachedSteps& steps() {
    auto rows = int64_t(rows_.size()), total = int64_t(std::ranges::max(ends_));
    int64_t fixed = fixed_length(model_);
    auto capacity = int64_t(std::bit_ceil(uint64_t(std::max(total, kSmallestCache))));
    if (fixed >= 0) capacity = std::min(capacity, fixed);
    std::vector<Generator::Steps>& known = generator_.steps;
    auto found = std::ranges::find_if(known, [&](const Generator::Steps& each) {
      return each.rows == rows && (each.capacity == capacity || each.capacity == total);
    });
    if (found != known.end()) {
      std::rotate(known.begin(), found, found + 1);
      return *known.front().steps;
    }
    Generator::Steps made{rows, capacity, nullptr};
    try {
      made.steps = make_steps(capacity);
    } catch (const ShapeError&) {  // more than the model has positions for, or another mistake
      made.capacity = total;
      if (fixed >= 0 || total == capacity) throw;
      made.steps = make_steps(total);
    }
    known.insert(known.begin(), std::move(made));
    if (known.size() > kKeptSizes) known.pop_back();
    return *known.front().steps;
  }

  std::unique_ptr<CachedSteps> make_steps(int64_t capacity) {
    std::lock_guard lock(building());
    const Topology& topology = model_.topology("generate");
    std::vector<TensorSpec> specs;
    for (const Tensor& input : options_.inputs.list()) specs.push_back(input.spec());
    int64_t length = fixed_length(model_) < 0 ? capacity : fixed_length(model_);
    specs.push_back({topology.inputs.back().dtype(), {int64_t(rows_.size()), length}});
    TracedLogits traced = trace_logits(model_, specs);
    try {
      return std::make_unique<CachedSteps>(*trainer_of(model_).context,
                                           StepModel(std::move(traced), capacity));
    } catch (const ShapeError& error) {
      throw NotInSteps{error.what()};
    }
  }

  ModelBase& model_;
  Generator& generator_;
  const GenerateOptions& options_;
  std::vector<TokenIds> rows_;
  TokenRows fed_;  // what the model has been given
  std::vector<size_t> ends_;
  std::vector<bool> done_;
  CachedSteps* steps_ = nullptr;
  uint64_t seed_ = 0;
};

// Marks the generator while a generation runs.
class Generating {
 public:
  explicit Generating(bool& busy) : busy_(busy) {
    if (busy)
      throw Error(
          "generate: called inside on_token or adjust_logits of the same model; collect the tokens "
          "and call it afterwards");
    busy = true;
  }
  ~Generating() { busy_ = false; }
  Generating(const Generating&) = delete;
  Generating& operator=(const Generating&) = delete;

 private:
  bool& busy_;
};

}  // namespace

std::vector<TokenIds> generate(const Model& model, const std::vector<TokenIds>& prompts,
                               const GenerateOptions& options) {
  check_sampling(options);
  check_prompts(prompts);
  ModelBase& base = ModelAccess::base(model);
  Reading reading(base, "generate");
  Trainer& trainer = trainer_of(base);
  std::lock_guard turn(trainer.generating);
  if (!base.connected()) base.ensure_built({Shape{int64_t(prompts.size()), -1}});
  check_inputs(base, options.inputs, prompts.size());
  if (trainer.generator == nullptr) trainer.generator = std::make_shared<Generator>(base);
  std::shared_ptr<Generator> generator = trainer.generator;
  Generating busy(generator->busy);
  return Generation(base, *generator, prompts, options).run();
}

TokenIds generate(const Model& model, const TokenIds& prompt, const GenerateOptions& options) {
  return generate(model, std::vector<TokenIds>{prompt}, options)[0];
}

}  // namespace stoker
