// Models: layers put together, trained and used. Sequential is a list of layers, Model a graph of
// them. Both are value handles (copies share everything) and layers themselves: a model can be part
// of another.
//
//   Sequential model({Input({28, 28, 1}), Flatten(), Dense(10, {.activation = "softmax"})});
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
//   History history = model.fit(x, y, {.epochs = 5});
//
// A step is compiled once per batch shape, then replayed.
//
// Threads. predict, evaluate, model(x), get_weights and save may run concurrently on one model, with
// the same results as sequential calls: they share the weights, and each has its own buffers
// (evaluations take turns). Calls that change the model (compile, train_on_batch, test_on_batch,
// set_weights, load_weights, add) wait for exclusive access. While fit runs, all of these throw an
// Error in other threads and work in its callbacks; only stop_training may be called from any
// thread. Models that share layers count as one: while fit trains the layers, using the others in
// another thread is an Error. Everything else is not thread-safe. After fork() the child can use a
// model only if the parent had not used the engine's threads yet, else it gets an Error.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stoker/batch.h>
#include <stoker/callbacks.h>
#include <stoker/compile_lists.h>
#include <stoker/context.h>
#include <stoker/history.h>
#include <stoker/layer.h>
#include <stoker/optimizers.h>
#include <stoker/own_step.h>
#include <stoker/run_plan.h>

namespace stoker {

class ModelBase;

// One tensor, or one for each input, target or output.
class TensorList {
 public:
  TensorList() = default;
  TensorList(const Tensor& tensor) : list_{tensor} {}
  TensorList(std::vector<Tensor> tensors) : list_(std::move(tensors)) {}
  TensorList(std::initializer_list<Tensor> tensors) : list_(tensors) {}
  const std::vector<Tensor>& list() const { return list_; }
  bool empty() const { return list_.empty(); }
  size_t size() const { return list_.size(); }
  const Tensor& operator[](size_t index) const { return list_[index]; }

 private:
  std::vector<Tensor> list_;
};

template <class B>
concept BatchesLike = std::is_convertible_v<B, Batches>;

// Arrays {x, y} or {x, y, sample_weight}, or batches.
class ValidationData {
 public:
  ValidationData() = default;  // none
  ValidationData(TensorList inputs, TensorList targets, TensorList weights = {})
      : x(std::move(inputs)), y(std::move(targets)), sample_weight(std::move(weights)) {}
  template <BatchesLike B>
  ValidationData(B&& source) : batches(std::forward<B>(source)) {}  // NOLINT
  bool defined() const { return batches.defined() || !x.empty(); }

  TensorList x, y, sample_weight;
  Batches batches;
};

struct ModelOptions {
  std::string name = "";
};

struct CompileArgs {
  Optimizer optimizer = "rmsprop";
  // Empty: the loss is what layers add to it (CallContext::add_loss, regularisers), and fit, whose
  // y is then {}, takes no targets.
  LossList loss = {};
  LossWeights loss_weights = {};     // one for each output; empty: all 1
  MetricList metrics = {};           // sample and class weights do not touch them
  MetricList weighted_metrics = {};  // weighted like the loss, as in Keras
  // Own steps in place of the library's (own_step.h). With a train_step, `optimizer` is the one whose
  // learning rate callbacks read and set; one that the step does not apply gives way to the first that
  // it does.
  OwnStep train_step = {};
  OwnStep test_step = {};      // of evaluate and validation; none: loss and metrics, as usual
  Context* context = nullptr;  // null: the default one; must outlive the model
};

// Lets fit tune settings that cannot affect results (workers, prefetch depth, cache). Each change
// is measured and kept only if it helps.
enum class Tune : uint8_t { off, automatic };
inline constexpr Tune Auto = Tune::automatic;

// Samples per step: a number, or Auto, which measures (auto_batch.h).
class BatchSize {
 public:
  constexpr BatchSize() = default;  // 32
  constexpr BatchSize(int64_t samples) : given_(samples) {}
  constexpr BatchSize(std::optional<int64_t> samples) : given_(samples) {}
  constexpr BatchSize(Tune tune) : automatic_(tune == Tune::automatic) {}
  constexpr const std::optional<int64_t>& given() const { return given_; }
  constexpr bool automatic() const { return automatic_; }

 private:
  std::optional<int64_t> given_;
  bool automatic_ = false;
};

// Which epochs validate: every n-th one, or those of a list, counted from 1.
class ValidationFreq {
 public:
  ValidationFreq() = default;  // every epoch
  ValidationFreq(int64_t epochs) : every_(epochs) {}
  ValidationFreq(std::vector<int64_t> epochs) : every_(0), listed_(std::move(epochs)) {}
  ValidationFreq(std::initializer_list<int64_t> epochs) : every_(0), listed_(epochs) {}
  int64_t every() const { return every_; }  // 0: a list
  const std::vector<int64_t>& listed() const { return listed_; }
  bool every_epoch() const { return every_ == 1; }
  bool validates(int64_t epoch) const;  // from 0

