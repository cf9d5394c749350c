# The same sources make the same bytes, in whichever folder they are built: names of folders are left out of debugging information, whose
# checksum a program of Windows has in itself. Times come from SOURCE_DATE_EPOCH, which .ci/package.sh sets.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MSVC)
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${etwx_cache}=/usr/src)
endif()
