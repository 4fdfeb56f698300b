#include "engine/branches.h"

#include <algorithm>
#include <cstdint>

namespace stoker {

namespace {

bool collide(const Access& a, const Access& b) {
  if (!a.writes && !b.writes) return false;
  auto first = reinterpret_cast<uintptr_t>(a.begin), second = reinterpret_cast<uintptr_t>(b.begin);
  return first < second + b.bytes && second < first + a.bytes;
}

bool collide(const Accesses& a, const Accesses& b) {
  return std::ranges::any_of(a, [&](const Access& one) {
    return std::ranges::any_of(b, [&](const Access& other) { return collide(one, other); });
  });
}

}  // namespace

std::vector<std::vector<int>> find_dependencies(std::span<const Accesses> items) {
  std::vector<std::vector<int>> found(items.size());
  std::vector<std::vector<bool>> waits_for(items.size());  // directly or not
  for (size_t i = 0; i < items.size(); ++i) {
    waits_for[i].assign(items.size(), false);
    for (size_t j = i; j-- > 0;) {
      if (waits_for[i][j] || !collide(items[i], items[j])) continue;
      found[i].push_back(int(j));
      waits_for[i][j] = true;
      for (size_t k = 0; k < j; ++k)
        if (waits_for[j][k]) waits_for[i][k] = true;
    }
    std::ranges::reverse(found[i]);
  }
  return found;
}

std::vector<int> order_by_urgency(std::span<const std::vector<int>> dependencies,
                                  std::span<const double> work) {
  size_t count = dependencies.size();
  std::vector<double> left(work.begin(),
                           work.end());  // the longest way to the end, itself included
  std::vector<std::vector<int>> followers(count);
  std::vector<size_t> waits(count);
  for (size_t i = count; i-- > 0;) {
    for (int follower : followers[i]) left[i] = std::max(left[i], work[i] + left[size_t(follower)]);
    for (int before : dependencies[i]) followers[size_t(before)].push_back(int(i));
    waits[i] = dependencies[i].size();
  }
  std::vector<int> order;
  order.reserve(count);
  std::vector<bool> is_taken(count, false);
  while (order.size() < count) {
    size_t next = count;
    for (size_t i = 0; i < count; ++i)
      if (!is_taken[i] && waits[i] == 0 && (next == count || left[i] > left[next])) next = i;
    is_taken[next] = true;
    order.push_back(int(next));
    for (int follower : followers[next]) --waits[size_t(follower)];
  }
  return order;
}

std::vector<int> assign_lanes(std::span<const std::vector<int>> dependencies,
                              std::span<const double> work, int lanes) {
  size_t count = dependencies.size();
  std::vector<int> lane_of(count, 0);
  std::vector<double> end(count, 0);  // if nothing but its lane and what it waits for held it up
  std::vector<int> last(size_t(lanes), -1);  // item on each lane
  bool is_start = true;                      // nothing so far has waited for anything
  for (size_t i = 0; i < count; ++i) {
    for (int before : dependencies[i]) end[i] = std::max(end[i], end[size_t(before)]);
    end[i] += work[i];
    int chosen = -1;
    for (int lane = 0; lane < lanes; ++lane) {
      int item = last[size_t(lane)];
      bool goes_on = std::ranges::find(dependencies[i], item) != dependencies[i].end();
      if (goes_on && (chosen < 0 || end[size_t(item)] > end[size_t(last[size_t(chosen)])]))
        chosen = lane;
    }
    is_start = is_start && dependencies[i].empty();
    if (chosen < 0 && dependencies[i].empty() && !is_start)
      for (int lane = 0; lane < lanes; ++lane) {
        int item = last[size_t(lane)];
        if (item >= 0 && (chosen < 0 || end[size_t(item)] < end[size_t(last[size_t(chosen)])]))
          chosen = lane;
      }
    // Else an empty lane, else the one that was left longest ago.
    if (chosen < 0) chosen = int(std::ranges::min_element(last) - last.begin());
    if (int item = last[size_t(chosen)]; item >= 0)
      end[i] = std::max(end[i], end[size_t(item)] + work[i]);
    lane_of[i] = chosen;
    last[size_t(chosen)] = int(i);
  }
  return lane_of;
}

}  // namespace stoker