 private:
  int64_t every_ = 1;
  std::vector<int64_t> listed_;
};

// What fit does when a device cannot hold a step (OutOfMemoryError).
// halve: each batch runs in two parts, four, …, as many as it takes. Their gradients are added up
// before the update, so that steps, schedules, loss and metrics are those of the whole batch, and
// weights are too, but for rounding. Batch normalisation normalises over a part.
enum class OnOutOfMemory : uint8_t { fail, halve };

struct FitArgs {
  int64_t epochs = 1;
  BatchSize batch_size = {};  // of arrays: 32
  // Of arrays, before every epoch, as a function of seed and epoch: true. Batches come in the order
  // of their source, and refuse it.
  std::optional<bool> shuffle = {};
  ValidationData validation_data = {};
  double validation_split = 0.0;  // the last part of the arrays, before shuffling
  std::optional<int64_t> validation_batch_size = {};  // batch_size
  // For arrays: [N], one weight per sample, or one for each of its elements, [N, T], [N, H, W], ….
  TensorList sample_weight = {};
  // For targets that are class ids, one-hot or 0 and 1, also of every pixel or token; classes that
  // are not listed weigh 1. Validation is not weighted by it.
  std::map<int64_t, double> class_weight = {};
  std::optional<int64_t> steps_per_epoch = {};  // batches continue where the last epoch ended
  std::optional<int64_t> validation_steps = {};
  // The other epochs have no "val_…" in their logs: callbacks that monitor one pass them over.
  ValidationFreq validation_freq = 1;
  int64_t initial_epoch = 0;
  int verbose = 1;  // to Context::out. 0: silent; 1: a bar on a terminal; 2: one line per epoch
  std::vector<CallbackRef> callbacks = {};
  Tune tune = Tune::off;
  OnOutOfMemory on_out_of_memory = OnOutOfMemory::fail;
  // A folder that gets status.json, about once a second, for `stoker monitor`, and doctor.json at
  // the end; empty: none. It is locked while the fit runs: a second one there is a FileError.
  std::string run_directory = {};
};

struct EvaluateArgs {
  std::optional<int64_t> batch_size = {};  // 32
  TensorList sample_weight = {};
  std::optional<int64_t> steps = {};
  int verbose = 0;  // 1: a bar and a line to Context::out; 2: the line
  std::vector<CallbackRef> callbacks = {};
};

struct PredictArgs {
  std::optional<int64_t> batch_size = {};  // 32
  std::optional<int64_t> steps = {};
  int verbose = 0;
  std::vector<CallbackRef> callbacks = {};
};

struct BatchArgs {
  TensorList sample_weight = {};
  std::map<int64_t, double> class_weight = {};
};

struct SummaryArgs {
  int64_t batch_size = 32;  // of the memory plan
  // Also trains a few steps on synthetic data, restores the state, and shows the time per layer.
  // Error before compile().
  bool measure = false;
};

// Bytes of a training step, known before the first one runs.
struct MemoryUse {
  size_t weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0, inputs = 0,
         metrics = 0;
  size_t total = 0;
};

struct SaveArgs {
  bool include_optimizer = true;  // with it, training resumes exactly where it stopped
};

class Model : public Layer {
 public:
  Model() = default;  // undefined
  // Everything between inputs and outputs becomes part of the model; layers without a name get one.
  Model(const Value& input, const Value& output, const ModelOptions& options = {});
  Model(const Values& inputs, const Values& outputs, const ModelOptions& options = {});

  // Inside function() and in the functional API: part of what is traced or drawn.
  using Layer::operator();
  // Runs the inference program; with {.training = true} one in which dropout drops and batch
  // normalisation uses its batch and moves its statistics. {.mask = {tensor}}: the mask of x.
  Tensor operator()(const Tensor& x, const CallOptions& options = {}) const;

  // Sets optimiser, loss and metrics. Also fixes which layers are frozen: compile again to change it.
  void compile(const CompileArgs& args) const;
  bool compiled() const;

  // Trains. After an error, weights and history() keep the progress so far. Error when no weight is
  // trainable.
  History fit(const TensorList& x, const TensorList& y, const FitArgs& args = {}) const;
  History fit(const Batches& batches, const FitArgs& args = {}) const;
  // Loss and metrics in inference mode.
  Logs evaluate(const TensorList& x, const TensorList& y, const EvaluateArgs& args = {}) const;
  Logs evaluate(const Batches& batches, const EvaluateArgs& args = {}) const;
  // Outputs in inference mode, one row per sample. predict() is for models with one output.
  Tensor predict(const TensorList& x, const PredictArgs& args = {}) const;
  Tensor predict(const Batches& batches, const PredictArgs& args = {}) const;
  std::vector<Tensor> predict_all(const TensorList& x, const PredictArgs& args = {}) const;
  std::vector<Tensor> predict_all(const Batches& batches, const PredictArgs& args = {}) const;

