/* SPDX-License-Identifier: MIT */
/*
 * The collectors of transfers as they ship: disk, file, file_other, network, tcp_peers. What each
 * family shows of a few events, computed by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/support/shipped_collectors.h"

enum { W = SHIPPED_SHARD, O = SHIPPED_OTHER, NO_PROCESS = SHIPPED_NO_PROCESS };

/* Ticks of the performance counter, which response times are in. */
enum { RESPONSE_MS = RUN_PERF_FREQUENCY / 1000 };

#define KERNEL ",provider=\"Windows Kernel\""

static void disk(void **state)
{
#define TRANSFER(what, number, thread, bytes, ms)                                            \
	{                                                                                    \
		"DiskIo/" what, 0, (uint32_t)NO_PROCESS,                                     \
		{                                                                            \
			{ "DiskNumber", number, NULL }, { "IssuingThreadId", thread, NULL }, \
				{ "TransferSize", bytes, NULL },                             \
			{                                                                    \
				"HighResResponseTime", (ms)*RESPONSE_MS, NULL                \
			}                                                                    \
		}                                                                            \
	}
	static const struct built_event events[] = {
		TRANSFER("Read", 0, 10 * W, 4096, 1),
		TRANSFER("Read", 0, 10 * O, 1000, 2),
		TRANSFER("Write", 0, 10 * W, 512, 3),
		TRANSFER("Write", 1, 10 * W, 1024, 10),
		TRANSFER("Write", 1, 9999, 1, 0), /* its thread leads to no process */
		/* A flush is of another layout, without a size. */
		{ "DiskIo/FlushBuffers",
		  0,
		  (uint32_t)NO_PROCESS,
		  { { "DiskNumber", 0, NULL },
		    { "IssuingThreadId", 10 * W, NULL },
		    { "HighResResponseTime", 5 * RESPONSE_MS, NULL } } },
		{ 0 },
	};
#undef TRANSFER
	static const char *const lines[] = {
		"etw_disk_operations_total{disk=\"0\",operation=\"read\"} 2",
		"etw_disk_operations_total{disk=\"0\",operation=\"write\"} 1",
		"etw_disk_operations_total{disk=\"1\",operation=\"write\"} 2",
		"etw_disk_operations_total{disk=\"0\",operation=\"flush\"} 1",
		"etw_disk_read_bytes_total{disk=\"0\"} 5096",
		"etw_disk_written_bytes_total{disk=\"0\"} 512",
		"etw_disk_written_bytes_total{disk=\"1\"} 1025",
		"etw_disk_operation_duration_seconds_sum{disk=\"0\",operation=\"read\"} 0.003",
		"etw_disk_operation_duration_seconds_count{disk=\"0\",operation=\"read\"} 2",
		/* buckets of 0.512, 1.024, 2.048 ms */
		"etw_disk_operation_duration_seconds_bucket{disk=\"0\",operation=\"read\",le=\"0.000512\"} 0",
		"etw_disk_operation_duration_seconds_bucket{disk=\"0\",operation=\"read\",le=\"0.001024\"} 1",
		"etw_disk_operation_duration_seconds_bucket{disk=\"0\",operation=\"read\",le=\"0.002048\"} 2",
		"etw_disk_operation_duration_seconds_sum{disk=\"1\",operation=\"write\"} 0.01",
		"etw_disk_operation_duration_seconds_count{disk=\"0\",operation=\"flush\"} 1",
		"etw_disk_process_operations_total{process=\"writer\"" KERNEL
		",disk=\"0\",operation=\"read\"} 1",
		"etw_disk_process_operations_total{process=\"other\"" KERNEL
		",disk=\"0\",operation=\"read\"} 1",
		"etw_disk_process_operations_total{process=\"_none\"" KERNEL
		",disk=\"1\",operation=\"write\"} 1",
		"etw_disk_process_operations_total{process=\"writer\"" KERNEL
		",disk=\"0\",operation=\"flush\"} 1",
		"etw_disk_process_read_bytes_total{process=\"writer\"" KERNEL ",disk=\"0\"} 4096",
		"etw_disk_process_read_bytes_total{process=\"other\"" KERNEL ",disk=\"0\"} 1000",
		"etw_disk_process_written_bytes_total{process=\"writer\"" KERNEL ",disk=\"0\"} 512",
		"etw_disk_process_written_bytes_total{process=\"writer\"" KERNEL
		",disk=\"1\"} 1024",
		"etw_disk_process_written_bytes_total{process=\"_none\"" KERNEL ",disk=\"1\"} 1",
		"etw_disk_process_io_seconds_total{process=\"writer\"" KERNEL
		",operation=\"write\"} 0.013",
		"etw_disk_process_io_seconds_total{process=\"other\"" KERNEL
		",operation=\"read\"} 0.002",
		"etw_disk_process_io_seconds_total{process=\"writer\"" KERNEL
		",operation=\"flush\"} 0.005",
		NULL,
	};

	(void)state;
	check_shipped("disk", events, lines);
}

