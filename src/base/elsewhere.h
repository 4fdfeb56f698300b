// What must not be lost when its folder cannot be written: another place for it.
#pragma once

#include <functional>
#include <string>

namespace stoker {

// Calls `write` with other paths for what belongs at `path`, until one succeeds: in the folder
// above that of `path`, in $TMPDIR, /tmp, /var/tmp and $HOME. "runs/a/model.stoker" becomes
// "/tmp/stoker-a-PID-model.stoker". Returns the path that was written; empty: FileErrors
// everywhere.
std::string write_elsewhere(const std::string& path,
                            const std::function<void(const std::string&)>& write);

}  // namespace stoker
