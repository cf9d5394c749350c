/* SPDX-License-Identifier: MIT */
/*
 * What windows_kit.sh puts in the place of Windows' tar.exe under Wine, which has none.
 *
 * It writes its arguments into the file that TAR_REQUEST names, a line each, and waits until the
 * script has removed that file: then the archive is written.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/system.h"

enum { LOOK_MS = 20 };

int main(int argc, char **argv)
{
	const char *path = getenv("TAR_REQUEST");
	FILE *file = path ? fopen(path, "wb") : NULL;

	if (!file) {
		return EXIT_FAILURE;
	}
	for (int i = 1; i < argc; i++) {
		fprintf(file, "%s\n", argv[i]);
	}
	fprintf(file, "end\n");
	fclose(file);
	for (unsigned waited = 0; waited < WAIT_MS; waited += LOOK_MS) {
		file = fopen(path, "r");
		if (!file) {
			return EXIT_SUCCESS;
		}
		fclose(file);
		system_sleep_ms(LOOK_MS);
	}
	return EXIT_FAILURE;
}
