// Profiles that begin in this room: the hook that observe fills, as make_step_observer.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <stoker/callbacks.h>

namespace stoker {

class ModelBase;

// The Profiler callback; `who` begins its errors.
std::unique_ptr<Callback> make_profiler(const std::string& log_dir, StepRange steps,
                                        const char* who);

// Seconds of one step.
struct LayerSeconds {
  double forward = 0, backward = 0, update = 0;
};

// By layer: trains some steps on a made-up batch of this size and puts every bit of the state back.
// Error, naming `action`, before compile(), and when the shape of the targets cannot be known yet.
std::map<std::string, LayerSeconds> measure_layers(ModelBase& model, int64_t batch_size,
                                                   const char* action);

}  // namespace stoker
