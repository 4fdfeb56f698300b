// The programs of a model for calls that run at the same time: each call leases a lane, a cache of
// programs with an arena of its own. The weights are shared: programs of one backend use a
// variable in one place. Alone, a call always gets the model's own programs, so that nothing is
// made or held twice; others are made on demand, kept, and bounded by the cores. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "train/step/program_cache.h"

namespace stoker {

class ProgramLanes {
 public:
  // `main`: the model's own programs; outlives this.
  explicit ProgramLanes(ProgramCache& main) : lanes_(1) { lanes_[0].programs = &main; }

  class Lease {
   public:
    explicit Lease(ProgramLanes& lanes, ProgramCache& programs)
        : lanes_(lanes), programs_(programs) {}
    ~Lease() { lanes_.give_back(programs_); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ProgramCache& programs() const { return programs_; }

   private:
    ProgramLanes& lanes_;
    ProgramCache& programs_;
  };

  // The first free lane; waits where all are in use and there may be no more.
  Lease lease(const Context& context) { return Lease(*this, take(context)); }
  // The model's own programs; waits for them.
  Lease lease_main() { return Lease(*this, take_main()); }
  // Forgets all lanes but the model's own. No lane is leased.
  void clear();
  size_t size() const;

 private:
  struct Lane {
    ProgramCache* programs = nullptr;
    std::unique_ptr<ProgramCache> own = {};  // what `programs` is, but for the model's own
    std::thread::id holder = {};
  };
  ProgramCache& take(const Context& context);
  ProgramCache& take_main();
  void give_back(const ProgramCache& programs);

  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Lane> lanes_;  // the model's own first
};

}  // namespace stoker
