# Flags for all of our code. Directory scope: third-party libraries are not built here.
if(MSVC)
  add_compile_options(/W4 /utf-8)
  if(ETWX_WERROR)
    add_compile_options(/WX)
  endif()
else()
  add_compile_options(
    -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
    -Wundef -Wvla -Wwrite-strings -Wcast-qual -Wpointer-arith -fno-common)
  if(ETWX_WERROR)
    add_compile_options(-Werror)
  endif()
endif()

if(WIN32)
  # Windows 10's interface, in UTF-16; printf as C11 has it, not as Microsoft's old library does.
  add_compile_definitions(_WIN32_WINNT=0x0A00 WINVER=0x0A00 UNICODE _UNICODE WIN32_LEAN_AND_MEAN NOMINMAX
    __USE_MINGW_ANSI_STDIO=1)
  if(MINGW)
    set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
    add_compile_options(-Wno-float-conversion) # isfinite() of its math.h is a macro with casts
    add_link_options(-static)                  # no DLL beside those of Windows
  endif()
else()
  # POSIX.1-2008 is visible everywhere; what needs more (os_process_posix.c) says so in its first line.
  add_compile_definitions(_POSIX_C_SOURCE=200809L _FILE_OFFSET_BITS=64)
  set(CMAKE_C_FLAGS_RELEASE "-O3 -g -DNDEBUG")
  # All of it ends in programs: PIE, not PIC, which would keep the compiler from inlining public functions. What a sanitizer knows of
  # globals would take 150,000 relocations when a program starts, which is a fifth of the time of a short test: no PIE there.
  if(ETWX_SANITIZE)
    add_compile_options(-fno-pie)
    add_link_options(-no-pie)
  elseif(BUILD_SHARED_LIBS) # libetw.so has the same objects
    add_compile_options(-fPIC -fno-semantic-interposition)
    add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
  else()
    add_compile_options(-fPIE)
    add_link_options(-pie)
  endif()
  add_link_options(-Wl,--gc-sections) # of libraries in sections, what nothing calls
endif()

set(sanitize "${ETWX_SANITIZE}")
if(sanitize)
  add_compile_options(-fsanitize=${sanitize} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitize})
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized) # false alarms when GCC instruments
  endif()
elseif(NOT MSVC)
  include(${CMAKE_CURRENT_LIST_DIR}/hardening.cmake)
  add_compile_options(${etwx_hardening})
  add_link_options(${etwx_hardening_link})
endif()
if(ETWX_FUZZ)
  if(NOT ETWX_FUZZING_ENGINE)
    add_compile_options(-fsanitize=fuzzer-no-link)
  endif()
  add_compile_options(-Wno-missing-field-initializers) # clang's is for the { NULL } that ends a table, too
endif()
if(ETWX_COVERAGE)
  # Up to eight files for a program; processes that end at the same time each find a free one, to which they add.
  set(profiles -fprofile-instr-generate=${PROJECT_BINARY_DIR}/profiles/%8m.profraw)
  add_compile_options(${profiles} -fcoverage-mapping)
  add_link_options(${profiles})
endif()
