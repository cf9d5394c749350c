/* SPDX-License-Identifier: MIT */
/*
 * etwtool's entry: picks the subcommand.
 */
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "tool/tool.h"
#include "version.h"

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
} subcommands[] = {
	{ "summary", tool_summary },
	{ "dump", tool_dump },
	{ "check", tool_check },
};

static const char usage[] =
	"usage: etwtool summary FILE [--pointer-size 4|8]\n"
	"       etwtool dump FILE [--per-kind N] [--pointer-size 4|8]\n"
	"       etwtool check config FILE\n"
	"\n"
	"  summary        what is in a recording (.etl), as JSON\n"
	"  dump           its events, one JSON object a line, in file order\n"
	"  check config   whether a configuration and its collectors are well-formed\n"
	"\n"
	"  --pointer-size 4|8  the pointer size of classic payloads, where it is not the one that\n"
	"                      the records tell\n"
	"  --per-kind N        only the first N events of each kind\n"
	"  --version           which etwtool this is\n"
	"  --help              this text\n";

int main(int argc, char **argv)
{
	struct error err = { 0 };
	const char *name;

	if (!os_program_start(&argc, &argv, &err)) {
		fprintf(stderr, "etwtool: %s\n", err.text);
		return TOOL_FAILED;
	}
	name = argc > 1 ? argv[1] : NULL;
	if (!name) {
		fputs(usage, stderr);
		return TOOL_BAD_USAGE;
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			fputs(usage, stdout);
			return TOOL_DONE;
		}
	}
	if (strcmp(name, "--version") == 0) {
		printf("etwtool %s (revision %s, %s, %s)\n", version_number(), version_revision(),
		       version_compiler(), version_arch());
		return TOOL_DONE;
	}
	for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
		if (strcmp(name, subcommands[i].name) == 0) {
			return subcommands[i].run(argc - 1, argv + 1);
		}
	}
	fprintf(stderr, "etwtool: unknown subcommand \"%s\": try etwtool --help\n", name);
	return TOOL_BAD_USAGE;
}
