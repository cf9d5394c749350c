/* SPDX-License-Identifier: MIT */
/*
 * Adds up the bytes that each process of a recording has written to files.
 *
 *	bytes_by_process boot.etl
 *
 * A write event states its thread. Other events describe threads and processes when they start and
 * end, and in lists of what exists (DCStart, DCEnd). Those lists may come last, so names are looked
 * up at the end.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <etw/etw.h>

/* Ids are small multiples of 4. An id that is used again counts for its last owner. */
enum { IDS = 1 << 16 };

static uint64_t written[IDS]; /* by thread */
static uint64_t process[IDS]; /* by thread */
static char name[IDS][64];    /* by process */
static uint64_t by_process[IDS];

static struct etw_reader io_size = ETW_READER("IoSize");
static struct etw_reader writer = ETW_READER("TTID");
static struct etw_reader thread_id = ETW_READER("TThreadId");
static struct etw_reader process_id = ETW_READER("ProcessId");

static void on_event(void *context, struct etw_event *event)
{
	uint64_t thread, id, size;

	(void)context;
	if (strcmp(event->event_name, "FileIo/Write") == 0) {
		if (etw_read_u64(&writer, event, &thread) && etw_read_u64(&io_size, event, &size)) {
			written[thread / 4 % IDS] += size;
		}
	} else if (strncmp(event->event_name, "Thread/", 7) == 0) {
		if (etw_read_u64(&thread_id, event, &thread) &&
		    etw_read_u64(&process_id, event, &id)) {
			process[thread / 4 % IDS] = id / 4 % IDS;
		}
	} else if (strncmp(event->event_name, "Process/", 8) == 0) {
		const char *image = etw_event_text(event, "ImageFileName", NULL);

		if (image && etw_read_u64(&process_id, event, &id)) {
			snprintf(name[id / 4 % IDS], sizeof name[0], "%s", image);
		}
	}
}

int main(int argc, char **argv)
{
	struct etw_error err;
	struct etw_losses losses;
	struct etw_trace *trace = etw_open_recording(argc > 1 ? argv[1] : "-", NULL, &err);
	const struct etw_callbacks callbacks = { .on_event = on_event };

	if (!trace || !etw_run(trace, &callbacks, &err)) {
		fprintf(stderr, "%s\n", err.text);
		etw_close(trace);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < IDS; i++) {
		by_process[process[i]] += written[i];
	}
	for (size_t i = 0; i < IDS; i++) {
		if (by_process[i] > 0) {
			printf("%" PRIu64 " %zu %s\n", by_process[i], i * 4, name[i]);
		}
	}
	if (etw_losses(trace, &losses, NULL) &&
	    losses.events_lost + losses.damaged_buffers + losses.damaged_records > 0) {
		fprintf(stderr, "events are missing: the sums are too low\n");
	}
	etw_close(trace);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "the sums could not be written\n");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
