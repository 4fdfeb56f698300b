// The kinds of schedules. A kind is its option struct with its name, its rows and its formula, in ops,
// from a float32 step to a float32 rate:
//
//   struct PolynomialSchedule : PolynomialDecayOptions {
//     static constexpr const char* kKind = "PolynomialDecay";
//     static Fields<PolynomialSchedule> fields() { return {{"power", …, above(0)}, …}; }
//     Value operator()(const Value& step) const { … }
//   };
//
// It may have decide(), called once: what the rows cannot check, and what is computed only once. One
// with momentum(step) and moves_momentum() moves the momentum as well.
#pragma once

#include <string>
#include <vector>

#include <stoker/schedules.h>

#include "base/fields.h"
#include "train/optimizers/schedule_config.h"

namespace stoker {

struct LearningRateSchedule::Impl {
  std::string kind;
  Attrs config;
  Function rate;
  bool custom = false;
  Function momentum = {};  // empty: left alone
};

struct ScheduleMaker {
  template <class Kind>
  static LearningRateSchedule make(Kind options);
};

struct ScheduleKind {
  std::string kind;
  std::function<LearningRateSchedule(const Attrs& config)> make;
  std::function<std::vector<FieldText>()> fields;
};

const std::vector<ScheduleKind>& schedule_kinds();

template <class Kind>
LearningRateSchedule ScheduleMaker::make(Kind options) {
  Kind::fields().check(Kind::kKind, options);
  if constexpr (requires { options.decide(); }) options.decide();
  LearningRateSchedule::Impl impl{Kind::kKind, Kind::fields().write(options), options};
  if constexpr (requires { options.custom(); }) impl.custom = options.custom();
  if constexpr (requires(Value step) { options.momentum(step); })
    if (options.moves_momentum())
      impl.momentum = [options](const Value& step) { return options.momentum(step); };
  return LearningRateSchedule(std::make_shared<LearningRateSchedule::Impl>(std::move(impl)));
}

template <class Kind>
ScheduleKind schedule_kind() {
  auto make = [](const Attrs& config) {
    Kind options;
    Kind::fields().read(Kind::kKind, config, options);
    return ScheduleMaker::make(std::move(options));
  };
  return {.kind = Kind::kKind, .make = make, .fields = [] { return Kind::fields().text(); }};
}

// One family per file.
void add_decays(std::vector<ScheduleKind>& kinds);
void add_cosine_decays(std::vector<ScheduleKind>& kinds);
void add_cycles(std::vector<ScheduleKind>& kinds);
void add_warm_up(std::vector<ScheduleKind>& kinds);

// From 1 to 0 while `share` goes from 0 to 1.
Value half_cosine(const Value& share);

}  // namespace stoker
