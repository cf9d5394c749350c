# cmake -DFILES=a.yaml;b.yaml -DWHAT=collector -DOUT=builtin_collectors.c -P builtin.cmake: writes the texts of FILES as C,
# see config/builtin.h.
# Bytes, not string literals: C11 compilers need not take literals over 4095 bytes.
set(texts "")
set(rows "")
set(count 0)
list(SORT FILES)
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${bytes}")
  string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")
  string(APPEND texts "static const char text_${count}[] = {\n${bytes}'\\0' };\n")
  string(APPEND rows "\t{ \"${name}\", text_${count}, sizeof text_${count} - 1 },\n")
  math(EXPR count "${count} + 1")
endforeach()
if(count EQUAL 0)
  set(rows "\t{ \"\", \"\", 0 },\n") # an array cannot be empty
endif()
file(WRITE ${OUT} "/* Made by cmake/builtin.cmake. */
#include \"config/builtin.h\"

${texts}
const struct builtin_file builtin_${WHAT}s[] = {
${rows}};
const size_t builtin_${WHAT}_count = ${count};
")
