# What makes a mistake with memory harder to exploit: for all of our code (compile.cmake), and for the libraries that the
# set-up scripts build (.ci/civetweb). tests/test_hardening.py looks for it in the programs.
#
# etwx_hardening, etwx_hardening_link: options for GCC and Clang. The sanitizers do not go together with them.
include(CheckCCompilerFlag)

set(etwx_hardening -fstack-protector-strong)
# Sizes that are only known at run time are checked from GCC 12 and Clang 9 on.
set(etwx_fortify 2)
if((CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12)
    OR (CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 9))
  set(etwx_fortify 3)
endif()
# Without optimization there is nothing that could be checked, and glibc warns.
set(optimized "$<CONFIG:Release,RelWithDebInfo>")
list(APPEND etwx_hardening "$<${optimized}:-U_FORTIFY_SOURCE>" "$<${optimized}:-D_FORTIFY_SOURCE=${etwx_fortify}>")

if(WIN32)
  # The stack is touched page by page in all programs of Windows, and its control-flow protection (Control Flow Guard, shadow stacks)
  # needs a linker that MinGW does not have.
  # The stack protector also as an option of linking: MinGW has its functions in a library of their own.
  set(etwx_hardening_link -fstack-protector-strong -Wl,--dynamicbase,--high-entropy-va,--nxcompat)
else()
  list(APPEND etwx_hardening -fstack-clash-protection)
  # Control-flow protection of the processor: x86, else Arm. Of our objects alone: the linker marks a program for it only if all objects
  # are, and the start files of the C library of Debian 12 are not.
  check_c_compiler_flag(-fcf-protection=full etwx_has_cet)
  check_c_compiler_flag(-mbranch-protection=standard etwx_has_bti)
  if(etwx_has_cet)
    list(APPEND etwx_hardening -fcf-protection=full)
  elseif(etwx_has_bti)
    list(APPEND etwx_hardening -mbranch-protection=standard)
  endif()
  set(etwx_hardening_link -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
