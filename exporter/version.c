/* SPDX-License-Identifier: MIT */
/*
 * What was built, from what, by what. CMake defines the four macros for this file alone, so a new
 * commit compiles only this file again.
 */
#include "version.h"

const char *version_number(void)
{
	return ETWX_VERSION;
}

const char *version_revision(void)
{
	return ETWX_REVISION;
}

const char *version_compiler(void)
{
	return ETWX_COMPILER;
}

const char *version_arch(void)
{
	return ETWX_ARCH;
}
