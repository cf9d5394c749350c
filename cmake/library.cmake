# libetw, for users of include/etw/: one archive of what these headers need of lib/ and base/. Only what they declare is a global
# symbol in it, so that no name of ours clashes with one of the user's. With BUILD_SHARED_LIBS it is libetw.so. Our own programs link
# the libraries of the folders instead.
#
# Libraries that a set-up script built are put into it, because a user does not have them. libetw.pc names the others.
if(MSVC) # its linker does not join objects
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(inside etwx_face etwx_decode etwx_live etwx_etl etwx_source etwx_base)
if(WIN32)
  list(APPEND inside etwx_tdh etwx_tracing)
endif()
set(inside_files)
foreach(library IN LISTS inside)
  list(APPEND inside_files $<TARGET_FILE:${library}>)
endforeach()
set(system_libraries -lm ${CMAKE_THREAD_LIBS_INIT})
if(WIN32)
  list(APPEND inside_files ${PROJECT_BINARY_DIR}/lib/live/libtdh_delayed.a) # lib/live/CMakeLists.txt
  set(system_libraries -lntdll -lssp) # the functions of the stack protector are a library there
endif()

# The name that pkg-config knows, and the target.
set(outside_packages)
set(outside)
foreach(row IN ITEMS expat=EXPAT::EXPAT libzstd=etwx::zstd liblzma=etwx::lzma zlib=etwx::zlib -=etwx::archive)
  string(REGEX MATCH "^(.*)=(.*)$" row ${row})
  set(package ${CMAKE_MATCH_1})
  set(library ${CMAKE_MATCH_2})
  get_target_property(file ${library} IMPORTED_LOCATION)
  if(NOT file)
    get_target_property(file ${library} IMPORTED_LOCATION_RELEASE)
  endif()
  cmake_path(IS_PREFIX etwx_cache "${file}" built_by_us)
  if(built_by_us)
    list(APPEND inside_files ${file})
  else()
    list(APPEND outside_packages ${package})
    list(APPEND outside ${library})
  endif()
endforeach()
list(JOIN outside_packages " " outside_packages)
list(JOIN system_libraries " " pc_libs)

set(exports ${PROJECT_BINARY_DIR}/libetw)
file(GLOB etwx_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/etw/*.h)
add_custom_command(OUTPUT ${exports}.symbols ${exports}.roots ${exports}.version
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/exports.py ${exports} ${PROJECT_SOURCE_DIR}/include ${CMAKE_C_COMPILER}
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.py ${etwx_headers} VERBATIM)
# The map names the libraries that are in it, for .ci/sbom.py.
add_custom_command(OUTPUT ${exports}.o
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${exports}.all.o @${exports}.roots -Wl,-Map=${exports}.map
    -Wl,--start-group ${inside_files} -Wl,--end-group
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${exports}.symbols ${exports}.all.o ${exports}.o
  DEPENDS ${inside} ${inside_files} ${exports}.symbols ${exports}.roots
  COMMENT "Joining the objects of libetw" VERBATIM)
set_source_files_properties(${exports}.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(etw ${exports}.o)
set_target_properties(etw PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION 0)
if(BUILD_SHARED_LIBS)
  target_link_libraries(etw PRIVATE ${outside} ${system_libraries})
  target_link_options(etw PRIVATE -Wl,--version-script=${exports}.version -Wl,-z,defs)
  set_target_properties(etw PROPERTIES LINK_DEPENDS ${exports}.version)
endif()
