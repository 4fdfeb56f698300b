// STOKER_IVDEP before a loop: no iteration reads what another one writes, and no pointers need to be
// compared before it becomes vectors. The words of GCC and of Clang for the same promise.
#pragma once

#ifdef __clang__
#define STOKER_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define STOKER_IVDEP _Pragma("GCC ivdep")
#endif
