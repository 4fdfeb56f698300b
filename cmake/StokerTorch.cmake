# libtorch as the peer of bench_step. Included by bench/ only, so that whatever Torch's package sets stays there.

file(GLOB torch_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/step/torch/*.cpp")
if(NOT STOKER_TORCH OR STOKER_SANITIZE)
  stoker_report(libtorch "not used" "bench_step shows no libtorch column")
  return()
endif()
if(NOT torch_sources OR NOT TARGET bench_step)
  stoker_report(libtorch "not used" "bench/step/torch has no sources")
  return()
endif()

# Torch's package is talkative and warns about optional pieces of its own; keep that out of our configure output.
set(CMAKE_MESSAGE_LOG_LEVEL_before "${CMAKE_MESSAGE_LOG_LEVEL}")
set(CMAKE_MESSAGE_LOG_LEVEL ERROR)
find_package(Torch QUIET)
set(CMAKE_MESSAGE_LOG_LEVEL "${CMAKE_MESSAGE_LOG_LEVEL_before}")
if(NOT TORCH_FOUND)
  stoker_report(libtorch "missing" "bench_step shows no libtorch column: libtorch-dev")
  return()
endif()

add_library(bench_step_torch OBJECT ${torch_sources})
set_target_properties(bench_step_torch PROPERTIES CXX_STANDARD 17)
target_include_directories(bench_step_torch PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
target_include_directories(bench_step_torch SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
separate_arguments(torch_flags UNIX_COMMAND "${TORCH_CXX_FLAGS}")
target_compile_options(bench_step_torch PRIVATE ${torch_flags} -Wall -Wextra)
target_link_libraries(bench_step_torch PRIVATE ${TORCH_LIBRARIES})

target_sources(bench_step PRIVATE $<TARGET_OBJECTS:bench_step_torch>)
target_compile_definitions(bench_step PRIVATE STOKER_HAVE_TORCH=1)
# By $<LINK_ONLY:>, Torch's include folders and definitions do not reach bench_step's own files.
foreach(library IN LISTS TORCH_LIBRARIES)
  target_link_libraries(bench_step PRIVATE $<LINK_ONLY:${library}>)
endforeach()
stoker_report(libtorch "found ${Torch_VERSION}" "the peer in bench_step")
