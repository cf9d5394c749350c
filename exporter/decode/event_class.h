/* SPDX-License-Identifier: MIT */
/*
 * An event class: what all events of one provider with the same id, version, opcode, pointer size
 * and header family have in common.
 *
 * It is resolved once, from the first record of the class and from the schemas that are known by
 * then, and serves every later event: the layout of the payload, the values of the labels
 * `provider` and `event`, and what the layers above derive from these (attribution, rules).
 */
#ifndef DECODE_EVENT_CLASS_H
#define DECODE_EVENT_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guid.h"
#include "decode/kernel_class.h"
#include "decode/schema.h"
#include "decode/schema_origins.h"
#include "decode/tracelogging.h"
#include "metrics/registry.h"
#include "source/event_record.h"

struct attribution;    /* track/ */
struct compiled_rules; /* rules/ */

/* Why a resolved class may have to be resolved again; bits. */
enum event_class_stale {
	STALE_NAME = 1,   /* the provider had no name yet; a later event may announce one */
	STALE_SYSTEM = 2, /* the operating system was not asked yet, because it is asked rarely */
	STALE_SCHEMA = 4, /* the schema was freed */
};

struct event_class {
	struct guid provider;
	uint16_t id;
	uint8_t version;
	uint8_t opcode;
	uint8_t pointer_size;
	bool classic;
	uint8_t record_type;  /* enum record_type of the first record; RECORD_TIMED and above are
				 never decoded */
	uint8_t kernel_class; /* enum kernel_class; KERNEL_NONE for others */
	bool overridable;     /* An in-band manifest of the emitting process may override this
				 schema; such events get an entry of their own. */
	bool used;            /* an event used the entry since the eviction hand passed it; for
				 event_table.c alone */
	uint8_t stale;        /* bits of enum event_class_stale */
	uint64_t names;       /* number of provider names that were known when it was resolved */
	uint32_t manifest_id; /* in-band manifest of the schema; 0: the schema is from elsewhere */
	const struct schema *schema; /* NULL: no layout known */
	const char *provider_name; /* label value: "Windows Kernel", a provider's name, or the GUID;
				      owned */
	const char *event_name; /* label value: "DiskIo/Read", "DiskIo/99", the name in the schema,
				   or the id in decimal; owned */

	/* The layers above fill these in for a new class, and free them through
	 * event_table_each(). */
	struct attribution *attribution;
	struct compiled_rules *compiled;
	cell *records; /* etw_consumer_events_total of the provider; NULL until resolved */
	cell *lost;    /* etw_consumer_lost_notifications_total; NULL if this event does not report
			  loss */
};

/*
 * Fills in everything but the parts of the layers above. origins and tracelogging must outlive the
 * class, because its schema may belong to them. Returns false without memory; then *class is as it
 * was.
 */
bool event_class_resolve(const struct schema_origins *origins,
			 struct tracelogging_cache *tracelogging, const struct event_record *record,
			 struct event_class *class);

/*
 * Whether event_class_resolve() would give another result for a class whose `stale` is not 0. When
 * it would not, the class remembers up to which state of origins this is true.
 */
bool event_class_changed(const struct schema_origins *origins,
			 struct tracelogging_cache *tracelogging, const struct event_record *record,
			 struct event_class *class);

void event_class_free_names(struct event_class *class);

#endif
