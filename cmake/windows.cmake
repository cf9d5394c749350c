# What a program of Windows has beside its code. tests/test_windows_programs.py reads it from the programs.

# Adds VERSIONINFO and a manifest to a program, and keeps its debugging information in a file of its own:
# etwx_windows_program(target description). Without Windows it does nothing.
function(etwx_windows_program program_name program_description)
  if(NOT WIN32)
    return()
  endif()
  set(from ${PROJECT_SOURCE_DIR}/cmake)
  set(resources ${CMAKE_CURRENT_BINARY_DIR}/${program_name})
  configure_file(${from}/program.manifest.in ${resources}.manifest @ONLY)
  configure_file(${from}/program.rc.in ${resources}.rc @ONLY)
  target_sources(${program_name} PRIVATE ${resources}.rc)
  set_source_files_properties(${resources}.rc PROPERTIES
    INCLUDE_DIRECTORIES ${CMAKE_CURRENT_BINARY_DIR} OBJECT_DEPENDS ${resources}.manifest)
  if(MSVC)
    target_link_options(${program_name} PRIVATE /MANIFEST:NO) # it is a resource already
  else()
    # The debugger finds the file by the link, beside the program.
    set(debug $<TARGET_FILE_DIR:${program_name}>/${program_name}.debug)
    add_custom_command(TARGET ${program_name} POST_BUILD
      COMMAND ${CMAKE_OBJCOPY} --only-keep-debug $<TARGET_FILE:${program_name}> ${debug}
      COMMAND ${CMAKE_OBJCOPY} --strip-all --add-gnu-debuglink=${debug} $<TARGET_FILE:${program_name}>
      BYPRODUCTS ${PROJECT_BINARY_DIR}/${program_name}.debug VERBATIM)
  endif()
endfunction()
