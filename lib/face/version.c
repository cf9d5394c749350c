/* SPDX-License-Identifier: MIT */
#include <etw/version.h>

const char *etw_version(void)
{
	return ETWX_VERSION; /* CMake defines it for this file alone. */
}
