/* SPDX-License-Identifier: MIT */
/*
 * Providers: those that the program under test registers, and scripted ones; and the thread that
 * calls their enable callbacks.
 *
 * As on Windows the callbacks of a change run on a thread of their own, one after another, and
 * the session that enabled the provider may wait for them; but a provider that registers when it is
 * already enabled is notified at once, on its own thread.
 */
#define _EVNT_SOURCE_
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum { REGISTRATIONS = 64, NOTIFICATIONS = 1024, CALLBACKS = 4096, FIRST_PID = 4000 };

struct fake_etw_provider {
	bool used;
	REGHANDLE handle;
	fake_etw_on_callback on_callback;
	void *context;
	struct fake_etw_callback *callbacks; /* owned, CALLBACKS of them */
	size_t callback_count;
	bool block;
};

struct registration {
	REGHANDLE handle; /* 0: free */
	GUID provider;
	PENABLECALLBACK callback;
	void *context;
	bool scripted;
	unsigned busy;   /* callbacks that run */
	bool typed;      /* EVENT_DATA_DESCRIPTOR.Type counts */
	uint8_t *traits; /* owned */
	size_t traits_size;
};

struct notification {
	uint64_t ticket;
	REGHANDLE target;
	struct fake_etw_callback callback;
};

static struct registration registrations[REGISTRATIONS];
static struct fake_etw_provider scripted[REGISTRATIONS];
static struct notification queue[NOTIFICATIONS];
static size_t queued;
static uint64_t last_ticket; /* given out */
static uint64_t done_ticket; /* all up to this have returned */
static bool running;
static bool stopping;
static struct os_thread thread;

static struct registration *registration_of(REGHANDLE handle)
{
	for (size_t i = 0; i < REGISTRATIONS; i++) {
		if (handle != 0 && registrations[i].handle == handle) {
			return &registrations[i];
		}
	}
	return NULL;
}

/* With the lock, which is released meanwhile. */
static void call_back(struct registration *registration, const struct fake_etw_callback *callback)
{
	REGHANDLE handle = registration->handle;
	PENABLECALLBACK function = registration->callback;
	void *context = registration->context;
	EVENT_FILTER_DESCRIPTOR filter = { .Ptr = (ULONGLONG)(ULONG_PTR)callback->filter,
					   .Size = callback->filter_size,
					   .Type = callback->filter_type };

	if (!function) {
		return;
	}
	registration->busy++;
	fake_unlock();
	function(&callback->source, callback->is_enabled, callback->level, callback->match_any,
		 callback->match_all, callback->filter_size > 0 ? &filter : NULL, context);
	fake_lock();
	registration = registration_of(handle);
	if (registration) {
		registration->busy--;
	}
	os_condition_wake_all(&fake.changed);
}

static void run_callbacks(void *context)
{
	(void)context;
	fake_lock();
	while (!stopping) {
		struct notification next;
		struct registration *registration;

		if (queued == 0) {
			os_condition_wait(&fake.changed, &fake.lock, 1000000000);
			continue;
		}
		next = queue[0];
		memmove(queue, queue + 1, --queued * sizeof(*queue));
		registration = registration_of(next.target);
		if (registration) {
			call_back(registration, &next.callback);
		}
		done_ticket = next.ticket;
		os_condition_wake_all(&fake.changed);
	}
	fake_unlock();
}

uint64_t fake_providers_notify(const GUID *provider, const GUID *source, ULONG is_enabled,
			       uint8_t level, uint64_t match_any, uint64_t match_all,
			       const struct fake_provider_filter *filter)
{
	struct fake_etw_callback callback = { .source = *source,
					      .is_enabled = is_enabled,
					      .level = level,
					      .match_any = match_any,
					      .match_all = match_all };
	bool any = false;

	if (filter) {
		callback.filter_type = filter->type;
		callback.filter_size = filter->size;
		memcpy(callback.filter, filter->data, sizeof(callback.filter));
	}

	for (size_t i = 0; i < REGISTRATIONS; i++) {
		const struct registration *registration = &registrations[i];

		if (registration->handle == 0 ||
		    !fake_guid_equal(&registration->provider, provider)) {
			continue;
		}
		if (queued == NOTIFICATIONS) {
			abort();
		}
		queue[queued++] =
			(struct notification){ ++last_ticket, registration->handle, callback };
		any = true;
	}
	if (any && !running) {
		running = true;
		stopping = false;
		if (!os_thread_start(&thread, run_callbacks, NULL, NULL)) {
			abort();
		}
	}
	os_condition_wake_all(&fake.changed);
	return any ? last_ticket : 0;
}

