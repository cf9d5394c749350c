/* SPDX-License-Identifier: MIT */
/* What exists on the fake machine before a session starts. */
#ifndef TESTS_LIVE_EXISTING_H
#define TESTS_LIVE_EXISTING_H

/* This process, and files that the rundown provider of the kernel reports. */
void existing_add(void);

#endif
