/* SPDX-License-Identifier: MIT */
/*
 * What goes on all the time on the sample's server: the web site and its database, services, the
 * virus scanner, the system itself. Jobs that come and go are in sample_jobs.c.
 *
 * Each activity is an action that does one thing and schedules itself again; load changes over the
 * minute by slow waves, so that a graph of any rate has a shape.
 */
#include "tests/support/sample_scenario.h"
#include "tests/support/sample_remarks.h"

#include <stdlib.h>
#include <string.h>

/* --- the web site ----------------------------------------------------------------------------- */

static const struct etw_guid shop_provider =
	ETW_GUID_INIT(0x4b3c1f0e, 0x7a52, 0x5d91, 0x8e, 0x20, 0x1f, 0x66, 0xb0, 0x4a, 0x93, 0xd7);

/* The shop's own TraceLogging event: OrderPlaced { u64 OrderId, string Customer, u32 Items }. */
static void order_placed(struct machine *m, uint64_t order)
{
	static const char metadata[] = "\0\0\0OrderPlaced\0OrderId\0\x0a"
				       "Customer\0\x01"
				       "Items\0\x08";
	static const char traits[] = "\0\0Contoso.Shop";
	uint8_t metadata_bytes[sizeof metadata - 1];
	uint8_t traits_bytes[sizeof traits];
	struct etw_out_item items[] = {
		{ ETW_EXTENDED_PROVIDER_TRAITS, sizeof traits_bytes, traits_bytes },
		{ ETW_EXTENDED_TRACELOGGING, sizeof metadata_bytes, metadata_bytes }
	};
	struct etw_out_record record = { .type = ETW_RECORD_EVENT,
					 .processor = m->events.processor,
					 .raw_time = m->events.raw_time,
					 .process_id = m->events.process_id,
					 .thread_id = m->events.thread_id,
					 .channel = 11,
					 .level = 4,
					 .keyword = 1,
					 .provider = &shop_provider,
					 .items = items,
					 .item_count = 2 };
	struct etw_payload *p = &m->events.payload;

	memcpy(metadata_bytes, metadata, sizeof metadata_bytes);
	metadata_bytes[0] = sizeof metadata_bytes; /* both begin with their own size */
	memcpy(traits_bytes, traits, sizeof traits_bytes);
	traits_bytes[0] = sizeof traits_bytes;
	etw_payload_u64(p, 700000 + order);
	etw_payload_wstring(p, order % 3 ? "Fabrikam GmbH" : "Northwind Traders");
	etw_payload_u32(p, (uint32_t)between(m, 1, 9));
	etl_writer_add_payload(m->writer, &record, p);
	etw_payload_clear(p);
	m->totals->application_records++;
	let_time_pass(m, 2000);
}

static void web_end(struct machine *m, void *subject, uint64_t slot)
{
	struct scenario *s = subject;
	struct connection *c = &s->connections[slot];

	interrupt(m, driver_routine(ROUTINE_NIC_ISR), driver_routine(ROUTINE_NIC_DPC));
	tcp_event(m, c, OP_NET_DISCONNECT, 0);
	remark_http_sent(m, c);
}

static void web_answer(struct machine *m, void *subject, uint64_t slot)
{
	struct scenario *s = subject;
	struct connection *c = &s->connections[slot];
	struct connection database = connection_v4(m, s->web, "127.0.0.1", 1433, s->database_port);
	struct connection server =
		connection_v4(m, s->database, "127.0.0.1", s->database_port, 1433);
	struct open_file open;
	uint32_t request_size = (uint32_t)between(m, 180, 900);
	uint32_t answered = (uint32_t)mostly_low(m, 300, 24000);
	bool order = chance(m, 6) == 0;

	if (!s->web->alive || c->process != s->web) {
		return;
	}
	enter_thread(m, s->web, any_thread(m, s->web));
	remark_http_delivered(m, c, order);
	open = file_open(m, s->web, s->pages[chance(m, PAGES)]);
	file_query(m, &open);
	file_read(m, &open, 0, (uint32_t)mostly_low(m, 900, 60000));
	file_close(m, &open);
	tcp_event(m, &database, OP_NET_SEND, request_size);
	let_time_pass(m, 5000);
	tcp_event(m, &server, OP_NET_RECEIVE, request_size);
	tcp_event(m, &server, OP_NET_SEND, answered);
	tcp_event(m, &database, OP_NET_RECEIVE, answered);
	if (order) {
		order_placed(m, s->orders++);
	}
	tcp_event(m, c, OP_NET_SEND, answered + (uint32_t)mostly_low(m, 2000, 180000));
	if (chance(m, 25) == 0) {
		tcp_event(m, c, OP_NET_RETRANSMIT, 1460);
	}
	if (chance(m, 8) == 0) {
		open = (struct open_file){ s->web_log, s->web_log_object, s->web };
		file_write(m, &open, s->web_log->size, (uint32_t)between(m, 1200, 4096));
	}
	remark_http_answered(m, c, order);
	leave_thread(m, mostly_low(m, MS, 14 * MS));
	machine_schedule(m, between(m, 3 * MS, 90 * MS), web_end, s, slot);
}

