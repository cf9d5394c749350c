/* SPDX-License-Identifier: MIT */
/*
 * Calls that make no sense: NULL, a closed handle, the wrong order. Each is an error with a
 * sentence, and nothing crashes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <etw/relog.h>

#include "base/os.h"
#include "tests/support/patience.h"
#include "tests/support/small_recording.h"
#include "tests/support/temporary.h"

static char path[TEMPORARY_PATH_SIZE];

static int make_recording(void **state)
{
	(void)state;
	temporary_path(path, "etl");
	small_recording(path, 10);
	return 0;
}

static int remove_recording(void **state)
{
	(void)state;
	return remove(path);
}

static void ignore(void *context, struct etw_event *event)
{
	(void)context;
	(void)event;
}

static const struct etw_callbacks ignoring = { .on_event = ignore };

static void assert_misuse(bool done, struct etw_error *err, const char *sentence)
{
	assert_false(done);
	assert_string_equal(err->text, sentence);
	assert_int_equal(err->code, ETW_ERROR_MISUSE);
	*err = (struct etw_error){ 0 };
}

static void null_is_no_trace(void **state)
{
	struct etw_losses losses;
	struct etw_facts facts;
	struct etw_error err = { 0 };

	(void)state;
	assert_misuse(etw_run(NULL, &ignoring, &err), &err, "the trace is NULL");
	assert_misuse(etw_facts(NULL, &facts, &err), &err, "the trace is NULL");
	assert_misuse(etw_losses(NULL, &losses, &err), &err, "the trace is NULL");
	assert_false(etw_run(NULL, NULL, NULL));
	etw_stop(NULL);
	etw_close(NULL);
}

static void a_closed_trace_is_none(void **state)
{
	struct etw_trace *trace = etw_open_recording(path, NULL, NULL);
	struct etw_losses losses;
	struct etw_facts facts;
	struct etw_error err = { 0 };

	(void)state;
	assert_non_null(trace);
	etw_close(trace);
	assert_misuse(etw_run(trace, &ignoring, &err), &err, "the trace is closed");
	assert_misuse(etw_facts(trace, &facts, &err), &err, "the trace is closed");
	assert_misuse(etw_losses(trace, &losses, &err), &err, "the trace is closed");
	etw_stop(trace);
	etw_close(trace);
}

static void openings_say_what_is_wrong(void **state)
{
	static const char *const names[] = { NULL };
	const struct etw_recording_options sizes = { .pointer_size = 5 };
	const struct etw_recording_options no_list = { .manifest_count = 1 };
	const struct etw_recording_options no_name = { .manifests = names, .manifest_count = 1 };
	struct etw_error err = { 0 };

	(void)state;
	assert_misuse(etw_open_recording(NULL, NULL, &err), &err,
		      "the path of the recording is NULL");
	assert_misuse(etw_open_bytes(NULL, 5, NULL, &err), &err, "the recording is NULL");
	assert_misuse(etw_open_recording(path, &sizes, &err), &err,
		      "the pointer size is 5; it can be 4, 8 or 0");
	assert_misuse(etw_open_recording(path, &no_list, &err), &err,
		      "manifests is NULL, and their count is not 0");
	assert_misuse(etw_open_recording(path, &no_name, &err), &err, "manifest number 0 is NULL");
	assert_misuse(etw_open_recording("", NULL, &err), &err,
		      "the path of the recording is empty");
	assert_misuse(etw_open_relog("", NULL, NULL, &err), &err,
		      "the path of the recording is empty");
	assert_misuse(etw_open_relog(path, "", NULL, &err), &err,
		      "the path of the output is empty");
	/* What is no recording is an error of another code. */
	assert_null(etw_open_recording("no such file.etl", NULL, &err));
	assert_int_equal(err.code, ETW_ERROR_SYSTEM);
	assert_null(etw_open_bytes("", 0, NULL, &err));
	assert_int_equal(err.code, ETW_ERROR_FORMAT);
	assert_string_equal(err.text, "recording in memory: is empty, not a recording");
	assert_null(etw_open_relog_bytes("no", 2, NULL, NULL, &err));
	assert_string_equal(err.text, "recording in memory: is not a recording: it does not start "
				      "with a buffer of records");
	assert_null(etw_open_recording(NULL, NULL, NULL));
}

