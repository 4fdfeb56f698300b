// The kinds of optimisers that the library has. Each is one file (sgd.cpp, adam.cpp, …) with its
// options, slots and rule, and one line in optimizer_kinds.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <stoker/adaptive_optimizers.h>
#include <stoker/optimizers.h>

#include "base/fields.h"
#include "train/optimizers/schedule_config.h"

namespace stoker {

// A configuration with every option but those that are off, and the rate that it stands for.
struct OptimizerConfig {
  Attrs options;
  LearningRate rate = 0.0;
};

struct OptimizerKind : OptimizerRule {
  // The op that updates all parameters by this rule in one sweep (docs/reference/ops.md,
  // "Updates"); "": there is none. Its attributes are the kind's own options.
  std::string fused = "";
  bool fused_takes_iterations = false;
  bool custom = false;  // made by the user
  // The weight decay of a parameter where it is not the same for all; options are complete.
  std::function<double(const Variable& parameter, const Attrs& options)> decay = {};
  // Checks a configuration and fills in the defaults; ValueError. A rate that is given counts
  // instead of the configuration's.
  std::function<OptimizerConfig(const Attrs& config, const LearningRate* rate)> complete = {};
  std::vector<FieldText> fields = {};  // the whole table, for the reference
};

OptimizerKind sgd_kind();
OptimizerKind adam_kind();
OptimizerKind adamw_kind();
OptimizerKind rmsprop_kind();
OptimizerKind adagrad_kind();
OptimizerKind lion_kind();
OptimizerKind nadam_kind();
OptimizerKind adamax_kind();
OptimizerKind adadelta_kind();
OptimizerKind adafactor_kind();
OptimizerKind lamb_kind();
OptimizerKind ftrl_kind();
OptimizerKind muon_kind();
OptimizerKind schedule_free_kind();

// Of several optimisers (multi_optimizer.cpp); not in the list, since it is nothing without them.
std::shared_ptr<const OptimizerKind> multi_optimizer_kind();

// All of them, in the order in which messages list them.
const std::vector<std::shared_ptr<const OptimizerKind>>& optimizer_kinds();
// "Adam" for "adam", "Adam", "ADAM"; ValueError lists the names.
std::shared_ptr<const OptimizerKind> find_optimizer_kind(const std::string& name);
// ValueError for a rule of the user's own that cannot work.
std::shared_ptr<const OptimizerKind> own_optimizer_kind(const OptimizerRule& rule);

// Completes what the kind leaves to all: clipping and loss scaling.
OptimizerConfig complete_optimizer_config(const OptimizerKind& kind, const Attrs& config,
                                          const LearningRate* rate = nullptr);

// --- what the files of the kinds are written with ---

// A learning rate, a kind's own options, and what all kinds take.
template <class Options>
Fields<Options> optimizer_fields(const Fields<Options>& own) {
  Fields<Options> rate = {{"learning_rate", &Options::learning_rate, at_least(0)}};
  return rate.then(own).then(
      {{"weight_decay", &Options::weight_decay, at_least(0)},
       {"clipnorm", &Options::clipnorm, above(0)},
       {"clipvalue", &Options::clipvalue, above(0)},
       {"global_clipnorm", &Options::global_clipnorm, above(0)},
       {"use_ema", &Options::use_ema, {.sparse = true}},
       {"ema_momentum", &Options::ema_momentum, {.check = between(0, 1), .sparse = true}},
       {"ema_overwrite_frequency", &Options::ema_overwrite_frequency, at_least(1)},
       {"gradient_accumulation_steps", &Options::gradient_accumulation_steps, at_least(1)},
       {"name", &Options::name}});
}

// `config` without the entries of its learning rate.
Attrs without_rate(const Attrs& config);

// Makes a rule a kind whose options are those of a struct.
template <class Options>
OptimizerKind optimizer_kind(OptimizerRule rule, const Fields<Options>& own) {
  OptimizerKind kind{std::move(rule)};
  Fields<Options> fields = optimizer_fields(own);
  kind.options = own.write({});
  kind.fields = fields.text();
  kind.complete = [name = kind.kind, fields](const Attrs& config, const LearningRate* rate) {
    Options options;
    fields.read(name, rate != nullptr ? without_rate(config) : config, options);
    if (rate != nullptr) options.learning_rate = *rate;
    fields.check(name, options);
    return OptimizerConfig{fields.write(options), options.learning_rate};
  };
  return kind;
}

Value one_minus(const Value& share);                           // exact where it is a number
Value one_minus_power(const Value& base, const Value& power);  // 1 − baseᵖ, with all its digits

}  // namespace stoker
