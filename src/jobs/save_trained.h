// The end of a training: its model reaches a disk, whatever has become of the run's folder.
#pragma once

#include <string>

#include <stoker/model.h>

namespace stoker::jobs {

struct SavedModel {
  std::string path;
  std::string problem = {};  // why it is elsewhere; empty: it is OUT/model.stoker
};

// Saves OUT/model.stoker. On a full disk the checkpoints in OUT make room, the oldest first and up
// to the last; what cannot be written there goes elsewhere (base/elsewhere.h). FileError, with the
// newest checkpoint, when no place takes it.
SavedModel save_trained(const Model& model, const std::string& out);

}  // namespace stoker::jobs