static void web_request(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;
	static const char *const clients[] = { "203.0.113.24", "198.51.100.7", "203.0.113.180",
					       "10.20.7.31", "10.20.7.88" };
	uint64_t slot = s->next_connection++ % CONNECTIONS;
	uint64_t rate = 8 + wave(m, 30, 4) * 40 / 1000; /* requests a second */
	struct connection *c = &s->connections[slot];
	uint64_t who;
	uint16_t port;

	(void)unused;
	machine_schedule(m, between(m, SECOND / rate / 4, SECOND / rate * 7 / 4), web_request, s,
			 0);
	if (!s->web->alive) {
		return;
	}
	port = ephemeral_port(m);
	who = chance(m, 40);
	*c = who % 5 == 0 ? connection_v6(m, s->web, (uint16_t)(0x100 + who), port, 443) :
			    connection_v4(m, s->web, clients[who % 5], port, 443);
	interrupt(m, driver_routine(ROUTINE_NIC_ISR), driver_routine(ROUTINE_NIC_DPC));
	tcp_event(m, c, OP_NET_ACCEPT, 0);
	let_time_pass(m, between(m, 50000, 300000));
	tcp_event(m, c, OP_NET_RECEIVE, (uint32_t)mostly_low(m, 420, 9000));
	remark_http_arrived(m, c);
	machine_schedule(m, between(m, 30000, 400000), web_answer, s, slot);
}

/* --- the database ----------------------------------------------------------------------------- */

static void database_work(struct machine *m, void *subject, uint64_t count)
{
	struct scenario *s = subject;
	struct open_file log = { s->database_log, s->database_object, s->database };
	struct open_file data = { s->database_data, s->database_object + 0x150, s->database };
	uint64_t busy = 10 + wave(m, 30, 4) * 50 / 1000;

	enter_thread(m, s->database, any_thread(m, s->database));
	file_write_disk(m, &log, s->database_log->size, (uint32_t)(512 * between(m, 1, 40)));
	s->database_log->size += 8192;
	if (count % 3 == 0) {
		uint32_t size = chance(m, 4) ? 8192 : 65536;

		file_read_disk(m, &data, chance(m, 400000) * 8192, size);
	}
	leave_thread(m, mostly_low(m, 200000, 8 * MS));
	machine_schedule(m, between(m, SECOND / busy / 2, SECOND / busy * 3 / 2), database_work, s,
			 count + 1);
}

/* Every 20 s all changed pages are written: two seconds of large writes to the second disk, then a
 * flush. */
static void database_checkpoint(struct machine *m, void *subject, uint64_t left)
{
	struct scenario *s = subject;
	struct open_file data = { s->database_data, s->database_object + 0x150, s->database };

	enter_thread(m, s->database, s->database->threads[2]);
	for (int i = 0; i < 3; i++) {
		uint32_t size = (uint32_t)(65536 * between(m, 1, 4));

		file_write_disk(m, &data, chance(m, 50000) * 65536, size);
	}
	if (left == 0) {
		file_flush(m, &data);
	}
	leave_thread(m, mostly_low(m, 300000, 2 * MS));
	machine_schedule(m, left ? between(m, 15 * MS, 45 * MS) : 18 * SECOND, database_checkpoint,
			 s, left ? left - 1 : 60);
}

