/* SPDX-License-Identifier: MIT */
/*
 * Decoders of labels: what turns a value into the text that a label shows (config/README.md,
 * `decode`).
 *
 * A label has a chain of steps, each a decoder with its arguments. The first step gets the value as
 * the event has it: a number, the bytes of a binary field, or text. Every step writes text, so the
 * later ones get text; a label's text is cut at LABEL_TEXT_SIZE_MAX bytes after each step. Chains
 * run only when a value is new to its label, so decoders need not be fast.
 *
 * A decoder is a row of the table at the end: its name in collectors, what it reads, its function.
 * What it reads decides two things. The check of rules refuses a decoder whose field is of another
 * type. If the type is known only when events arrive, decode_chain() decides by the value: a
 * decoder of text gets a number in decimal, a decoder of numbers leaves text as it is. To add a
 * decoder, add a row and its function.
 *
 * Binary values come in several shapes, because providers log addresses as integers, as bytes or as
 * socket addresses, and their GUIDs and SIDs as bytes or text. Such decoders read every shape; what
 * they cannot read becomes "_unknown".
 *
 * Labels should have few values, and operators need names of result codes. So the tables contain
 * the codes that operators search for by name, in lower case and without their prefix, because
 * dashboards filter by them; other codes become the name of their class or stay numbers. A new row
 * in a table changes the values of labels.
 */
#include "exporter/rules/language/decoders.h"

#include <string.h>

#include <etw/schema.h>

#include "base/client_address.h"
#include "base/guid.h"

enum {
	SOCKADDR_IN_SIZE = 16,
	TEXT_MOST = 64, /* bytes of the text of a GUID */
	/* Systems choose the port of a client from here on: Linux ("ip_local_port_range",
	 * kernel.org), and Windows from 49152 on. */
	DYNAMIC_PORT = 32768,
};

static void add_unknown(struct etw_text *out)
{
	text_add_string(out, "_unknown");
}

/* Returns a number without the sign bits above the size of its field: a signed number is
 * extended to 64 bits. */
static uint64_t field_bits(const struct decoded *from)
{
	unsigned size = from->field ? from->field->size[0] : 0;

	if (!from->is_signed || size == 0 || size >= 8) {
		return from->number;
	}
	return from->number & ((UINT64_C(1) << 8 * size) - 1);
}

static void add_number(const struct decoded *from, struct etw_text *out)
{
	if (from->is_signed) {
		text_add_i64(out, (int64_t)from->number);
	} else {
		text_add_u64(out, from->number);
	}
}

/* ---- result codes ---- */

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
	/* DNS_ERROR_… and DNS_INFO_…, in the words of the collector dns */
	{ 9001, "dns_format_error" },
	{ 9002, "dns_server_failure" },
	{ 9003, "dns_name_error" },
	{ 9004, "dns_not_implemented" },
	{ 9005, "dns_refused" },
	{ 9501, "dns_no_records" },
	{ 9701, "dns_no_records" },
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

/* Severities by the two highest bits of an NTSTATUS; statuses[] has the first one as well. */
static const char *const severities[] = { "success", "information", "warning", "error" };

/* Returns the name of a status, otherwise its severity. */
static const char *code_ntstatus(uint32_t status)
{
	const char *name = find_code(statuses, sizeof statuses / sizeof statuses[0], status);

	return name ? name : severities[status >> 30];
}

static const char *ntstatus_text_at(size_t index)
{
	const size_t statuses_count = sizeof statuses / sizeof statuses[0];
	const size_t all = statuses_count + sizeof severities / sizeof severities[0] - 1;

	if (index >= all) {
		return NULL;
	}
	return index < statuses_count ? statuses[index].name :
					severities[1 + index - statuses_count];
}

/* Returns the name of an error; NULL if it is not in the table. */
static const char *code_win32(uint32_t error)
{
	return find_code(win32_errors, sizeof win32_errors / sizeof win32_errors[0], error);
}

