// What the helpers of lighter.h share.
#pragma once

#include <string>
#include <vector>

#include <stoker/lighter.h>

namespace stoker::compress {

// The report's numbers of both models; its lists stay as they are.
void count_costs(const Model& before, const Model& after, LighterReport& report);

// Which layers a helper may change, and why it did not change one that was asked for.
class Selection {
 public:
  // ValueError for a name that means no layer.
  Selection(const Model& model, std::vector<std::string> layers, std::vector<std::string> exclude,
            const char* action);
  bool has(const std::string& path) const;
  // Notes the reason; ValueError with it for a layer that was asked for by name.
  void pass_over(const std::string& path, const std::string& reason, LighterReport& report) const;
  // ValueError where nothing was changed.
  void check_changed(const LighterReport& report) const;

 private:
  std::vector<std::string> layers_, exclude_;
  const char* action_;
};

}  // namespace stoker::compress