/* --- services --------------------------------------------------------------------------------- */

static void name_service(struct machine *m, void *subject, uint64_t count)
{
	struct scenario *s = subject;
	struct connection c =
		count % 4 == 0 ? connection_v6(m, s->names, 0x53, 53, ephemeral_port(m)) :
				 connection_v4(m, s->names, "10.20.0.10", 53, ephemeral_port(m));

	enter_thread(m, s->names, any_thread(m, s->names));
	udp_event(m, &c, OP_NET_SEND, (uint32_t)between(m, 32, 70));
	leave_thread(m, mostly_low(m, 60000, MS));
	interrupt(m, driver_routine(ROUTINE_NIC_ISR), driver_routine(ROUTINE_NIC_DPC));
	udp_event(m, &c, OP_NET_RECEIVE, (uint32_t)between(m, 80, 420));
	machine_schedule(m, mostly_low(m, 40 * MS, 900 * MS), name_service, s, count + 1);
}

static void logons(struct machine *m, void *subject, uint64_t count)
{
	struct scenario *s = subject;
	struct connection c =
		connection_v6(m, s->logon, 0x10, count % 2 ? 88 : 389, ephemeral_port(m));
	uint64_t next_ns;

	enter_thread(m, s->logon, any_thread(m, s->logon));
	tcp_event(m, &c, OP_NET_CONNECT, 0);
	remark_connected(m, &c, count);
	tcp_event(m, &c, OP_NET_SEND, (uint32_t)between(m, 300, 1800));
	let_time_pass(m, between(m, 200000, 700000));
	tcp_event(m, &c, OP_NET_RECEIVE, (uint32_t)between(m, 800, 6000));
	tcp_event(m, &c, OP_NET_DISCONNECT, 0);
	leave_thread(m, mostly_low(m, MS, 6 * MS));
	next_ns = mostly_low(m, 500 * MS, 4 * SECOND);
	machine_schedule(m, next_ns, logons, s, count + 1);
	remark_connect_request(m, next_ns, s->logon, count + 1);
}

/* Something asks for a host that is not there any more; the web site does so at each third time. */
static struct process *who_asks(const struct scenario *s, uint64_t count)
{
	return count % 3 == 2 ? s->web : s->names;
}

static void lost_host(struct machine *m, void *subject, uint64_t count)
{
	struct scenario *s = subject;
	uint64_t next_ns;

	enter_thread(m, s->names, s->names->threads[0]);
	tcp_failure(m, count % 5 == 4 ? 1 : 5); /* no resources, other */
	remark_connect_failed(m, who_asks(s, count), count);
	leave_thread(m, 200000);
	next_ns = between(m, 2 * SECOND, 5 * SECOND);
	machine_schedule(m, next_ns, lost_host, s, count + 1);
	remark_connect_request(m, next_ns, who_asks(s, count + 1), count + 1);
}

static void scan(struct machine *m, void *subject, uint64_t count)
{
	struct scenario *s = subject;
	bool active = (m->now_ns > 11 * SECOND && m->now_ns < 23 * SECOND) ||
		      (m->now_ns > 46 * SECOND && m->now_ns < 51 * SECOND);
	struct file *file = &m->files[chance(m, m->file_count)];
	struct open_file open;

	machine_schedule(m,
			 active ? mostly_low(m, 9 * MS, 60 * MS) : between(m, 400 * MS, 900 * MS),
			 scan, s, count + 1);
	if (file->key == 0 || file == s->database_log || file == s->database_data) {
		return;
	}
	enter_thread(m, s->scanner, any_thread(m, s->scanner));
	open = file_open(m, s->scanner, file);
	file_query(m, &open);
	for (uint64_t at = 0; at < 4 && at * 65536 < file->size; at++) {
		if (chance(m, 3) == 0) {
			page_in(m, s->scanner, file, 65536);
		}
		file_read(m, &open, at * 65536, 65536);
	}
	file_close(m, &open);
	if (count % 16 == 0) {
		open = file_open(m, s->scanner, s->directory);
		file_list(m, &open, "*");
		file_close(m, &open);
		file_not_found(m, s->scanner,
			       "\\Device\\HarddiskVolume3\\Windows\\System32\\desktop.ini");
	}
	leave_thread(m, mostly_low(m, MS, 22 * MS));
}