bool fake_providers_wait(uint64_t ticket, uint32_t timeout_ms)
{
	uint64_t end = fake_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;

	while (done_ticket < ticket) {
		uint64_t now = fake_clock_monotonic_ns();

		if (timeout_ms != INFINITE && now >= end) {
			return false;
		}
		os_condition_wait(&fake.changed, &fake.lock,
				  timeout_ms != INFINITE ? end - now : 1000000000);
	}
	return true;
}

bool fake_etw_wait_idle(unsigned timeout_ms)
{
	bool done;

	fake_lock();
	done = fake_providers_wait(last_ticket, timeout_ms);
	fake_unlock();
	return done;
}

bool fake_providers_at(size_t index, GUID *guid, uint32_t *pid)
{
	for (size_t i = 0; i < REGISTRATIONS; i++) {
		if (registrations[i].handle == 0 || index-- > 0) {
			continue;
		}
		*guid = registrations[i].provider;
		if (pid) {
			*pid = registrations[i].scripted ? FIRST_PID + (uint32_t)i * 4 :
							   GetCurrentProcessId();
		}
		return true;
	}
	return false;
}

void fake_providers_reset(void)
{
	bool join;

	fake_lock();
	for (size_t i = 0; i < REGISTRATIONS; i++) {
		scripted[i].block = false;
	}
	join = running;
	stopping = true;
	os_condition_wake_all(&fake.changed);
	fake_unlock();
	if (join) {
		os_thread_join(&thread);
	}
	running = false;
	stopping = false;
	queued = 0;
	done_ticket = last_ticket;
	for (size_t i = 0; i < REGISTRATIONS; i++) {
		free(registrations[i].traits);
		registrations[i] = (struct registration){ 0 };
		free(scripted[i].callbacks);
		scripted[i] = (struct fake_etw_provider){ 0 };
	}
}

unsigned fake_providers_registered(void)
{
	unsigned count = 0;

	fake_lock();
	for (size_t i = 0; i < REGISTRATIONS; i++) {
		count += registrations[i].handle != 0 && !registrations[i].scripted;
	}
	fake_unlock();
	return count;
}

/* With the lock; the callback for what is wanted already has run when it returns. NULL: no room. */
static struct registration *add_registration(const GUID *provider, PENABLECALLBACK callback,
					     void *context, REGHANDLE *handle)
{
	struct registration *registration = NULL;
	struct fake_union sum = fake_enable_union(provider);

	for (size_t i = 0; i < REGISTRATIONS && !registration; i++) {
		registration = registrations[i].handle == 0 ? &registrations[i] : NULL;
	}
	if (!registration) {
		return NULL;
	}
	*registration = (struct registration){ .handle = ++fake.next_handle << 16 | 0x4000u,
					       .provider = *provider,
					       .callback = callback,
					       .context = context };
	*handle = registration->handle;
	if (sum.is_enabled != 0) {
		/* Source and filter data are those of a call that is long over: none. */
		struct fake_etw_callback state = { .is_enabled = 1,
						   .level = sum.level,
						   .match_any = sum.match_any,
						   .match_all = sum.match_all };

		call_back(registration, &state);
	}
	return registration_of(*handle);
}

static void remove_registration(struct registration *registration)
{
	free(registration->traits);
	*registration = (struct registration){ 0 };
}

/* --- the calls of a provider --- */

ULONG EVNTAPI EventRegister(LPCGUID provider, PENABLECALLBACK callback, PVOID context,
			    PREGHANDLE handle)
{
	uint32_t error = fake_enter(CALL_EventRegister);

	if (error == 0 && (!provider || !handle)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0 && !add_registration(provider, callback, context, handle)) {
		error = ERROR_NOT_ENOUGH_MEMORY;
	}
	fake_unlock();
	return error;
}

ULONG EVNTAPI EventUnregister(REGHANDLE handle)
{
	uint32_t error = fake_enter(CALL_EventUnregister);
	struct registration *registration = registration_of(handle);

	if (error == 0 && !registration) {
		error = ERROR_INVALID_HANDLE;
	}
	if (error == 0) {
		registration->callback = NULL;   /* no new call starts … */
		while (registration->busy > 0) { /* … and none is under way behind this */
			os_condition_wait(&fake.changed, &fake.lock, 1000000000);
		}
		remove_registration(registration);
	}
	fake_unlock();
	return error;
}

