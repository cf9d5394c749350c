/* SPDX-License-Identifier: MIT */
/*
 * Runs groups of tests that are linked into one program. tests/CMakeLists.txt compiles the main()
 * of each test file as a function with the name of the file, and lists these functions in
 * groups.inc.
 *
 *     tests_base                       runs every group
 *     tests_base test_json test_map    runs these two
 *
 * The exit status is 1 when a group failed, 77 when every group was skipped, 2 for a name that is no
 * group.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SKIPPED = 77 };

#define GROUP(name) int name(void);
#include "groups.inc"
#undef GROUP

struct group {
	const char *name;
	int (*run)(void);
};

static const struct group groups[] = {
#define GROUP(name) { #name, name },
#include "groups.inc"
#undef GROUP
};

enum { GROUP_COUNT = sizeof groups / sizeof groups[0] };

static const struct group *find_group(const char *name)
{
	for (size_t i = 0; i < GROUP_COUNT; i++) {
		if (strcmp(groups[i].name, name) == 0) {
			return &groups[i];
		}
	}
	return NULL;
}

/* Returns true if the group failed. */
static bool run_group(const struct group *group, int *skipped)
{
	int status = group->run();

	if (status == SKIPPED) {
		(*skipped)++;
		printf("%s: skipped\n", group->name);
		return false;
	}
	if (status != 0) {
		printf("%s: FAILED with status %d\n", group->name, status);
	}
	fflush(stdout);
	return status != 0;
}

int main(int argc, char **argv)
{
	int failed = 0, skipped = 0, count = argc > 1 ? argc - 1 : GROUP_COUNT;

	for (int i = 1; i < argc; i++) {
		if (!find_group(argv[i])) {
			fprintf(stderr, "%s has no group %s\n", argv[0], argv[i]);
			return 2;
		}
	}
	for (int i = 0; i < count; i++) {
		failed += run_group(argc > 1 ? find_group(argv[i + 1]) : &groups[i], &skipped);
	}
	if (failed == 0 && skipped == count) {
		return SKIPPED;
	}
	return failed > 0 ? 1 : 0;
}
