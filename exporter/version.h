/* SPDX-License-Identifier: MIT */
/*
 * What was built, from what, by what. Constant strings, any thread may call.
 */
#ifndef EXPORTER_VERSION_H
#define EXPORTER_VERSION_H

const char *version_number(void);   /* "0.1.0" */
const char *version_revision(void); /* git commit, 12 hex digits, or "unknown" */
const char *version_compiler(void); /* "GNU 12.2.0" */
const char *version_arch(void);     /* processor it was built for, "x86_64" */

#endif
