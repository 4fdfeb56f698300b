// Which of a library's plans were the fastest for a shape, kept in a file between processes, so that
// a later one neither measures again nor chooses another, which would change the last bits of its
// results.
//
// The file belongs to one device and one set of library versions: `fingerprint` names it. Processes
// share it: each appends whole lines, and of two lines with one key the later counts. Lines that
// are damaged are ignored, and their choices made anew. A file of more than kMost choices keeps the
// latest. A file that cannot be read or written is as good as none.
//
// A run's own choices (prefer()) go before those of the file. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace stoker {

class PlanChoices {
 public:
  struct Choice {
    std::string plan;
    // > 0: only the first so many candidates were tried, for want of time; the next process may go
    // on with the others.
    size_t tried = 0;
    friend bool operator==(const Choice&, const Choice&) = default;
  };
  using Map = std::map<std::string, std::string>;  // plans by key; neither has tabs or line ends
  static constexpr size_t kMost = 8192;

  // folder: empty: nothing is kept.
  PlanChoices(const std::string& folder, const std::string& fingerprint);

  std::optional<Choice> find(const std::string& key);
  void add(const std::string& key, const Choice& choice);

  // What this process found or added, for a run to keep with its checkpoints.
  Map used() const;
  // Of a run that goes on: before what the file says, final, and never written there.
  void prefer(const Map& choices);

  // $XDG_CACHE_HOME/stoker, or ~/.cache/stoker; STOKER_PLANS names another folder, "" none.
  static std::string usual_folder();

 private:
  void load();
  void write_all() const;

  mutable std::mutex mutex_;
  std::string path_;  // empty: nothing is kept
  std::map<std::string, Choice> choices_;
  Map used_, preferred_;
};

// A backend that makes such choices. A run that goes on takes those it began with, before what this
// machine would choose now; programs that exist keep theirs.
class ChoosesPlans {
 public:
  virtual ~ChoosesPlans() = default;
  virtual PlanChoices::Map plan_choices() const = 0;
  virtual void prefer_plans(const PlanChoices::Map& choices) = 0;
};

}  // namespace stoker
