/* SPDX-License-Identifier: MIT */
#include "tool/progress.h"

#include <stdio.h>
#include <string.h>

#include "base/os.h"

#define NS_PER_MS UINT64_C(1000000)

void progress_start(struct progress *progress, const char *command)
{
	*progress = (struct progress){
		.command = command,
		.start_ns = os_monotonic_ns(),
		.watched = os_is_terminal(stderr) && !os_is_terminal(stdout),
	};
	progress->next_ns = progress->start_ns + PROGRESS_AFTER_MS * NS_PER_MS;
}

bool progress_line(struct progress *progress, double share, uint64_t now_ns,
		   char line[PROGRESS_LINE_SIZE])
{
	double percent = share < 0 ? 0 : share > 1 ? 100 : 100 * share;

	if (now_ns < progress->next_ns) {
		return false;
	}
	progress->next_ns = now_ns + PROGRESS_EVERY_MS * NS_PER_MS;
	snprintf(line, PROGRESS_LINE_SIZE, "\retwtool %.16s: %3.0f %%, %.0f s ", progress->command,
		 percent, (double)(now_ns - progress->start_ns) / 1e9);
	return true;
}

void progress_show(struct progress *progress, double share)
{
	char line[PROGRESS_LINE_SIZE];

	if (progress->watched && progress_line(progress, share, os_monotonic_ns(), line)) {
		os_stderr_write(line, strlen(line));
		progress->shown = true;
	}
}

void progress_end(struct progress *progress)
{
	static const char blank[] = "\r                                        \r";

	if (progress->shown) {
		os_stderr_write(blank, sizeof blank - 1);
		progress->shown = false;
	}
}
