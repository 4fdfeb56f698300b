# Finds what Stoker is built on. Nothing here stops the configure run: a missing piece becomes a line of the
# table at the end, and only the required ones (marked by STOKER_MISSING) end it there, all named at once.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(stoker_required name package what found version)
  if(found)
    stoker_report("${name}" "found ${version}" "${what}")
  else()
    stoker_report("${name}" "MISSING" "required for ${what}: ${package}")
    set_property(GLOBAL APPEND PROPERTY STOKER_MISSING "${package}")
  endif()
endfunction()

include(StokerFindDnnl)
set(dnnl_usable ${dnnl_FOUND})
if(dnnl_VERSION VERSION_GREATER_EQUAL 4 OR dnnl_VERSION VERSION_LESS 2.6)
  set(dnnl_usable FALSE) # src/engine/cpu/onednn.h knows 2.6 to 3.x
endif()
stoker_required(oneDNN "libdnnl-dev (2.6 to 3.x)" "CPU kernels" "${dnnl_usable}" "${dnnl_VERSION}")

find_package(OpenMP QUIET COMPONENTS CXX)
stoker_required(OpenMP libgomp1 "the threads of the CPU engine" "${OpenMP_CXX_FOUND}" "${OpenMP_CXX_VERSION}")

find_package(fmt QUIET)
stoker_required(fmt libfmt-dev "messages" "${fmt_FOUND}" "${fmt_VERSION}")

find_package(nlohmann_json QUIET)
stoker_required(json nlohmann-json3-dev "safetensors headers, reports" "${nlohmann_json_FOUND}" "${nlohmann_json_VERSION}")

find_package(ZLIB QUIET)
stoker_required(zlib zlib1g-dev "gzip and checksums in formats" "${ZLIB_FOUND}" "${ZLIB_VERSION_STRING}")

find_package(JPEG QUIET)
stoker_required(libjpeg libjpeg-dev "JPEG images" "${JPEG_FOUND}" "${JPEG_VERSION}")

find_package(PNG QUIET)
stoker_required(libpng libpng-dev "PNG images" "${PNG_FOUND}" "${PNG_VERSION_STRING}")

find_package(CLI11 QUIET)
if(CLI11_FOUND)
  stoker_report(CLI11 "found ${CLI11_VERSION}" "the stoker program")
else()
  stoker_report(CLI11 "missing" "no stoker program is built: libcli11-dev")
endif()

find_path(STOKER_TOML_INCLUDE "toml++/toml.h")
if(STOKER_TOML_INCLUDE)
  stoker_report(toml++ "found" "job files in TOML")
else()
  stoker_report(toml++ "missing" "job files in JSON only: libtomlplusplus-dev")
endif()

if(STOKER_TESTS)
  find_package(GTest QUIET)
  if(GTest_FOUND)
    stoker_report(GoogleTest "found ${GTest_VERSION}" "tests")
  else()
    stoker_report(GoogleTest "missing" "no tests are built: libgtest-dev")
    set(STOKER_TESTS OFF)
  endif()
else()
  stoker_report(GoogleTest "not used" "STOKER_TESTS is off")
endif()

if(NOT STOKER_CUDA)
  stoker_report(CUDA "off" "runs on the CPU (the cuda preset asks for it)")
else()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    # From Ampere to Hopper in machine code; newer GPUs compile the last one's PTX when they first see it.
    set(CMAKE_CUDA_ARCHITECTURES "80-real;86-real;89-real;90")
  endif()
  if(STOKER_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${STOKER_CCACHE}")
  endif()
  enable_language(CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc 12 and later take it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  stoker_report(CUDA "found ${CMAKE_CUDA_COMPILER_VERSION}" "the GPU engine")
  include(StokerFindCudnn)
  if(STOKER_GPU_LIBRARIES_MISSING)
    stoker_report(cuDNN "MISSING" "required for the GPU engine: ${STOKER_GPU_LIBRARIES_MISSING}")
    set_property(GLOBAL APPEND PROPERTY STOKER_MISSING "${STOKER_GPU_LIBRARIES_MISSING}")
  endif()
endif()
