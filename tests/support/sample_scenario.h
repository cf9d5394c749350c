/* SPDX-License-Identifier: MIT */
/*
 * The processes of the sample recording, and the files and connections that they have open.
 */
#ifndef SUPPORT_SAMPLE_SCENARIO_H
#define SUPPORT_SAMPLE_SCENARIO_H

#include "tests/support/sample_machine.h"

enum {
	CONNECTIONS = 256, /* connections of the web site, used in turn */
	PAGES = 6,
	LIBRARIES = 8,
	COPIES = 8, /* files that the nightly job copies */
};

struct scenario {
	struct process *system;
	struct process *scheduler; /* the svchost that starts tasks */
	struct process *names;     /* the svchost that queries name servers */
	struct process *logon;
	struct process *scanner;
	struct process *database;
	struct process *web; /* the instance that runs, or the last one that ran */
	struct file *pages[PAGES];
	struct file *libraries[LIBRARIES];
	struct file *web_log;
	struct file *directory;
	struct file *shares[COPIES];
	struct file *temporaries[COPIES];
	struct file *copies[COPIES];
	struct file *dump;
	struct file *database_data;
	struct file *database_log;
	uint64_t database_object; /* the log; the data file's is the next one */
	uint64_t web_log_object;
	uint16_t database_port;
	struct connection connections[CONNECTIONS];
	uint64_t next_connection;
	uint64_t orders;
};

/* sample_cast.c: processes and open files at the start, with their rundown, and at the end. */
void cast_enter(struct machine *m);
void cast_leave(struct machine *m);
struct process *cast_start_web(struct machine *m, struct process *parent);

/* sample_scenario.c: schedules everything. */
void scenario_begin(struct machine *m);

/* sample_views.c: a database that is mapped into memory. */
void views_begin(struct machine *m);

/* sample_jobs.c: processes that come and go, started by parent. */
void jobs_begin(struct machine *m, struct process *parent);
void jobs_report_crash(struct machine *m, struct process *parent);

#endif
