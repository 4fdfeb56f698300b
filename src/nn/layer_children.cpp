// LayerBase: the layers inside of a layer. A call of one layer during another's call() makes it a
// child; LayerCall notices.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/layer.h>

#include "nn/layer_tree.h"
#include "nn/names.h"

namespace stoker {

// --- names ---------------------------------------------------------------------------------------

std::string LayerBase::path() const {
  if (owner_.empty()) return label();
  std::string parent = owner_.substr(owner_.rfind('/') + 1);
  return owner_ + "/" + without_prefix(label(), parent);
}

void LayerBase::rename_weights() {
  for (Weight& weight : weights_) weight.variable.rename(path() + "/" + weight.local_name);
  for (const Child& child : children_)
    if (child.placed_here) child.layer->set_owner(path());
}

void LayerBase::set_name(std::string name) {
  name_ = std::move(name);
  borrowed_name_ = false;
  rename_weights();
}

void LayerBase::set_owner(std::string owner) {
  owner_ = std::move(owner);
  rename_weights();
}

bool LayerBase::take_place(const std::string& owner) {
  if (placed_) return false;
  placed_ = true;
  if (owner != owner_) set_owner(owner);
  return true;
}

void LayerBase::name_child(LayerBase& child) {
  std::set<std::string> taken;
  for (const Child& sibling : children_)
    if (sibling.layer.get() != &child)
      taken.insert(without_prefix(sibling.layer->label(), label()));
  child.set_name(unique_name(snake_case(child.kind()), taken));
  child.borrowed_name_ = true;
}

// --- children ------------------------------------------------------------------------------------

void LayerBase::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (Weight& weight : weights_) weight.variable.set_trainable(weight.trainable && trainable);
  for (const Child& child : children_) child.layer->set_trainable(trainable);
}

std::vector<Layer> LayerBase::children() const {
  std::vector<Layer> layers;
  for (const Child& child : children_) layers.emplace_back(child.layer);
  return layers;
}

void LayerBase::adopt(const std::shared_ptr<LayerBase>& child) {
  if (std::ranges::find(children_, child, &Child::layer) != children_.end()) return;
  for (const Descendant& inner : descendants(*child))
    if (&inner.layer.base() == this)
      throw Error(
          fmt::format("{} \"{}\" calls {} \"{}\", which calls it; a layer cannot be part of "
                      "itself",
                      kind(), label(), child->kind(), child->label()));
  children_.push_back({child, false, !child->built_});
  if (!child->placed_ && child->name_.empty()) name_child(*child);
  children_.back().placed_here = child->take_place(path());
  if (!trainable_) child->set_trainable(false);
}

void LayerBase::disown_from(size_t first) {
  while (children_.size() > first) {
    Child child = std::move(children_.back());
    children_.pop_back();
    if (child.built_here) child.layer->unbuild();
    if (!child.placed_here) continue;
    child.layer->placed_ = false;
    if (child.layer->borrowed_name_) child.layer->set_name("");
    child.layer->set_owner("");
  }
}

void LayerBase::unbuild() {
  built_ = false;
  weights_.erase(weights_.begin() + int64_t(weights_before_build_), weights_.end());
  disown_from(0);
}

}  // namespace stoker