/*
 * Returns the name of a code. If the code contains a system error or an NTSTATUS, that one is
 * named; other codes that are no failure are "success"; NULL for other failures.
 */
static const char *code_hresult(uint32_t result)
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

/* ---- operations of file systems ---- */

/*
 * Names of the major functions of requests, which minifilters register for: "IRP Major Function
 * Codes" and "FLT_PARAMETERS structure", Microsoft Learn; the numbers are from wdm.h and
 * fltKernel.h, where those from 236 on mean calls without an IRP. Requests that the collector
 * `file` counts have its words; the others have the constants without IRP_MJ_.
 */
static const struct code_name irp_majors[] = {
	{ 0, "create" },
	{ 1, "create_named_pipe" },
	{ 2, "close" },
	{ 3, "read" },
	{ 4, "write" },
	{ 5, "query_info" },
	{ 6, "set_info" },
	{ 7, "query_ea" },
	{ 8, "set_ea" },
	{ 9, "flush" },
	{ 10, "query_volume_info" },
	{ 11, "set_volume_info" },
	{ 12, "directory_control" },
	{ 13, "fs_control" },
	{ 14, "device_control" },
	{ 15, "internal_device_control" },
	{ 16, "shutdown" },
	{ 17, "lock_control" },
	{ 18, "cleanup" },
	{ 19, "create_mailslot" },
	{ 20, "query_security" },
	{ 21, "set_security" },
	{ 22, "power" },
	{ 23, "system_control" },
	{ 24, "device_change" },
	{ 25, "query_quota" },
	{ 26, "set_quota" },
	{ 27, "pnp" },
	{ 236, "volume_dismount" },
	{ 237, "volume_mount" },
	{ 238, "mdl_write_complete" },
	{ 239, "prepare_mdl_write" },
	{ 240, "mdl_read_complete" },
	{ 241, "mdl_read" },
	{ 242, "network_query_open" },
	{ 243, "fast_io_check_if_possible" },
	{ 249, "query_open" },
	{ 250, "release_for_cc_flush" },
	{ 251, "acquire_for_cc_flush" },
	{ 252, "release_for_mod_write" },
	{ 253, "acquire_for_mod_write" },
	{ 254, "release_for_section_synchronization" },
	{ 255, "acquire_for_section_synchronization" },
};

/* ---- numbers ---- */

static void decode_hex(const struct decoded *from, struct etw_text *out)
{
	text_add_format(out, "0x%llx", (unsigned long long)from->number);
}

static void decode_ntstatus(const struct decoded *from, struct etw_text *out)
{
	text_add_string(out, code_ntstatus((uint32_t)from->number));
}

static void decode_win32_error(const struct decoded *from, struct etw_text *out)
{
	const char *name = code_win32((uint32_t)from->number);

	if (name) {
		text_add_string(out, name);
	} else {
		add_number(from, out);
	}
}

/* Writes the name of the operation, otherwise the number. */
static void decode_irp_major(const struct decoded *from, struct etw_text *out)
{
	const char *name =
		find_code(irp_majors, sizeof irp_majors / sizeof irp_majors[0], from->number);

	if (name) {
		text_add_string(out, name);
	} else {
		add_number(from, out);
	}
}

/* Writes the name of a common code, otherwise hexadecimal ("0x80131522"). */
static void decode_hresult(const struct decoded *from, struct etw_text *out)
{
	uint64_t result = field_bits(from);
	const char *name = result <= UINT32_MAX ? code_hresult((uint32_t)result) : NULL;

	if (name) {
		text_add_string(out, name);
	} else {
		text_add_format(out, "0x%08llx", (unsigned long long)result);
	}
}

static void add_between(struct etw_text *out)
{
	if (out->size > 0) {
		text_add_char(out, '|');
	}
}

/*
 * Writes the bits that are set, the lowest first, with "|" between them. Without names it writes
 * their numbers ("0|5"); with names, those whose bits are all set, in the order in which the rule
 * has them, and then the remaining bits in hexadecimal ("read|write|0x80"). "none" if no bit is
 * set.
 */
