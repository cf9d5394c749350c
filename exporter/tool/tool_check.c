/* SPDX-License-Identifier: MIT */
#include "tool/tool.h"

int tool_check(int argc, char **argv)
{
	(void)argc;
	return tool_complain(TOOL_FAILED, argv[0], "is not there yet");
}
