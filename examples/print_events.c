/* SPDX-License-Identifier: MIT */
/*
 * Prints the events of a recording in time order, one JSON object per line.
 *
 *	print_events boot.etl
 */
#include <stdio.h>
#include <stdlib.h>

#include <etw/etw.h>

static bool failed;

static void on_event(void *context, struct etw_event *event)
{
	const char *json = etw_event_json(event, NULL);

	if (!json || puts(json) == EOF) {
		failed = true;
		etw_stop(context);
	}
}

int main(int argc, char **argv)
{
	struct etw_error err;
	struct etw_losses losses;
	struct etw_trace *trace;
	bool good;

	if (argc != 2) {
		fprintf(stderr, "usage: print_events FILE\n");
		return EXIT_FAILURE;
	}
	trace = etw_open_recording(argv[1], NULL, &err);
	if (!trace) {
		fprintf(stderr, "%s\n", err.text);
		return EXIT_FAILURE;
	}
	good = etw_run(trace, &(struct etw_callbacks){ .context = trace, .on_event = on_event },
		       &err);
	if (!good) {
		fprintf(stderr, "%s\n", err.text);
	}
	if (etw_losses(trace, &losses, NULL)) {
		fprintf(stderr,
			"%llu events were lost; %llu buffers and %llu records are damaged\n",
			(unsigned long long)losses.events_lost,
			(unsigned long long)losses.damaged_buffers,
			(unsigned long long)losses.damaged_records);
	}
	etw_close(trace);
	if (failed || fflush(stdout) != 0) {
		fprintf(stderr, "the events could not be written\n");
		return EXIT_FAILURE;
	}
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
