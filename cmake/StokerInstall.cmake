# Headers, library and the CMake package: find_package(stoker) gives stoker::stoker.

include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stoker")

install(TARGETS stoker EXPORT stokerTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" "${PROJECT_BINARY_DIR}/generated/include/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
install(EXPORT stokerTargets NAMESPACE stoker:: DESTINATION "${package_dir}")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/stokerConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/stokerConfig.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stokerConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/stokerConfig.cmake"
  "${PROJECT_BINARY_DIR}/stokerConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/StokerFindDnnl.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/StokerFindGomp.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/StokerFindCudnn.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/StokerFindNccl.cmake"
  DESTINATION "${package_dir}")
