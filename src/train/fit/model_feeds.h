// The feeds of a model's data: what the model's device and its strategy decide about them, and what is
// checked before the first step.
#pragma once

#include "train/fit/feed.h"
#include "train/model/trainer.h"

namespace stoker {

inline constexpr int64_t kBatchSize = 32;  // Keras's

// Memory for batches: pinned memory of a GPU, where the context wants it; null: ordinary memory.
HostMemory* batch_memory(ModelBase& model);

// Threads that may put batches of arrays together while a device works beside the host. 0 on a CPU,
// which needs its cores for the steps themselves.
int threads_ahead(ModelBase& model);

// The options with the rows of this process, of a model whose strategy has several.
FeedOptions shared_feed(FeedOptions options, ModelBase& model);

// Compiles the program of a full batch and looks at all class ids with what it knows, so that an
// error has the element's index in the array, and comes before the first step.
void check_ahead(ModelBase& model, StepKind kind, const std::vector<Tensor>& columns,
                 int64_t batch_size, const char* action);

}  // namespace stoker
