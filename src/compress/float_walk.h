// A plan's layers made again, with their weights: what stays in float in a new model.
#pragma once

#include <set>

#include "compress/plan_walk.h"
#include "train/model/rebuilt.h"

namespace stoker::compress {

class FloatWalk : public PlanWalk {
 public:
  explicit FloatWalk(const CustomObjects& objects) : objects_(objects) {}

  // New inputs like the plan's; all edges begin from them.
  Values start(const QuantPlan& plan);

  Layer layer_for(const Layer& old, const std::string& path) override;
  Variable weight_for(const Variable& old) override;
  // Once everything is called: layers have weights only then.
  void copy_weights() const;

 protected:
  std::string unique_name(const std::string& path);

 private:
  const CustomObjects& objects_;
  std::set<std::string> names_;  // of layers
  MadeLayers made_;
};

// The old layers themselves: what calibration watches.
class SameWalk : public PlanWalk {
 public:
  Values start(const QuantPlan& plan);
  Layer layer_for(const Layer& old, const std::string&) override { return old; }
  Variable weight_for(const Variable& old) override { return old; }
};

}  // namespace stoker::compress