#define FILE_EVENT(what, process)                  \
	{                                          \
		"FileIo/" what, 0, process,        \
		{                                  \
			{                          \
				"FileKey", 1, NULL \
			}                          \
		}                                  \
	}

static void file(void **state)
{
#define TRANSFER(what, process, bytes, flags)                              \
	{                                                                  \
		"FileIo/" what, 0, process,                                \
		{                                                          \
			{ "FileKey", 1, NULL }, { "IoSize", bytes, NULL }, \
			{                                                  \
				"IoFlags", flags, NULL                     \
			}                                                  \
		}                                                          \
	}
	static const struct built_event events[] = {
		{ "FileIo/Name", 0, W, { { "FileObject", 1, NULL }, { "FileName", 0, "D:\\a" } } },
		TRANSFER("Read", W, 10, 0),
		TRANSFER("Read", W, 100, 2), /* paging */
		TRANSFER("Read", O, 1000, 0x60900),
		TRANSFER("Write", W, 20, 0),
		TRANSFER("Write", O, 200, 0x43), /* paging, with other flags */
		{ "FileIo/Write", 0, W, { { "FileKey", 2, NULL }, { "IoSize", 7, NULL } } },
		{ "FileIo/Create", 0, W, { { "FileObject", 9, NULL } } },
		FILE_EVENT("Delete", W),
		FILE_EVENT("Rename", O),
		FILE_EVENT("Flush", O),
		FILE_EVENT("Flush", O),
		FILE_EVENT("Close", W), /* another collector's */
		{ 0 },
	};
#undef TRANSFER
	static const char *const lines[] = {
#define OPERATIONS(process, operation) \
	"etw_file_operations_total{process=\"" process "\"" KERNEL ",operation=\"" operation "\"} "
		OPERATIONS("writer", "read") "2",
		OPERATIONS("other", "read") "1",
		OPERATIONS("writer", "write") "2",
		OPERATIONS("other", "write") "1",
		OPERATIONS("writer", "create") "1",
		OPERATIONS("writer", "delete") "1",
		OPERATIONS("other", "rename") "1",
		OPERATIONS("other", "flush") "2",
		"!etw_file_operations_total{process=\"writer\"" KERNEL ",operation=\"close\"}",
		"etw_file_read_bytes_total{process=\"writer\"" KERNEL ",volume=\"D:\"} 10",
		"etw_file_read_bytes_total{process=\"other\"" KERNEL ",volume=\"D:\"} 1000",
		"etw_file_paging_read_bytes_total{process=\"writer\"" KERNEL ",volume=\"D:\"} 100",
		"!etw_file_paging_read_bytes_total{process=\"other\"",
		"etw_file_written_bytes_total{process=\"writer\"" KERNEL ",volume=\"D:\"} 20",
		"etw_file_written_bytes_total{process=\"writer\"" KERNEL ",volume=\"_unknown\"} 7",
		"!etw_file_written_bytes_total{process=\"other\"",
		"etw_file_paging_written_bytes_total{process=\"other\"" KERNEL
		",volume=\"D:\"} 200",
		NULL,
	};

	(void)state;
	check_shipped("file", events, lines);
}

