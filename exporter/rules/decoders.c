/* SPDX-License-Identifier: MIT */
#include "rules/decoders.h"

#include <string.h>

/* Codes that operators ask for by name; all others are folded into their class or stay numbers. */
struct code_name {
	uint32_t code;
	const char *name;
};

/* "NTSTATUS Values", [MS-ERREF] 2.3.1, without STATUS_. */
static const struct code_name statuses[] = {
	{ 0x00000000, "success" },
	{ 0x00000102, "timeout" },
	{ 0x00000103, "pending" },
	{ 0x00000104, "reparse" },
	{ 0x0000010c, "notify_enum_dir" },
	{ 0x80000005, "buffer_overflow" },
	{ 0x80000006, "no_more_files" },
	{ 0x8000001a, "no_more_entries" },
	{ 0xc0000001, "unsuccessful" },
	{ 0xc0000003, "invalid_info_class" },
	{ 0xc0000008, "invalid_handle" },
	{ 0xc000000d, "invalid_parameter" },
	{ 0xc000000f, "no_such_file" },
	{ 0xc0000010, "invalid_device_request" },
	{ 0xc0000011, "end_of_file" },
	{ 0xc0000022, "access_denied" },
	{ 0xc0000023, "buffer_too_small" },
	{ 0xc0000033, "object_name_invalid" },
	{ 0xc0000034, "object_name_not_found" },
	{ 0xc0000035, "object_name_collision" },
	{ 0xc000003a, "object_path_not_found" },
	{ 0xc0000043, "sharing_violation" },
	{ 0xc0000054, "file_lock_conflict" },
	{ 0xc0000056, "delete_pending" },
	{ 0xc000007f, "disk_full" },
	{ 0xc000009a, "insufficient_resources" },
	{ 0xc00000ba, "file_is_a_directory" },
	{ 0xc00000bb, "not_supported" },
	{ 0xc0000101, "directory_not_empty" },
	{ 0xc0000103, "not_a_directory" },
	{ 0xc0000120, "cancelled" },
	{ 0xc0000121, "cannot_delete" },
	{ 0xc0000128, "file_closed" },
	{ 0xc0000225, "not_found" },
	{ 0xc0000275, "not_a_reparse_point" },
};

/* "System Error Codes", Microsoft Learn, without ERROR_. */
static const struct code_name win32_errors[] = {
	{ 0, "success" },
	{ 2, "file_not_found" },
	{ 3, "path_not_found" },
	{ 5, "access_denied" },
	{ 6, "invalid_handle" },
	{ 8, "not_enough_memory" },
	{ 13, "invalid_data" },
	{ 19, "write_protect" },
	{ 21, "not_ready" },
	{ 32, "sharing_violation" },
	{ 33, "lock_violation" },
	{ 50, "not_supported" },
	{ 53, "bad_netpath" },
	{ 80, "file_exists" },
	{ 87, "invalid_parameter" },
	{ 109, "broken_pipe" },
	{ 112, "disk_full" },
	{ 121, "sem_timeout" },
	{ 122, "insufficient_buffer" },
	{ 123, "invalid_name" },
	{ 145, "dir_not_empty" },
	{ 170, "busy" },
	{ 183, "already_exists" },
	{ 258, "wait_timeout" },
	{ 995, "operation_aborted" },
	{ 996, "io_incomplete" },
	{ 997, "io_pending" },
	{ 1053, "service_request_timeout" },
	{ 1168, "not_found" },
	{ 1223, "cancelled" },
	{ 1225, "connection_refused" },
	{ 1231, "network_unreachable" },
	{ 1232, "host_unreachable" },
	{ 1236, "connection_aborted" },
	{ 1326, "logon_failure" },
	{ 1450, "no_system_resources" },
	{ 1460, "timeout" },
	{ 10054, "wsaeconnreset" },
	{ 10060, "wsaetimedout" },
	{ 10061, "wsaeconnrefused" },
};

static const char *find_code(const struct code_name *codes, size_t count, uint64_t code)
{
	for (size_t i = 0; i < count; i++) {
		if (codes[i].code == code) {
			return codes[i].name;
		}
	}
	return NULL;
}

static const char *ntstatus_name(uint32_t status)
{
	/* By the two bits of severity. */
	static const char *const classes[] = { "success", "information", "warning", "error" };
	const char *name = find_code(statuses, sizeof statuses / sizeof statuses[0], status);

	return name ? name : classes[status >> 30];
}

