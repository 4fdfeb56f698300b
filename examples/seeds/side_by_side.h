// What the programs of this folder share: one chain in two forms, and a line for each. The slow
// form is the chain as people write it first: every stage on its own, one element after the other,
// nothing ahead of the consumer. The other is the same chain as Stoker runs it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <stoker/stoker.h>

enum class Form { slow, stoker };

inline const char* name(Form form) { return form == Form::slow ? "slow form" : "Stoker"; }

// For {.parallel = …} of map.
inline int64_t parallel(Form form) { return form == Form::slow ? 1 : stoker::AUTOTUNE; }

// Ends a chain. The seed makes both forms draw the same random numbers.
inline stoker::data::Dataset ended(const stoker::data::Dataset& chain, Form form) {
  bool slow = form == Form::slow;
  return chain.prefetch(slow ? 0 : stoker::AUTOTUNE).with_options({.seed = 7, .as_written = slow});
}

// A number of explain_json().
inline double measured(const stoker::data::Dataset& dataset, const std::string& key) {
  std::string json = dataset.explain_json(), field = "\"" + key + "\":";
  size_t at = json.find(field);
  return at == std::string::npos ? 0 : std::atof(json.c_str() + at + field.size());
}

// What the latest iteration of the dataset has measured.
inline void report(Form form, const stoker::data::Dataset& dataset) {
  std::printf("%-10s %8.1f batches/s, the consumer waits %5.1f %% of the time, %7.2f MB at most\n",
              name(form), measured(dataset, "batches_per_second"),
              100 * measured(dataset, "consumer_wait_share"),
              1e-6 * measured(dataset, "memory_peak_bytes"));
}

inline void require(bool holds, const char* what) {
  std::printf("%s: %s\n", what, holds ? "yes" : "NO");
  if (!holds) std::exit(1);
}
