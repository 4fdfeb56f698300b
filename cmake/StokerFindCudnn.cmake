# Gives CUDA::cudart_static, CUDA::cublasLt and stoker_cudnn, what the GPU engine links. Shared with the installed package,
# so it sets nothing else and stops nothing: STOKER_GPU_LIBRARIES_MISSING names what was not found.

set(STOKER_GPU_LIBRARIES_MISSING "")
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_FOUND)
  set(STOKER_GPU_LIBRARIES_MISSING "the CUDA toolkit (set CUDAToolkit_ROOT, or put nvcc on the PATH)")
  return()
endif()
if(NOT TARGET stoker_cudnn)
  find_path(STOKER_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(STOKER_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9
    HINTS ${CUDAToolkit_LIBRARY_DIR} "${CUDAToolkit_LIBRARY_ROOT}/lib")
  mark_as_advanced(STOKER_CUDNN_INCLUDE STOKER_CUDNN_LIBRARY)
  if(NOT STOKER_CUDNN_INCLUDE OR NOT STOKER_CUDNN_LIBRARY)
    set(STOKER_GPU_LIBRARIES_MISSING "cuDNN 9 (set STOKER_CUDNN_INCLUDE and STOKER_CUDNN_LIBRARY)")
    return()
  endif()
  add_library(stoker_cudnn UNKNOWN IMPORTED)
  set_target_properties(stoker_cudnn PROPERTIES
    IMPORTED_LOCATION "${STOKER_CUDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${STOKER_CUDNN_INCLUDE}")
endif()
