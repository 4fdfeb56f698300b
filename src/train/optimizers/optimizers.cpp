// The option structs of the optimisers, turned into the one form that all kinds share.
#include <stoker/optimizers.h>

#include "train/optimizers/optimizer_impl.h"

namespace stoker {

namespace {

template <class Options>
Attrs with_shared(Attrs config, const Options& options) {
  if (options.weight_decay) config.set("weight_decay", *options.weight_decay);
  if (options.clipnorm) config.set("clipnorm", *options.clipnorm);
  if (options.clipvalue) config.set("clipvalue", *options.clipvalue);
  if (options.global_clipnorm) config.set("global_clipnorm", *options.global_clipnorm);
  if (options.gradient_accumulation_steps)
    config.set("gradient_accumulation_steps", *options.gradient_accumulation_steps);
  config.set("name", options.name);
  return config;
}

template <class Options>
Attrs adam_config(const Options& options) {
  return with_shared({{"beta_1", options.beta_1},
                      {"beta_2", options.beta_2},
                      {"epsilon", options.epsilon},
                      {"amsgrad", options.amsgrad}},
                     options);
}

// "No decay" is a decay of 0 for the one kind whose default is another.
AdamWOptions decided(AdamWOptions options) {
  options.weight_decay = options.weight_decay.value_or(0.0);
  return options;
}

}  // namespace

SGD::SGD(const SGDOptions& options)
    : Optimizer(from_config(
          "SGD",
          with_shared({{"momentum", options.momentum}, {"nesterov", options.nesterov}}, options),
          options.learning_rate)) {}

Adam::Adam(const AdamOptions& options)
    : Optimizer(from_config("Adam", adam_config(options), options.learning_rate)) {}

AdamW::AdamW(const AdamWOptions& options)
    : Optimizer(from_config("AdamW", adam_config(decided(options)), options.learning_rate)) {}

RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(from_config("RMSprop",
                            with_shared({{"rho", options.rho},
                                         {"momentum", options.momentum},
                                         {"epsilon", options.epsilon},
                                         {"centered", options.centered}},
                                        options),
                            options.learning_rate)) {}

}  // namespace stoker
