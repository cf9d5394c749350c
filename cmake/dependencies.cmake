# Third-party libraries, as imported targets. On Debian and Ubuntu .ci/deps-debian.sh provides them all, and
# .ci/deps-mingw.sh those of the Windows build.
if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(etwx_cache "$ENV{XDG_CACHE_HOME}/etw_exporter")
else()
  set(etwx_cache "$ENV{HOME}/.cache/etw_exporter")
endif()
# What the set-up scripts built.
set(etwx_host_prefix "${etwx_cache}/${CMAKE_HOST_SYSTEM_PROCESSOR}")
if(CMAKE_CROSSCOMPILING)
  set(etwx_hint "on Debian and Ubuntu: bash .ci/deps-mingw.sh")
  list(PREPEND CMAKE_FIND_ROOT_PATH "${etwx_cache}/x86_64-w64-mingw32")
else()
  set(etwx_hint "on Debian and Ubuntu: bash .ci/deps-debian.sh")
  list(PREPEND CMAKE_PREFIX_PATH ${etwx_host_prefix})
endif()

find_package(Threads REQUIRED)
find_package(EXPAT REQUIRED)
if(WIN32)
  set_property(TARGET EXPAT::EXPAT APPEND PROPERTY INTERFACE_COMPILE_DEFINITIONS XML_STATIC)
endif()

# etwx_find(name HEADER header LIBRARY names...) makes the imported target etwx::name.
function(etwx_find name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER" "LIBRARY")
  find_path(${name}_INCLUDE_DIR ${arg_HEADER})
  find_library(${name}_LIBRARY NAMES ${arg_LIBRARY})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(NOT ${name}_INCLUDE_DIR OR NOT ${name}_LIBRARY)
    message(FATAL_ERROR "${name} is missing (${arg_HEADER}, ${arg_LIBRARY}); ${etwx_hint}")
  endif()
  add_library(etwx::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(etwx::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
endfunction()

etwx_find(yaml HEADER yaml.h LIBRARY yaml)
etwx_find(pcre2 HEADER pcre2.h LIBRARY pcre2-8 pcre2-8-static)
set_target_properties(etwx::yaml PROPERTIES INTERFACE_COMPILE_DEFINITIONS $<$<PLATFORM_ID:Windows>:YAML_DECLARE_STATIC>)
set_target_properties(etwx::pcre2 PROPERTIES
  INTERFACE_COMPILE_DEFINITIONS "PCRE2_CODE_UNIT_WIDTH=8;$<$<PLATFORM_ID:Windows>:PCRE2_STATIC>")
if(NOT ETWX_FUZZ)
  etwx_find(civetweb HEADER civetweb.h LIBRARY civetweb)
  etwx_find(cmocka HEADER cmocka.h LIBRARY cmocka-static cmocka)
  if(WIN32)
    target_link_libraries(etwx::civetweb INTERFACE ws2_32)
  else()
    find_package(OpenSSL 3 REQUIRED) # our civetweb is built with TLS
    target_link_libraries(etwx::civetweb INTERFACE OpenSSL::SSL Threads::Threads)
  endif()
endif()
