/* SPDX-License-Identifier: MIT */
/*
 * Follows a provider live and prints its events, one JSON object per line, until Ctrl-C or until
 * the given number of events has come.
 *
 *	follow_session Microsoft-Windows-DNS-Client
 *	follow_session "{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}:4:1,2:0x10" 100
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <etw/etw.h>

static struct etw_trace *trace;
static unsigned long long left; /* events still to print; 0: no limit */
static bool is_enough;

/* Windows calls this on another thread. */
static void on_interrupt(int number)
{
	(void)number;
	etw_stop(trace);
}

static void on_event(void *context, struct etw_event *event)
{
	const char *json = etw_event_json(event, NULL);

	(void)context;
	if (is_enough) {
		return; /* ignore what the session still delivers */
	}
	is_enough = !json || puts(json) == EOF || (left > 0 && --left == 0);
	if (is_enough) {
		etw_stop(trace);
	}
}

static void on_buffer(void *context)
{
	(void)context;
	if (fflush(stdout) != 0) {
		etw_stop(trace);
	}
}

static void on_notice(void *context, const char *sentence)
{
	(void)context;
	fprintf(stderr, "%s\n", sentence);
}

int main(int argc, char **argv)
{
	const struct etw_session_options options = { .name = "follow_session",
						     .providers = (const char *const *)argv + 1,
						     .provider_count = argc > 1,
						     .on_notice = on_notice };
	const struct etw_callbacks callbacks = { .on_event = on_event, .on_buffer = on_buffer };
	struct etw_losses losses;
	struct etw_error err;
	bool good;

	left = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	trace = etw_open_session(&options, &err);
	if (!trace) {
		fprintf(stderr, "%s\n", err.text);
		return EXIT_FAILURE;
	}
	signal(SIGINT, on_interrupt);
	good = etw_run(trace, &callbacks, &err);
	if (!good) {
		fprintf(stderr, "%s\n", err.text);
	}
	if (etw_losses(trace, &losses, NULL)) {
		fprintf(stderr, "%llu events were lost\n", (unsigned long long)losses.events_lost);
	}
	etw_close(trace);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