  // One step each. The logs are live and count from the last reset_metrics(), as in Keras 3.
  Logs train_on_batch(const TensorList& x, const TensorList& y, const BatchArgs& args = {}) const;
  // The batch holds inputs, targets and, where they are used, sample weights. Allocates nothing.
  Logs train_on_batch(const Batch& batch) const;
  Logs test_on_batch(const TensorList& x, const TensorList& y, const BatchArgs& args = {}) const;
  Tensor predict_on_batch(const TensorList& x) const;
  void reset_metrics() const;

  // Makes the running fit stop after this batch.
  void stop_training() const;
  const History& history() const;  // of the last fit, also of one that threw
  Optimizer optimizer() const;     // undefined before compile
  RunPlan run_plan() const;

  const std::vector<Layer>& layers() const;
  // Also one inside of another: "encoder/dense". ValueError lists the names.
  Layer get_layer(std::string_view name) const;
  Layer get_layer(int64_t index) const;  // negative counts from the end
  const Values& inputs() const;          // sketched; for models made of parts of this one
  const Values& outputs() const;
  // Of the only input or output, with -1 for the rows: {-1, 28, 28, 1}. ValueError where there are
  // several.
  Shape input_shape() const;
  Shape output_shape() const;
  // As logs and history have them: "loss", then the metrics. Empty before compile().
  std::vector<std::string> metrics_names() const;
  Value output_of(std::string_view layer) const;  // of the layer's first use here
  std::vector<Tensor> get_weights() const;        // as Layer's
  void set_weights(const std::vector<Tensor>& values) const;
  std::vector<Variable> trainable_variables() const;
  std::vector<Variable> non_trainable_variables() const;
  int64_t count_params() const;
  // A table: layers, shapes, parameters, FLOPs per sample and, once compiled, the memory plan.
  std::string summary(const SummaryArgs& args = {}) const;

  // The exact plan of a batch of this size; nothing before compile(), or when the shape of the
  // targets cannot be known yet.
  std::optional<MemoryUse> memory_plan(int64_t batch_size = 32) const;

  // docs/formats/stoker-model.md. Atomic: at any moment the file is the old one or the new one. The
  // user's own layers, losses, metrics, schedules, optimisers are written by name: CustomObjects.
  // ValueError for what a file cannot hold, such as a variable that no layer of the model owns.
  void save(const std::string& path, const SaveArgs& args = {}) const;
  void save_weights(const std::string& path) const;
  // All weights, each of the same name and spec, or a FileError that lists what differs and leaves
  // the model as it was. For parts of other models: load_weights_by_name (weights.h).
  void load_weights(const std::string& path) const;

 protected:
  explicit Model(std::shared_ptr<ModelBase> base);
  ModelBase& impl() const;
  friend class ModelAccess;
};

class Sequential : public Model {
 public:
  // A first element Input(…) fixes the input shape; without it the first data does.
  explicit Sequential(std::initializer_list<Layer> layers = {}, const ModelOptions& options = {});
  explicit Sequential(const std::vector<Layer>& layers, const ModelOptions& options = {});
  void add(const Layer& layer) const;  // Error once the model is compiled
  // Removes the last layer and returns it; what is left ends one layer earlier. An Input stays. Error
  // without a layer, and once the model is compiled.
  Layer pop() const;
};

struct CloneArgs {
  // Inputs of the clone, one for each of the model's; empty: new ones like them.
  Values input_tensors = {};
  // The layer for one of the model's that is no model itself, those of models inside included; a
  // layer that is shared is asked for once. An empty Layer stands for one of the same configuration.
  std::function<Layer(const Layer& layer)> clone_function = {};
};
// A model of the same architecture whose layers and weights are its own, newly drawn; not compiled.
// ValueError for layers that hold the user's own code and that clone_function does not make.
Model clone_model(const Model& model, const CloneArgs& args = {});

// The user's own code, which a file can only name:
//   load_model(path, {.custom_objects = {.losses = {{"my_loss", my_loss}}}})
struct CustomObjects {
  // By kind(), for own classes. By the layer's name, in nested models also "encoder/name", for a
  // layer that holds a function: Lambda, HostLayer, or one with an activation that is a function.
  // The maker must return a new layer of the kind that was saved.
  std::map<std::string, LayerFactory, std::less<>> layers = {};
  // By the name that they were constructed with.
  std::map<std::string, Loss, std::less<>> losses = {};
  std::map<std::string, Metric, std::less<>> metrics = {};
  std::map<std::string, LearningRateSchedule, std::less<>> schedules = {};
  // By kind(). The rule is taken; options and state come from the file.
  std::map<std::string, Optimizer, std::less<>> optimizers = {};
};

struct LoadArgs {
  CustomObjects custom_objects = {};
  std::map<std::string, LayerFactory, std::less<>> custom_layers = {};  // as custom_objects.layers
  bool compile = true;  // false: without loss, metrics and optimiser, which may then be missing
  Context* context = nullptr;
};
// Architecture, weights and, where they were saved, compile settings and the optimiser's state. The
// file is not trusted: whatever is wrong with it, one flipped bit included, is a FileError that
// names it. So is own code that it needs and custom_objects lacks, with what to pass.
Model load_model(const std::string& path, const LoadArgs& args = {});

}  // namespace stoker