static void a_run_needs_a_callback(void **state)
{
	struct etw_trace *trace = etw_open_recording(path, NULL, NULL);
	struct etw_error err = { 0 };

	(void)state;
	assert_misuse(etw_run(trace, NULL, &err), &err, "there is no callback for events");
	assert_misuse(etw_run(trace, &(struct etw_callbacks){ 0 }, &err), &err,
		      "there is no callback for events");
	assert_misuse(etw_facts(trace, NULL, &err), &err, "there is no place for the facts");
	assert_misuse(etw_losses(trace, NULL, &err), &err, "there is no place for the losses");
	assert_true(etw_run(trace, &ignoring, &err));
	etw_close(trace);
}

struct inner {
	struct etw_trace *trace;
	unsigned events;
};

static void run_inside(void *context, struct etw_event *event)
{
	struct inner *inner = context;
	struct etw_error err = { 0 };

	(void)event;
	assert_misuse(etw_run(inner->trace, &ignoring, &err), &err, "the trace runs already");
	inner->events++;
}

static void a_trace_does_not_run_inside_itself(void **state)
{
	struct inner inner = { .trace = etw_open_recording(path, NULL, NULL) };

	(void)state;
	assert_true(etw_run(inner.trace,
			    &(struct etw_callbacks){ .context = &inner, .on_event = run_inside },
			    NULL));
	assert_true(inner.events > 20);
	etw_close(inner.trace);
}

/* Waits in its first event for the other thread. */
struct held {
	struct etw_trace *trace;
	struct os_mutex lock;
	struct os_condition changed;
	bool runs, goes_on, done;
};

static void hold(void *context, struct etw_event *event)
{
	struct held *held = context;

	(void)event;
	os_mutex_lock(&held->lock);
	held->runs = true;
	os_condition_wake_all(&held->changed);
	while (!held->goes_on) {
		os_condition_wait(&held->changed, &held->lock, UINT64_MAX);
	}
	os_mutex_unlock(&held->lock);
}

static void run_held(void *context)
{
	struct held *held = context;

	held->done = etw_run(held->trace,
			     &(struct etw_callbacks){ .context = held, .on_event = hold }, NULL);
}

static void start_held(struct held *held, struct os_thread *thread)
{
	held->trace = etw_open_recording(path, NULL, NULL);
	os_mutex_init(&held->lock);
	os_condition_init(&held->changed);
	assert_true(os_thread_start(thread, run_held, held, NULL));
	os_mutex_lock(&held->lock);
	while (!held->runs) {
		os_condition_wait(&held->changed, &held->lock, UINT64_MAX);
	}
	os_mutex_unlock(&held->lock);
}

static void end_held(struct held *held, struct os_thread *thread)
{
	os_mutex_lock(&held->lock);
	held->goes_on = true;
	os_condition_wake_all(&held->changed);
	os_mutex_unlock(&held->lock);
	os_thread_join(thread);
	os_condition_done(&held->changed);
	os_mutex_done(&held->lock);
	assert_true(held->done);
}

static void two_threads_cannot_run_a_trace(void **state)
{
	struct held held = { .trace = NULL };
	struct os_thread thread;
	struct etw_error err = { 0 };

	(void)state;
	start_held(&held, &thread);
	assert_misuse(etw_run(held.trace, &ignoring, &err), &err, "the trace runs already");
	etw_stop(held.trace);
	end_held(&held, &thread);
	etw_close(held.trace);
}

