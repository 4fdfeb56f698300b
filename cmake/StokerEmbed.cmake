# stoker_embed(TARGET header namespace::function file...): compiles files into a target as constant bytes. `header` declares
# `std::string_view function(std::string_view name)` in the namespace, which finds them by their file names.
#
# The same file is the script that writes the source: cmake -D OUTPUT=… -D HEADER=… -D NAMESPACE=… -D FUNCTION=… -D FILES=a;b -P this.
if(CMAKE_SCRIPT_MODE_FILE)
  set(arrays "")
  set(lookups "")
  foreach(file IN LISTS FILES)
    file(READ "${file}" hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    cmake_path(GET file FILENAME name)
    string(MAKE_C_IDENTIFIER "k_${FUNCTION}_${name}" symbol)
    string(APPEND arrays "constexpr unsigned char ${symbol}[] = {\n${bytes}};\n")
    string(APPEND lookups
      "  if (name == \"${name}\") return {reinterpret_cast<const char*>(${symbol}), sizeof(${symbol})};\n")
  endforeach()
  file(WRITE "${OUTPUT}" "// Written by cmake/StokerEmbed.cmake.
#include \"${HEADER}\"

namespace ${NAMESPACE} {

namespace {
${arrays}}  // namespace

std::string_view ${FUNCTION}(std::string_view name) {
${lookups}  return {};
}

}  // namespace ${NAMESPACE}
")
  return()
endif()

set(stoker_embed_script "${CMAKE_CURRENT_LIST_FILE}")
function(stoker_embed target header qualified)
  string(REGEX MATCH "^(.*)::([^:]*)$" matched "${qualified}")
  set(namespace "${CMAKE_MATCH_1}")
  set(function "${CMAKE_MATCH_2}")
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_${function}.cpp")
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DHEADER=${header}" "-DNAMESPACE=${namespace}"
            "-DFUNCTION=${function}" "-DFILES=${ARGN}"
            -P "${stoker_embed_script}"
    DEPENDS ${ARGN} "${stoker_embed_script}"
    COMMENT "Embedding ${function}"
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
