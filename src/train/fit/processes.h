// The processes of a data-parallel job, as the loops of training see them: which rows are whose, what
// all of them have to agree on, and what happens when one fails. src/distribute fills it. All processes
// call the collective functions in the same order, on the thread of the fit; a CollectiveError says
// which process did not come.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <stoker/batch.h>

namespace stoker {

class Processes {
 public:
  virtual ~Processes() = default;
  // The rows of every batch that this process takes: its number, how many there are, and how many of
  // them run on this host.
  virtual BatchSlice slice() const = 0;
  virtual std::string host(int64_t process) const = 0;

  // Collective. Bytes of all processes, in their order: `all` holds `size` times as many.
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // Collective. What process 0 has, everywhere.
  virtual void broadcast(std::span<std::byte> bytes) = 0;

  // Where the training stands, for messages about this process: steps of the epoch that are done.
  virtual void set_place(int64_t epoch, int64_t step) = 0;
  // This process gives up. The others then end with a CollectiveError that says so.
  virtual void failed(const std::string& why) noexcept = 0;

  bool first() const { return slice().rank == 0; }
};

// A number of every process.
std::vector<int64_t> gathered(Processes& processes, int64_t mine);
// Whether any process says so.
bool any_of(Processes& processes, bool mine);
// Of process 0.
int64_t of_first(Processes& processes, int64_t mine);
// A text of process 0, of any length.
std::string of_first(Processes& processes, const std::string& mine);

struct Trainer;
// Of the strategy that a model was compiled in; null: one process.
Processes* processes_of(const Trainer& trainer);
// Pipelines shuffle by the seed of process 0 on all of them.
void agree_on_seed(Processes& processes, Trainer& trainer);

class Model;
// Error, on all processes, unless all hold the same weights bit for bit: `when`: "after epoch 2".
void verify_weights(Processes& processes, const Model& model, const std::string& when);

}  // namespace stoker