ULONG EVNTAPI EventSetInformation(REGHANDLE handle, EVENT_INFO_CLASS information_class,
				  PVOID information, ULONG size)
{
	uint32_t error = fake_enter(CALL_EventSetInformation);
	struct registration *registration = registration_of(handle);
	uint16_t total;

	if (error != 0) {
		/* as asked */
	} else if (!registration) {
		error = ERROR_INVALID_HANDLE;
	} else if ((int)information_class == FAKE_INFORMATION_TRAITS) {
		/* A u16 with the size of the whole, the name, the traits. */
		if (!information || size < 3 || registration->traits) {
			error = ERROR_INVALID_PARAMETER;
		} else {
			memcpy(&total, information, sizeof(total));
			registration->traits = total == size ? malloc(size) : NULL;
			if (!registration->traits) {
				error = ERROR_INVALID_PARAMETER;
			} else {
				memcpy(registration->traits, information, size);
				registration->traits_size = size;
				registration->typed = true;
			}
		}
	} else if ((int)information_class == FAKE_INFORMATION_DESCRIPTOR_TYPE) {
		if (!information || size != sizeof(BOOLEAN)) {
			error = ERROR_INVALID_PARAMETER;
		} else {
			registration->typed = *(BOOLEAN *)information != 0;
		}
	} else {
		error = ERROR_NOT_SUPPORTED;
	}
	fake_unlock();
	return error;
}

BOOLEAN EVNTAPI EventProviderEnabled(REGHANDLE handle, UCHAR level, ULONGLONG keyword)
{
	struct registration *registration;
	bool enabled = false;

	fake_lock();
	registration = registration_of(handle);
	if (registration) {
		struct fake_union sum = fake_enable_union(&registration->provider);

		enabled = sum.is_enabled != 0 && fake_enable_passes(sum.level, sum.match_any,
								    sum.match_all, level, keyword);
	}
	fake_unlock();
	return enabled;
}

BOOLEAN EVNTAPI EventEnabled(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor)
{
	return EventProviderEnabled(handle, descriptor->Level, descriptor->Keyword);
}

/* Low byte of what the SDK calls Type and mingw Reserved. */
static unsigned type_of(const EVENT_DATA_DESCRIPTOR *descriptor)
{
	return descriptor->Reserved & 0xff;
}

static uint32_t write_event(const struct registration *registration, PCEVENT_DESCRIPTOR descriptor,
			    LPCGUID activity, LPCGUID related, ULONG count,
			    const EVENT_DATA_DESCRIPTOR *data)
{
	struct fake_etw_event event = { .provider = registration->provider,
					.descriptor = *descriptor,
					.process_id = GetCurrentProcessId(),
					.thread_id = GetCurrentThreadId() };
	struct fake_etw_item items[3];
	uint8_t *payload;
	size_t size = 0;
	unsigned sessions;
	uint32_t error;

	if (registration->traits) {
		items[event.item_count++] =
			(struct fake_etw_item){ EVENT_HEADER_EXT_TYPE_PROV_TRAITS,
						(uint16_t)registration->traits_size,
						registration->traits };
	}
	for (ULONG i = 0; i < count; i++) {
		size += data[i].Size;
	}
	if (size + FAKE_EVENT_HEADER + registration->traits_size > UINT16_MAX) {
		return ERROR_ARITHMETIC_OVERFLOW;
	}
	payload = malloc(size > 0 ? size : 1);
	if (!payload) {
		return ERROR_NOT_ENOUGH_MEMORY;
	}
	for (ULONG i = 0; i < count; i++) {
		const void *at = (const void *)(ULONG_PTR)data[i].Ptr;

		if (registration->typed && type_of(&data[i]) == 1) { /* EVENT_METADATA */
			items[event.item_count++] =
				(struct fake_etw_item){ EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL,
							(uint16_t)data[i].Size, at };
		} else if (registration->typed &&
			   type_of(&data[i]) == 2) { /* PROVIDER_METADATA: known from the traits */
			continue;
		} else if (data[i].Size > 0) {
			memcpy(payload + event.payload_size, at, data[i].Size);
			event.payload_size += data[i].Size;
		}
		if (event.item_count > 2) {
			free(payload);
			return ERROR_INVALID_PARAMETER;
		}
	}
	if (related) {
		items[event.item_count++] =
			(struct fake_etw_item){ EVENT_HEADER_EXT_TYPE_RELATED_ACTIVITYID,
						sizeof(*related), related };
	}
	event.items = items;
	event.payload = payload;
	event.activity = activity ? *activity : fake_no_guid;
	event.processor = (uint16_t)(event.thread_id / 4 % fake.options.processors);
	error = fake_emit(&event, &sessions);
	free(payload);
	return error;
}

