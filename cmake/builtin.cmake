# cmake -DFILES=a.yaml;b.yaml -DWHAT=collector -DHEADER=config/builtin.h -DOUT=builtin_collectors.c -P builtin.cmake: writes the texts of FILES as C,
# as HEADER declares it. With -DHASHES=HASHES also their hashes, as "Content Security Policy Level 3" (W3C) writes them: SHA-256, base64.
# Bytes, not string literals: C11 compilers need not take literals over 4095 bytes.
set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)

# Hexadecimal digits as base64 (RFC 4648): three of them are 12 bits, two characters.
function(to_base64 hex out)
  set(text "")
  string(LENGTH "${hex}" length)
  math(EXPR last "${length} - 1")
  foreach(at RANGE 0 ${last} 3)
    string(SUBSTRING "${hex}00" ${at} 3 part)
    math(EXPR high "0x${part} >> 6")
    math(EXPR low "0x${part} & 63")
    string(SUBSTRING ${digits} ${high} 1 high)
    string(SUBSTRING ${digits} ${low} 1 low)
    string(APPEND text ${high}${low})
  endforeach()
  # 64 digits are 256 bits: 43 characters, and one to fill the last group of four.
  string(SUBSTRING ${text} 0 43 text)
  set(${out} "${text}=" PARENT_SCOPE)
endfunction()

set(texts "")
set(hashes "")
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
  if(HASHES)
    file(SHA256 ${file} hash)
    to_base64(${hash} hash)
    string(APPEND hashes "\t\"sha256-${hash}\",\n")
  endif()
endforeach()
if(count EQUAL 0)
  set(rows "\t{ \"\", \"\", 0 },\n") # an array cannot be empty
endif()
file(WRITE ${OUT} "/* Made by cmake/builtin.cmake. */
#include \"${HEADER}\"

${texts}
const struct builtin_file builtin_${WHAT}s[] = {
${rows}};
const size_t builtin_${WHAT}_count = ${count};
")
if(HASHES)
  file(APPEND ${OUT} "const char *const builtin_${WHAT}_hashes[] = {\n${hashes}};\n")
endif()
