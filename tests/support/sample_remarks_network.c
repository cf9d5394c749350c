/* SPDX-License-Identifier: MIT */
/*
 * Remarks on the network: the DNS client about lookups of programs, TCPIP about outbound
 * connections, HTTP.sys about the requests of the web site. Layouts: config/manifests.
 */
#include "tests/support/sample_remarks.h"

#include <string.h>

/* --- DNS client ------------------------------------------------------------------------------- */

static const struct etw_guid dns_client =
	ETW_GUID_INIT(0x1c95126e, 0x7eea, 0x49a9, 0xa3, 0xfe, 0xa3, 0x78, 0xb0, 0x3d, 0xdb, 0x4d);

enum { TYPE_A = 1, TYPE_PTR = 12, TYPE_AAAA = 28, TYPE_SRV = 33 };
enum { NO_SUCH_NAME = 9003, NO_RECORDS = 9501, TIMED_OUT = 1460 };

enum caller { CALLER_WEB, CALLER_LOGON, CALLER_SCANNER, CALLER_NAMES, CALLER_SCHEDULER };

/* What programs ask for, and what goes wrong how often. */
static const struct lookup {
	enum caller caller;
	const char *name;
	const char *results;
	uint32_t type;
	uint32_t failure;
	unsigned failures_of_100;
} lookups[] = {
	{ CALLER_WEB, "payments.fabrikam.example", "203.0.113.61;", TYPE_A, NO_SUCH_NAME, 0 },
	{ CALLER_WEB, "cdn.contoso.example", "", TYPE_AAAA, NO_RECORDS, 60 },
	{ CALLER_WEB, "stock.contoso.example", "10.20.4.30;", TYPE_A, NO_SUCH_NAME, 0 },
	{ CALLER_LOGON, "_ldap._tcp.dc._msdcs.contoso.example", "dc1.contoso.example;", TYPE_SRV,
	  NO_SUCH_NAME, 0 },
	{ CALLER_LOGON, "dc1.contoso.example", "2001:db8:14:4::10;", TYPE_AAAA, NO_RECORDS, 0 },
	{ CALLER_SCANNER, "definitions.fabrikam.example", "203.0.113.9;", TYPE_A, NO_SUCH_NAME, 0 },
	{ CALLER_NAMES, "wpad.contoso.example", "", TYPE_A, NO_SUCH_NAME, 100 },
	{ CALLER_NAMES, "88.7.20.10.in-addr.arpa", "ws88.contoso.example;", TYPE_PTR, NO_SUCH_NAME,
	  25 },
	{ CALLER_SCHEDULER, "old-nas.contoso.example", "", TYPE_A, TIMED_OUT, 100 },
};

enum { LOOKUPS = sizeof lookups / sizeof lookups[0] };

static struct process *caller_of(const struct scenario *s, const struct lookup *lookup)
{
	switch (lookup->caller) {
	case CALLER_WEB:
		return s->web;
	case CALLER_LOGON:
		return s->logon;
	case CALLER_SCANNER:
		return s->scanner;
	case CALLER_NAMES:
		return s->names;
	case CALLER_SCHEDULER:
		break;
	}
	return s->scheduler;
}

static void add_lookup(struct machine *m, const struct lookup *lookup)
{
	etw_payload_wstring(&m->events.payload, lookup->name);
	etw_payload_u32(&m->events.payload, lookup->type);
	etw_payload_u64(&m->events.payload, 0x40026010); /* QueryOptions */
}

static void lookup_ends(struct machine *m, void *subject, uint64_t row)
{
	const struct remark_event event = { .provider = &dns_client, .id = 3008, .level = 4 };
	const struct lookup *lookup = &lookups[row & 0xff];
	bool fails = row >> 8;
	struct process *process = subject;
	struct remark_place place = remark_begin(m, process, process->threads[0]);

	m->remarks->lookups_under_way &= ~(UINT64_C(1) << (row & 0xff));
	if (process->alive) {
		add_lookup(m, lookup);
		etw_payload_u32(&m->events.payload, fails ? lookup->failure : 0);
		etw_payload_wstring(&m->events.payload, fails ? "" : lookup->results);
		remark_add(m, &event);
		process->totals->dns_failures += fails;
	}
	remark_end(m, &place);
}

/* The cache answers half of the lookups at once, a server the others. */
static uint64_t lookup_takes(struct machine *m, const struct lookup *lookup, bool fails)
{
	if (fails && lookup->failure == TIMED_OUT) {
		return between(m, 2400 * MS, 2600 * MS);
	}
	return chance(m, 2) ? mostly_low(m, 60000, 400000) : mostly_low(m, MS, 70 * MS);
}

