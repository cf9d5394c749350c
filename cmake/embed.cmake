# Builds text files into the program: etwx_embed(what header pattern out) puts the text of each file of the pattern, which is
# relative to the calling folder, into the array builtin_<what>s, which the header declares. The file to compile is in ${out}. The pattern may
# be a list of patterns. With HASHES behind it, builtin_<what>_hashes has what a Content Security Policy names each text by.
function(etwx_embed what header pattern out)
  set(writer ${PROJECT_SOURCE_DIR}/cmake/builtin.cmake)
  set(written ${CMAKE_CURRENT_BINARY_DIR}/builtin_${what}s.c)
  file(GLOB files CONFIGURE_DEPENDS ${pattern})
  add_custom_command(OUTPUT ${written}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DWHAT=${what} -DHEADER=${header} -DOUT=${written} "-DHASHES=${ARGN}" -P ${writer}
    DEPENDS ${files} ${writer}
    COMMENT "Embedding ${pattern}"
    VERBATIM)
  set(${out} ${written} PARENT_SCOPE)
endfunction()
