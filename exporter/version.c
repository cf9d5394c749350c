/* SPDX-License-Identifier: MIT */
/* CMake defines the macros for this file alone, so a new commit compiles only this file again. */
#include "exporter/version.h"

const struct program_version program_version = {
	.number = ETWX_VERSION,
	.revision = ETWX_REVISION,
	.compiler = ETWX_COMPILER,
	.arch = ETWX_ARCH,
};
