// The loops over batches behind fit, evaluate and predict.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/tracing.h"
#include "train/fit/feed.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"
#include "train/step/sample_weights.h"

namespace stoker {

class MemoryPolicy;
struct FitServices;

// "TensorBoard": what a callback's class is called.
std::string class_name(const Callback& callback);

// The callbacks of one call: they know the model for as long as it lasts.
class CallbackCalls {
 public:
  CallbackCalls(std::vector<CallbackRef> list, const Model& model)
      : list_(std::move(list)),
        model_(model),
        nanoseconds_(list_.size()),
        step_nanoseconds_(list_.size()) {
    for (const CallbackRef& callback : list_) callback->set_model(&model_);
  }
  void set_params(const FitParams& params) const {
    for (const CallbackRef& callback : list_) callback->set_params(params);
  }
  ~CallbackCalls() {
    for (const CallbackRef& callback : list_) callback->set_model(nullptr);
  }
  CallbackCalls(const CallbackCalls&) = delete;
  CallbackCalls& operator=(const CallbackCalls&) = delete;

  template <class... Parameters, class... Arguments>
  void operator()(void (Callback::*turn)(Parameters...), Arguments&&... arguments) const {
    call(nanoseconds_, turn, arguments...);
  }
  // Turns around one step: these are counted apart.
  template <class... Parameters, class... Arguments>
  void in_step(void (Callback::*turn)(Parameters...), Arguments&&... arguments) const {
    call(step_nanoseconds_, turn, arguments...);
  }
  // Work that is done for one of them in a step, but not by its own turns: it counts as its time.
  template <class Work>
  void charge(const Callback& callback, const Work& work) const {
    int64_t before = steady_clock().now();
    work();
    for (size_t i = 0; i < list_.size(); ++i)
      if (&*list_[i] == &callback) step_nanoseconds_[i] += steady_clock().now() - before;
  }
  // The logs with what callbacks add to an epoch's; a name that is there already stays.
  Logs extended(const Logs& logs) const;
  // Whether one of them wants the training to end quietly.
  bool accept(const NonFiniteError& error) const;

  const std::vector<CallbackRef>& list() const { return list_; }
  // How long each has been called so far: in steps, and at all other times.
  std::span<const int64_t> step_nanoseconds() const { return step_nanoseconds_; }
  std::span<const int64_t> nanoseconds() const { return nanoseconds_; }

 private:
  template <class Turn, class... Arguments>
  void call(std::vector<int64_t>& sums, Turn turn, Arguments&... arguments) const {
    int64_t before = list_.empty() ? 0 : steady_clock().now();
    for (size_t i = 0; i < list_.size(); ++i) {
      bool named = tracing() || !active_ranges().empty();
      std::string name = named ? class_name(*list_[i]) : std::string();
      RangeScope range(name);
      ((*list_[i]).*turn)(arguments...);
      int64_t now = steady_clock().now();
      sums[i] += now - before;
      if (named) trace_span(name, before, now);
      before = now;
    }
  }

  std::vector<CallbackRef> list_;
  Model model_;
  mutable std::vector<int64_t> nanoseconds_, step_nanoseconds_;
};

// The list with a ProgbarLogger before all others, unless it has one or nothing is to be shown.
std::vector<CallbackRef> with_progress(const std::vector<CallbackRef>& list, int verbose,
                                       const Context& context);

// Checks that there are as many tensors as the model has inputs and outputs; prepares it.
void check_given(ModelBase& model, StepKind kind, const TensorList& x, const TensorList& y,
                 const TensorList& sample_weight, const char* action);
// What the data of a fit or an evaluation becomes: columns x…, y… [, weights…] of equal length,
// checked.
std::vector<Tensor> make_columns(ModelBase& model, StepKind kind, const TensorList& x,
                                 const TensorList& y, const TensorList& sample_weight,
                                 const char* action);
// Multiplies the weights of such columns by those of the targets' classes; none: leaves them alone.
void weigh_classes(ModelBase& model, const std::map<int64_t, double>& weights,
                   std::vector<Tensor>& columns, const char* action);
// Like prepare() and check_target_values() for a batch; an own step takes anything.
void prepare_batch(ModelBase& model, StepKind kind, const Batch& batch, const char* action);
// Checks that there are tensors; builds a Sequential that has no Input for the first of them.
void prepare(ModelBase& model, std::span<const Tensor> inputs, const char* action);
// The weights of a model's classes; ValueError for models of several outputs.
ClassWeights class_weights(ModelBase& model, const std::map<int64_t, double>& weights,
                           const char* action);
// ValueError unless it is at least 1.
int64_t checked_batch_size(const std::optional<int64_t>& batch_size, int64_t fallback,
                           const char* action);

History run_fit(const Model& model, Feed& training, Feed* validation, const FitArgs& args,
                const FitServices& services, MemoryPolicy& memory);
// Leaves the result in the model's evaluation sums. `memory`: of the fit; null: an evaluation by
// itself.
void run_evaluation(ModelBase& model, Feed& feed, const CallbackCalls& callbacks,
                    const char* action, const std::function<void()>& step_ended = {},
                    MemoryPolicy* memory = nullptr);
std::vector<Tensor> run_predict(ModelBase& model, Feed& feed, const CallbackCalls& callbacks);

}  // namespace stoker
