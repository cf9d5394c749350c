/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/print.h"

bool print_reader_is_gone(void)
{
	return errno == EPIPE;
}
