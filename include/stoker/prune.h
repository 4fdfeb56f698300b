// Pruning: weights or whole channels of small magnitude leave a model.
//
//   Pruning pruning({.sparsity = 0.9}, PolynomialSparsity{.end_step = 2000});
//   model.fit(x, y, {.epochs = 5, .callbacks = {pruning}});
//   Model plain = strip(model);
//
//   prune(model, {.kind = PruneKind::channels, .flops = 0.5});  // at once; then fit recovers
//   Model smaller = strip(model);                               // with fewer channels
//
// A pruned weight has a mask (Variable::mask): its hidden elements are zero and stay zero, whatever
// the optimiser's moments, weight decay and averages say. Masks are part of the weight: model files
// and checkpoints hold them, and they apply in every model that shares the weight. Weights without a
// mask train as before, to the same bits.
//
// Scattered zeros make no engine of Stoker faster; only channels that strip() removes do.
// PruneReport::text() says which of the two applies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <stoker/callbacks.h>
#include <stoker/model.h>

namespace stoker {

enum class PruneKind : uint8_t {
  weights,   // single weights, those of the smallest magnitude
  channels,  // filters of convolutions and units of Dense, with all that belongs to them
  n_of_m,    // of every m neighbours along a kernel's inputs the n largest stay
};

// Where the smallest weights or channels are searched for.
enum class PruneScope : uint8_t {
  layer,   // in each kernel by itself: all get the same sparsity
  global,  // in all of them together
};

// For n_of_m: kept of every `group` neighbours. 2 of 4 is what NVIDIA's sparse tensor cores take.
struct KeptOf {
  int64_t kept = 2;
  int64_t group = 4;
};

struct PruneOptions {
  PruneKind kind = PruneKind::weights;
  double sparsity = 0.5;  // the share that becomes zero, in [0, 1); n_of_m: the pattern decides
  PruneScope scope = PruneScope::layer;
  KeptOf pattern = {};  // of n_of_m
  // Names or paths ("encoder/dense"). ValueError if one of `layers` cannot be pruned. Empty: every
  // kernel that can be; the report gives the reasons for the rest.
  std::vector<std::string> layers = {};
  std::vector<std::string> exclude = {};
  // For channels, instead of sparsity: the share of the model's FLOPs left by strip(), in (0, 1).
  std::optional<double> flops = {};
  CustomObjects custom_objects = {};  // makers of own layers; .flops needs them, as strip() does
  // Of channels: layers that have as many keep a multiple of this number. Empty: 1 with .sparsity.
  // With .flops 16, the width of a vector register, and 8, 4, … in layers with fewer than twice as
  // many: kernels compute whole registers, so that 37 channels would take the time of 48.
  std::optional<int64_t> multiple_of = {};
};

struct PrunedWeight {
  std::string name;  // "conv2d/kernel"
  int64_t elements = 0;
  int64_t zeros = 0;
  double sparsity() const { return elements == 0 ? 0.0 : double(zeros) / double(elements); }
};

struct NotPruned {
  std::string layer;
  std::string reason;
};

struct PruneReport {
  PruneKind kind = PruneKind::weights;
  std::vector<PrunedWeight> weights;  // those with a mask
  std::vector<NotPruned> not_pruned;  // what was passed over, and why
  std::vector<std::string> notes;     // what strip() will change beside removing channels
  int64_t elements = 0, zeros = 0;    // of `weights`
  int64_t channels = 0, removed = 0;  // of the groups that could lose some; kind channels only
  double sparsity() const { return elements == 0 ? 0.0 : double(zeros) / double(elements); }
  std::string text() const;  // a table, what is gained, and what is not
};

// Masks the smallest of the selected weights and sets them to zero. The model may be compiled or not,
// and need not be compiled again. ValueError for a sparsity outside [0, 1), a selection without a weight that
// can be pruned, weights that are not finite, a pattern that does not fit a layer of `layers`.
PruneReport prune(const Model& model, const PruneOptions& options = {});

// How sparse the masked weights of a model are now.
PruneReport prune_report(const Model& model);

struct StripOptions {
  CustomObjects custom_objects = {};  // factories of custom layers, as load_model takes them
};
// A new model without masks, not compiled. Channels that no layer reads any more, because all
// weights that would read them are zero, are removed: through residual adds, concatenations,
// depthwise convolutions, normalisation, pooling, activations and Flatten. The model itself stays as
// it is.
Model strip(const Model& model, const StripOptions& options = {});

// Prunes once, before step `begin_step` of the training (from 0).
struct ConstantSparsity {
  int64_t begin_step = 0;
};
// Prunes gradually: every `frequency` steps from begin_step to end_step, to
//   sparsity + (initial_sparsity − sparsity) · (1 − (step − begin) / (end − begin))^power.
struct PolynomialSparsity {
  int64_t begin_step = 0;
  int64_t end_step = 0;  // ValueError unless behind begin_step
  double initial_sparsity = 0.0;
  double power = 3.0;
  int64_t frequency = 100;
};
using SparsitySchedule = std::variant<ConstantSparsity, PolynomialSparsity>;

// Prunes during fit. Steps count on through all fits of one callback; a checkpoint holds the count
// and the masks, so that a resumed training is the same to the bit. A training that ends before the
// final sparsity is reached says so in Context::out. Weights that an earlier callback of the list
// restores at the end (EarlyStopping's best) get the last masks.
class Pruning : public Callback {
 public:
  explicit Pruning(PruneOptions options = {}, SparsitySchedule schedule = ConstantSparsity{});
  void on_train_begin() override;
  void on_train_batch_begin(int64_t batch) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  std::vector<std::pair<std::string, double>> epoch_logs() override;  // "sparsity"
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

  // What the schedule asks for before this step; empty: nothing is pruned then.
  std::optional<double> sparsity_at(int64_t step) const;
  const PruneReport& report() const { return report_; }  // of the latest pruning

 private:
  PruneOptions options_;
  SparsitySchedule schedule_;
  int64_t step_ = 0;
  PruneReport report_;
};

}  // namespace stoker