ULONG EVNTAPI EventWriteTransfer(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, LPCGUID activity,
				 LPCGUID related, ULONG count, PEVENT_DATA_DESCRIPTOR data)
{
	uint32_t error = fake_enter(CALL_EventWriteTransfer);
	const struct registration *registration = registration_of(handle);

	if (error != 0) {
		/* as asked */
	} else if (!registration) {
		error = ERROR_INVALID_HANDLE;
	} else if (!descriptor || count > MAX_EVENT_DATA_DESCRIPTORS || (count > 0 && !data)) {
		error = ERROR_INVALID_PARAMETER;
	} else {
		error = write_event(registration, descriptor, activity, related, count, data);
	}
	fake_unlock();
	return error;
}

ULONG EVNTAPI EventWrite(REGHANDLE handle, PCEVENT_DESCRIPTOR descriptor, ULONG count,
			 PEVENT_DATA_DESCRIPTOR data)
{
	return EventWriteTransfer(handle, descriptor, NULL, NULL, count, data);
}

/* --- scripted providers --- */

static VOID NTAPI on_callback(LPCGUID source, ULONG is_enabled, UCHAR level, ULONGLONG match_any,
			      ULONGLONG match_all, PEVENT_FILTER_DESCRIPTOR filter, PVOID context)
{
	struct fake_etw_provider *provider = context;
	struct fake_etw_callback callback = { .source = *source,
					      .is_enabled = is_enabled,
					      .level = level,
					      .match_any = match_any,
					      .match_all = match_all };

	if (filter) {
		callback.filter_type = filter->Type;
		callback.filter_size = filter->Size;
		memcpy(callback.filter, (const void *)(ULONG_PTR)filter->Ptr, filter->Size);
	}
	fake_lock();
	if (provider->callback_count < CALLBACKS) {
		provider->callbacks[provider->callback_count++] = callback;
	}
	fake_unlock();
	if (provider->on_callback) {
		provider->on_callback(provider->context, &callback);
	}
	fake_lock();
	while (provider->block) {
		os_condition_wait(&fake.changed, &fake.lock, 1000000000);
	}
	fake_unlock();
}

struct fake_etw_provider *fake_etw_provider_open(const GUID *guid, fake_etw_on_callback on_call,
						 void *context)
{
	struct fake_etw_provider *provider = NULL;
	struct registration *registration;

	fake_lock();
	for (size_t i = 0; i < REGISTRATIONS && !provider; i++) {
		provider = scripted[i].used ? NULL : &scripted[i];
	}
	if (!provider) {
		abort();
	}
	*provider = (struct fake_etw_provider){ .used = true,
						.on_callback = on_call,
						.context = context };
	provider->callbacks = calloc(CALLBACKS, sizeof(*provider->callbacks));
	if (!provider->callbacks) {
		abort();
	}
	registration = add_registration(guid, on_callback, provider, &provider->handle);
	if (!registration) {
		abort();
	}
	registration->scripted = true;
	fake_unlock();
	return provider;
}

void fake_etw_provider_close(struct fake_etw_provider *provider)
{
	struct registration *registration;

	if (!provider) {
		return;
	}
	fake_lock();
	registration = registration_of(provider->handle);
	if (registration) {
		registration->callback = NULL;
		while (registration->busy > 0) {
			os_condition_wait(&fake.changed, &fake.lock, 1000000000);
		}
		remove_registration(registration);
	}
	free(provider->callbacks);
	*provider = (struct fake_etw_provider){ 0 };
	fake_unlock();
}

size_t fake_etw_provider_callbacks(struct fake_etw_provider *provider,
				   struct fake_etw_callback *callbacks, size_t size)
{
	size_t count;

	fake_lock();
	count = provider->callback_count;
	if (count > 0 && size > 0) {
		memcpy(callbacks, provider->callbacks,
		       (count < size ? count : size) * sizeof(*callbacks));
	}
	fake_unlock();
	return count;
}

void fake_etw_provider_forget(struct fake_etw_provider *provider)
{
	fake_lock();
	provider->callback_count = 0;
	fake_unlock();
}

void fake_etw_provider_block(struct fake_etw_provider *provider, bool block)
{
	fake_lock();
	provider->block = block;
	os_condition_wake_all(&fake.changed);
	fake_unlock();
}

IMPORTED(EventRegister);
IMPORTED(EventUnregister);
IMPORTED(EventSetInformation);
IMPORTED(EventEnabled);
IMPORTED(EventProviderEnabled);
IMPORTED(EventWrite);
IMPORTED(EventWriteTransfer);
