/* SPDX-License-Identifier: MIT */
/*
 * make_sample OUT.etl                                  writes the sample recording
 * make_sample --plain-size=1GiB [--switches] OUT.etl   writes a plain recording of about this size,
 * for the benchmark
 *
 * With --plain-size, one line on standard output says how many records it has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/support/plain_recording.h"
#include "tests/support/sample.h"

struct arguments {
	const char *path;
	uint64_t plain_size; /* 0: the sample */
	bool switches;
};

static const char usage[] =
	"usage: make_sample [--plain-size=BYTES|KiB|MiB|GiB [--switches]] OUT.etl\n";

/* A number with an optional KiB, MiB or GiB behind it. */
static bool parse_size(const char *text, uint64_t *size)
{
	static const char *const units[] = { "KiB", "MiB", "GiB" };
	size_t length = strlen(text);

	for (unsigned i = 0; i < 3; i++) {
		if (length > 3 && strcmp(text + length - 3, units[i]) == 0) {
			unsigned shift = 10 * (i + 1);
			uint64_t number;

			if (!parse_u64(text, length - 3, &number) || number > UINT64_MAX >> shift) {
				return false;
			}
			*size = number << shift;
			return true;
		}
	}
	return parse_u64(text, length, size);
}

static bool parse_arguments(int argc, char **argv, struct arguments *arguments)
{
	static const char plain_size[] = "--plain-size=";

	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], plain_size, sizeof plain_size - 1) == 0) {
			if (!parse_size(argv[i] + sizeof plain_size - 1, &arguments->plain_size) ||
			    arguments->plain_size == 0) {
				return false;
			}
		} else if (strcmp(argv[i], "--switches") == 0) {
			arguments->switches = true;
		} else if (argv[i][0] == '-' || arguments->path) {
			return false;
		} else {
			arguments->path = argv[i];
		}
	}
	return arguments->path != NULL;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct plain_totals totals = { 0 };
	struct etw_error err = { 0 };
	bool written;

	if (!parse_arguments(argc, argv, &arguments)) {
		fputs(usage, stderr);
		return 2;
	}
	if (arguments.plain_size > 0) {
		written = plain_recording_write(arguments.path, arguments.plain_size,
						arguments.switches, &totals, &err);
		if (written) {
			printf("%" PRIu64 " records\n", totals.records);
		}
	} else {
		written = sample_write(arguments.path, NULL, &err);
	}
	if (!written) {
		fprintf(stderr, "make_sample: %s\n", err.text);
		return 1;
	}
	return 0;
}
