/* SPDX-License-Identifier: MIT */
/*
 * etw_bench measures parts of the exporter and prints a line for each: name, value, unit, smallest
 * and greatest value.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Sorts the values and prints their median.
 */
void bench_print(const char *name, double *values, size_t count, const char *unit);
void bench_print_one(const char *name, double value, const char *unit);

long bench_resident_kib(void);

/* Returns a well-mixed number, always the same for the same x (the finaliser of splitmix64). It is
 * inline, because its time is a part of what is measured. */
static inline uint64_t bench_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/*
 * The data set: count counter series in ten families etw_events_f0_total to f9; series i is in
 * family i / (count / 10) and has the labels of pair i % (count / 10). Processes are names seen on
 * a Windows machine, then the same with "#k"; one in thirty needs escaping. Values have 1 to 12
 * digits, mostly few.
 */
enum { BENCH_FAMILIES = 10, BENCH_PROVIDERS = 50, BENCH_TEXT_SIZE = 160 };
void bench_process(char text[BENCH_TEXT_SIZE], uint64_t number);  /* pair / BENCH_PROVIDERS */
void bench_provider(char text[BENCH_TEXT_SIZE], uint64_t number); /* pair % BENCH_PROVIDERS */
uint64_t bench_value(uint64_t series);

/* Each takes the arguments after the program's name and returns the exit status; 2 for bad usage.
 */
int bench_render(int argc, char **argv);  /* render SERIES RUNS */
int bench_hist(int argc, char **argv);    /* hist LINES RUNS */
int bench_counter(int argc, char **argv); /* counter */
int bench_beside(int argc, char **argv);  /* beside SERIES: counting during scrapes */
int bench_mem(int argc, char **argv);     /* mem SERIES */
int bench_serve(int argc, char **argv);   /* serve SERIES ADDRESS: until standard input ends */
int bench_observe(int argc, char **argv); /* observe: with and without native buckets */
int bench_encode(int argc, char **argv);  /* encode SERIES RUNS: gzip and zstd against zlib */
int bench_scrape(int argc, char **argv);  /* scrape SERIES RUNS CLIENTS: over HTTP */
int bench_beside_replay(int argc, char **argv); /* beside_replay FILE SERIES RUNS */
int bench_etl(int argc, char **argv);           /* etl FILE RUNS: the reader … */
int bench_replay(int argc, char **argv);        /* … and from the file to the samples */
int bench_decode(int argc, char **argv);        /* decode FILE RUNS: all fields of all events */
int bench_face(int argc, char **argv);          /* face FILE RUNS: events of the library */
int bench_recorder(int argc, char **argv);      /* recorder FILE RUNS: with and without it */
int bench_live(int argc, char **argv);   /* live FILE ROUNDS [ROW...]: events of a live session */
int bench_groups(int argc, char **argv); /* groups RUNS: path groups by length of the path */
int bench_rules(int argc, char **argv);  /* rules CONFIG FILE RUNS: of a recording it builds */
int bench_files(int argc, char **argv); /* files FILE RUNS: likewise, file events by their source */

/* Returns whether the path exists. A recording that is built must not overwrite another file. */
bool bench_is_there(const char *path);

int bench_minifilter(int argc, char **argv); /* minifilter FILE RUNS: of a recording it builds */

/* Returns a registry with the data set above, which the caller frees with registry_free(). */
struct registry;
struct registry *bench_registry(uint64_t count);
void bench_add_counters(struct registry *registry, uint64_t count);

struct config_switch; /* config/config.h */

/*
 * Replays a recording once, as --once does, and sets the number of records and the time. config: a
 * file; NULL: the built-in one. only: switch of one collector, while all others are off; NULL: the
 * defaults.
 */
bool bench_replay_once(const char *path, const char *config, const struct config_switch *only,
		       uint64_t *records, uint64_t *ns, struct etw_error *err);

#endif
