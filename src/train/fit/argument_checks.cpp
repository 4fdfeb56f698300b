#include "train/fit/argument_checks.h"

#include <fmt/format.h>

namespace stoker {

namespace {

void check_validation_freq(const FitArgs& args) {
  const ValidationFreq& freq = args.validation_freq;
  bool validates = args.validation_split > 0 || args.validation_data.defined();
  if (!validates && !freq.every_epoch())
    throw ValueError(
        "fit: validation_freq has no effect without validation; give validation_data or "
        "validation_split");
  if (freq.listed().empty() && freq.every() < 1)
    throw ValueError(fmt::format(
        "fit: validation_freq is {}, expected a number of epochs, at least 1, or a list of epochs",
        freq.every() == 0 ? "an empty list" : std::to_string(freq.every())));
  for (int64_t epoch : freq.listed())
    if (epoch < 1)
      throw ValueError(
          fmt::format("fit: validation_freq lists epoch {}; epochs count from 1", epoch));
}

}  // namespace

void check_steps(const std::optional<int64_t>& steps, const char* what) {
  if (steps && *steps < 1)
    throw ValueError(fmt::format("{} is {}, expected at least 1", what, *steps));
}

void refuse_for_batches(const std::optional<int64_t>& batch_size, const TensorList& sample_weight,
                        const char* action) {
  if (batch_size)
    throw ValueError(
        fmt::format("{}: batch_size is for arrays; these batches have sizes of their own", action));
  if (!sample_weight.empty())
    throw ValueError(fmt::format(
        "{}: sample_weight is for arrays; a batch brings its own as a last tensor", action));
}

void check_fit(const FitArgs& args) {
  if (args.epochs < 0 || args.initial_epoch < 0)
    throw ValueError(fmt::format("fit: epochs is {} and initial_epoch {}, expected 0 or more",
                                 args.epochs, args.initial_epoch));
  if (args.initial_epoch > args.epochs)
    throw ValueError(fmt::format(
        "fit: initial_epoch is {}, behind the last of {} epochs; epochs counts from the "
        "first epoch of the training, not from initial_epoch",
        args.initial_epoch, args.epochs));
  check_steps(args.steps_per_epoch, "fit: steps_per_epoch");
  check_steps(args.validation_steps, "fit: validation_steps");
  if (!(args.validation_split >= 0 && args.validation_split < 1))  // NaN too
    throw ValueError(fmt::format("fit: validation_split is {}, expected a number in [0, 1)",
                                 args.validation_split));
  if (args.validation_split > 0 && args.validation_data.defined())
    throw ValueError("fit: give validation_data or validation_split, not both");
  bool validates = args.validation_split > 0 || args.validation_data.defined();
  if (!validates && (args.validation_steps || args.validation_batch_size))
    throw ValueError(fmt::format(
        "fit: {} has no effect without validation; give validation_data or validation_split",
        args.validation_steps ? "validation_steps" : "validation_batch_size"));
  if (args.validation_batch_size && args.validation_data.batches.defined())
    throw ValueError(
        "fit: validation_batch_size is for arrays; the batches of validation_data have sizes of "
        "their own");
  check_validation_freq(args);
}

}  // namespace stoker
