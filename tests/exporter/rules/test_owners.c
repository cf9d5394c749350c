/* SPDX-License-Identifier: MIT */
/*
 * Whose a process is: the fields Owner, OwnerSid and TerminalSession, and names of accounts.
 * tests/e2e/process_names.sh adds them as labels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/track/identities.h"
#include "tests/support/rule_run.h"

#define USER "S-1-5-21-1004336348-1177238915-682003330-1104"
#define COUNTED                                                                    \
	"collector: x\nhelp: h\ndefault: on\nmetrics:\n"                           \
	"- { name: a_total, type: counter, help: h,\n"                             \
	"    labels: { owner: Owner, sid: OwnerSid, session: TerminalSession },\n" \
	"    events: [{ event: TcpIp/SendIPV4 }] }\n"
static void process(struct rule_run *run, const char *event, uint32_t id, const char *sid,
		    uint32_t session)
{
	rule_run_event(run, event);
	etw_payload_pointer(&run->payload, 0x1000);
	etw_payload_u32(&run->payload, id);
	etw_payload_u32(&run->payload, 4);
	etw_payload_u32(&run->payload, session);
	etw_payload_u32(&run->payload, 0);
	etw_payload_pointer(&run->payload, 0);
	etw_payload_u32(&run->payload, 0);
	etw_payload_user_sid(&run->payload, sid);
	etw_payload_astring(&run->payload, "app.exe");
	etw_payload_wstring(&run->payload, "app.exe");
	etw_payload_wstring(&run->payload, "");
	etw_payload_wstring(&run->payload, "");
	rule_run_feed(run);
}

static void send(struct rule_run *run, uint32_t id)
{
	rule_run_blank(run, "TcpIp/SendIPV4");
	rule_run_set(run, "PID", id);
	rule_run_feed(run);
}

static void every_event_has_the_owner_of_its_process(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, COUNTED, NULL);
	process(&run, "Process/DCStart", 8, "S-1-5-18", 0);
	process(&run, "Process/Start", 12, USER, 3);
	process(&run, "Process/Start", 16, NULL, UINT32_MAX);
	send(&run, 8);
	send(&run, 12);
	send(&run, 16);
	send(&run, 20);
	/* The id goes to a process of another account. */
	process(&run, "Process/Stop", 12, USER, 3);
	send(&run, 12);
	process(&run, "Process/Start", 12, "S-1-5-90-0-7", 7);
	send(&run, 12);
	rule_run_expect(
		&run, "a_total{owner=\"NT AUTHORITY\\\\SYSTEM\",sid=\"S-1-5-18\",session=\"0\"} 1");
	rule_run_expect(&run, "a_total{owner=\"" USER "\",sid=\"" USER "\",session=\"3\"} 2");
	rule_run_expect(&run, "a_total{owner=\"_unknown\",sid=\"_unknown\",session=\"_none\"} 2");
	rule_run_expect(
		&run,
		"a_total{owner=\"Window Manager\\\\DWM-7\",sid=\"S-1-5-90-0-7\",session=\"7\"} 1");
	rule_run_close(&run);
}

static void a_reload_finds_the_owners_of_running_processes(void **state)
{
	struct rule_run run;

	(void)state;
	rule_run_open(&run, "collector: x\nhelp: h\ndefault: on\nmetrics: []\n", NULL);
	process(&run, "Process/Start", 8, USER, 2);
	rule_run_reload(&run, COUNTED);
	send(&run, 8);
	rule_run_expect(&run, "a_total{owner=\"" USER "\",sid=\"" USER "\",session=\"2\"} 1");
	rule_run_close(&run);
}

static void well_known_accounts_have_the_same_name_everywhere(void **state)
{
	static const struct {
		const char *sid, *name;
	} cases[] = {
		{ "S-1-5-18", "NT AUTHORITY\\SYSTEM" },
		{ "S-1-5-19", "NT AUTHORITY\\LOCAL SERVICE" },
		{ "S-1-5-20", "NT AUTHORITY\\NETWORK SERVICE" },
		{ "S-1-5-17", "NT AUTHORITY\\IUSR" },
		{ "S-1-5-7", "NT AUTHORITY\\ANONYMOUS LOGON" },
		{ "S-1-5-90-0-1", "Window Manager\\DWM-1" },
		{ "S-1-5-96-0-12", "Font Driver Host\\UMFD-12" },
		{ "S-1-5-90-0-", NULL },
		{ "S-1-5-90-0-1-2", NULL },
		{ "S-1-5-180", NULL },
		{ "S-1-5-1", NULL },
		{ "", NULL },
		{ USER, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct etw_text name = { 0 };
		bool known = accounts_well_known(cases[i].sid, strlen(cases[i].sid), &name);

		assert_int_equal(known, cases[i].name != NULL);
		if (known) {
			assert_string_equal(name.data, cases[i].name);
		}
		text_free(&name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_has_the_owner_of_its_process),
		cmocka_unit_test(a_reload_finds_the_owners_of_running_processes),
		cmocka_unit_test(well_known_accounts_have_the_same_name_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
