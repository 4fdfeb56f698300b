// What can be changed about a run, with what it is predicted to bring.
#pragma once

#include <vector>

#include "observe/case.h"

namespace stoker::doctor {

struct Proposal {
  Action action;
  Phrase what, why;
  double seconds = 0;  // a step at best; 0: not known
  bool changes_results = false;
  std::string provided = {};  // results stay the same under this condition
  Knob knob = Knob::none;
};

// A list that drops proposals whose predicted gain is below kWorthIt; the prediction comes from an
// experiment where there is one.
class Prescriptions {
 public:
  explicit Prescriptions(const Case& run) : run_(run) {}
  void add(Proposal proposal);
  // What helps most first; what has no prediction comes last.
  std::vector<Prescription> sorted();

 private:
  const Case& run_;
  std::vector<Prescription> list_;
};

// --- what several rules propose ---

// Workers or prefetching that is measured: only where the pipeline does not have it yet.
void propose_workers(const Case& run, Prescriptions& list, Proposal proposal);
// Elements that are the same in every epoch are made once: kept in memory, or in shards where they
// are too large. Nothing behind a random step.
void propose_keeping(const Case& run, Prescriptions& list);
void propose_less_work(const Case& run, Prescriptions& list);
void propose_larger_batch(const Case& run, Prescriptions& list);
void propose_cheaper_layers(const Case& run, Prescriptions& list);
// A model with half the FLOPs, where products take much of the computing.
void propose_fewer_channels(const Case& run, Prescriptions& list);
void propose_faster_ops(const Case& run, Prescriptions& list);

std::string results_words(const Prescription& prescription);  // "results stay the same"
// One line for the end of a fit: what, the gain, and whether results change.
std::string to_line(const Prescription& prescription, double step_seconds);

}  // namespace stoker::doctor
