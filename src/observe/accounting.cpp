#include "observe/accounting.h"

#include <algorithm>

#include "base/convert.h"

namespace stoker::doctor {

namespace {

struct Owned {
  Interval interval;
  Owner owner;
};

// What the host does, step after step.
std::vector<Owned> host_of(std::span<const StepRecord> steps) {
  std::vector<Owned> host;
  host.reserve(6 * steps.size());
  for (const StepRecord& step : steps) {
    const StepTimes& t = step.times;
    host.push_back({{t.asked - t.looked, t.asked}, Owner::sync});
    host.push_back({{t.asked, t.ready}, Owner::input});
    host.push_back({{t.ready, t.run}, Owner::sync});
    host.push_back({{t.run, t.run + t.made}, Owner::sync});
    host.push_back({{t.run + t.made, t.ran}, step.beside ? Owner::launch : Owner::compute});
    host.push_back({{t.ran, t.end}, Owner::sync});
  }
  return host;
}

// What is left of `window` outside of the intervals, which are united.
std::vector<Interval> gaps_of(const Interval& window, std::span<const Interval> intervals) {
  std::vector<Interval> gaps;
  int64_t at = window.begin;
  for (const Interval& interval : intervals) {
    if (interval.begin > at) gaps.push_back({at, std::min(interval.begin, window.end)});
    at = std::max(at, interval.end);
    if (at >= window.end) break;
  }
  if (at < window.end) gaps.push_back({at, window.end});
  return gaps;
}

int64_t overlap(const Interval& a, const Interval& b) {
  return Interval{std::max(a.begin, b.begin), std::min(a.end, b.end)}.length();
}

int64_t length_of(std::span<const Interval> intervals) {
  int64_t sum = 0;
  for (const Interval& interval : intervals) sum += interval.length();
  return sum;
}

// Gives the idle time to what the host was doing then.
void add_idle(Accounting& result, std::span<const Interval> idle, std::span<const Owned> host) {
  size_t first = 0;
  for (const Interval& gap : idle) {
    int64_t owned = 0;
    while (first < host.size() && host[first].interval.end <= gap.begin) ++first;
    for (size_t i = first; i < host.size() && host[i].interval.begin < gap.end; ++i) {
      int64_t shared = overlap(host[i].interval, gap);
      result.ns[size_t(host[i].owner)] += shared;
      owned += shared;
    }
    result.ns[size_t(Owner::unexplained)] += gap.length() - owned;
  }
}

// A device that runs behind the host is looked at from the beginning of its first step to that of
// its last: whole steps.
Interval window_of(std::span<const StepRecord> steps) {
  const StepRecord &first = steps.front(), &last = steps.back();
  if (first.beside) return {first.compute.begin, last.compute.begin};
  return {first.times.asked, last.times.end};
}

std::vector<Interval> clipped(std::vector<Interval> intervals, const Interval& window) {
  for (Interval& interval : intervals)
    interval = {std::max(interval.begin, window.begin), std::min(interval.end, window.end)};
  std::erase_if(intervals, [](const Interval& interval) { return interval.length() == 0; });
  return intervals;
}

}  // namespace

StepShares Accounting::shares() const {
  StepShares result;
  for (size_t i = 0; i < kOwners && wall > 0; ++i) result.share[i] = double(ns[i]) / double(wall);
  return result;
}

std::vector<Interval> united(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> result;
  for (const Interval& interval : intervals) {
    if (interval.length() == 0) continue;
    if (!result.empty() && interval.begin <= result.back().end)
      result.back().end = std::max(result.back().end, interval.end);
    else
      result.push_back(interval);
  }
  return result;
}

Accounting account(std::span<const StepRecord> steps) {
  Accounting result;
  if (steps.empty()) return result;
  Interval window = window_of(steps);
  result.wall = window.length();
  result.steps = int64_t(steps.size()) - (steps.front().beside ? 1 : 0);
  std::vector<Interval> computing, copying;
  for (const StepRecord& step : steps) {
    computing.push_back(step.beside ? step.compute : computing_of(step.times));
    copying.push_back(step.copy);
  }
  computing = clipped(united(std::move(computing)), window);
  result.ns[size_t(Owner::compute)] = length_of(computing);
  std::vector<Interval> busy = computing;
  busy.insert(busy.end(), copying.begin(), copying.end());
  busy = clipped(united(std::move(busy)), window);
  result.ns[size_t(Owner::copy)] = length_of(busy) - result[Owner::compute];
  // A device may begin its last step after the last moment that the host recorded: what it did
  // then is in the record of a step that is not among these.
  std::vector<Interval> idle = gaps_of(window, busy);
  for (Interval& gap : idle) {
    int64_t end = std::clamp(steps.back().times.end, gap.begin, gap.end);
    result.wall -= gap.end - end;
    gap.end = end;
  }
  add_idle(result, idle, host_of(steps));
  return result;
}

Accounting moved(Accounting accounting, double host_share, double launch_share) {
  auto compute = double(accounting[Owner::compute]);
  auto host = convert<int64_t>(compute * std::clamp(host_share, 0.0, 1.0));
  auto launch =
      convert<int64_t>(compute * std::clamp(launch_share, 0.0, 1.0 - std::min(1.0, host_share)));
  accounting.ns[size_t(Owner::compute)] -= host + launch;
  accounting.ns[size_t(Owner::sync)] += host;
  accounting.ns[size_t(Owner::launch)] += launch;
  return accounting;
}

}  // namespace stoker::doctor
