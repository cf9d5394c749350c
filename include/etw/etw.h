/* SPDX-License-Identifier: MIT */
/*
 * libetw reads events of Event Tracing for Windows (ETW): from recordings (.etl files) on any
 * system, and from live sessions on Windows. Both deliver their events, in the order of time, to
 * one callback. docs/library.md introduces the library; etw/relog.h writes recordings.
 *
 *	static void on_event(void *context, struct etw_event *event)
 *	{
 *		puts(etw_event_json(event, NULL));
 *	}
 *
 *	struct etw_error err;
 *	struct etw_trace *trace = etw_open_recording("boot.etl", NULL, &err);
 *
 *	if (!trace || !etw_run(trace, &(struct etw_callbacks){ .on_event = on_event }, &err)) {
 *		fprintf(stderr, "%s\n", err.text);
 *	}
 *	etw_close(trace);
 *
 * Errors: a function that can fail returns false or NULL, and stores a sentence in *err, which may
 * be NULL. A NULL argument, a handle that is closed and a call in the wrong order are such errors
 * (ETW_ERROR_MISUSE). Out-parameters change only on success.
 *
 * Damage in a recording is no error. What can be read is delivered, the rest is counted in struct
 * etw_losses.
 *
 * Threads: etw_run() calls the callbacks on the thread that called it. A trace and its events
 * belong to that thread; other threads may call etw_stop(), etw_facts() and etw_losses() as long as
 * the trace is open. Several traces may run at the same time, each on a thread of its own.
 *
 * Texts are UTF-8. Times are in units of 100 ns since 1601-01-01 UTC, as in Windows' FILETIME.
 * Numbers come from the event as its provider wrote them; they are hostile until checked.
 *
 * Version 0.x: any release may change this interface. New members of options come at their end, and
 * zero is always their default.
 */
#ifndef ETW_ETW_H
#define ETW_ETW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <etw/record.h>
#include <etw/schema.h>
#include <etw/types.h>
#include <etw/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- opening ---- */

/* A recording or a live session that is open. */
struct etw_trace;

/* Zero-initialise it. What it points to is borrowed during the call. */
struct etw_recording_options {
	/* Files or folders of instrumentation manifests (*.man, *.xml), which describe the events
	 * of providers that do not describe themselves. */
	const char *const *manifests;
	size_t manifest_count;
	/* Size in bytes of the pointers in payloads of classic events: 4 or 8; 0 takes the size
	 * that the recording states. */
	uint8_t pointer_size;
	/*
	 * By default a recording is read twice. The first pass collects the descriptions of events,
	 * which are often at the end. With single_pass it is read once, which is faster; then an
	 * event has a layout only if its description came before it, and events are in order only
	 * within a window of some thousand buffers.
	 */
	bool single_pass;
};

/*
 * Opens a recording and reads its header. options may be NULL.
 *
 * @path: a file, also a packed one (.gz, .xz, .zst, .zip), a pipe, or "-" for the standard input;
 * all but a plain file are unpacked or copied into a temporary file. A * in place of a number
 * stands for all files of one recording; events about the machine that several of the files contain
 * are delivered several times.
 */
struct etw_trace *etw_open_recording(const char *path, const struct etw_recording_options *options,
				     struct etw_error *err);

/* Opens a recording in memory. The bytes are borrowed until etw_close(). */
struct etw_trace *etw_open_bytes(const void *bytes, size_t size,
				 const struct etw_recording_options *options,
				 struct etw_error *err);

/* Zero-initialise it. What it points to is borrowed during the call; on_notice and its context are
 * used until the trace is freed (etw_close()). */
struct etw_session_options {
	/* Required. A running session of this name is stopped, because it is assumed to be left
	 * over from a crash; so choose a name that no other program uses. */
	const char *name;
	/*
	 * Providers, each as "NAME|{GUID}[:LEVEL[:IDS[:KEYWORDS[:ALL]]]]":
	 * "Microsoft-Windows-DNS-Client", or "{22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716}:4:1,2:0x10"
	 * for the events 1 and 2 up to level 4 with one of these keywords. A missing or empty part
	 * does not filter events; a missing level is 5.
	 */
	const char *const *providers;
	size_t provider_count;
	/* Names of the kernel flags to enable, such as "PROCESS" or "DISK_IO"; etw_kernel_flag()
	 * lists them all. Kernel events need administrator rights and Windows 8. */
	const char *const *kernel_flags;
	size_t kernel_flag_count;
	/* As in struct etw_recording_options. Manifests that are registered in Windows, and those
	 * that programs send with their events, need not be listed. */
	const char *const *manifests;
	size_t manifest_count;
	/* A multiple of 1024, from 16 KiB to 1 MiB; 0: 256 KiB. */
	uint64_t buffer_size_bytes;
	uint32_t buffers_min; /* 2 to 65536; 0: 64, or 4 for each processor if more */
	uint32_t buffers_max; /* 2 to 65536; 0: twice buffers_min */
	/* The longest time for which Windows holds an event before it is delivered, in ms: whole
	 * seconds, at most an hour; 0 means 1 s. */
	uint64_t flush_ms;
	/* Gets a sentence about what happens to the session: it started, another program stopped
	 * it, a provider could not be enabled. It is called on any thread, possibly on two at a
	 * time. May be NULL. */
	void (*on_notice)(void *context, const char *sentence);
	void *notice_context;
};