static void file_other(void **state)
{
	static const struct built_event events[] = {
		FILE_EVENT("DirEnum", W),   FILE_EVENT("QueryInfo", W), FILE_EVENT("SetInfo", W),
		FILE_EVENT("FSControl", W), FILE_EVENT("Cleanup", W),   FILE_EVENT("Close", W),
		FILE_EVENT("Close", O),     FILE_EVENT("Close", O),     { 0 },
	};
	static const char *const lines[] = {
		OPERATIONS("writer", "dir_enum") "1", OPERATIONS("writer", "query_info") "1",
		OPERATIONS("writer", "set_info") "1", OPERATIONS("writer", "fs_control") "1",
		OPERATIONS("writer", "cleanup") "1",  OPERATIONS("writer", "close") "1",
		OPERATIONS("other", "close") "2",     NULL,
	};

	(void)state;
	check_shipped("file_other", events, lines);
}

static void network(void **state)
{
/* The header is that of the thread that ran: the process stands in the payload. */
#define PACKET(what, process, bytes)                \
	{                                           \
		what, 0, O,                         \
		{                                   \
			{ "PID", process, NULL },   \
			{                           \
				"size", bytes, NULL \
			}                           \
		}                                   \
	}
	static const struct built_event events[] = {
		PACKET("TcpIp/SendIPV4", W, 1),
		PACKET("TcpIp/SendIPV6", W, 10),
		PACKET("UdpIp/SendIPV4", W, 100),
		PACKET("UdpIp/SendIPV6", W, 1000),
		PACKET("TcpIp/RecvIPV4", W, 2),
		PACKET("TcpIp/RecvIPV6", O, 20),
		PACKET("UdpIp/RecvIPV4", O, 200),
		PACKET("UdpIp/RecvIPV6", W, 2000),
		PACKET("TcpIp/ConnectIPV4", W, 0),
		PACKET("TcpIp/ConnectIPV6", W, 0),
		PACKET("TcpIp/AcceptIPV4", O, 0),
		PACKET("TcpIp/AcceptIPV6", W, 0),
		PACKET("TcpIp/DisconnectIPV4", W, 0),
		PACKET("TcpIp/DisconnectIPV6", 77, 0),
		PACKET("TcpIp/RetransmitIPV4", W, 0),
		PACKET("TcpIp/RetransmitIPV6", W, 0),
		{ "TcpIp/Fail", 0, W, { { "FailureCode", 3, NULL } } },
		{ "TcpIp/Fail", 0, W, { { "FailureCode", 3, NULL } } },
		{ "TcpIp/Fail", 0, W, { { "FailureCode", 5, NULL } } },
		{ 0 },
	};
#undef PACKET
	static const char *const lines[] = {
		"etw_network_sent_bytes_total{process=\"writer\"" KERNEL ",protocol=\"tcp\"} 11",
		"etw_network_sent_bytes_total{process=\"writer\"" KERNEL ",protocol=\"udp\"} 1100",
		"!etw_network_sent_bytes_total{process=\"other\"",
		"etw_network_received_bytes_total{process=\"writer\"" KERNEL ",protocol=\"tcp\"} 2",
		"etw_network_received_bytes_total{process=\"other\"" KERNEL ",protocol=\"tcp\"} 20",
		"etw_network_received_bytes_total{process=\"other\"" KERNEL
		",protocol=\"udp\"} 200",
		"etw_network_received_bytes_total{process=\"writer\"" KERNEL
		",protocol=\"udp\"} 2000",
		"etw_network_operations_total{process=\"writer\"" KERNEL
		",protocol=\"tcp\",operation=\"send\"} 2",
		"etw_network_operations_total{process=\"writer\"" KERNEL
		",protocol=\"udp\",operation=\"receive\"} 1",
		"etw_network_operations_total{process=\"other\"" KERNEL
		",protocol=\"tcp\",operation=\"receive\"} 1",
		"etw_tcp_connections_total{process=\"writer\"" KERNEL ",direction=\"outbound\"} 2",
		"etw_tcp_connections_total{process=\"other\"" KERNEL ",direction=\"inbound\"} 1",
		"etw_tcp_connections_total{process=\"writer\"" KERNEL ",direction=\"inbound\"} 1",
		"etw_tcp_disconnects_total{process=\"writer\"" KERNEL "} 1",
		"etw_tcp_disconnects_total{process=\"_unknown\"" KERNEL "} 1",
		"etw_tcp_retransmits_total{process=\"writer\"" KERNEL "} 2",
		"etw_tcp_connect_failures_total{reason=\"address_exists\"} 2",
		"etw_tcp_connect_failures_total{reason=\"other\"} 1",
		/* Known before the first event, as all its labels are. */
		"etw_tcp_connect_failures_total{reason=\"invalid_address\"} 0",
		NULL,
	};

	(void)state;
	check_shipped("network", events, lines);
}

