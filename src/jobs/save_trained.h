// The end of a training: its model reaches a disk, whatever has become of the run's folder.
#pragma once

#include <string>

#include <stoker/model.h>

namespace stoker::jobs {

struct SavedModel {
  std::string path;
  std::string problem = {};  // why it is elsewhere; empty: it is OUT/model.stoker
};

// Saves OUT/model.stoker. On a full disk it deletes checkpoints in OUT to make room, the oldest
// first; if that is not enough, the model goes elsewhere (base/elsewhere.h). FileError, naming the
// newest checkpoint, if it cannot be written anywhere.
SavedModel save_trained(const Model& model, const std::string& out);

}  // namespace stoker::jobs
