// The layers inside of a layer, to any depth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <stoker/layer.h>

namespace stoker {

struct Descendant {
  std::string path;  // from the layer down: "attention/query"
  Layer layer;
};

// Children, their children and so on, models included; each once, every layer after all those that
// call it.
std::vector<Descendant> descendants(const LayerBase& layer);

// The one with this path; an empty Layer when there is none. `parent_label`: of whose children they
// are; empty for a model.
Layer find_descendant(const std::vector<Layer>& children, const std::string& parent_label,
                      std::string_view path);

// What a child is called inside its parent: a parent that names its children by hand ("block/a")
// has put its own name in front.
std::string without_prefix(const std::string& name, const std::string& parent_label);

std::vector<Variable> each_once(const std::vector<Variable>& variables);

}  // namespace stoker
