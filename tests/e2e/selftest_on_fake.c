/* SPDX-License-Identifier: MIT */
/* What selftest/main.c needs beside it to run on tests/fake_etw. */
#include <etw/session.h>

/* Wine, where this runs, has no event tracing, but the fake is one. */
bool etw_here(struct etw_error *err)
{
	(void)err;
	return true;
}
