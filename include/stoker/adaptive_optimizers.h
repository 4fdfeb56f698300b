// More optimisers by Keras's names, options and defaults. Their rules are written with ops and run on
// every engine; optimizers.h says what all options mean.
#pragma once

#include <stoker/optimizers.h>

namespace stoker {

// Adam with Nesterov's momentum.
struct NadamOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "nadam";
};
class Nadam : public Optimizer {
 public:
  explicit Nadam(const NadamOptions& options = {});
};

// Adam by the largest gradient so far in place of the mean square.
struct AdamaxOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "adamax";
};
class Adamax : public Optimizer {
 public:
  explicit Adamax(const AdamaxOptions& options = {});
};

// Steps as long as the steps before, by the sizes of the gradients.
struct AdadeltaOptions {
  LearningRate learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "adadelta";
};
class Adadelta : public Optimizer {
 public:
  explicit Adadelta(const AdadeltaOptions& options = {});
};

// Mean squares of rows and columns in place of elements: little memory beside the parameters.
struct AdafactorOptions {
  LearningRate learning_rate = 0.001;
  double beta_2_decay = -0.8;
  double epsilon_1 = 1e-30;
  double epsilon_2 = 1e-3;
  double clip_threshold = 1.0;
  bool relative_step = true;  // without effect, as in Keras 3.15: steps are always relative
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "adafactor";
};
class Adafactor : public Optimizer {
 public:
  explicit Adafactor(const AdafactorOptions& options = {});
};

// Adam whose steps are as long as the parameter's norm says: for large batches.
struct LambOptions {
  LearningRate learning_rate = 0.001;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "lamb";
};
class Lamb : public Optimizer {
 public:
  explicit Lamb(const LambOptions& options = {});
};

// Follow the regularised leader: sparse weights, from l1.
struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double learning_rate_power = -0.5;
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0.0;
  double l2_regularization_strength = 0.0;
  double l2_shrinkage_regularization_strength = 0.0;
  double beta = 0.0;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "ftrl";
};
class Ftrl : public Optimizer {
 public:
  explicit Ftrl(const FtrlOptions& options = {});
};

// Matrices move by their momentum made orthogonal (Newton and Schulz's iteration); everything else,
// embeddings and what exclude_layers finds by AdamW with the adam_ options.
struct MuonOptions {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9;
  double adam_beta_2 = 0.999;
  std::optional<double> adam_weight_decay = 0.004;
  double epsilon = 1e-7;
  std::optional<double> weight_decay = 0.004;
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "muon";
  std::string exclude_layers = "";  // a regular expression for names of variables: "head|logits"
  bool exclude_embeddings = true;
  double muon_a = 3.4445, muon_b = -4.7750, muon_c = 2.0315;
  double adam_lr_ratio = 1.0;
  double momentum = 0.95;
  int64_t ns_steps = 5;
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;
};
class Muon : public Optimizer {
 public:
  explicit Muon(const MuonOptions& options = {});
};

// AdamW that averages in place of a schedule.
struct ScheduleFreeAdamWOptions {
  LearningRate learning_rate = 0.0025;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  int64_t warmup_steps = 0;
  std::optional<double> weight_decay = {};
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = "schedule_free_adamw";
};
class ScheduleFreeAdamW : public Optimizer {
 public:
  explicit ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options = {});
};

}  // namespace stoker
