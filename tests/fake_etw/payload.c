/* SPDX-License-Identifier: MIT */
/*
 * Filters by payload: made from the scripted schemas, looked at when an event is written.
 *
 * What TDH hands out is opaque; here it is a struct filter, and put together a struct aggregate
 * with the filters behind it.
 */
#include "tests/fake_etw/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIELDS = 64,
	TEXT = 32, /* characters of a text to compare with */
	/* TDH_INTYPE_*: mingw's tdh.h has them not. */
	IN_UNICODE = 1,
	IN_ANSI = 2,
	IN_INT8 = 3,
	IN_UINT64 = 10,
	IN_FLOAT = 11,
	IN_BOOLEAN = 13,
	IN_GUID = 15,
	IN_FILETIME = 17,
	IN_HEX32 = 20,
	IN_HEX64 = 21,
	/* PAYLOAD_OPERATOR */
	OP_EQ = 0,
	OP_NE,
	OP_LE,
	OP_GT,
	OP_LT,
	OP_GE,
	OP_BETWEEN,
	OP_NOT_BETWEEN,
	OP_MODULO,
	OP_CONTAINS = 20,
	OP_CONTAINS_NOT = 21,
	OP_IS = 30,
	OP_IS_NOT = 31,
};

struct predicate {
	uint16_t field; /* its index */
	uint16_t op;
	uint64_t low, high; /* sign-extended */
	WCHAR text[TEXT];
};

struct filter {
	uint16_t id;
	uint8_t version;
	bool any;
	uint32_t count;
	struct predicate predicates[MAX_PAYLOAD_PREDICATES];
};

struct aggregate {
	uint32_t magic;
	uint32_t count;
	struct filter filters[];
};

static const uint32_t magic = 0x50415946;

/* ---- fields ---- */

/* Bytes of a number; 0: another type. */
static size_t number_size(unsigned type)
{
	static const uint8_t sizes[] = { 1, 1, 2, 2, 4, 4, 8, 8 };

	if (type >= IN_INT8 && type <= IN_UINT64) {
		return sizes[type - IN_INT8];
	}
	if (type == IN_BOOLEAN || type == IN_HEX32) {
		return 4;
	}
	return type == IN_FILETIME || type == IN_HEX64 ? 8 : 0;
}

static bool is_text(unsigned type)
{
	return type == IN_UNICODE || type == IN_ANSI;
}

/* Bytes of a value of this type; 0: it goes on beyond the end, or the fake does not know. */
static size_t value_size(unsigned type, const uint8_t *at, size_t left)
{
	size_t size = number_size(type);

	if (type == IN_FLOAT || type == IN_FLOAT + 1) {
		size = type == IN_FLOAT ? 4 : 8;
	} else if (type == IN_GUID) {
		size = sizeof(GUID);
	} else if (is_text(type)) {
		size_t unit = type == IN_UNICODE ? 2 : 1;

		for (size = unit; size <= left; size += unit) {
			if (at[size - unit] == 0 && at[size - 1] == 0) {
				return size;
			}
		}
		return 0;
	}
	return size <= left ? size : 0;
}

static unsigned type_of(const TRACE_EVENT_INFO *info, size_t field)
{
	return info->EventPropertyInfoArray[field].nonStructType.InType;
}

/* Where a field of an event stands; NULL: not inside the payload. */
static const uint8_t *field_at(const TRACE_EVENT_INFO *info, const struct fake_etw_event *event,
			       size_t field, size_t *size)
{
	const uint8_t *at = event->payload;
	size_t left = event->payload_size;

	for (size_t i = 0; left > 0; i++) {
		*size = value_size(type_of(info, i), at, left);
		if (i == field || *size == 0) {
			return *size > 0 ? at : NULL;
		}
		at += *size;
		left -= *size;
	}
	return NULL;
}

/* ---- making ---- */

static bool find_field(const TRACE_EVENT_INFO *info, const WCHAR *name, uint16_t *field)
{
	for (ULONG i = 0; i < info->TopLevelPropertyCount && i < FIELDS; i++) {
		const EVENT_PROPERTY_INFO *property = &info->EventPropertyInfoArray[i];
		const WCHAR *known =
			(const WCHAR *)(const void *)((const uint8_t *)info + property->NameOffset);

		if (property->Flags == 0 && property->count <= 1 && fake_wide_equal(known, name)) {
			*field = (uint16_t)i;
			return true;
		}
	}
	return false;
}

