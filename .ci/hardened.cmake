# Included by the project() of each library that the set-up scripts build (CMAKE_PROJECT_INCLUDE): the flags of our own code, and
# debugging information, from which tests/test_hardening.py reads them. Sections let the linker leave out what nothing calls.
# The folders are temporary: their names would make each build another one.
include(${CMAKE_CURRENT_LIST_DIR}/../cmake/hardening.cmake)
add_link_options(${etwx_hardening_link})
add_compile_options(${etwx_hardening} -g -ffunction-sections -fdata-sections
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}=/usr/src/${PROJECT_NAME} -ffile-prefix-map=${CMAKE_BINARY_DIR}=/usr/src/${PROJECT_NAME}/build)
