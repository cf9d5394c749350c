/* SPDX-License-Identifier: MIT */
/*
 * Files that are compiled into the program: every collector in config/collectors, the collector of
 * the self-test, the landing page, the page of etwtool report, and the names that anonymising
 * keeps. cmake/embed.cmake makes C files of them when the program is built.
 */
#ifndef CONFIG_BUILTIN_H
#define CONFIG_BUILTIN_H

#include "base/builtin_file.h"

/* The arrays are in the order of names. They are constant, so any thread may read them. */
extern const struct builtin_file builtin_collectors[];
extern const size_t builtin_collector_count;
/* Only selftest/self_test.yaml, a collector that no other run has; read by selftest/self_test.c. */
extern const struct builtin_file builtin_self_test_collectors[];
extern const size_t builtin_self_test_collector_count;
/* exporter/http/page: the landing page and the files that it loads; read by
 * exporter/http/landing_page.c. */
extern const struct builtin_file builtin_web_files[];
extern const size_t builtin_web_file_count;
/* etwtool/report/page and the files that it shares with the landing page; read by
 * etwtool/report/tool_report.c. The hashes are for a Content Security Policy: "sha256-…". */
extern const struct builtin_file builtin_report_files[];
extern const size_t builtin_report_file_count;
extern const char *const builtin_report_file_hashes[];
/* Only etwtool/relog/well_known_names.txt; read by etwtool/relog/pseudonyms.c. */
extern const struct builtin_file builtin_well_known_names[];
extern const size_t builtin_well_known_name_count;

#endif