static void lookup_begins(struct machine *m, void *subject, uint64_t unused)
{
	const struct remark_event event = { .provider = &dns_client, .id = 3006, .level = 4 };
	struct remark_place place = remark_begin(m, m->scenario->names, 0);
	uint64_t row = chance(m, LOOKUPS);
	const struct lookup *lookup = &lookups[row];
	struct process *process = caller_of(m->scenario, lookup);
	bool fails = chance(m, 100) < lookup->failures_of_100;
	bool under_way = m->remarks->lookups_under_way >> row & 1;

	(void)unused;
	if (process->alive && !under_way) {
		m->events.process_id = process->id;
		m->events.thread_id = process->threads[0];
		add_lookup(m, lookup);
		etw_payload_wstring(&m->events.payload, ""); /* ServerList */
		etw_payload_zeros(&m->events.payload, 12);   /* IsNetworkQuery … InterfaceIndex */
		etw_payload_u32(&m->events.payload, 0);      /* IsAsyncQuery */
		remark_add(m, &event);
		process->totals->dns_queries++;
		m->remarks->lookups_under_way |= UINT64_C(1) << row;
		machine_schedule(m, lookup_takes(m, lookup, fails), lookup_ends, process,
				 row | (uint64_t)fails << 8);
	}
	machine_schedule(m, mostly_low(m, 30 * MS, 600 * MS), lookup_begins, subject, 0);
	remark_end(m, &place);
}

/* --- TCPIP ------------------------------------------------------------------------------------ */

static const struct etw_guid tcpip =
	ETW_GUID_INIT(0x2f07e2ee, 0x15db, 0x40f1, 0x90, 0xef, 0x9d, 0x7b, 0xa2, 0x82, 0x18, 0x8a);

#define STATUS_IO_TIMEOUT         UINT32_C(0xc00000b5)
#define STATUS_CONNECTION_REFUSED UINT32_C(0xc0000236)

enum { ADDRESS_SIZE = 16 }; /* of a struct sockaddr_in */

static uint64_t control_block(const struct process *process, uint64_t number)
{
	return UINT64_C(0xffffc88b62000010) + process->id * UINT64_C(0x100000) + number * 0x1000;
}

static void add_address(struct machine *m, uint16_t port, const uint8_t *address)
{
	etw_payload_u16(&m->events.payload, 2); /* AF_INET */
	etw_payload_port(&m->events.payload, port);
	etw_payload_bytes(&m->events.payload, address, 4);
	etw_payload_zeros(&m->events.payload, 8);
}

static void add_addresses(struct machine *m, const struct connection *connection)
{
	etw_payload_u32(&m->events.payload, ADDRESS_SIZE);
	add_address(m, connection->network.local_port, connection->network.local);
	etw_payload_u32(&m->events.payload, ADDRESS_SIZE);
	add_address(m, connection->network.remote_port, connection->network.remote);
}

static void connect_request(struct machine *m, void *subject, uint64_t number)
{
	const struct remark_event event = {
		.provider = &tcpip, .id = 1002, .task = 1002, .level = 4, .keyword = 0x400000480
	};
	static const struct connection anywhere;
	struct process *process = subject;
	struct remark_place place = remark_begin(m, process, process->threads[0]);

	etw_payload_pointer(&m->events.payload, control_block(process, number));
	add_addresses(m, &anywhere);
	etw_payload_u32(&m->events.payload, 2); /* NewState: SYN sent */
	etw_payload_u32(&m->events.payload, 0);
	remark_add(m, &event);
	remark_end(m, &place);
}

void remark_connect_request(struct machine *m, uint64_t delay_ns, struct process *process,
			    uint64_t number)
{
	struct remark_place place = remark_here(m, process, 0);

	machine_schedule(m, delay_ns - mostly_low(m, 300000, 90 * MS), connect_request, process,
			 number);
	remark_end(m, &place);
}

static void connect_ends(struct machine *m, const struct connection *connection, uint16_t id,
			 uint32_t status, uint64_t number)
{
	const struct remark_event event = {
		.provider = &tcpip, .id = id, .task = id, .level = 4, .keyword = 0x400000484
	};

	add_addresses(m, connection);
	etw_payload_u32(&m->events.payload, status);
	etw_payload_u32(&m->events.payload, connection->process->id);
	etw_payload_u32(&m->events.payload, 1); /* Compartment */
	etw_payload_pointer(&m->events.payload, control_block(connection->process, number));
	remark_add(m, &event);
}

void remark_connected(struct machine *m, const struct connection *connection, uint64_t number)
{
	struct remark_place place = remark_here(m, connection->process, m->events.thread_id);

	connect_ends(m, connection, 1033, 0, number);
	m->totals->tcp_connects++;
	remark_end(m, &place);
}

void remark_connect_failed(struct machine *m, const struct process *process, uint64_t number)
{
	const struct connection connection = { .process = process };
	struct remark_place place = remark_here(m, process, m->events.thread_id);

	connect_ends(m, &connection, 1034,
		     number % 3 ? STATUS_IO_TIMEOUT : STATUS_CONNECTION_REFUSED, number);
	process->totals->tcp_refused++;
	remark_end(m, &place);
}

