# The same sources make the same bytes, in whichever folder they are built: names of folders are left out of debugging information, whose
# checksum a program of Windows has in itself. Times come from SOURCE_DATE_EPOCH, which .ci/package.sh sets. Builds for debugging and for
# coverage keep the names, because their tools look for the sources.
set(same_in_any_folder OFF)
if((CMAKE_BUILD_TYPE STREQUAL "Release" OR ETWX_SANITIZE) AND NOT MSVC)
  set(same_in_any_folder ON)
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${etwx_cache}=/usr/src)
endif()

# ccache compiles what it has not seen yet, where it is installed. A clone in another folder finds the objects of this one, unless they
# have names of folders in them.
find_program(ETWX_CCACHE ccache)
mark_as_advanced(ETWX_CCACHE)
if(ETWX_CCACHE AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${ETWX_CCACHE})
  if(same_in_any_folder)
    set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${ETWX_CCACHE})
  endif()
endif()
