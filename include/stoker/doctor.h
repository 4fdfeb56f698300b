// The doctor's words: what the time of a step is spent on, what limits a run and why, and what can
// be changed about it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

// What the time of a step is spent on, the device's view: it computes, or something is the reason
// why it does not.
enum class Owner : uint8_t { compute, copy, input, launch, sync, unexplained };
inline constexpr size_t kOwners = 6;
std::string_view name(Owner owner);

// Shares of the time, which sum to 1.
struct StepShares {
  std::array<double, kOwners> share{};
  double operator[](Owner owner) const { return share[size_t(owner)]; }
  double& operator[](Owner owner) { return share[size_t(owner)]; }
};

// What limits a run; none: nothing worth changing.
enum class Limit : uint8_t { none, input, copy, launch, sync, memory, compute, latency };
std::string_view name(Limit limit);

// What the doctor found. First match wins, in this order.
enum class Finding : uint8_t {
  unstable,  // too few steps, or they vary too much
  health,    // throttled, a quota, a slow bus, others on the same cores
  input,
  copy,
  launch,
  sync,
  memory,
  compute,
  latency,
  mixed,
  healthy,
};
std::string_view name(Finding finding);

// Why, where a finding has several reasons.
enum class Cause : uint8_t {
  none,
  storage,        // a stage waits more than it computes
  cpu_saturated,  // all cores are busy
  parallelism,    // too few workers for the cores there are
  no_prefetch,    // every batch is made while the device waits for it
  jitter,         // fast enough on average, but unevenly
  pageable,       // copies from memory that is not page-locked
  small_copies,
  link,  // the bus is full
  many_small_ops,
  cpu_contention,  // others take the cores
  callback,
  host_layer,
  read_back,
  throttled,
  quota,
  bus,
  small_batch,
};
std::string_view name(Cause cause);

struct Verdict {
  Finding finding = Finding::unstable;
  Limit limit = Limit::none;  // the word of the progress bar; also where the health is reported
  Cause cause = Cause::none;
  bool high = false;          // not only moderate
  std::string culprit = {};   // the stage, callback, layer or op
  std::string sentence = {};  // all of it for people
  std::vector<std::string> health = {};
  std::vector<std::string> hints = {};
};

// What could be changed. The predicted time is what remains if all of it works: a ceiling.
struct Prescription {
  std::string what = {}, why = {};
  double predicted_step_seconds = 0;
  bool changes_results = false;
  // Where it was tried: medians of alternating blocks, and the gain's 95 % interval as a share.
  bool tried = false, kept = false;
  double before_seconds = 0, after_seconds = 0, gain = 0, gain_low = 0, gain_high = 0;
};

}  // namespace stoker
