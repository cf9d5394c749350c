/* SPDX-License-Identifier: MIT */
/*
 * A small recording of known content, for tests of the whole flow: three processes, threads, files, on two processors.
 */
#ifndef SUPPORT_SMALL_RECORDING_H
#define SUPPORT_SMALL_RECORDING_H

#include <stdint.h>

enum {
	SMALL_WRITE_BYTES = 4096,     /* of each file write */
	SMALL_RECORDS_A_ROUND = 4,    /* a write by alpha, a read by beta, a file create by beta, a disk read of alpha's thread */
	SMALL_LOST_EVENTS = 7,
};

/*
 * Writes it to path: processes alpha.exe (pid 100, thread 101), Beta.exe (200, 201) and gamma.exe (300, 301), which exits; `rounds` rounds of
 * activity; the rundown at the end is what names beta. Returns the number of records in it; ends the test when it cannot be written.
 */
uint64_t small_recording(const char *path, unsigned rounds);

#endif
