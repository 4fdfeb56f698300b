# Gives GOMP::gomp, the OpenMP runtime that Debian's oneDNN runs on. Linked by name under every compiler: Clang's -fopenmp would
# bring a second runtime into the process (src/engine/cpu/openmp.h). Shared with the installed package, so it sets nothing else.

if(NOT TARGET GOMP::gomp)
  # The file of the runtime package; its name for the linker lies in a folder of GCC.
  find_library(GOMP_LIBRARY NAMES libgomp.so.1 gomp PATHS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
  mark_as_advanced(GOMP_LIBRARY)
  if(GOMP_LIBRARY)
    add_library(GOMP::gomp UNKNOWN IMPORTED)
    set_target_properties(GOMP::gomp PROPERTIES IMPORTED_LOCATION "${GOMP_LIBRARY}")
  endif()
endif()
if(TARGET GOMP::gomp)
  set(gomp_FOUND TRUE)
else()
  set(gomp_FOUND FALSE)
endif()