/*
 * Starts a live session and enables its providers. The session collects events from now on, in a
 * bounded number of buffers, so call etw_run() soon. If another program stops the session, it is
 * started again. etw_close() stops it; a program that ends without that leaves it running.
 *
 * Only Windows has sessions; other systems always fail with ETW_ERROR_UNSUPPORTED. Sessions need
 * the rights of an administrator or of the group Performance Log Users.
 */
struct etw_trace *etw_open_session(const struct etw_session_options *options,
				   struct etw_error *err);

/* Returns the name of kernel flag `number`, counted from 0; NULL after the last. The text is
 * static. */
const char *etw_kernel_flag(size_t number);

/* ---- running ---- */

struct etw_event;

struct etw_callbacks {
	void *context; /* passed to each callback */
	/* Required. The event, and all that it points to, is valid until this returns. */
	void (*on_event)(void *context, struct etw_event *event);
	/* May be NULL. Called between two events, at least once for each buffer: flush output here,
	 * because the next event may take long. */
	void (*on_buffer)(void *context);
};

/*
 * Delivers the events and returns at the end of the recording, or after etw_stop(). A live session
 * has no end. An event that is read only after later ones were delivered comes late; struct
 * etw_losses counts these.
 *
 * A recording can be run again, from its start. Once stopped, a trace stays stopped: etw_run() then
 * returns true without an event. Returns false if it cannot continue (for example because the file
 * can no longer be read), if the trace is already running, or if memory ran out during the run; in
 * the last case some events may have had no layout or no text.
 */
bool etw_run(struct etw_trace *trace, const struct etw_callbacks *callbacks, struct etw_error *err);

/*
 * Makes etw_run() return soon: for a recording before the next event, for a session after the
 * events that it still holds. Any thread may call this, also from a callback, also before
 * etw_run(). It allocates nothing. NULL and a closed trace are ignored.
 */
void etw_stop(struct etw_trace *trace);

/*
 * Closes the recording, or stops the session, and frees the trace. If etw_run() is active, this
 * only stops it as etw_stop() does, and etw_run() frees the trace before it returns. From now on
 * the other functions fail with ETW_ERROR_MISUSE. NULL and a closed trace are ignored.
 */
void etw_close(struct etw_trace *trace);

/* What stays the same as long as the trace is open. */
struct etw_facts {
	const char *name; /* session name, or file name without folder; owned by the trace */
	bool live;
	uint32_t os_build;         /* build of the Windows that wrote the events, such as 22621 */
	uint32_t processors;       /* of the machine that wrote the events */
	const char *clock;         /* clock of the event times: "qpc", "systemtime" or "cputick" */
	uint64_t clock_frequency;  /* ticks of this clock per second; never 0 */
	uint64_t timer_frequency;  /* ticks per second of durations in kernel events; never 0 */
	const char *missing_files; /* a sentence about missing files of the recording; owned by the
				      trace; NULL if none is missing */
};

bool etw_facts(const struct etw_trace *trace, struct etw_facts *facts, struct etw_error *err);

/* What was not delivered, or not in order, so far; complete when etw_run() has returned. */
struct etw_losses {
	uint64_t events_lost;     /* Windows reports them: no buffer was free */
	uint64_t buffers_lost;    /* Windows reports them; the number of events is unknown */
	uint64_t damaged_buffers; /* buffers of a recording that were skipped */
	uint64_t damaged_records; /* places where a record, or the rest of a buffer, was left out */
	uint64_t late_events;     /* events delivered after one with a later time */
	bool truncated;           /* the last buffer of the recording is cut short */
	/* What happened to the file while it was read, such as "was overwritten"; events may be
	 * missing or wrong then. A string literal; NULL if the system shows no change. */
	const char *file_change;
};

/* Reads the losses so far. Each run of a recording counts its damage from 0. */
bool etw_losses(const struct etw_trace *trace, struct etw_losses *losses, struct etw_error *err);

