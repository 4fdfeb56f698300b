// ThreadSanitizer and the CPU engine: it does not see the synchronisation of OpenMP's threads, and
// reports races that are none. A test that runs that engine begins with this.
#pragma once

#include <gtest/gtest.h>

#ifdef STOKER_TSAN
#define STOKER_SKIP_UNDER_TSAN() \
  GTEST_SKIP() << "ThreadSanitizer does not see libgomp's synchronisation"
#else
#define STOKER_SKIP_UNDER_TSAN() static_cast<void>(0)
#endif
