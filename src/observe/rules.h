// The doctor's rules as two tables: what limits a run (finding_table.cpp), and why it does
// (cause_table.cpp). A row holds all there is to a finding or a cause: when it holds, its words and
// its prescriptions. Adding a verdict is an enumerator in doctor.h and one row; a missing row does
// not compile. docs/design/012 explains the rules.
#pragma once

#include <span>

#include "observe/prescriptions.h"

namespace stoker::doctor {

using Holds = bool (*)(const Case&);
using Says = Phrase (*)(const Case&);
using Prescribes = void (*)(const Case&, Prescriptions&);

// Rows in the order of the rules: the first that holds in a window of steps is what it shows.
struct FindingRule {
  Finding finding;
  Limit (*limit)(const Case&);
  bool (*holds)(const Case&, const WindowFacts&);  // null: never by the windows
  Says says;                                       // the first half of the sentence
  Holds anyway = nullptr;           // whether it stands although steps vary; null: as `varies` says
  Holds high = nullptr;             // null: never
  Says culprit = nullptr;           // null: none is singled out
  Prescribes prescribes = nullptr;  // for any of its causes; null: nothing
  bool varies = false;              // steps that vary are a sign of it
  bool waits = false;  // steps that vary because of the machine's health do not hide it
};
std::span<const FindingRule> finding_rules();
const FindingRule& rule_of(Finding finding);

// Rows in the order of the rules: the first of a finding that holds is the cause. Of Finding::health
// all that hold are reported.
struct CauseRule {
  Cause cause;
  Finding finding;  // that it explains
  Holds holds;
  Says says;  // the second half of the sentence
  Prescribes prescribes = nullptr;
  Says culprit = nullptr;  // instead of the finding's
  bool varies = false;
};
std::span<const CauseRule> cause_rules();
const CauseRule& rule_of(Cause cause);

// Remarks beside a verdict.
struct HintRule {
  Holds holds;
  Says says;
};
std::span<const HintRule> hint_rules();

}  // namespace stoker::doctor