static void decode_bits(const struct decoded *from, struct etw_text *out)
{
	const struct decode_step *step = from->step;
	uint64_t bits = field_bits(from), left = bits;

	if (bits == 0) {
		text_add_string(out, "none");
		return;
	}
	if (!step->bits) {
		for (unsigned bit = 0; bit < 64; bit++) {
			if ((bits >> bit & 1) != 0) {
				add_between(out);
				text_add_u64(out, bit);
			}
		}
		return;
	}
	for (size_t i = 0; i < step->bit_count; i++) {
		uint64_t mask = step->bits[i].from.number;

		if ((bits & mask) == mask) {
			add_between(out);
			text_add_string(out, step->bits[i].to);
			left &= ~mask;
		}
	}
	if (left != 0) {
		add_between(out);
		text_add_format(out, "0x%llx", (unsigned long long)left);
	}
}

/* ---- addresses ---- */

/*
 * Returns whether the bytes are a whole socket address. 16 bytes can also be an IPv6 address, but
 * no address in use begins like a SOCKADDR_IN ("0200::/7" is deprecated, RFC 4048).
 */
static bool is_socket_address(const struct decoded *from, struct etw_socket_address *address)
{
	return from->byte_count >= SOCKADDR_IN_SIZE && from->field->form != ETW_FIELD_FORM_IP6 &&
	       etw_socket_address_read(from->bytes, from->byte_count, address);
}

/* Returns the size of an address like "10.0.0.1" at the start of text; 0 if there is none. */
static size_t ip4_size(const char *text, size_t size)
{
	size_t at = 0;

	for (unsigned part = 0; part < 4; part++) {
		unsigned number = 0, digits = 0;

		if (part > 0 && (at >= size || text[at++] != '.')) {
			return 0;
		}
		while (at < size && text[at] >= '0' && text[at] <= '9' && digits < 3) {
			number = 10 * number + (unsigned)(text[at++] - '0');
			digits++;
		}
		if (digits == 0 || number > 255) {
			return 0;
		}
	}
	return at;
}

static bool is_ip6(const char *text, size_t size)
{
	unsigned colons = 0;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\0' || !strchr("0123456789abcdefABCDEF.:", text[i])) {
			return false;
		}
		colons += text[i] == ':';
	}
	return colons >= 2 && colons <= 8;
}

/* Splits "10.0.0.1", "10.0.0.1:80", "::1" or "[::1]:80". *port becomes NULL, or the text after
 * the colon. Returns false for other texts. */
static bool split_address(const struct decoded *from, const char **address, size_t *address_size,
			  const char **port)
{
	const char *text = from->text;
	size_t size = from->size, end = ip4_size(text, size);
	const char *close = size > 0 && text[0] == '[' ? memchr(text, ']', size) : NULL;

	*port = NULL;
	*address = text;
	*address_size = end;
	if (close) {
		*address = text + 1;
		*address_size = (size_t)(close - text) - 1;
		end = *address_size + 2;
		if (!is_ip6(*address, *address_size)) {
			return false;
		}
	} else if (end == 0) {
		*address_size = size;
		return is_ip6(text, size);
	}
	if (end < size) {
		*port = text + end + 1;
		return text[end] == ':';
	}
	return true;
}

/* Reads an address that is not text: a number of 32 bits (its lowest byte is the first of the
 * address, as Windows stores it), 4 or 16 bytes, or a SOCKADDR_IN or SOCKADDR_IN6. */