static void a_trace_that_runs_is_closed_at_its_end(void **state)
{
	struct held held = { .trace = NULL };
	struct os_thread thread;
	struct etw_error err = { 0 };

	(void)state;
	start_held(&held, &thread);
	etw_close(held.trace);
	assert_misuse(etw_run(held.trace, &ignoring, &err), &err, "the trace is closed");
	end_held(&held, &thread);
}

static void fields_of_nothing_are_not_found(void **state)
{
	static struct etw_reader nameless;
	struct etw_reader reader = ETW_READER("IoSize");
	const struct etw_event zero = { .record = NULL };
	uint64_t number;
	int64_t sum;
	double real;
	struct etw_guid guid;
	size_t size;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct etw_event *event = i == 0 ? NULL : &zero;

		assert_false(etw_event_u64(event, "a", &number));
		assert_false(etw_event_i64(event, "a", &sum));
		assert_false(etw_event_double(event, "a", &real));
		assert_false(etw_event_guid(event, "a", &guid));
		assert_null(etw_event_text(event, "a", NULL));
		assert_null(etw_event_bytes(event, "a", &size));
		assert_null(etw_event_json(event, NULL));
		assert_false(etw_event_is(event, NULL, NULL));
	}
	assert_false(etw_read_u64(NULL, &zero, &number));
	assert_false(etw_read_u64(&reader, NULL, &number));
	assert_false(etw_read_u64(&nameless, NULL, &number));
	etw_reader_resolve(NULL, NULL);
}

static void see_no_name(void *context, struct etw_event *event)
{
	static struct etw_reader nameless;
	uint64_t number;

	(void)context;
	assert_false(etw_event_u64(event, NULL, &number));
	assert_false(etw_event_u64(event, "IoSize", NULL));
	assert_false(etw_event_i64(event, "IoSize", NULL));
	assert_false(etw_event_double(event, "IoSize", NULL));
	assert_false(etw_event_guid(event, "IoSize", NULL));
	assert_null(etw_event_text(event, NULL, NULL));
	assert_null(etw_event_bytes(event, "IoSize", NULL));
	assert_false(etw_read_u64(&nameless, event, &number));
	assert_false(etw_read_u64(&nameless, event, NULL));
}

static void a_field_needs_a_name_and_a_place(void **state)
{
	struct etw_trace *trace = etw_open_recording(path, NULL, NULL);

	(void)state;
	assert_true(etw_run(trace, &(struct etw_callbacks){ .on_event = see_no_name }, NULL));
	etw_close(trace);
}

/* ---- sessions ---- */

static void a_session_needs_a_name_and_something_to_report(void **state)
{
	static const char *const providers[] = { "Contoso" };
	struct etw_session_options options = { .name = "a",
					       .providers = providers,
					       .provider_count = 1 };
	struct etw_error err = { 0 };

	(void)state;
	assert_misuse(etw_open_session(NULL, &err), &err, "the session has no name");
	assert_misuse(etw_open_session(&(struct etw_session_options){ .providers = providers,
								      .provider_count = 1 },
				       &err),
		      &err, "the session has no name");
	assert_misuse(etw_open_session(&(struct etw_session_options){ .name = "a" }, &err), &err,
		      "the session has neither providers nor kernel flags");
	options.buffer_size_bytes = 1000;
	assert_misuse(etw_open_session(&options, &err), &err,
		      "buffer_size_bytes is 1000; it can be a multiple of 1024 from 16384 to "
		      "1048576");
	options.buffer_size_bytes = 65536;
	options.buffers_min = 10;
	options.buffers_max = 9;
	assert_misuse(etw_open_session(&options, &err), &err,
		      "the numbers of buffers are 10 and 9; they can be from 2 to 65536, the "
		      "second not below the first");
	options.buffers_max = 0;
	options.flush_ms = 1500;
	assert_misuse(etw_open_session(&options, &err), &err,
		      "flush_ms is 1500; it can be whole seconds up to an hour");
	assert_string_equal(etw_kernel_flag(0), "PROCESS");
	assert_null(etw_kernel_flag(1000));
	assert_null(etw_kernel_flag(SIZE_MAX));
}

