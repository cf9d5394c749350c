/* SPDX-License-Identifier: MIT */
/*
 * Writes a recording again with two changes: the events of one provider get another provider's
 * GUID, and an image load is added one second after the first event of the provider.
 *
 *	relog in.etl out.etl 4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7
 *	      11111111-2222-3333-4444-555555555555
 */
#include <stdio.h>
#include <stdlib.h>

#include <etw/relog.h>

static struct etw_guid from, to;
static bool injected;

/* The kernel's class Image; version 0 of its event Load (opcode 10) has three fields. */
static const struct etw_guid image_class =
	ETW_GUID_INIT(0x2cb15d1d, 0x5fc1, 0x11d2, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18);

static bool inject_image(struct etw_relog *relog, const struct etw_record *near)
{
	static const unsigned char load[] = {
		0,   0,    0,   0x40, 1,   0, 0,   0,                               /* ImageBase */
		0,   0x10, 0,   0,                                                  /* ImageSize */
		'j', 0,    'i', 0,    't', 0, '.', 0, 'd', 0, 'l', 0, 'l', 0, 0, 0, /* FileName */
	};
	const struct etw_new_event event = {
		.provider = &image_class,
		.classic = true,
		.opcode = 10,
		/* 1 s in units of 100 ns */
		.raw_time = etw_relog_raw_time(relog, near->time + 10000000),
		.process_id = near->process_id,
		.thread_id = near->thread_id,
		.pointer_size = 8,
		.payload = load,
		.payload_size = sizeof load,
	};

	return etw_inject(relog, &event, NULL);
}

static enum etw_action decide(void *context, struct etw_relog *relog, struct etw_event *event)
{
	(void)context;
	if (!etw_guid_equal(event->record->provider, &from)) {
		return ETW_KEEP;
	}
	injected = injected || inject_image(relog, event->record);
	return injected && etw_set_provider(relog, &to, NULL) ? ETW_KEEP : ETW_STOP;
}

int main(int argc, char **argv)
{
	struct etw_relog_counts counts;
	struct etw_error err;
	struct etw_relog *relog;

	if (argc != 5 || !etw_guid_parse(argv[3], &from) || !etw_guid_parse(argv[4], &to)) {
		fprintf(stderr, "usage: relog IN OUT FROM-GUID TO-GUID\n");
		return EXIT_FAILURE;
	}
	relog = etw_open_relog(argv[1], argv[2], NULL, &err);
	if (relog) {
		etw_relog_run(relog, decide, NULL, NULL);
	}
	if (!relog || !etw_close_relog(relog, &counts, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return EXIT_FAILURE;
	}
	if (counts.losses.damaged_buffers + counts.losses.damaged_records > 0 ||
	    counts.losses.truncated || counts.losses.file_change) {
		fprintf(stderr, "the recording is damaged, or %s: not all of it is copied\n",
			counts.losses.file_change ? counts.losses.file_change : "cut short");
	}
	printf("%llu events, %llu changed, %llu added\n", (unsigned long long)counts.events,
	       (unsigned long long)counts.changed, (unsigned long long)counts.injected);
	if (fflush(stdout) != 0) {
		fprintf(stderr, "the counts could not be written\n");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