static bool read_address(const struct decoded *from, uint8_t ip[16], bool *is_ip6)
{
	struct etw_socket_address socket;

	*is_ip6 = false;
	if (from->is_number) {
		uint64_t number = field_bits(from);

		for (unsigned i = 0; i < 4; i++) {
			ip[i] = (uint8_t)(number >> 8 * i);
		}
		return number <= UINT32_MAX;
	}
	if (is_socket_address(from, &socket)) {
		*is_ip6 = socket.is_ip6;
		memcpy(ip, socket.ip, socket.is_ip6 ? 16 : 4);
		return true;
	}
	if (from->byte_count == 4 || from->byte_count == 16) {
		*is_ip6 = from->byte_count == 16;
		memcpy(ip, from->bytes, from->byte_count);
		return true;
	}
	return false;
}

/* Writes an address without its port, IPv6 as in RFC 5952. */
static void decode_ip(const struct decoded *from, struct etw_text *out)
{
	const char *address, *port;
	uint8_t ip[16];
	bool is_ip6;
	size_t size;

	if (from->is_number || from->bytes) {
		if (read_address(from, ip, &is_ip6)) {
			etw_text_add_ip(out, ip, is_ip6);
			return;
		}
	} else if (split_address(from, &address, &size, &port)) {
		text_add(out, address, size);
		return;
	}
	add_unknown(out);
}

/* Reads the text of an address into the form of struct client_address. */
static bool read_address_text(const struct decoded *from, struct address_range *range)
{
	char text[TEXT_MOST + 1];
	const char *address, *port;
	size_t size;

	if (!split_address(from, &address, &size, &port) || size > TEXT_MOST) {
		return false;
	}
	memcpy(text, address, size);
	text[size] = '\0';
	return address_range_parse(text, range);
}

/* Writes the network of an address: the first 24 bits of IPv4, "10.0.0.0/24", also where it is
 * mapped into IPv6; the first 64 of IPv6, "2001:db8::/64". Like `ip` it reads numbers, bytes and
 * text. */
static void decode_network(const struct decoded *from, struct etw_text *out)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct address_range range = { 0 };
	bool is_ip6 = true;

	if (from->is_number || from->bytes) {
		if (!read_address(from, range.bytes, &is_ip6)) {
			add_unknown(out);
			return;
		}
	} else if (!read_address_text(from, &range)) {
		add_unknown(out);
		return;
	}
	if (is_ip6 && memcmp(range.bytes, mapped, sizeof mapped) == 0) {
		memmove(range.bytes, range.bytes + sizeof mapped, 4);
		is_ip6 = false;
	}
	memset(range.bytes + (is_ip6 ? 8 : 3), 0, is_ip6 ? 8 : 1);
	etw_text_add_ip(out, range.bytes, is_ip6);
	text_add_string(out, is_ip6 ? "/64" : "/24");
}

/* The addresses of a network that are numbers are one number: their lowest byte is the first. */
static uint64_t same_network(const struct decoded *from)
{
	uint64_t number = field_bits(from);

	return number <= UINT32_MAX ? number & 0xffffff : number;
}

/*
 * Returns a port, or a greater number if there is none. It reads a number of 16 bits in network
 * order (a field that its layout calls a port has been converted already), a socket address, or
 * text: "80", "10.0.0.1:80", "[::1]:80".
 */
static uint64_t read_port(const struct decoded *from)
{
	const char *address, *at;
	uint64_t port = UINT64_MAX;
	struct etw_socket_address socket;
	size_t size;

	if (from->is_number) {
		port = field_bits(from);
		if (port <= UINT16_MAX && (!from->field || from->field->type != ETW_FIELD_PORT)) {
			port = (port & 0xff) << 8 | port >> 8;
		}
	} else if (from->bytes) {
		if (is_socket_address(from, &socket)) {
			port = socket.port;
		}
	} else if (!parse_u64(from->text, from->size, &port) &&
		   split_address(from, &address, &size, &at) && at) {
		parse_u64(at, (size_t)(from->text + from->size - at), &port);
	}
	return port;
}

static void add_port(uint64_t port, struct etw_text *out)
{
	if (port > UINT16_MAX) {
		add_unknown(out);
	} else {
		text_add_u64(out, port);
	}
}

