#include "observe/verdict.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "observe/rules.h"
#include "observe/thresholds.h"

namespace stoker::doctor {

namespace {

Finding shown_by(const WindowFacts& window, const Case& run) {
  for (const FindingRule& rule : finding_rules())
    if (rule.holds != nullptr && rule.holds(run, window)) return rule.finding;
  return Finding::healthy;
}

// What two of three windows show; nothing where all differ.
std::optional<Finding> agreed(const Case& run) {
  std::map<Finding, size_t> votes;
  const std::vector<WindowFacts>& windows = run.evidence().windows;
  for (const WindowFacts& window : windows) {
    Finding finding = shown_by(window, run);
    if (++votes[finding] * 2 > windows.size()) return finding;
  }
  return std::nullopt;
}

// What the steps show; nothing while they are too few, or vary for no reason that is known.
// `explained`: the machine's health is one.
std::optional<Finding> limits(const Case& run, int64_t least_steps, bool explained) {
  if (run.evidence().steady_steps < least_steps) return std::nullopt;
  std::optional<Finding> finding = agreed(run);
  bool steady = run.evidence().variation <= kMostVariation;
  if (!finding || steady || rule_of(*finding).varies) return finding;
  if (Holds anyway = rule_of(*finding).anyway; anyway != nullptr && anyway(run)) return finding;
  return explained && rule_of(*finding).waits ? finding : std::nullopt;
}

const CauseRule* cause_of(Finding finding, const Case& run) {
  for (const CauseRule& rule : cause_rules())
    if (rule.finding == finding && rule.holds(run)) return &rule;
  return nullptr;
}

// Whether something about the machine was found that explains steps that vary.
bool look_at_health(const Case& run, Verdict& verdict) {
  bool explains = false;
  for (const CauseRule& rule : cause_rules()) {
    if (rule.finding != Finding::health || !rule.holds(run)) continue;
    if (verdict.health.empty()) verdict.cause = rule.cause;
    verdict.health.push_back(rule.says(run));
    explains = explains || rule.varies;
  }
  return explains;
}

void name_limit(Finding finding, const Case& run, Verdict& verdict) {
  const FindingRule& rule = rule_of(finding);
  verdict.limit = rule.limit(run);
  verdict.high = rule.high != nullptr && rule.high(run);
  Says culprit = rule.culprit;
  if (const CauseRule* cause = cause_of(finding, run)) {
    verdict.limit_cause = cause->cause;
    if (cause->culprit != nullptr) culprit = cause->culprit;
  }
  if (culprit != nullptr) verdict.culprit = culprit(run);
}

std::string outliers_of(const Evidence& evidence) {
  std::string text;
  for (const Outlier& outlier : evidence.outliers)
    text += fmt::format("{} step {} took {} ({})", text.empty() ? ";" : ",", outlier.step + 1,
                        duration(outlier.ns * 1e-9), name(outlier.owner));
  return text;
}

std::string why_it_limits(const Verdict& verdict, const Case& run) {
  return verdict.limit_cause == Cause::none ? "" : rule_of(verdict.limit_cause).says(run).text();
}

std::string sentence_of(const Verdict& verdict, const Case& run) {
  std::string why = why_it_limits(verdict, run);
  if (verdict.finding == Finding::health) {
    std::string text = verdict.health.front();
    text[0] = char(std::toupper(uint8_t(text[0])));
    if (verdict.limit != Limit::none)
      text += say("; what limits besides is {}", words_of(verdict.limit));
    return text + (why.empty() ? "." : fmt::format(" ({}).", why));
  }
  std::string text = rule_of(verdict.finding).says(run);
  if (!why.empty()) text += ": " + why;
  if (verdict.finding == Finding::unstable && run.evidence().steady_steps >= kLeastSteps)
    text += outliers_of(run.evidence());
  text += ".";
  if (run.share(Owner::unexplained) > kMostUnexplained)
    text += say(" {} of the time is unexplained.", percent(run.share(Owner::unexplained))).text();
  return text;
}

}  // namespace

Accounting Evidence::total() const {
  Accounting sum;
  for (const WindowFacts& window : windows) {
    for (size_t i = 0; i < kOwners; ++i) sum.ns[i] += window.accounting.ns[i];
    sum.wall += window.accounting.wall;
    sum.steps += window.accounting.steps;
  }
  return sum;
}

Limit limit_of(const Evidence& evidence) {
  Case run(evidence);
  return rule_of(limits(run, kLeastSteps, false).value_or(Finding::unstable)).limit(run);
}

Verdict judge(const Evidence& evidence, int64_t least_steps) {
  Case run(evidence);
  Verdict verdict;
  bool explained = look_at_health(run, verdict);
  std::optional<Finding> finding = limits(run, least_steps, explained);
  if (finding) name_limit(*finding, run, verdict);
  bool ill = !verdict.health.empty();
  bool no_step = !evidence.does_not_fit.empty();
  if (ill && (finding || no_step || (explained && evidence.steady_steps >= least_steps)))
    verdict.finding = Finding::health;
  else
    verdict.finding = finding.value_or(Finding::unstable);
  if (verdict.finding != Finding::health) verdict.cause = verdict.limit_cause;
  for (const HintRule& hint : hint_rules())
    if (hint.holds(run)) verdict.hints.push_back(hint.says(run));
  verdict.sentence = sentence_of(verdict, run);
  return verdict;
}

Verdict judge(const Evidence& evidence) { return judge(evidence, kLeastSteps); }

std::vector<Prescription> prescriptions_for(const Verdict& verdict, const Evidence& evidence) {
  if (verdict.finding == Finding::unstable) return {};
  Case run(evidence);
  Prescriptions list(run);
  auto add = [&](Prescribes prescribes) {
    if (prescribes != nullptr) prescribes(run, list);
  };
  if (verdict.finding == Finding::health) add(rule_of(verdict.cause).prescribes);
  if (verdict.limit_cause != Cause::none) add(rule_of(verdict.limit_cause).prescribes);
  for (const FindingRule& rule : finding_rules())
    if (verdict.limit != Limit::none && rule.limit(run) == verdict.limit) {
      add(rule.prescribes);
      break;  // what is mixed is also one of the others
    }
  return list.sorted();
}

}  // namespace stoker::doctor