/* Addresses and ports are as they are on the wire: the first byte is the lowest. */
static void tcp_peers(void **state)
{
#define WIRE(port) ((uint64_t)(((port)&0xff) << 8 | (port) >> 8))
#define SEGMENT(what, process, bytes, d, remote, local)                                          \
	{                                                                                        \
		what, 0, O,                                                                      \
		{                                                                                \
			{ "PID", process, NULL }, { "size", bytes, NULL },                       \
				{ "daddr", 0x00141400 + 0x0a + ((uint64_t)(d) << 24), NULL },    \
				{ "dport", WIRE(remote), NULL }, { "sport", WIRE(local), NULL }, \
		}                                                                                \
	}
	static const struct built_event events[] = {
		SEGMENT("TcpIp/SendIPV4", W, 1, 1, 443, 49152),
		SEGMENT("TcpIp/SendIPV4", W, 10, 254, 443, 65535), /* the same /24 */
		SEGMENT("TcpIp/SendIPV4", W, 100, 1, 32767, 443),
		SEGMENT("TcpIp/SendIPV4", W, 1000, 1, 32768, 443),
		SEGMENT("TcpIp/RecvIPV4", O, 7, 1, 40000, 443),
		SEGMENT("TcpIp/ConnectIPV4", W, 0, 1, 443, 50000),
		SEGMENT("TcpIp/AcceptIPV4", O, 0, 2, 50001, 443),
		SEGMENT("TcpIp/RetransmitIPV4", W, 0, 1, 443, 50000),
		{ "TcpIp/SendIPV6", 0, O, { { "PID", W, NULL }, { "size", 5, NULL } } },
		{ 0 },
	};
#undef SEGMENT
#undef WIRE
#define OF(process, port, local)                                                    \
	"{process=\"" process "\"" KERNEL ",network=\"10.20.20.0/24\",port=\"" port \
	"\",local_port=\"" local "\""
	static const char *const lines[] = {
		"etw_tcp_peer_sent_bytes_total" OF("writer", "443", "dynamic") "} 11",
		"etw_tcp_peer_sent_bytes_total" OF("writer", "32767", "443") "} 100",
		"etw_tcp_peer_sent_bytes_total" OF("writer", "dynamic", "443") "} 1000",
		"etw_tcp_peer_sent_bytes_total{process=\"writer\"" KERNEL
		",network=\"::/64\",port=\"0\",local_port=\"0\"} 5",
		"etw_tcp_peer_received_bytes_total" OF("other", "dynamic", "443") "} 7",
		"etw_tcp_peer_connections_total" OF("writer", "443",
						    "dynamic") ",direction=\"outbound\"} 1",
		"etw_tcp_peer_connections_total" OF("other", "dynamic",
						    "443") ",direction=\"inbound\"} 1",
		"etw_tcp_peer_retransmits_total" OF("writer", "443", "dynamic") "} 1",
		NULL,
	};
#undef OF

	(void)state;
	check_shipped("tcp_peers", events, lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disk),       cmocka_unit_test(file),
		cmocka_unit_test(file_other), cmocka_unit_test(network),
		cmocka_unit_test(tcp_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
