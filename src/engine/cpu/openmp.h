// OpenMP as the engine uses it: always libgomp, on which Debian's oneDNN runs, whatever compiles the
// engine. Clang's pragmas would bring libomp into the process, with a second team on the same cores;
// so there are no pragmas, and these are calls of libgomp's stable ABI.
#pragma once

extern "C" {
int omp_get_max_threads() noexcept;
int omp_get_num_procs() noexcept;
int omp_get_num_threads() noexcept;
int omp_get_thread_num() noexcept;
void omp_set_num_threads(int threads) noexcept;
void omp_set_dynamic(int dynamic) noexcept;
int omp_get_max_active_levels() noexcept;
void omp_set_max_active_levels(int levels) noexcept;
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
}

namespace stoker::cpu {

// Calls body() on every thread of a team and returns after the last; 0: as many threads as
// omp_get_max_threads() says. What a body throws ends the program.
template <class Body>
void run_team(int threads, const Body& body) {
  auto call = [](void* data) noexcept { (*static_cast<const Body*>(data))(); };
  GOMP_parallel(call, const_cast<Body*>(&body), unsigned(threads), 0);
}

}  // namespace stoker::cpu
