/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds_arguments.h"

#include <stdio.h>
#include <string.h>

/* What the first byte of a seed says (tests/fuzz/fuzz_arguments.c). */
enum part { CONDITIONS, ASSIGNMENTS, LINES, COMPARISON, SERIES, OTHERS };

static const struct {
	enum part part;
	const char *text;
} seeds[] = {
	{ CONDITIONS, "TransferSize gt 4096\nProcess in chrome, msedge\nPath matches \\.log$\n"
		      "IrpFlags has 0x2" },
	{ CONDITIONS, "Level <= 3\nThreadId == 104\nVolume starts C\nDuration ge 0.5" },
	{ CONDITIONS, "Path matches (((a+)+)+)+$\na.b.c lacks 1" },
	{ ASSIGNMENTS, "Image/Load.FileName=C:\\x.dll" },
	{ ASSIGNMENTS, "*.@pid=7\n*.@provider={6e1d77b0-04c9-4e0f-921f-33105bd86a01}\n"
		       "Process/*.ProcessId=0x10" },
	{ ASSIGNMENTS,
	  "Shop/Ordered.xs=[1,2]\nShop/Ordered.at={\"a\":9,\"b\":[1]}\nShop/*.who=\"\\u00e9\"" },
	{ ASSIGNMENTS, "Service/2.bytes=010203\nService/*.count=2\nDiskIo/Read.ByteOffset=-1" },
	{ LINES, "{\"provider_name\": \"Image\", \"opcode\": 10, \"version\": 0, \"pid\": 7, "
		 "\"filetime\": 132404548206236267, \"fields\": {\"ImageBase\": 4096, "
		 "\"ImageSize\": 8192, \"FileName\": \"C:\\\\x.dll\"}}" },
	{ LINES, "{\"provider\": \"4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7\", \"provider_name\": "
		 "\"Shop\", \"event\": \"Sold\", \"ts\": \"2024-05-14T07:00:00.5Z\", \"fields\": "
		 "{\"n\": 1, \"t\": \"a\", \"f\": 0.5, \"b\": true, \"l\": [1, 2], \"s\": "
		 "{\"x\": null, \"y\": [{\"z\": 1}]}}}" },
	{ LINES, "{\"provider\": \"6e1d77b0-04c9-4e0f-921f-33105bd86a01\", \"id\": 2, \"ts\": "
		 "\"2024-05-14T07:00:00Z\", \"cpu\": 1, \"tid\": 5, \"level\": 4, \"keyword\": "
		 "\"0x8000000000000000\", \"ptr\": 4, \"raw\": \"0300000061\"}" },
	{ COMPARISON, "etw_file_written_bytes_total{process=\"sqlservr\",volume!=\"D:\"} > +20 %\n"
		      "process=\"sqlservr\",volume=\"C:\"" },
	{ COMPARISON, "sum(etw_process_exits_total{result=~\"crash|error\"}) >= 1\n"
		      "result=\"error\"" },
	{ SERIES, "a_total{b!~\"x.*\",c=\"\\\"\\\\\\n\"}\na_total{b=\"\\\\\",c=\"\"} 1.5e3 7" },
	{ SERIES, "up\nup 1" },
	{ OTHERS, "**\\*.log\nC:\\a\\b.log\n\\Device\\Mup\\s\\t.LOG\n*.l?g" },
	{ OTHERS,
	  "2020-07-29T00:07:00.6236167Z\n12.5\n1601-01-01T00:00:00Z\n9999-12-31T23:59:59Z" },
	{ OTHERS, "10.0.0.0/8\n2001:db8::/32\n[::1]:9189\nlocalhost:0" },
	{ OTHERS, "Microsoft-Windows-DNS-Client:4:3006,3008:0x8000000000000000:0\n"
		  "{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}\nA:5::1:0xffffffffffffffff\n:" },
};

bool fuzz_arguments_seed(unsigned index, struct etw_payload *seed, const char **name)
{
	static char text[32];

	if (index >= sizeof seeds / sizeof seeds[0]) {
		return false;
	}
	snprintf(text, sizeof text, "arguments-%u", index);
	*name = text;
	etw_payload_u8(seed, (uint8_t)seeds[index].part);
	etw_payload_bytes(seed, seeds[index].text, strlen(seeds[index].text));
	return true;
}
