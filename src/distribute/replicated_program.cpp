#include "distribute/replicated_program.h"

#include <cstring>

#include <fmt/format.h>

namespace stoker::distribute {

ReplicatedProgram::ReplicatedProgram(std::shared_ptr<Replicated::Shared> shared, Parts parts)
    : shared_(std::move(shared)), parts_(std::move(parts)) {}

std::vector<Tensor> ReplicatedProgram::inputs_of(const Piece& piece,
                                                 std::span<const Tensor> inputs) const {
  if (inputs.empty()) return piece.stand_in;
  std::vector<Tensor> own;
  own.reserve(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].shape().rank() == 0)
      own.push_back(inputs[i]);
    else
      own.push_back(piece.rows.size() == 0 ? piece.stand_in[i]
                                           : inputs[i].slice(piece.rows.begin, piece.rows.end));
  return own;
}

// All pieces at the same time. What one throws ends the others' waits.
template <class Body>
void ReplicatedProgram::on_replicas(const Body& body) {
  ReplicaGroup& group = *shared_->plan->group;
  auto failed = [&](const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& what) {
      group.fail(fmt::format("another replica failed: {}", what.what()));
    } catch (...) {
      group.fail("another replica failed");
    }
  };
  try {
    shared_->team.run(
        [&](int replica) {
          if (size_t(replica) < parts_.pieces.size()) body(replica);
        },
        failed);
  } catch (...) {
    group.recover();
    throw;
  }
}

template <class Run>
RunStatus ReplicatedProgram::run_all(std::span<const Tensor> inputs, const Run& run) {
  std::lock_guard turn(shared_->plan->turn);
  shared_->mirrors.refresh(parts_.variables);
  std::vector<RunStatus> found(parts_.pieces.size());
  on_replicas([&](int replica) {
    const Piece& piece = parts_.pieces[size_t(replica)];
    found[size_t(replica)] = run(replica, *piece.program, inputs_of(piece, inputs));
  });
  shared_->mirrors.ran(parts_.variables);
  if (parts_.trains && shared_->state != nullptr) shared_->state->stepped();
  for (RunStatus status : found)
    if (status != found[0])
      throw Error("replicas disagree on whether a step was finite; their weights are not alike");
  return found[0];
}

RunStatus ReplicatedProgram::run(std::span<const Tensor> inputs) {
  return run_all(inputs, [](int, Program& program, const std::vector<Tensor>& own) {
    return program.run(own);
  });
}

RunStatus ReplicatedProgram::run_timed(std::span<const Tensor> inputs,
                                       std::vector<int64_t>& nanoseconds) {
  return run_all(inputs, [&](int replica, Program& program, const std::vector<Tensor>& own) {
    return replica == 0 ? program.run_timed(own, nanoseconds) : program.run(own);
  });
}

RunStatus ReplicatedProgram::status() {
  RunStatus found = RunStatus::ok;
  for (const Piece& piece : parts_.pieces)
    if (RunStatus status = piece.program->status(); status != RunStatus::ok) found = status;
  return found;
}

void ReplicatedProgram::set_device_knobs(const DeviceKnobs& knobs) {
  for (const Piece& piece : parts_.pieces) piece.program->set_device_knobs(knobs);
}

// Parts [n0, …], [n1, …] → [n0 + n1 + …, …]
Tensor ReplicatedProgram::output(size_t index) const {
  Tensor part = first().output(index);
  if (index >= parts_.joined.size() || !parts_.joined[index]) return part;
  int64_t rows = 0;
  for (const Piece& piece : parts_.pieces) rows += piece.rows.size();
  Tensor whole(part.dtype(), part.shape().with(0, rows));
  auto* out = static_cast<std::byte*>(whole.raw_mut());
  for (const Piece& piece : parts_.pieces) {
    if (piece.rows.size() == 0) continue;
    part = piece.program->output(index);
    std::memcpy(out, part.raw(), part.bytes());
    out += part.bytes();
  }
  return whole;
}

// Each replica by itself: the sums are left out. The others' findings count where the first has none.
std::optional<NonFinite> ReplicatedProgram::find_non_finite(std::span<const Tensor> inputs) {
  std::lock_guard turn(shared_->plan->turn);
  std::vector<std::optional<NonFinite>> found(parts_.pieces.size());
  on_replicas([&](int replica) {
    const Piece& piece = parts_.pieces[size_t(replica)];
    if (piece.rows.size() == 0) return;
    found[size_t(replica)] = piece.program->find_non_finite(
        inputs.empty() ? std::vector<Tensor>() : inputs_of(piece, inputs));
  });
  for (size_t replica = 0; replica < found.size(); ++replica)
    if (found[replica]) {
      if (found.size() > 1)
        found[replica]->scope +=
            fmt::format(" on replica {}", shared_->plan->group->rank_of(int(replica)));
      return found[replica];
    }
  return std::nullopt;
}

}  // namespace stoker::distribute
