# Installs Stoker to a fresh prefix, then configures, builds and runs the project beside this file against it.
#   cmake -DSTOKER_BUILD=... -DWORK=... -DGENERATOR=... -DCOMPILER=... -DCONFIG=... -P run.cmake

cmake_path(GET CMAKE_CURRENT_LIST_FILE PARENT_PATH source)
file(REMOVE_RECURSE "${WORK}")

execute_process(COMMAND "${CMAKE_COMMAND}" --install "${STOKER_BUILD}" --prefix "${WORK}/prefix"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${WORK}/build" -G "${GENERATOR}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_BUILD_TYPE=${CONFIG}" "-DCMAKE_PREFIX_PATH=${WORK}/prefix"
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${WORK}/build/uses_stoker" COMMAND_ERROR_IS_FATAL ANY)