#if !defined(_WIN32)
static void elsewhere_than_on_windows_there_are_no_sessions(void **state)
{
	static const char *const providers[] = { "Contoso" };
	const struct etw_session_options options = { .name = "a",
						     .providers = providers,
						     .provider_count = 1 };
	struct etw_error err = { 0 };

	(void)state;
	assert_null(etw_open_session(&options, &err));
	assert_string_equal(err.text, "session a: only Windows has event tracing");
	assert_int_equal(err.code, ETW_ERROR_UNSUPPORTED);
}
#endif

/* ---- relogs ---- */

static enum etw_action keep(void *context, struct etw_relog *relog, struct etw_event *event)
{
	(void)context;
	(void)relog;
	(void)event;
	return ETW_KEEP;
}

static void null_is_no_relog(void **state)
{
	static const struct etw_guid guid;
	const struct etw_new_event event = { .provider = &guid };
	struct etw_error err = { 0 };
	size_t size;

	(void)state;
	assert_misuse(etw_open_relog(NULL, NULL, NULL, &err), &err,
		      "the path of the recording is NULL");
	assert_misuse(etw_open_relog_bytes(NULL, 5, NULL, NULL, &err), &err,
		      "the recording is NULL");
	assert_misuse(etw_relog_run(NULL, keep, NULL, &err), &err, "the relog is NULL");
	assert_misuse(etw_set_header(NULL, ETW_HEADER_ID, 1, &err), &err, "the relog is NULL");
	assert_misuse(etw_set_provider(NULL, &guid, &err), &err, "the relog is NULL");
	assert_misuse(etw_set_payload(NULL, "", 0, &err), &err, "the relog is NULL");
	assert_misuse(etw_inject(NULL, &event, &err), &err, "the relog is NULL");
	assert_misuse(etw_relog_bytes(NULL, &size, &err), &err, "the relog is NULL");
	assert_misuse(etw_close_relog(NULL, NULL, &err), &err, "the relog is NULL");
	assert_int_equal(etw_relog_raw_time(NULL, 5), 0);
}

static void a_closed_relog_is_none(void **state)
{
	struct etw_relog *relog = etw_open_relog(path, NULL, NULL, NULL);
	struct etw_error err = { 0 };

	(void)state;
	assert_misuse(etw_close_relog(relog, NULL, &err), &err,
		      "nothing was copied: etw_relog_run() was not called");
	assert_misuse(etw_close_relog(relog, NULL, &err), &err, "the relog is closed");
	assert_misuse(etw_relog_run(relog, keep, NULL, &err), &err, "the relog is closed");
}

static void relogs_have_an_order(void **state)
{
	const struct etw_relog_options packing = { .packing = (enum etw_packing)7 };
	const struct etw_relog_options sizes = { .pointer_size = 5 };
	static const struct etw_guid guid;
	const struct etw_new_event event = { .provider = &guid };
	struct etw_relog *relog;
	struct etw_error err = { 0 };
	size_t size;

	(void)state;
	assert_misuse(etw_open_relog(path, NULL, &packing, &err), &err,
		      "there is no packing with the number 7");
	assert_misuse(etw_open_relog(path, NULL, &sizes, &err), &err,
		      "the pointer size is 5; it can be 4, 8 or 0");
	relog = etw_open_relog(path, NULL, NULL, &err);
	assert_misuse(etw_relog_run(relog, NULL, NULL, &err), &err,
		      "there is no callback for events");
	assert_misuse(etw_set_header(relog, ETW_HEADER_ID, 1, &err), &err,
		      "an event can be changed in the callback only");
	assert_misuse(etw_relog_bytes(relog, &size, &err), &err,
		      "nothing was copied: etw_relog_run() was not called");
	assert_misuse(etw_inject(relog, NULL, &err), &err, "the new event has no provider");
	assert_misuse(etw_inject(relog,
				 &(struct etw_new_event){ .provider = &guid, .payload_size = 1 },
				 &err),
		      &err, "the payload of the new event is NULL");
	assert_misuse(etw_inject(relog,
				 &(struct etw_new_event){ .provider = &guid, .pointer_size = 2 },
				 &err),
		      &err, "the pointer size is 2; it can be 4, 8 or 0");
	assert_true(etw_relog_run(relog, keep, NULL, &err));
	assert_misuse(etw_relog_run(relog, keep, NULL, &err), &err, "the relog has run already");
	assert_misuse(etw_relog_bytes(relog, NULL, &err), &err, "there is no place for the size");
	assert_non_null(etw_relog_bytes(relog, &size, &err));
	assert_misuse(etw_inject(relog, &event, &err), &err, "the result is complete");
	assert_true(etw_close_relog(relog, NULL, &err));
}

