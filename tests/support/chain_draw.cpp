// Chains drawn at random.
#include <algorithm>

#include "support/chain_steps.h"

namespace stoker::test {

namespace {

constexpr size_t kMostItems = 60;

class Drawing {
 public:
  Drawing(Rng& rng, const ChainOptions& options) : rng_(rng), options_(options) {}

  StepRef chain(int steps) {
    StepRef step = source();
    for (int i = 0; i < steps; ++i) step = bounded(next(step, steps));
    return step;
  }

 private:
  int64_t below(int64_t n) { return rng_.integer(0, n); }
  bool maybe(int64_t one_in) { return below(one_in) == 0; }
  int64_t parallel() {
    constexpr int64_t kChoices[] = {AUTOTUNE, AUTOTUNE, 1, 3, 8};
    return kChoices[below(5)];
  }

  StepRef source() {
    int64_t count = maybe(8) ? 0 : below(30);
    switch (below(4)) {
      case 0:
        return slices_step(count);
      case 1:
        return generator_step(count);
      default:
        return range_step(-5, -5 + 2 * count, 2);
    }
  }

  StepRef bounded(StepRef step) {
    if (step->items(0, {1, 0}).size() <= kMostItems) return step;
    return cut_step(step, Cut::take, 40, 0);
  }

  static bool rectangular(const data::ElementSpec& spec) {
    return std::all_of(spec.begin(), spec.end(),
                       [](const TensorSpec& component) { return component.shape.is_known(); });
  }
  static bool only(const data::ElementSpec& spec, int low, int high) {
    return std::all_of(spec.begin(), spec.end(), [&](const TensorSpec& component) {
      return component.shape.rank() >= low && component.shape.rank() <= high;
    });
  }

  StepRef map(const StepRef& step) {
    switch (below(options_.errors ? 6 : 5)) {
      case 0:
        return map_step(step, affine(), parallel());
      case 1:
        if (step->dataset().spec().size() < 4) return map_step(step, grow(), parallel());
        [[fallthrough]];
      case 2:
        return map_step(step, summary(), parallel());
      case 5:
        return map_step(step, picky(5 + below(20)), parallel());
      default:
        return map_step(step, noisy(), parallel());
    }
  }

  StepRef batch(const StepRef& step) {
    BatchForm form{.size = 1 + below(5), .drop = maybe(3)};
    const data::ElementSpec spec = step->dataset().spec();
    if (!only(spec, 0, 3)) return nullptr;
    form.padded = !rectangular(spec) || maybe(4);
    if (form.padded && maybe(3)) form.lengths = {2, 64};
    bool has_length = !spec.empty() && spec[0].shape.rank() > 0;
    if (form.padded && form.lengths.empty() && has_length && maybe(2)) form.boundaries = {2, 4};
    return batch_step(step, form);
  }

  StepRef pair(const StepRef& step, int steps) {
    StepRef other = chain(int(below(std::max(steps / 2, 1))));
    auto kind = maybe(2) ? Pair::zip : Pair::concatenate;
    if (kind == Pair::concatenate) {
      auto summed = [](const StepRef& of) -> StepRef { return map_step(of, summary(), AUTOTUNE); };
      return pair_step(summed(step), summed(other), kind);
    }
    return pair_step(step, other, kind);
  }

  StepRef shuffle(const StepRef& step) {
    data::Dataset dataset = step->dataset();
    if (!dataset.random_access()) return window_shuffle_step(step, 1 + below(12));
    data::ShuffleOptions options;
    if (maybe(4)) options.seed = uint64_t(below(100));
    options.reshuffle_each_epoch = !maybe(4);
    if (maybe(3)) return window_shuffle_step(step, 1 + below(12));
    return shuffle_step(step, options);
  }

  StepRef policy(const StepRef& step) {
    bool replace = step->dataset().random_access() && maybe(2);
    return on_error_step(step, replace ? data::OnError::replace : data::OnError::skip);
  }

  StepRef cut(const StepRef& step) {
    auto kind = Cut(below(3));
    if (kind == Cut::shard) {
      int64_t count = 1 + below(3);
      return cut_step(step, kind, count, below(count));
    }
    return cut_step(step, kind, maybe(10) ? 0 : below(30), 0);
  }

  StepRef repeat(const StepRef& step) {
    if (maybe(3)) return repeat_step(step, -1, below(40));
    return repeat_step(step, maybe(12) ? 0 : 1 + below(3), 0);
  }

  StepRef interleave(const StepRef& step) {
    if (maybe(3)) return interleave_step(step, 0, 1, 1);
    return interleave_step(step, 1 + below(4), 1 + below(3), maybe(2) ? 1 : AUTOTUNE);
  }

  StepRef unbatch(const StepRef& step) {
    const data::ElementSpec spec = step->dataset().spec();
    if (!only(spec, 1, 8)) return nullptr;
    // Components of other extents than the first are a mistake of the chain, not of the runtime.
    bool equal = spec.size() == 1 || gives_batches(*step);
    return equal ? unbatch_step(step) : nullptr;
  }

  StepRef next(const StepRef& step, int steps) {
    while (true) {
      StepRef result;
      switch (below(15)) {
        case 0:
        case 1:
        case 2:
          result = map(step);
          break;
        case 3:
          result = filter_step(step, maybe(2) ? most() : lucky());
          break;
        case 4:
        case 5:
          result = batch(step);
          break;
        case 6:
          result = unbatch(step);
          break;
        case 7:
          result = shuffle(step);
          break;
        case 8:
          result = repeat(step);
          break;
        case 9:
          result = cut(step);
          break;
        case 10:
          result = pair(step, steps);
          break;
        case 11:
          if (step->dataset().spec().size() < 4) result = enumerate_step(step);
          break;
        case 12:
          result = maybe(2) ? cache_step(step) : prefetch_step(step);
          break;
        case 13:
          result = interleave(step);
          break;
        default:
          result = policy(step);
          break;
      }
      if (result) return result;
    }
  }

  Rng& rng_;
  ChainOptions options_;
};

}  // namespace

StepRef draw_chain(Rng& rng, const ChainOptions& options) {
  return Drawing(rng, options).chain(int(rng.integer(1, options.steps + 1)));
}

}  // namespace stoker::test
