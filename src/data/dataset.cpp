#include <stoker/dataset.h>

#include <fmt/format.h>
#include <stoker/context.h>

#include "data/identity.h"
#include "data/node.h"
#include "data/runtime/iterator.h"
#include "data/runtime/slicing.h"

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
  std::function<std::string(const Runner::Position&)> state_at;
  std::function<int64_t()> whole_rows;
  Runner::Position begin;
};
using Go = std::function<Walking(const IterateOptions&, const PipelineKnobs&,
                                 const std::shared_ptr<void>& kept)>;

class DatasetStream : public BatchStream {
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
    options_.state = state();
    walking_ = go_(options_, knobs, walking_.run->kept);
    return true;
  }
  std::string state() const override { return walking_.iterator.state(); }
  bool sliced() const override { return options_.slice.has_value(); }
  int64_t whole_rows() const override { return walking_.whole_rows(); }

 protected:
  Walking& walking() { return walking_; }
  const Walking& walking() const { return walking_; }
  void set_at_border(bool at_border) { at_border_ = at_border; }

 private:
  Go go_;
  IterateOptions options_;
  Walking walking_;
  bool at_border_ = true;
};

// The batches of a rank whose number the others do not know: it gets batches without rows until all
// ranks are at their end. Positions count those too.
class UnevenStream final : public DatasetStream {
 public:
  UnevenStream(const Go& go, const IterateOptions& options, std::function<bool(bool)> any_rank)
      : DatasetStream(go, options),
        any_rank_(std::move(any_rank)),
        position_(walking().begin),
        none_(empty_batch(walking().run->root->spec())) {}

  const Batch* next() override {
    const Batch* batch = ended_ ? nullptr : walking().iterator.next();
    if (batch != nullptr)
      for (size_t i = 0; i < none_.size(); ++i)
        if (none_[i].shape().drop_front() != (*batch)[i].shape().drop_front())
          none_[i] = Tensor((*batch)[i].dtype(), (*batch)[i].shape().with(0, 0));
    bool more = any_rank_(batch != nullptr);
    set_at_border(!more);
    ended_ = more && batch == nullptr;
    if (more)
      ++position_.passed;
    else
      position_ = {position_.epoch + 1, 0, {}};
    return ended_ ? &none_ : batch;
  }
  bool retune(const PipelineKnobs& knobs) override {
    if (!DatasetStream::retune(knobs)) return false;
    ended_ = false;
    return true;
  }
  std::string state() const override { return walking().state_at(position_); }

 private:
  std::function<bool(bool)> any_rank_;
  Runner::Position position_;
  Batch none_;
  bool ended_ = false;
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
    Runner::Position begin = impl->position();
    auto state_at = [at = impl.get()](const Runner::Position& place) { return at->state(place); };
    auto whole_rows = [at = impl.get()] { return at->whole_rows(); };
    std::lock_guard lock(dataset.observed_->mutex);
    dataset.observed_->latest = run;
    return {Iterator(std::move(impl)), std::move(run), std::move(state_at), std::move(whole_rows),
            std::move(begin)};
  };
  AutoShardPolicy policy = options().auto_shard_policy.value_or(AutoShardPolicy::automatic);
  bool even = policy == AutoShardPolicy::automatic || policy == AutoShardPolicy::data;
  auto begin_walk = [go = std::move(go),
                     even](const WalkOptions& walk) -> std::unique_ptr<BatchStream> {
    IterateOptions options{.epoch = walk.epoch,
                           .epochs = walk.more_follow ? 0 : 1,
                           .state = walk.state,
                           .context = walk.context,
                           .memory = walk.memory,
                           .slice = walk.slice};
    if (even || !walk.slice || !walk.any_rank) return std::make_unique<DatasetStream>(go, options);
    return std::make_unique<UnevenStream>(go, options, walk.any_rank);
  };
  // How many batches the files of a rank become is not known.
  std::optional<int64_t> size = cardinality().count;
  if (policy == AutoShardPolicy::file && !cardinality().infinite()) size.reset();
  return {begin_walk, size, [node = node_] { return described_lines(*node); }};
}

}  // namespace stoker::data
