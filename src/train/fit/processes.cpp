#include "train/fit/processes.h"

#include <algorithm>

#include <fmt/format.h>
#include <stoker/error.h>
#include <stoker/model.h>

#include "formats/crc32c.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace stoker {

namespace {

// CRC-32C of all weights, by which two processes notice that theirs differ: 4 GB/s.
int64_t checksum_of(const Model& model) {
  uint32_t crc = 0;
  for (const Variable& weight : model.weights()) {
    Tensor values = weight.read();
    crc = crc32c({static_cast<const std::byte*>(values.raw()), values.bytes()}, crc);
  }
  return int64_t(crc);
}

}  // namespace

std::vector<int64_t> gathered(Processes& processes, int64_t mine) {
  std::vector<int64_t> all(size_t(processes.slice().size));
  processes.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

bool any_of(Processes& processes, bool mine) {
  return std::ranges::max(gathered(processes, mine ? 1 : 0)) != 0;
}

int64_t of_first(Processes& processes, int64_t mine) {
  processes.broadcast(std::as_writable_bytes(std::span(&mine, 1)));
  return mine;
}

std::string of_first(Processes& processes, const std::string& mine) {
  std::string text = mine;
  text.resize(size_t(of_first(processes, int64_t(mine.size()))));
  if (!text.empty()) processes.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

Processes* processes_of(const Trainer& trainer) {
  return trainer.distribution ? trainer.distribution->processes() : nullptr;
}

void agree_on_seed(Processes& processes, Trainer& trainer) {
  Seed& seed = trainer.context->seed;
  auto first = uint64_t(of_first(processes, int64_t(seed.value())));
  if (first != seed.value()) seed.resume(first);
}

void verify_weights(Processes& processes, const Model& model, const std::string& when) {
  std::vector<int64_t> all = gathered(processes, checksum_of(model));
  for (size_t i = 1; i < all.size(); ++i)
    if (all[i] != all[0])
      throw Error(fmt::format(
          "fit: {} the weights of rank {} on {} differ from those of rank 0 on {}: {:08x} and "
          "{:08x}; no checkpoint was written. Ranks compute the same only on the same kind of "
          "device, with the same program and the same callbacks",
          when, i, processes.host(int64_t(i)), processes.host(0), all[i], all[0]));
}

}  // namespace stoker
