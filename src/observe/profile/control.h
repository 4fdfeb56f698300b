// One profile at a time in a process: its beginning, its end and its files.
#pragma once

#include "observe/profile/session.h"

namespace stoker {

// `who` begins the errors of profiler::start.
std::shared_ptr<ProfileSession> begin_profile(const std::string& log_dir,
                                              const ProfileOptions& options,
                                              const std::string& who);
// Writes what it saw. Null: whichever runs. Error when it does not run.
Profile end_profile(const std::shared_ptr<ProfileSession>& session, const std::string& who);
// Forgets it, if it still runs.
void drop_profile(const std::shared_ptr<ProfileSession>& session);

}  // namespace stoker
