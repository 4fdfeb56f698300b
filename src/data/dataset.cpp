#include <stoker/dataset.h>

#include <fmt/format.h>
#include <stoker/context.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/iterator.h"

namespace stoker::data {

// What copies of a dataset know together: epochs begun by range-for, and the latest iteration.
struct Dataset::Observed {
  std::atomic<int64_t> walks = 0;
  std::mutex mutex;
  std::shared_ptr<Run> latest;
};

Dataset::Dataset(NodeRef node) : node_(std::move(node)), observed_(std::make_shared<Observed>()) {}

const ElementSpec& Dataset::spec() const { return node_->spec(); }
Cardinality Dataset::cardinality() const { return node_->cardinality(); }
bool Dataset::random_access() const { return node_->random_access(); }
DatasetOptions Dataset::options() const { return settings_of(*node_).options; }

Iterator Dataset::iterate(const IterateOptions& options) const {
  if (options.epoch < 0 || options.epochs < 0)
    throw ValueError(fmt::format("iterate: epoch is {} and epochs {}, expected 0 or more",
                                 options.epoch, options.epochs));
  auto impl = std::make_unique<Iterator::Impl>(node_, options);
  std::lock_guard lock(observed_->mutex);
  observed_->latest = impl->run();
  return Iterator(std::move(impl));
}

Dataset::Walk Dataset::begin() const { return Walk(iterate({.epoch = observed_->walks++})); }

Dataset::Walk::Walk(Iterator iterator)
    : iterator_(std::make_unique<Iterator>(std::move(iterator))), current_(iterator_->next()) {}

Dataset::Walk& Dataset::Walk::operator++() {
  current_ = iterator_->next();
  return *this;
}

namespace {

std::shared_ptr<Run> described(const NodeRef& node) {
  Context plain;
  return make_plan(node, {.threads = threads_for(settings_of(*node), plain)}).run;
}

}  // namespace

std::string Dataset::explain() const {
  std::lock_guard lock(observed_->mutex);
  return explain_text(observed_->latest ? *observed_->latest : *described(node_));
}

std::string Dataset::explain_json() const {
  std::lock_guard lock(observed_->mutex);
  return explain_as_json(observed_->latest ? *observed_->latest : *described(node_));
}

namespace {

struct Walking {
  Iterator iterator;
  std::shared_ptr<Run> run;
};
using Go = std::function<Walking(const IterateOptions&, const PipelineKnobs&,
                                 const std::shared_ptr<void>& kept)>;

class DatasetStream final : public BatchStream {
 public:
  DatasetStream(Go go, const IterateOptions& options)
      : go_(std::move(go)), options_(options), walking_(go_(options, {}, {})) {}

  const Batch* next() override {
    const Batch* batch = walking_.iterator.next();
    at_border_ = batch == nullptr;
    return batch;
  }
  // Its workers are at the next epoch already.
  bool continues_with(int64_t epoch) override {
    return at_border_ && !walking_.iterator.finished() && walking_.iterator.epoch() == epoch;
  }
  bool measure(PipelineStatistics& statistics) const override {
    statistics = statistics_of(*walking_.run);
    return true;
  }
  bool retune(const PipelineKnobs& knobs) override {
    if (walking_.iterator.finished()) return false;
    options_.state = walking_.iterator.state();
    walking_ = go_(options_, knobs, walking_.run->kept);
    return true;
  }
  std::string state() const override { return walking_.iterator.state(); }

 private:
  Go go_;
  IterateOptions options_;
  Walking walking_;
  bool at_border_ = true;
};

}  // namespace

namespace {

std::vector<std::string> described_lines(const Node& node) {
  ChainIdentity identity = identity_of(node);
  if (std::string files = identity.files.contents(); !files.empty())
    identity.steps.push_back(std::move(files));
  if (auto seed = settings_of(node).options.seed)
    identity.steps.push_back(fmt::format("seed {}", *seed));
  return identity.steps;
}

}  // namespace

Batches Dataset::batches() const {
  Go go = [dataset = *this](const IterateOptions& options, const PipelineKnobs& knobs,
                            const std::shared_ptr<void>& kept) -> Walking {
    auto impl = std::make_unique<Iterator::Impl>(dataset.node_, options, knobs, kept);
    std::shared_ptr<Run> run = impl->run();
    std::lock_guard lock(dataset.observed_->mutex);
    dataset.observed_->latest = run;
    return {Iterator(std::move(impl)), std::move(run)};
  };
  return {[go = std::move(go)](const WalkOptions& walk) -> std::unique_ptr<BatchStream> {
            return std::make_unique<DatasetStream>(
                go, IterateOptions{.epoch = walk.epoch,
                                   .epochs = walk.more_follow ? 0 : 1,
                                   .state = walk.state,
                                   .context = walk.context,
                                   .memory = walk.memory});
          },
          cardinality().count, [node = node_] { return described_lines(*node); }};
}

}  // namespace stoker::data
