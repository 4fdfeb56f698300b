// Why the steps are only a part of an epoch. Rows of cause_table.cpp, which alone includes this.
#pragma once

#include <algorithm>

#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

const CallbackFacts* longest_between(const Case& run) {
  const std::vector<CallbackFacts>& list = run.evidence().callbacks;
  auto found = std::ranges::max_element(list, {}, &CallbackFacts::epoch_ns);
  return found == list.end() || found->epoch_ns <= 0 ? nullptr : &*found;
}

Phrase between_name(const Case& run) {
  const CallbackFacts* callback = longest_between(run);
  return Phrase(callback != nullptr ? callback->name : "", "a callback");
}

// "an epoch takes 2.10 s, its steps 0.40 s"
Phrase epoch_and_steps(const Case& run) {
  const EpochFacts& epochs = run.evidence().epochs;
  return say("an epoch takes {}, its steps {}", duration(epochs.wall_ns() * 1e-9),
             duration(epochs.steps_ns * 1e-9));
}

constexpr CauseRule kEpochCauses[] = {
    {.cause = Cause::validation,
     .finding = Finding::epochs,
     .holds =
         [](const Case& run) {
           const EpochFacts& epochs = run.evidence().epochs;
           return epochs.validation_ns >= epochs.turn_ns;
         },
     .says =
         [](const Case& run) {
           return say("validation takes {} of each",
                      duration(run.evidence().epochs.validation_ns * 1e-9));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::seldom_validation,
                     .what = "Validate every few epochs, or on a part of the data: "
                             "fit({.validation_freq = 5}), .validation_steps, or a larger "
                             ".validation_batch_size",
                     .why = epoch_and_steps(run),
                     .provided = "no callback (EarlyStopping, ReduceLROnPlateau) acts on its "
                                 "results"});
         }},
    {.cause = Cause::epoch_callback,
     .finding = Finding::epochs,
     .holds =
         [](const Case& run) {
           const CallbackFacts* callback = longest_between(run);
           return callback != nullptr && callback->epoch_ns >= 0.5 * run.evidence().epochs.turn_ns;
         },
     .says =
         [](const Case& run) {
           const CallbackFacts* callback = longest_between(run);
           return say("the callback {} works for {} at the end of each", between_name(run),
                      duration(callback != nullptr ? callback->epoch_ns * 1e-9 : 0));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::seldom_callback,
                     .what = say("Do the work of {} every few epochs", between_name(run)),
                     .why = epoch_and_steps(run),
                     .provided = say("{} changes nothing about the training", between_name(run))});
         },
     .culprit = between_name},
    {.cause = Cause::short_epochs,
     .finding = Finding::epochs,
     .holds = [](const Case&) { return true; },
     .says =
         [](const Case& run) {
           return say("to begin one takes {}", duration(run.evidence().epochs.turn_ns * 1e-9));
         },
     .prescribes =
         [](const Case& run, Prescriptions& list) {
           list.add({.action = Action::longer_epochs,
                     .what = "Make epochs longer: .repeat(10) behind the shuffle, and a tenth of "
                             "the epochs",
                     .why = epoch_and_steps(run),
                     .changes_results = true});
         }},
};

}  // namespace

}  // namespace stoker::doctor
