# Gives stoker_nccl where NCCL is installed, beside the CUDA toolkit or in the system. Shared with the installed package, so
# it sets nothing else and stops nothing.

if(NOT TARGET stoker_nccl)
  find_path(STOKER_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(STOKER_NCCL_LIBRARY NAMES nccl libnccl.so.2
    HINTS ${CUDAToolkit_LIBRARY_DIR} "${CUDAToolkit_LIBRARY_ROOT}/lib")
  mark_as_advanced(STOKER_NCCL_INCLUDE STOKER_NCCL_LIBRARY)
  if(STOKER_NCCL_INCLUDE AND STOKER_NCCL_LIBRARY)
    add_library(stoker_nccl UNKNOWN IMPORTED)
    set_target_properties(stoker_nccl PROPERTIES
      IMPORTED_LOCATION "${STOKER_NCCL_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${STOKER_NCCL_INCLUDE}")
  endif()
endif()
