#include "step/allocations.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace stoker::bench {

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> by_us = 0, by_libraries = 0;
thread_local bool inside = false;

// The library whose code asked for memory: the first on the stack that is neither this counter nor
// the C or C++ library, which ask on somebody's behalf.
bool asked_by_a_library() {
  constexpr int kFrames = 12;
  void* frames[kFrames];
  int depth = backtrace(frames, kFrames);
  for (int i = 2; i < depth; ++i) {
    Dl_info info;
    if (dladdr(frames[i], &info) == 0 || info.dli_fname == nullptr) continue;
    if (std::strstr(info.dli_fname, "libstdc++") != nullptr ||
        std::strstr(info.dli_fname, "libc.so") != nullptr)
      continue;
    return std::strstr(info.dli_fname, "libdnnl") != nullptr ||
           std::strstr(info.dli_fname, "libgomp") != nullptr;
  }
  return false;
}

}  // namespace

// Outside the anonymous namespace, so that its frame has a place of its own on the stack.
void note_allocation() {
  if (!counting || inside) return;
  inside = true;
  ++(asked_by_a_library() ? by_libraries : by_us);
  inside = false;
}

AllocationCount::AllocationCount() {
  void* frames[2];
  backtrace(frames, 2);  // its first call loads a library
  by_us = by_libraries = 0;
  counting = true;
}
AllocationCount::~AllocationCount() { counting = false; }
int64_t AllocationCount::ours() const { return by_us; }
int64_t AllocationCount::libraries() const { return by_libraries; }

}  // namespace stoker::bench

// The default versions of the others (arrays, nothrow) call these two.
void* operator new(size_t bytes) {
  stoker::bench::note_allocation();
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  stoker::bench::note_allocation();
  auto unit = size_t(alignment);
  if (void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