static void memory_pressure(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;
	struct process *process = &m->processes[1 + chance(m, m->process_count - 1)];
	struct file *file = &m->files[chance(m, m->file_count)];

	(void)unused;
	machine_schedule(m, mostly_low(m, 60 * MS, 900 * MS), memory_pressure, s, 0);
	if (process->alive && process->id > 4) {
		enter_thread(m, process, any_thread(m, process));
		page_in(m, process, file, (uint32_t)(4096 * between(m, 1, 16)));
		leave_thread(m, mostly_low(m, 100000, 2 * MS));
	}
}

/* --- the system itself ------------------------------------------------------------------------ */

static void lazy_shard(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;

	(void)unused;
	enter_thread(m, s->system, s->system->threads[3]);
	for (size_t i = 0; i < m->file_count; i++) {
		write_back(m, s->system, &m->files[i], m->files[i].dirty_bytes / 2 + 65536);
	}
	leave_thread(m, mostly_low(m, 300000, 4 * MS));
	machine_schedule(m, SECOND, lazy_shard, s, 0);
}

static void timer(struct machine *m, void *subject, uint64_t unused)
{
	(void)unused;
	interrupt(m, driver_routine(ROUTINE_NIC_ISR), driver_routine(ROUTINE_NIC_DPC));
	event_dpc(&m->events, 69, m->events.raw_time - 12, driver_routine(ROUTINE_TIMER_DPC));
	machine_schedule(m, 62500000, timer, subject, 0);
}

static void profile(struct machine *m, void *subject, uint64_t unused)
{
	(void)unused;
	sample_processors(m);
	machine_schedule(m, 40 * MS, profile, subject, 0);
}

static void load_driver(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;

	(void)unused;
	enter_thread(m, s->system, s->system->threads[5]);
	driver_load(m, "\\SystemRoot\\System32\\drivers\\bowser.sys");
	leave_thread(m, 2 * MS);
}

/* --- crash and restart of the web site -------------------------------------------------------- */

static void web_restart(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;

	(void)unused;
	s->web = cast_start_web(m, s->scheduler);
	s->web_log_object = m->next_object += 0x150;
	remark_runtime(m, s->web, false);
	for (size_t i = 0; i < 12; i++) {
		page_in(m, s->web, s->libraries[i % LIBRARIES], 32768);
	}
}

static void web_crash(struct machine *m, void *subject, uint64_t unused)
{
	struct scenario *s = subject;

	(void)unused;
	jobs_report_crash(m, s->scheduler);
	process_exit(m, s->web, UINT32_C(0xc0000005));
	machine_schedule(m, 900 * MS, web_restart, s, 0);
}

void scenario_begin(struct machine *m)
{
	struct scenario *s = calloc(1, sizeof *s);

	if (!s) {
		m->failed = true;
		return;
	}
	m->scenario = s;
	cast_enter(m);
	remarks_begin(m);
	if (m->failed) {
		return;
	}

	machine_schedule(m, 20 * MS, web_request, s, 0);
	machine_schedule(m, 30 * MS, database_work, s, 0);
	machine_schedule(m, 8 * SECOND, database_checkpoint, s, 60);
	machine_schedule(m, 100 * MS, name_service, s, 0);
	machine_schedule(m, 700 * MS, logons, s, 0);
	remark_connect_request(m, 700 * MS, s->logon, 0);
	machine_schedule(m, 1900 * MS, lost_host, s, 0);
	remark_connect_request(m, 1900 * MS, s->names, 0);
	machine_schedule(m, 50 * MS, scan, s, 1);
	machine_schedule(m, 300 * MS, memory_pressure, s, 0);
	machine_schedule(m, 800 * MS, lazy_shard, s, 0);
	machine_schedule(m, 10 * MS, timer, s, 0);
	machine_schedule(m, 11 * MS, profile, s, 0);
	machine_schedule(m, 25500 * MS, load_driver, s, 0);
	machine_schedule(m, 41300 * MS, web_crash, s, 0);
	jobs_begin(m, s->scheduler);
	views_begin(m);
}