/* ---- events ---- */

/*
 * An event during on_event(). After that, until the trace is freed, it is empty: it has no fields
 * and no names, and its record is a blank one. Copy what must stay.
 *
 * Kernel events have the provider "Windows Kernel" and a name such as "DiskIo/Read". The name of
 * another event is its task and opcode, or what its provider calls it; without a layout it is the
 * event id in decimal. `etwtool fields FILE` prints the names and fields of a recording.
 */
struct etw_event {
	const struct etw_record *record; /* header, payload, extended items; never NULL */
	const struct etw_schema *schema; /* the layout of the payload; NULL: it is not known */
	const char *provider_name;       /* never NULL; a GUID if no name is known */
	const char *event_name;          /* never NULL */
	/* Events with the same number have the same schema and names; 0 after on_event() has
	 * returned. */
	uint64_t class_id;
	struct etw_decoder *decoder; /* private */
};

/* Returns whether the event has exactly these names. A NULL name matches any. */
bool etw_event_is(const struct etw_event *event, const char *provider_name, const char *event_name);

/*
 * Fields by name. A name is that of a field (upper and lower case matter), "structure.member",
 * "array[2]", or "array.count" for the number of elements. These functions return false or NULL,
 * and leave *value alone, if the event has no such field, the field has another type, or the
 * payload ends before the end of the field.
 *
 * A look-up compares names. To read one field of many events, use struct etw_reader below.
 */

/* Reads integers, booleans, pointers and times. A negative number is converted as C does. */
bool etw_event_u64(const struct etw_event *event, const char *name, uint64_t *value);
/* Reads the same fields as etw_event_u64(); an unsigned number above INT64_MAX becomes negative. */
bool etw_event_i64(const struct etw_event *event, const char *name, int64_t *value);
/* Reads floating-point numbers and integers. */
bool etw_event_double(const struct etw_event *event, const char *name, double *value);
bool etw_event_guid(const struct etw_event *event, const char *name, struct etw_guid *value);

/*
 * The value of a field of any type except structures as text: strings as they are, a number by the
 * name that the layout has for it, else in decimal; addresses, SIDs, GUIDs and times in their usual
 * form; binary data in hexadecimal; arrays as a list with commas. The text is valid until
 * on_event() returns. It ends with a NUL and may contain others; *size gets its length in bytes
 * without the last NUL (size may be NULL). Returns NULL also when memory runs out.
 */
const char *etw_event_text(const struct etw_event *event, const char *name, size_t *size);

/* Returns the bytes of a field in the payload; those of a string include its NUL. They are valid
 * until on_event() returns. */
const uint8_t *etw_event_bytes(const struct etw_event *event, const char *name, size_t *size);

/*
 * The event as one line of JSON, without a line feed: the object that `etwtool dump` prints, with
 * header, names and fields, or the payload in hexadecimal if no layout is known. It is valid until
 * on_event() returns; size may be NULL. Returns NULL when memory runs out and outside of
 * on_event().
 */
const char *etw_event_json(const struct etw_event *event, size_t *size);

/* ---- one integer field of many events ---- */

enum { ETW_READER_CLASSES = 64 };

/* Private: where the field is in one class of events. */
struct etw_reader_class {
	uint64_t class_id;
	struct etw_field_reader field;
};

/*
 * Reads an integer field quickly. It remembers where the field is in the classes of events that it
 * has met, so that reading it is a comparison and a load. Make one for each field and thread, and
 * keep it: static struct etw_reader size = ETW_READER("IoSize");
 */
struct etw_reader {
	const char *name; /* a field or "structure.member"; borrowed */
	/* Private; zero at first. */
	struct etw_reader_class classes[ETW_READER_CLASSES];
};

#ifdef __cplusplus
#define ETW_READER(field_name) \
	{                      \
		(field_name),  \
		{              \
		}              \
	}
#else
#define ETW_READER(field_name)       \
	{                            \
		.name = (field_name) \
	}
#endif

/* Finds the field in another class of events. etw_read_u64() calls it. */
void etw_reader_resolve(struct etw_reader *reader, const struct etw_event *event);

/* Reads the field as etw_event_u64() does. */
static inline bool etw_read_u64(struct etw_reader *reader, const struct etw_event *event,
				uint64_t *value)
{
	struct etw_reader_class *place;

	if (!reader || !event || !value) {
		return false;
	}
	place = &reader->classes[event->class_id % ETW_READER_CLASSES];
	if (place->class_id != event->class_id) {
		etw_reader_resolve(reader, event);
	}
	return etw_field_read_u64(&place->field, event->schema, event->record, value);
}

#ifdef __cplusplus
}
#endif

#endif
