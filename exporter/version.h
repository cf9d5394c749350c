/* SPDX-License-Identifier: MIT */
#ifndef EXPORTER_VERSION_H
#define EXPORTER_VERSION_H

/* The version of this build, its source revision and its compiler. */
extern const struct program_version {
	const char *number;   /* "0.2.0" */
	const char *revision; /* git commit, 12 hex digits, or "unknown" */
	const char *compiler; /* "GNU 12.2.0" */
	const char *arch;     /* processor it was built for, "x86_64" */
} program_version;

#endif
