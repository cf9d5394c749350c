/* SPDX-License-Identifier: MIT */
/*
 * Names of result codes: NTSTATUS, Win32 errors, HRESULTs.
 *
 * Labels need few values, and operators need names. So each table has the codes that operators look
 * for by name; the others become their class or stay numbers, as codes.h says for each.
 * Names are those of the headers in lower case without their prefix, so that dashboards can filter
 * by what the documentation calls them. A HRESULT can contain a Win32 error or an NTSTATUS; its
 * name is then the one in that table. To name one more code, add a row; that changes the values of
 * labels.
 */
#include "rules/language/codes.h"

#include <stddef.h>

/* Codes that operators look for by name; all others become their class or stay numbers. */
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
	{ 0xc00000b5, "io_timeout" },
	{ 0xc00000ba, "file_is_a_directory" },
	{ 0xc00000bb, "not_supported" },
	{ 0xc0000101, "directory_not_empty" },
	{ 0xc0000103, "not_a_directory" },
	{ 0xc0000120, "cancelled" },
	{ 0xc0000121, "cannot_delete" },
	{ 0xc0000128, "file_closed" },
	{ 0xc000020d, "connection_reset" },
	{ 0xc0000225, "not_found" },
	{ 0xc0000236, "connection_refused" },
	{ 0xc000023c, "network_unreachable" },
	{ 0xc000023d, "host_unreachable" },
	{ 0xc0000241, "connection_aborted" },
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

/* "Common HRESULT Values", Microsoft Learn; corerror.h for the last rows (0x8013…). */
static const struct code_name results[] = {
	{ 0x00000000, "success" },
	{ 0x00000001, "false" },
	{ 0x80004001, "not_implemented" },
	{ 0x80004002, "no_interface" },
	{ 0x80004003, "invalid_pointer" },
	{ 0x80004004, "aborted" },
	{ 0x80004005, "unspecified" },
	{ 0x8000ffff, "unexpected" },
	{ 0x80010108, "disconnected" },
	{ 0x80040154, "class_not_registered" },
	{ 0x80131500, "exception" },
	{ 0x80131501, "system_exception" },
	{ 0x80131509, "invalid_operation" },
	{ 0x80131515, "not_supported" },
	{ 0x80131620, "io" },
};

/* winerror.h: FACILITY_NT_BIT; SEVERITY_ERROR with FACILITY_WIN32. */
#define HRESULT_NT    UINT32_C(0x10000000)
#define HRESULT_WIN32 UINT32_C(0x8007)

static const char *find_code(const struct code_name *codes, size_t count, uint64_t code)
{
	for (size_t i = 0; i < count; i++) {
		if (codes[i].code == code) {
			return codes[i].name;
		}
	}
	return NULL;
}

const char *code_ntstatus(uint32_t status)
{
	/* By the two bits of severity. */
	static const char *const classes[] = { "success", "information", "warning", "error" };
	const char *name = find_code(statuses, sizeof statuses / sizeof statuses[0], status);

	return name ? name : classes[status >> 30];
}

const char *code_win32(uint32_t error)
{
	return find_code(win32_errors, sizeof win32_errors / sizeof win32_errors[0], error);
}

const char *code_hresult(uint32_t result)
{
	const char *name;

	if ((result & HRESULT_NT) != 0) {
		return code_ntstatus(result & ~HRESULT_NT);
	}
	if (result >> 16 == HRESULT_WIN32) {
		name = code_win32(result & UINT16_MAX);
		if (name) {
			return name;
		}
	}
	name = find_code(results, sizeof results / sizeof results[0], result);
	return name || result >> 31 == 1 ? name : "success";
}
