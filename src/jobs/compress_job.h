// Smaller forms of what was trained, and comparing them.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "jobs/job.h"

namespace stoker::jobs {

// Compares trained models on the job's validation set: what stoker/compare.h has of them. `page`: a
// file that gets it as a page; empty: none.
nlohmann::json compare_models(const std::vector<std::string>& models, const Job& job,
                              double seconds, const std::string& page, std::ostream* out);

// One of them is asked for.
struct Compression {
  bool int8 = false;
  std::optional<double> prune = {};     // the share of weights that become zero
  std::optional<double> channels = {};  // the share of the FLOPs that is left
  std::string student = {};             // a network's name or a .stoker file
  std::string word() const;             // "int8", "pruned", "channels", "student"
};
// A share as an option has it; empty text: none. ValueError, naming the option, for what is no
// number between 0 and 1.
std::optional<double> share_option(const char* option, const std::string& text);
// The job that makes it, by default: of pruning a third of the epochs, with 0.3 of the rate.
Job compression_job(const Compression& what, Job trained_by);

// Makes a smaller form of a trained model, trains it where it has to be, and compares both. The
// folder job.out (RUN/pruned, …, where it is empty) gets model.stoker, compare.json, compare.html
// and the job. ValueError unless exactly one form is asked for.
nlohmann::json compress_model(const std::string& run, const Compression& what, Job job,
                              double seconds, std::ostream* out);

}  // namespace stoker::jobs
