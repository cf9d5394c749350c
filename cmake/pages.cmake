# Man pages and shell completions, written by packaging/pages.py from what the programs print with --describe, into share/ of the build.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

# The day of SOURCE_DATE_EPOCH, which .ci/package.sh sets, or of the commit: two builds of a commit make the same pages.
set(date "")
find_package(Git QUIET)
if(NOT "$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  string(TIMESTAMP date %Y-%m-%d UTC) # reads SOURCE_DATE_EPOCH
elseif(Git_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} log -1 --format=%cs WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()

set(share ${PROJECT_BINARY_DIR}/share)
set(pages)
set(commands)
# Windows programs are run by what runs the tests.
string(REPLACE ";" "|" emulator "${CMAKE_CROSSCOMPILING_EMULATOR}")
if(NOT emulator STREQUAL "")
  string(APPEND emulator "|")
endif()
foreach(program IN LISTS etwx_programs)
  list(APPEND pages ${share}/man/man1/${program}.1 ${share}/bash-completion/completions/${program}
    ${share}/zsh/site-functions/_${program} ${share}/fish/vendor_completions.d/${program}.fish
    ${share}/etw_exporter/completion/${program}.ps1)
  list(APPEND commands "${emulator}$<TARGET_FILE:${program}>")
endforeach()
add_custom_command(OUTPUT ${pages}
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/packaging/pages.py ${PROJECT_BINARY_DIR} "${date}"
    ${commands}
  DEPENDS ${PROJECT_SOURCE_DIR}/packaging/pages.py ${etwx_programs}
  COMMENT "Man pages and shell completions" VERBATIM)
add_custom_target(pages ALL DEPENDS ${pages})

if(WIN32)
  install(DIRECTORY ${share}/etw_exporter/completion DESTINATION ${etwx_data_dir})
else()
  foreach(page IN LISTS pages)
    cmake_path(GET page PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${share})
    set(component exporter)
    if(page MATCHES "/_?etwtool[^/]*$")
      set(component etwtool)
    endif()
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT ${component})
  endforeach()
endif()
