// A steady step allocates nothing in this room: what is left is what the backend's program does
// itself.
#include <cstdlib>
#include <new>

#include "train/helpers.h"
#include "train/model/model_base.h"
#include "train/model/trainer.h"

namespace {
thread_local int64_t allocations = 0;
}  // namespace

// Counts for this test program; everything else stays as it is. Not inlined: GCC 12 would see a
// pointer of new reach free() and warn.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace stoker {
namespace {

class Allocations : public test::DeviceTest {};
INSTANTIATE_ON_DEVICES(Allocations);

TEST_P(Allocations, OfAStepAreThoseOfItsProgram) {
  Sequential model(
      {Input({4}), Dense(8, {.activation = "relu"}), Dense(3, {.activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  test::Data data = test::blobs(16, 4, 3, 1);
  Batch batch{data.x, data.y};
  // A GPU captures the step once for each batch that may be in flight.
  for (int i = 0; i < 6; ++i) model.train_on_batch(batch);
  Trainer& trainer = *ModelAccess::base(model).trainer;
  Program& program = *trainer.programs.find(int(StepKind::train), batch.tensors())->program;

  int64_t start = allocations;
  for (int i = 0; i < 10; ++i) program.run(batch.tensors());
  int64_t of_program = allocations - start;
  start = allocations;
  for (int i = 0; i < 10; ++i) model.train_on_batch(batch);
  EXPECT_EQ(allocations - start, of_program);
}

}  // namespace
}  // namespace stoker