static bool read_number(const WCHAR **at, uint64_t *number)
{
	bool negative = **at == '-';
	bool digits = false;

	*number = 0;
	*at += negative;
	for (; **at >= '0' && **at <= '9'; ++*at) {
		*number = *number * 10 + (uint64_t)(**at - '0');
		digits = true;
	}
	if (negative) {
		*number = 0 - *number;
	}
	return digits;
}

static bool read_numbers(struct predicate *to, const WCHAR *value)
{
	if (!read_number(&value, &to->low)) {
		return false;
	}
	if (to->op != OP_BETWEEN && to->op != OP_NOT_BETWEEN) {
		return *value == 0;
	}
	return *value++ == ',' && read_number(&value, &to->high) && *value == 0;
}

static uint32_t make_predicate(struct predicate *to, const TRACE_EVENT_INFO *info,
			       const PAYLOAD_FILTER_PREDICATE *from)
{
	unsigned type;

	if (!from->FieldName || !from->Value || !find_field(info, from->FieldName, &to->field)) {
		return ERROR_INVALID_PARAMETER;
	}
	to->op = from->CompareOp;
	type = type_of(info, to->field);
	if (number_size(type) > 0) {
		return to->op <= OP_MODULO && read_numbers(to, from->Value) ?
			       0 :
			       ERROR_INVALID_PARAMETER;
	}
	if (!is_text(type) || (to->op != OP_CONTAINS && to->op != OP_CONTAINS_NOT &&
			       to->op != OP_IS && to->op != OP_IS_NOT)) {
		return ERROR_INVALID_PARAMETER;
	}
	if (fake_wide_length(from->Value) >= TEXT) {
		fake_refuse("TdhCreatePayloadFilter", "texts as long as this");
		return ERROR_NOT_SUPPORTED;
	}
	memcpy(to->text, from->Value, (fake_wide_length(from->Value) + 1) * sizeof(WCHAR));
	return 0;
}

static uint32_t make_filter(const GUID *provider, const EVENT_DESCRIPTOR *event, bool any,
			    ULONG count, const PAYLOAD_FILTER_PREDICATE *predicates, PVOID *made)
{
	struct filter filter = {
		.id = event->Id, .version = event->Version, .any = any, .count = count
	};
	const TRACE_EVENT_INFO *info = fake_tdh_information(provider, event->Id, event->Version);

	if (!info) {
		return ERROR_NOT_FOUND;
	}
	for (ULONG i = 0; i < count; i++) {
		uint32_t error = make_predicate(&filter.predicates[i], info, &predicates[i]);

		if (error != 0) {
			return error;
		}
	}
	*made = malloc(sizeof filter);
	if (!*made) {
		abort();
	}
	memcpy(*made, &filter, sizeof filter);
	return 0;
}

ULONG WINAPI TdhCreatePayloadFilter(LPCGUID provider, const EVENT_DESCRIPTOR *event, BOOLEAN any,
				    ULONG count, PPAYLOAD_FILTER_PREDICATE predicates,
				    PVOID *filter)
{
	uint32_t error = fake_enter(CALL_TdhCreatePayloadFilter);

	if (error == 0 && (!provider || !event || !predicates || !filter || count == 0 ||
			   count > MAX_PAYLOAD_PREDICATES)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0) {
		error = make_filter(provider, event, any != 0, count, predicates, filter);
	}
	fake_unlock();
	return error;
}

ULONG WINAPI TdhDeletePayloadFilter(PVOID *filter)
{
	if (!filter) {
		return ERROR_INVALID_PARAMETER;
	}
	free(*filter);
	*filter = NULL;
	return 0;
}

static size_t aggregate_size(uint32_t count)
{
	return sizeof(struct aggregate) + count * sizeof(struct filter);
}

static uint32_t put_together(ULONG count, PVOID *filters, PEVENT_FILTER_DESCRIPTOR descriptor)
{
	struct aggregate *all = calloc(1, aggregate_size(count));

	if (!all) {
		abort();
	}
	all->magic = magic;
	all->count = count;
	for (ULONG i = 0; i < count; i++) {
		all->filters[i] = *(const struct filter *)filters[i];
	}
	*descriptor = (EVENT_FILTER_DESCRIPTOR){ .Ptr = (ULONGLONG)(ULONG_PTR)all,
						 .Size = (ULONG)aggregate_size(count),
						 .Type = EVENT_FILTER_TYPE_PAYLOAD };
	return 0;
}