/* Writes a port in decimal. */
static void decode_port(const struct decoded *from, struct etw_text *out)
{
	add_port(read_port(from), out);
}

/* Returns the lowest one for all dynamic ports, and others as they are. */
static uint64_t same_service_port(const struct decoded *from)
{
	uint64_t port = read_port(from);

	return port >= DYNAMIC_PORT && port <= UINT16_MAX ? DYNAMIC_PORT : port;
}

/* Writes a port as `port` does, but one word for the dynamic ones. */
static void decode_service_port(const struct decoded *from, struct etw_text *out)
{
	uint64_t port = same_service_port(from);

	if (port == DYNAMIC_PORT) {
		text_add_string(out, "dynamic");
	} else {
		add_port(port, out);
	}
}

/* ---- ids ---- */

/* Writes a GUID in lower case, without braces. It reads 16 bytes, or text in any form. */
static void decode_guid(const struct decoded *from, struct etw_text *out)
{
	char text[TEXT_MOST + 1];
	struct etw_guid guid;

	if (from->bytes && from->byte_count == sizeof guid.bytes) {
		memcpy(guid.bytes, from->bytes, sizeof guid.bytes);
	} else if (!from->bytes && from->size > 0 && from->size <= TEXT_MOST) {
		memcpy(text, from->text, from->size);
		text[from->size] = '\0';
		if (strlen(text) != from->size || !etw_guid_parse(text, &guid)) {
			add_unknown(out);
			return;
		}
	} else {
		add_unknown(out);
		return;
	}
	guid_format(&guid, text);
	text_add_string(out, text);
}

static bool is_sid_text(const char *text, size_t size)
{
	if (!text_starts_nocase(text, size, "S-1-", 4) || size == 4) {
		return false;
	}
	for (size_t i = 4; i < size; i++) {
		if (text[i] == '\0' || !strchr("0123456789-", text[i])) {
			return false;
		}
	}
	return true;
}

/* Writes a SID as "S-1-5-18". It reads the bytes of a SID, or text. */
static void decode_sid(const struct decoded *from, struct etw_text *out)
{
	if (from->bytes && etw_sid_size(from->bytes, from->byte_count) != 0) {
		etw_text_add_sid(out, from->bytes);
	} else if (!from->bytes && is_sid_text(from->text, from->size)) {
		text_add(out, from->text, from->size);
	} else {
		add_unknown(out);
	}
}

/* ---- text ---- */

static bool is_separator(char c)
{
	return c == '\\' || c == '/';
}

/* Returns the offset of the last component of a path. */
static size_t base_start(const char *text, size_t size)
{
	while (size > 0 && !is_separator(text[size - 1])) {
		size--;
	}
	return size;
}

static void decode_lower(const struct decoded *from, struct etw_text *out)
{
	text_add(out, from->text, from->size);
	for (size_t i = 0; i < out->size; i++) {
		out->data[i] = ascii_lower(out->data[i]);
	}
}

static void decode_basename(const struct decoded *from, struct etw_text *out)
{
	size_t base = base_start(from->text, from->size);

	text_add(out, from->text + base, from->size - base);
}

static void decode_directory(const struct decoded *from, struct etw_text *out)
{
	size_t base = base_start(from->text, from->size);

	text_add(out, from->text, base > 0 ? base - 1 : 0);
}

static void decode_extension(const struct decoded *from, struct etw_text *out)
{
	size_t base = base_start(from->text, from->size);
	size_t dot = from->size;

	while (dot > base && from->text[dot - 1] != '.') {
		dot--;
	}
	if (dot > base) {
		text_add(out, from->text + dot, from->size - dot);
	}
}

/* Writes "C:" for a DOS path, "HarddiskVolume3" for a device path (docs/etl-format.md section
 * 16.3, without mappings). */
static void decode_drive(const struct decoded *from, struct etw_text *out)
{
	static const char device[] = "\\Device\\";
	const char *text = from->text;
	size_t size = from->size;
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
	add_unknown(out);
}

