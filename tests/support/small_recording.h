/* SPDX-License-Identifier: MIT */
/*
 * A small recording of known content, for tests of the whole flow: three processes, threads, files,
 * on two processors.
 */
#ifndef SUPPORT_SMALL_RECORDING_H
#define SUPPORT_SMALL_RECORDING_H

#include <stdint.h>

enum {
	SMALL_WRITE_BYTES = 4096, /* of each file write, one a round, by alpha */
	SMALL_READ_BYTES = 512,   /* of each disk read, one a round, by beta */
	SMALL_LOST_EVENTS = 7,
};

/*
 * Writes it to path: alpha.exe (process 100, thread 101) is there from the start, beta.exe (200,
 * 201) is only named by the rundown at the end, gamma.exe (300) starts and exits; `rounds` rounds
 * of activity between. Returns the number of records, the header's included. Ends the program when
 * it cannot be written.
 */
uint64_t small_recording(const char *path, unsigned rounds);

#endif
