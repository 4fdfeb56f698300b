// fork() copies only the calling thread: work that was queued on other threads is never done in the
// child. Owners of threads keep forks() when they start them and compare it later.
#pragma once

namespace stoker {

// How many forks lie between this process and the one that asked first. One relaxed load.
int forks();

// Error, saying what to do, where `then`, an earlier forks(), was in another process.
// what: "the CPU engine's threads".
void check_not_forked(int then, const char* what);

}  // namespace stoker
