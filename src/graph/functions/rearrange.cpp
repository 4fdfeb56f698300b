// Patterns of einops: names of axes, groups of them in brackets.
#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <stoker/ops.h>
#include <stoker/ops_arrays.h>

#include "graph/emit.h"
#include "graph/functions/axes.h"

namespace stoker::ops {

namespace {

using Group = std::vector<std::string>;  // the axes that are one together

std::vector<Group> groups_of(const std::string& side, const std::string& pattern) {
  std::vector<Group> groups;
  bool open = false;
  std::string spaced;
  for (char c : side) spaced += c == '(' || c == ')' ? fmt::format(" {} ", c) : std::string(1, c);
  std::istringstream words(spaced);
  for (std::string word; words >> word;) {
    if (word == "(" || word == ")") {
      if (open == (word == "("))
        throw ValueError(fmt::format("rearrange: brackets of \"{}\" do not match", pattern));
      open = word == "(";
      if (open) groups.emplace_back();
    } else if (open) {
      groups.back().push_back(word);
    } else {
      groups.push_back({word});
    }
  }
  if (open) throw ValueError(fmt::format("rearrange: brackets of \"{}\" do not match", pattern));
  return groups;
}

Group joined(const std::vector<Group>& groups) {
  Group all;
  for (const Group& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

// The length of every axis; at most one of a group is found by division.
std::map<std::string, int64_t> lengths_of(const std::vector<Group>& groups, const Shape& shape,
                                          const AxisLengths& given, const std::string& pattern) {
  std::map<std::string, int64_t> known(given.begin(), given.end());
  known["1"] = 1;
  for (size_t axis = 0; axis < groups.size(); ++axis) {
    int64_t product = 1, extent = shape[int(axis)];
    std::string open;
    for (const std::string& name : groups[axis]) {
      if (auto found = known.find(name); found != known.end())
        product *= found->second;
      else if (open.empty())
        open = name;
      else
        throw ValueError(fmt::format("rearrange \"{}\": give the length of \"{}\" or \"{}\"",
                                     pattern, open, name));
    }
    if (product < 1 || (extent >= 0 && (open.empty() ? extent != product : extent % product != 0)))
      throw ShapeError(fmt::format("rearrange \"{}\": axis {} of {} does not divide so", pattern,
                                   axis, to_string(shape)));
    if (!open.empty()) known[open] = extent < 0 ? -1 : extent / product;
  }
  return known;
}

}  // namespace

Value rearrange(const Value& x, const std::string& pattern, const AxisLengths& lengths) {
  size_t arrow = pattern.find("->");
  if (arrow == std::string::npos)
    throw ValueError(fmt::format("rearrange: expected \"axes -> axes\", got \"{}\"", pattern));
  std::vector<Group> from = groups_of(pattern.substr(0, arrow), pattern),
                     to = groups_of(pattern.substr(arrow + 2), pattern);
  if (int(from.size()) != x.shape().rank())
    throw ShapeError(fmt::format("rearrange \"{}\": expected {} axes, got {}", pattern, from.size(),
                                 to_string(x.shape())));
  std::map<std::string, int64_t> known = lengths_of(from, x.shape(), lengths, pattern);
  auto named = [](Group names) {
    std::erase(names, "1");
    return names;
  };
  Group before = named(joined(from)), after = named(joined(to)), sorted = before, wanted = after;
  std::ranges::sort(sorted);
  std::ranges::sort(wanted);
  if (sorted != wanted || std::ranges::adjacent_find(sorted) != sorted.end())
    throw ValueError(
        fmt::format("rearrange: both sides of \"{}\" must name the same axes, each once", pattern));
  Ints apart, perm, split, merge;
  for (const std::string& name : before) apart.push_back(known.at(name));
  for (const std::string& name : after)
    perm.push_back(std::ranges::find(before, name) - before.begin());
  for (const Group& group : from) split.push_back(int64_t(named(group).size()));
  for (const Group& group : to) merge.push_back(int64_t(named(group).size()));
  return merge_axes(emit::transpose(split_axes(x, apart, split), perm), merge);
}

}  // namespace stoker::ops