static enum etw_action misuse_inside(void *context, struct etw_relog *relog,
				     struct etw_event *event)
{
	struct etw_error err = { 0 };
	size_t size;

	(void)event;
	assert_misuse(etw_relog_run(relog, keep, NULL, &err), &err, "the relog runs already");
	assert_misuse(etw_close_relog(relog, NULL, &err), &err,
		      "the relog runs: its callback cannot close it");
	assert_misuse(etw_relog_bytes(relog, &size, &err), &err, "the relog runs");
	assert_misuse(etw_set_header(relog, (enum etw_header_value)99, 1, &err), &err,
		      "there is no header value with the number 99");
	assert_misuse(etw_set_provider(relog, NULL, &err), &err, "the provider is NULL");
	assert_misuse(etw_set_payload(relog, NULL, 1, &err), &err, "the payload is NULL");
	++*(unsigned *)context;
	return ETW_KEEP;
}

static void a_callback_cannot_end_its_relog(void **state)
{
	struct etw_relog *relog = etw_open_relog(path, NULL, NULL, NULL);
	struct etw_relog_counts counts;
	unsigned events = 0;

	(void)state;
	assert_true(etw_relog_run(relog, misuse_inside, &events, NULL));
	assert_true(etw_close_relog(relog, &counts, NULL));
	assert_int_equal(counts.events, events);
	assert_int_equal(counts.changed, 0);
}

static enum etw_action no_action(void *context, struct etw_relog *relog, struct etw_event *event)
{
	(void)context;
	(void)relog;
	(void)event;
	return (enum etw_action)77;
}

static void a_callback_returns_an_action(void **state)
{
	struct etw_relog *relog = etw_open_relog(path, NULL, NULL, NULL);
	struct etw_error err = { 0 };

	(void)state;
	assert_misuse(etw_relog_run(relog, no_action, NULL, &err), &err,
		      "the callback returned 77, which is no action");
	assert_misuse(etw_close_relog(relog, NULL, &err), &err,
		      "the callback returned 77, which is no action");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_is_no_trace),
		cmocka_unit_test(a_closed_trace_is_none),
		cmocka_unit_test(openings_say_what_is_wrong),
		cmocka_unit_test(a_run_needs_a_callback),
		cmocka_unit_test(a_trace_does_not_run_inside_itself),
		cmocka_unit_test(two_threads_cannot_run_a_trace),
		cmocka_unit_test(a_trace_that_runs_is_closed_at_its_end),
		cmocka_unit_test(fields_of_nothing_are_not_found),
		cmocka_unit_test(a_field_needs_a_name_and_a_place),
		cmocka_unit_test(a_session_needs_a_name_and_something_to_report),
#if !defined(_WIN32)
		cmocka_unit_test(elsewhere_than_on_windows_there_are_no_sessions),
#endif
		cmocka_unit_test(null_is_no_relog),
		cmocka_unit_test(a_closed_relog_is_none),
		cmocka_unit_test(relogs_have_an_order),
		cmocka_unit_test(a_callback_cannot_end_its_relog),
		cmocka_unit_test(a_callback_returns_an_action),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_recording);
}
