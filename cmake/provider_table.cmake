# cmake -DFILE=well_known_providers.txt -DOUT=provider_table.c -P provider_table.cmake: writes the lines "GUID NAME" of FILE as C,
# see lib/source/provider_names.h. A line that begins with # is a comment.
file(STRINGS ${FILE} lines ENCODING UTF-8)
list(FILTER lines EXCLUDE REGEX "^#")
list(SORT lines)
set(rows "")
foreach(line IN LISTS lines)
  if(NOT line MATCHES "^([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]+) ([^\"\\]+)$")
    message(FATAL_ERROR "${FILE}: '${line}' is not a GUID and a name")
  endif()
  string(APPEND rows "\t{ \"${CMAKE_MATCH_6}\", GUID_PARTS(0x${CMAKE_MATCH_1}, 0x${CMAKE_MATCH_2}, 0x${CMAKE_MATCH_3}, 0x${CMAKE_MATCH_4}, 0x${CMAKE_MATCH_5}) },\n")
endforeach()
list(LENGTH lines count)
file(WRITE ${OUT} "/* Made by cmake/provider_table.cmake. */
#include \"lib/source/provider_names.h\"

const struct etw_known_provider_row etw_well_known_providers[] = {
${rows}};
const size_t etw_well_known_provider_count = ${count};
")
