/* SPDX-License-Identifier: MIT */
/*
 * make_stacks FILE: the recording of stack_events.h, for tests/e2e/stacks.sh.
 */
#include <stdio.h>

#include "tests/support/stack_events.h"

int main(int argc, char **argv)
{
	const struct etw_writer_options options = stack_events_options();
	struct etw_error err = { 0 };
	struct etw_writer *writer = argc == 2 ? etw_writer_open(argv[1], &options, &err) : NULL;

	if (writer) {
		stack_events_add(writer, 8);
	}
	if (!writer || !etw_writer_finish(writer, &err)) {
		fprintf(stderr, "make_stacks FILE: %s\n", err.text);
		return 1;
	}
	etw_writer_close(writer);
	return 0;
}