static void decode_regex(const struct decoded *from, struct etw_text *out)
{
	regex_replace(from->matcher, from->step->regex, from->step->replacement, from->text,
		      from->size, out);
}

/* ---- the table ---- */

/* The decoders, in the order in which messages list them. */
static const struct decoder decoders[] = {
	{ "hex", READS_NUMBERS, decode_hex, false, NULL, NULL },
	{ "lower", READS_TEXT, decode_lower, false, NULL, NULL },
	{ "basename", READS_TEXT, decode_basename, false, NULL, NULL },
	{ "directory", READS_TEXT, decode_directory, false, NULL, NULL },
	{ "extension", READS_TEXT, decode_extension, false, NULL, NULL },
	{ "drive", READS_TEXT, decode_drive, false, NULL, NULL },
	{ "ntstatus", READS_NUMBERS, decode_ntstatus, false, ntstatus_text_at, NULL },
	{ "win32_error", READS_NUMBERS, decode_win32_error, false, NULL, NULL },
	{ "irp_major", READS_NUMBERS, decode_irp_major, false, NULL, NULL },
	{ "bits", READS_NUMBERS, decode_bits, false, NULL, NULL },
	{ "ip", READS_ALL, decode_ip, false, NULL, NULL },
	{ "network", READS_ALL, decode_network, false, NULL, same_network },
	{ "port", READS_ALL, decode_port, false, NULL, NULL },
	{ "service_port", READS_ALL, decode_service_port, false, NULL, same_service_port },
	{ "guid", READS_BYTES, decode_guid, false, NULL, NULL },
	{ "sid", READS_BYTES, decode_sid, false, NULL, NULL },
	{ "hresult", READS_NUMBERS, decode_hresult, false, NULL, NULL },
	{ "regex", READS_TEXT, decode_regex, true, NULL, NULL },
};

const struct decoder *decoder_at(unsigned number)
{
	return number < sizeof decoders / sizeof decoders[0] ? &decoders[number] : NULL;
}

const struct decoder *decoder_find(const char *name)
{
	for (unsigned i = 0; i < sizeof decoders / sizeof decoders[0]; i++) {
		if (strcmp(decoders[i].name, name) == 0) {
			return &decoders[i];
		}
	}
	return NULL;
}

/* ---- chains ---- */

/* Cuts text to LABEL_TEXT_SIZE_MAX bytes, between two characters. */
static void text_cut(struct etw_text *text)
{
	size_t most = LABEL_TEXT_SIZE_MAX;

	if (text->size <= most) {
		return;
	}
	while (most > 0 && ((unsigned char)text->data[most] & 0xc0) == 0x80) {
		most--;
	}
	text->size = most;
	text->data[most] = '\0';
}

static void decode_one(const struct decoded *from, struct etw_text *out)
{
	enum decoder_reads reads = from->step->decoder->reads;

	if (from->is_number && reads == READS_TEXT) {
		add_number(from, out);
	} else if (!from->is_number && reads == READS_NUMBERS) {
		text_add(out, from->text, from->size);
	} else {
		from->step->decoder->decode(from, out);
	}
}

void decode_chain(const struct decode_step *steps, size_t count, struct regex_matcher *matcher,
		  const struct decoded *from, struct etw_text *scratch, struct etw_text *out)
{
	struct decoded value = *from;

	text_clear(out);
	value.matcher = matcher;
	if (count == 0 && from->is_number) {
		add_number(from, out);
	} else if (count == 0) {
		text_add(out, from->text, from->size);
	}
	for (size_t i = 0; i < count; i++) {
		if (i > 0) {
			struct etw_text swap = *scratch;

			text_cut(out);
			*scratch = *out;
			*out = swap;
			text_clear(out);
			value = (struct decoded){ .matcher = matcher,
						  .text = scratch->data ? scratch->data : "",
						  .size = scratch->size };
		}
		value.step = &steps[i];
		decode_one(&value, out);
	}
	text_cut(out);
}
