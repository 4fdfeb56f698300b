// Nodes that change how a chain runs, not what comes out: prefetch, with_budget, with_options.
// Read by the iteration before it plans; in the chain itself they pass everything through.
#pragma once

#include "data/node.h"

namespace stoker::data {

class SettingsNode : public Node {
 public:
  SettingsNode(const char* kind, const NodeRef& input)
      : Node(kind, {input}, input->spec(), input->cardinality(), input->random_access()) {}
  bool transparent() const override { return true; }
  std::string identity() const override { return {}; }

  const ChainSettings* settings() const override { return &stated; }

  ChainSettings stated;

  std::string details() const override;
  Planned plan(PlanContext& context) const override;
};

}  // namespace stoker::data