void text_cut(struct text *text, size_t most)
{
	if (text->size <= most) {
		return;
	}
	while (most > 0 && ((unsigned char)text->data[most] & 0xc0) == 0x80) {
		most--;
	}
	text->size = most;
	text->data[most] = '\0';
}

static bool is_separator(char c)
{
	return c == '\\' || c == '/';
}

/* Where the last component begins. */
static size_t base_start(const char *text, size_t size)
{
	while (size > 0 && !is_separator(text[size - 1])) {
		size--;
	}
	return size;
}

static void add_number(const struct decoded *from, struct text *out)
{
	if (from->is_signed) {
		text_add_i64(out, (int64_t)from->number);
	} else {
		text_add_u64(out, from->number);
	}
}

static void decode_number(enum decoder decoder, const struct decoded *from, struct text *out)
{
	const char *name;

	switch (decoder) {
	case DECODE_HEX:
		text_add_format(out, "0x%llx", (unsigned long long)from->number);
		return;
	case DECODE_NTSTATUS:
		text_add_string(out, ntstatus_name((uint32_t)from->number));
		return;
	case DECODE_WIN32_ERROR:
		name = find_code(win32_errors, sizeof win32_errors / sizeof win32_errors[0],
				 (uint32_t)from->number);
		if (name) {
			text_add_string(out, name);
			return;
		}
		break;
	default:
		break;
	}
	add_number(from, out);
}

/* "C:" of a DOS path, "HarddiskVolume3" of a device path (etl-format.md section 16.3, without
 * mappings). */
static void decode_drive(const char *text, size_t size, struct text *out)
{
	static const char device[] = "\\Device\\";
	size_t start = text_starts_nocase(text, size, "\\??\\", 4) ? 4 : 0;

	if (size >= start + 2 && text[start + 1] == ':' && ascii_lower(text[start]) >= 'a' &&
	    ascii_lower(text[start]) <= 'z') {
		char drive[2] = { (char)(ascii_lower(text[start]) - 'a' + 'A'), ':' };

		text_add(out, drive, sizeof drive);
		return;
	}
	if (text_starts_nocase(text, size, device, sizeof device - 1)) {
		size_t end = start = sizeof device - 1;

		while (end < size && text[end] != '\\') {
			end++;
		}
		if (end > start) {
			text_add(out, text + start, end - start);
			return;
		}
	}
	text_add_string(out, "_unknown");
}

static void decode_text(const struct decode_step *step, struct regex_matcher *matcher,
			const char *text, size_t size, struct text *out)
{
	size_t base = base_start(text, size);

	switch (step->decoder) {
	case DECODE_LOWER:
		text_add(out, text, size);
		for (size_t i = 0; i < out->size; i++) {
			out->data[i] = ascii_lower(out->data[i]);
		}
		return;
	case DECODE_BASENAME:
		text_add(out, text + base, size - base);
		return;
	case DECODE_DIRECTORY:
		text_add(out, text, base > 0 ? base - 1 : 0);
		return;
	case DECODE_EXTENSION: {
		size_t dot = size;

		while (dot > base && text[dot - 1] != '.') {
			dot--;
		}
		if (dot > base) {
			text_add(out, text + dot, size - dot);
		}
		return;
	}
	case DECODE_DRIVE:
		decode_drive(text, size, out);
		return;
	case DECODE_REGEX:
		regex_replace(matcher, step->regex, step->replacement, text, size, out);
		return;
	case DECODE_HEX:
	case DECODE_NTSTATUS:
	case DECODE_WIN32_ERROR:
		break;
	}
	text_add(out, text, size);
}

void decode_chain(const struct decode_step *steps, size_t count, struct regex_matcher *matcher,
		  const struct decoded *from, struct text *scratch, struct text *out)
{
	size_t i = 0;

	text_clear(out);
	if (!from->is_number) {
		text_add(out, from->text, from->size);
	} else if (count > 0) {
		decode_number(steps[i++].decoder, from, out);
	} else {
		add_number(from, out);
	}
	text_cut(out, LABEL_TEXT_SIZE_MAX);
	for (; i < count; i++) {
		struct text swap = *scratch;

		*scratch = *out;
		*out = swap;
		text_clear(out);
		decode_text(&steps[i], matcher, scratch->data ? scratch->data : "", scratch->size,
			    out);
		text_cut(out, LABEL_TEXT_SIZE_MAX);
	}
}