ULONG WINAPI TdhAggregatePayloadFilters(ULONG count, PVOID *filters, PBOOLEAN match_all,
					PEVENT_FILTER_DESCRIPTOR descriptor)
{
	uint32_t error = fake_enter(CALL_TdhAggregatePayloadFilters);

	if (error == 0 && (count == 0 || !filters || !descriptor)) {
		error = ERROR_INVALID_PARAMETER;
	}
	if (error == 0 && match_all) {
		fake_refuse("TdhAggregatePayloadFilters", "several filters of one event");
		error = ERROR_NOT_SUPPORTED;
	}
	if (error == 0) {
		error = put_together(count, filters, descriptor);
	}
	fake_unlock();
	return error;
}

ULONG WINAPI TdhCleanupPayloadEventFilterDescriptor(PEVENT_FILTER_DESCRIPTOR descriptor)
{
	if (!descriptor) {
		return ERROR_INVALID_PARAMETER;
	}
	free((void *)(ULONG_PTR)descriptor->Ptr);
	*descriptor = (EVENT_FILTER_DESCRIPTOR){ 0 };
	return 0;
}

/* ---- looking ---- */

bool fake_payload_good(const void *bytes, size_t size)
{
	const struct aggregate *all = bytes;

	return size >= sizeof *all && size <= FAKE_MAX_FILTER_PAYLOAD && all->magic == magic &&
	       size == aggregate_size(all->count);
}

static bool compare_number(const struct predicate *predicate, unsigned type, const uint8_t *at)
{
	bool is_signed = type < IN_FLOAT && type % 2 == 1;
	size_t size = number_size(type);
	uint64_t value = is_signed && at[size - 1] >= 0x80 ? UINT64_MAX : 0;
	bool below, above, between;

	memcpy(&value, at, size);
	below = is_signed ? (int64_t)value < (int64_t)predicate->low : value < predicate->low;
	above = is_signed ? (int64_t)value > (int64_t)predicate->low : value > predicate->low;
	between = !below && (is_signed ? (int64_t)value <= (int64_t)predicate->high :
					 value <= predicate->high);
	switch (predicate->op) {
	case OP_EQ:
		return !below && !above;
	case OP_NE:
		return below || above;
	case OP_LE:
		return !above;
	case OP_GT:
		return above;
	case OP_LT:
		return below;
	case OP_GE:
		return !below;
	case OP_BETWEEN:
		return between;
	case OP_NOT_BETWEEN:
		return !between;
	default:
		return predicate->low != 0 && value % predicate->low == 0;
	}
}

static bool compare_text(const struct predicate *predicate, unsigned type, const uint8_t *at,
			 size_t size)
{
	size_t unit = type == IN_UNICODE ? 2 : 1;
	size_t length = size / unit - 1, text_length = fake_wide_length(predicate->text);
	bool contains = predicate->op == OP_CONTAINS || predicate->op == OP_CONTAINS_NOT;
	bool found = false;

	for (size_t start = 0; !found && start + text_length <= length; start++) {
		WCHAR part[TEXT] = { 0 };

		for (size_t i = 0; i < text_length; i++) {
			memcpy(&part[i], at + (start + i) * unit, unit);
		}
		found = fake_wide_equal(part, predicate->text) &&
			(contains || length == text_length);
	}
	return found == (predicate->op == OP_CONTAINS || predicate->op == OP_IS);
}

static bool holds(const struct predicate *predicate, const TRACE_EVENT_INFO *info,
		  const struct fake_etw_event *event)
{
	unsigned type = type_of(info, predicate->field);
	size_t size;
	const uint8_t *at = field_at(info, event, predicate->field, &size);

	if (!at) {
		return false;
	}
	return is_text(type) ? compare_text(predicate, type, at, size) :
			       compare_number(predicate, type, at);
}

bool fake_payload_wants(const void *bytes, const struct fake_etw_event *event)
{
	const struct aggregate *all = bytes;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct filter *filter = &all->filters[i];
		const TRACE_EVENT_INFO *info;
		uint32_t good = 0;

		if (filter->id != event->descriptor.Id ||
		    filter->version != event->descriptor.Version) {
			continue;
		}
		info = fake_tdh_information(&event->provider, filter->id, filter->version);
		for (uint32_t j = 0; info && j < filter->count; j++) {
			good += holds(&filter->predicates[j], info, event);
		}
		return info && (filter->any ? good > 0 : good == filter->count);
	}
	return true;
}

IMPORTED(TdhCreatePayloadFilter);
IMPORTED(TdhDeletePayloadFilter);
IMPORTED(TdhAggregatePayloadFilters);
IMPORTED(TdhCleanupPayloadEventFilterDescriptor);
