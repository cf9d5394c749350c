/* SPDX-License-Identifier: MIT */
/*
 * make_sample OUT.etl                      writes the sample recording
 * make_sample --plain-size=1GiB OUT.etl    writes a plain recording of about this size, for the benchmark
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/sample.h"

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: make_sample OUT.etl\n");
		return 2;
	}
	if (!sample_write(argv[1], NULL, &err)) {
		fprintf(stderr, "make_sample: %s\n", err.text);
		return 1;
	}
	return 0;
}
