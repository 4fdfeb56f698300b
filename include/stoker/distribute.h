// Data-parallel training: the same model on several devices, each with its part of every batch.
//
//   MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
//   auto scope = strategy.scope();
//   Sequential model({Input({28, 28, 1}), Flatten(), Dense(10, {.activation = "softmax"})});
//   model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
//   model.fit(x, y, {.batch_size = 256});  // 128 rows on each device
//
// Batch sizes are those of the whole batch. Losses, gradients and metrics are means over it, sample
// weights and uneven ends included, so that a training follows the one on a single device up to the
// order in which float32 sums are added. fit, evaluate and predict are the same calls; a model is
// bound to the strategy in whose scope it was compiled, and a function() to the one it was made in.
//
// Replicas update their copies of the weights alike. BatchNormalization counts over the rows of one
// replica unless it is synchronized; moving averages are the replicas' mean.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <stoker/context.h>

namespace stoker {

// How replicas sum their gradients.
struct CommunicationOptions {
  // "bfloat16" halves what is sent; each replica's gradients and their sum are then rounded to it.
  std::string wire = "float32";
  // Gradients are summed in groups of about this size, each during the backward pass.
  int64_t bucket_bytes = 4 << 20;
  // A replica that does not join a sum within this time is an Error on all others.
  double timeout_seconds = 300;
  // Above 0: every batch is divided into this many shards, which the devices share equally,
  // and their sums are added in a fixed order. A training then has the same bits on any number of
  // devices or processes that divides it; BatchNormalization must be synchronized or absent. CPUs.
  int64_t deterministic_shards = 0;
  int shard_threads = 1;  // of each of those shards: the same everywhere, or the bits differ
};

struct MirroredOptions {
  // "cuda:0", …, or "cpu:0", "cpu:1", …: logical devices that share the cores of this machine, for
  // trying and testing. Empty: all GPUs, else one CPU.
  std::vector<std::string> devices = {};
  CommunicationOptions communication = {};
  // ZeRO-1: each replica keeps the optimiser's moments of its share of the weights only, updates these
  // and receives the others. Results and files are the same to the bit; a step needs less memory and
  // sends twice as much.
  bool shard_optimizer = false;
};

class Strategy {
 public:
  // Until it goes, models that are compiled and functions that are made on this thread belong to the
  // strategy. Scopes nest.
  class Scope {
   public:
    explicit Scope(const Strategy& strategy);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };
  [[nodiscard]] Scope scope() const { return Scope(*this); }

  // Keras: `num_replicas_in_sync`
  int64_t num_replicas_in_sync() const;
  // Of this process: "cuda:0", "cpu:1".
  const std::vector<std::string>& devices() const;

 protected:
  struct Impl;
  explicit Strategy(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// The devices of one machine, in one process. ValueError for a device that does not exist.
// Keras: `tf.distribute.MirroredStrategy`
class MirroredStrategy : public Strategy {
 public:
  explicit MirroredStrategy(const MirroredOptions& options = {});
};

struct MultiWorkerOptions {
  // Of this process. Empty: the GPU whose number is that of the process on its host, else the CPU.
  std::vector<std::string> devices = {};
  CommunicationOptions communication = {};
  bool shard_optimizer = false;  // as in MirroredOptions, among the replicas of all processes
  Context* context = nullptr;    // of the models; null: the default one
};

// One process per device or host, started by a launcher of MPI; every process runs the same program:
//
//   mpirun -n 4 ./train            # or: srun -n 4 ./train
//
// The processes read the same data. fit divides each whole batch among them, begins with the weights
// and the seed of process 0, and shows progress there only. Without a launcher there is one process.
// Error where a launcher started several and this build has no MPI.
// Keras: `tf.distribute.MultiWorkerMirroredStrategy`
class MultiWorkerMirroredStrategy : public Strategy {
 public:
  explicit MultiWorkerMirroredStrategy(const MultiWorkerOptions& options = {});
  int64_t worker() const;       // number of this process, from 0
  int64_t num_workers() const;  // processes
};

}  // namespace stoker
