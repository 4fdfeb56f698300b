// fork() copies only the calling thread: whatever was given to other threads before is never done
// in the child. Who owns threads remembers forks() when it starts them and compares later.
#pragma once

namespace stoker {

// How many forks lie between this process and the one that asked first. One relaxed load.
int forks();

// Error, saying what to do, where `then`, an earlier forks(), was in another process.
// what: "the CPU engine's threads".
void check_not_forked(int then, const char* what);

}  // namespace stoker