/* --- HTTP.sys --------------------------------------------------------------------------------- */

static const struct etw_guid http_service =
	ETW_GUID_INIT(0xdd5ef90a, 0x6398, 0x47a4, 0xad, 0x34, 0x4d, 0xce, 0xcd, 0xef, 0x79, 0x5f);

static void http_event(struct machine *m, uint16_t id, uint8_t opcode, uint64_t keyword)
{
	const struct remark_event event = { .provider = &http_service,
					    .id = id,
					    .task = id == 21 ? 4 : 1,
					    .opcode = opcode,
					    .level = 4,
					    .keyword = keyword };

	remark_add(m, &event);
}

static uint64_t request_of(const struct connection *connection)
{
	return connection->network.connection ^ UINT64_C(0x3b00000000000000);
}

void remark_http_arrived(struct machine *m, const struct connection *connection)
{
	struct remark_place place = remark_here(m, m->scenario->system, 0);
	struct etw_payload *p = &m->events.payload;

	etw_payload_pointer(p, connection->network.connection);
	add_addresses(m, connection);
	http_event(m, 21, 28, 0x10);
	m->totals->http_connections++;
	etw_payload_u64(p, request_of(connection));
	etw_payload_u64(p, connection->network.connection);
	etw_payload_u32(p, ADDRESS_SIZE);
	add_address(m, connection->network.remote_port, connection->network.remote);
	http_event(m, 1, 11, 0x102);
	remark_end(m, &place);
}

/* Colleagues in the house use another site than customers. */
static const char *site_of(const struct connection *connection)
{
	bool inside = connection->network.remote[0] == 10;

	return inside ? "intranet.contoso.example" : "shop.contoso.example";
}

static uint16_t http_code(struct machine *m)
{
	uint64_t dice = chance(m, 100);

	if (remark_web_fails(m) && dice < 70) {
		return 500;
	}
	return dice < 84 ? 200 : dice < 91 ? 304 : dice < 96 ? 404 : dice < 99 ? 302 : 500;
}

void remark_http_delivered(struct machine *m, struct connection *connection, bool order)
{
	static const char *const paths[] = { "", "basket", "search", "orders" };
	struct remark_place place = remark_here(m, m->scenario->system, 0);
	struct etw_payload *p = &m->events.payload;
	char url[64] = "https://";

	strcat(url, site_of(connection));
	strcat(url, "/");
	strcat(url, paths[chance(m, 4)]);
	connection->http_code = http_code(m);
	etw_payload_pointer(p, connection->network.connection + 0x40);
	etw_payload_u32(p, order ? 6 : 4); /* HTTP_VERB, http.h: POST, GET */
	etw_payload_wstring(p, url);
	http_event(m, 2, 12, 0x2);
	etw_payload_pointer(p, connection->network.connection + 0x40);
	etw_payload_u64(p, request_of(connection));
	etw_payload_u32(p, 1); /* SiteId */
	etw_payload_wstring(p, "shop");
	etw_payload_wstring(p, url);
	etw_payload_u32(p, 0);
	http_event(m, 3, 13, 0x102);
	remark_end(m, &place);
}

static void count_answer(struct sample_totals *totals, const char *site, uint16_t code, bool order)
{
	size_t i = 0;

	while (i < totals->http_count &&
	       (totals->http[i].code != code || strcmp(totals->http[i].site, site) != 0)) {
		i++;
	}
	totals->http[i].site = site;
	totals->http[i].code = code;
	*(order ? &totals->http[i].posts : &totals->http[i].gets) += 1;
	totals->http_count += i == totals->http_count;
}

void remark_http_answered(struct machine *m, const struct connection *connection, bool order)
{
	struct remark_place place = remark_here(m, m->scenario->web, m->events.thread_id);
	struct etw_payload *p = &m->events.payload;

	etw_payload_u64(p, request_of(connection));
	etw_payload_u64(p, connection->network.connection);
	etw_payload_u16(p, connection->http_code);
	etw_payload_astring(p, order ? "POST" : "GET");
	etw_payload_u32(p, 212); /* HeaderLength */
	etw_payload_u16(p, 1);
	etw_payload_u32(p, 0);
	http_event(m, 4, 14, 0x6);
	count_answer(m->totals, site_of(connection), connection->http_code, order);
	remark_end(m, &place);
}

void remark_http_sent(struct machine *m, const struct connection *connection)
{
	struct remark_place place = remark_here(m, m->scenario->system, 0);

	etw_payload_u64(&m->events.payload, request_of(connection));
	etw_payload_u16(&m->events.payload, connection->http_code);
	http_event(m, 10, 51, 0x16);
	m->totals->http_sent++;
	remark_end(m, &place);
}

void network_remarks_begin(struct machine *m)
{
	machine_schedule(m, 120 * MS, lookup_begins, NULL, 0);
}
