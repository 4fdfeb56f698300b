// Why a finding is so: the rows of all causes, checked to be complete.
#include <algorithm>
#include <array>

#include "base/enum_names.h"
#include "observe/device_causes.h"
#include "observe/epoch_causes.h"
#include "observe/health_causes.h"
#include "observe/input_causes.h"
#include "observe/rank_causes.h"

namespace stoker::doctor {

namespace {

template <size_t... sizes>
constexpr auto joined(const CauseRule (&... parts)[sizes]) {
  std::array<CauseRule, (sizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(std::begin(parts), std::end(parts), at)), ...);
  return all;
}

constexpr CauseRule kNone[] = {{.cause = Cause::none,
                                .finding = Finding::healthy,
                                .holds = [](const Case&) { return true; },
                                .says = [](const Case&) { return Phrase("nothing holds it up"); }}};

constexpr auto kCauses =
    joined(kInputCauses, kDeviceCauses, kHealthCauses, kRankCauses, kEpochCauses, kNone);

static_assert(names_each(kCauses, &CauseRule::cause));

}  // namespace

std::span<const CauseRule> cause_rules() { return kCauses; }

const CauseRule& rule_of(Cause cause) {
  return *std::ranges::find(kCauses, cause, &CauseRule::cause);
}

}  // namespace stoker::doctor
