// The settings of a fit as text: everything that affects its results and is not in its RunPlan.
// Checkpoints keep it, so that a resumed fit can say what differs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/fit/feed.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {

struct RunSetting {
  std::string name;                 // "learning_rate"
  std::vector<std::string> values;  // one, or one per layer or step of the data; none: not known
  friend bool operator==(const RunSetting&, const RunSetting&) = default;
};
using RunSettings = std::vector<RunSetting>;

// Of a model that is compiled and knows its input. Looks at every file that the data is read from,
// and into some of them; reads arrays once. `validation` may be null.
RunSettings run_settings(const ModelBase& model, const Feed& training, const Feed* validation,
                         const FitArgs& args);

struct SettingDifference {
  std::string name, here, there;
};
// One for each value that differs; settings that are not known on one side are left out.
std::vector<SettingDifference> differences(const RunSettings& here, const RunSettings& there);
std::string to_string(const SettingDifference& difference);  // "learning_rate: 0.1 here, 0.2 there"

// In which parts the batches of the run were computed (FitArgs::on_out_of_memory), so that a fit
// that goes on does the same. Whole batches leave no setting.
RunSettings with_parts(RunSettings settings, const PartSizes& parts);
PartSizes take_parts(RunSettings& settings);  // and removes it: it is no difference

// As JSON text and back. The text is not trusted: ValueError.
std::string settings_to_json(const RunSettings& settings);
RunSettings settings_from_json(std::string_view text);

}  // namespace stoker
