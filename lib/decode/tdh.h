/* SPDX-License-Identifier: MIT */
/*
 * Schemas of registered manifests and MOF classes, and names of registered providers, from Windows
 * (TDH, the Trace Data Helper).
 *
 * TDH is the last origin that events cannot influence (event_schema.h). Its answers are converted
 * to struct etw_schema, which our own decoder reads. Only one consumer thread may use a struct
 * etw_tdh; it has no lock. On other systems all look-ups find nothing.
 *
 * The list of registered providers is read once. The name of a provider that is registered later
 * becomes known with the first schema of one of its events.
 *
 * Sources: "TdhGetEventInformation function", "TdhGetEventMapInformation function", Microsoft
 * Learn.
 */
#ifndef LIB_DECODE_TDH_H
#define LIB_DECODE_TDH_H

#include <etw/describe.h>

#include "base/error.h"
#include "lib/decode/event_schema.h"

enum {
	TDH_SCHEMAS_MOST = 1 << 14,
	TDH_BYTES_MOST = 64 << 20,
	/*
	 * Limits of failed queries for each second: a query of an event that TDH does not know
	 * takes about 100 µs (not measured), and a process can invent any number of ids. Beyond the
	 * limit for one process or for all processes, new event classes are queried later. Each
	 * process may always make a few failed queries, so that one process cannot delay others.
	 */
	TDH_VAIN_MOST = 256,
	TDH_VAIN_MOST_OF_ALL = 1024,
	TDH_VAIN_ALWAYS = 4,
};

struct etw_tdh; /* opaque */

#endif
