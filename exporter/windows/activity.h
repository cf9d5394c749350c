/* SPDX-License-Identifier: MIT */
/*
 * Known activity on this machine, for --self-test: a child process, a file that is written, read
 * and deleted, a TCP connection over the loopback.
 *
 * Windows only; elsewhere it fails.
 */
#ifndef EXPORTER_ACTIVITY_H
#define EXPORTER_ACTIVITY_H

#include "windows/self_test.h"

/* The act of struct self_test_options. */
bool activity_run(void *context, struct activity *done, struct error *err);

/* The image base name of this process without .exe, to be freed; NULL without memory. */
char *activity_process(void);

#endif
