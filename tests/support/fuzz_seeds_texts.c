/* SPDX-License-Identifier: MIT */
/* Seeds that are texts: arguments of command lines, requests, manifests, and YAML. */
#include <stdio.h>
#include <string.h>

#include "tests/support/fuzz_seeds.h"

/* A seed whose first byte says what its text is. */
struct text_seed {
	uint8_t part;
	const char *text;
};

/* ---- arguments ---- */

/* What the first byte of a seed says (tests/fuzz/fuzz_arguments.c). */
enum argument { CONDITIONS, ASSIGNMENTS, LINES, COMPARISON, SERIES, OTHERS };

static const struct text_seed arguments[] = {
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

	if (index >= sizeof arguments / sizeof arguments[0]) {
		return false;
	}
	snprintf(text, sizeof text, "arguments-%u", index);
	*name = text;
	etw_payload_u8(seed, arguments[index].part);
	etw_payload_bytes(seed, arguments[index].text, strlen(arguments[index].text));
	return true;
}

/* ---- HTTP ---- */

/* What the first byte of a seed says (tests/fuzz/fuzz_http.c). */
enum request_part { HEAD, ACCEPT, SETTINGS };

static const struct text_seed requests[] = {
	{ HEAD, "GET /metrics HTTP/1.1\r\nHost: a:9189\r\n\r\n" },
	{ HEAD, "GET /metrics?collect[]=disk&exclude%5B%5D=cpu HTTP/1.1\r\nHost: a\r\n"
		"User-Agent: Prometheus/2.45.0\r\nAccept-Encoding: gzip\r\n"
		"X-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\nGET / HTTP/1.1\r\n\r\n" },
	{ HEAD, "\r\nHEAD / HTTP/1.0\r\nConnection: keep-alive, Upgrade\r\n\r\n" },
	{ HEAD, "POST /-/reload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
		"Expect: 100-continue\r\n\r\nhello" },
	{ HEAD, "POST /-/quit HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" },
	{ HEAD, "GET http://user@[::1]:9189/metrics HTTP/1.1\r\nHost: b\r\nX:\tq\t\r\n\r\n" },
	{ HEAD, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" },
	/* What is to be refused. */
	{ HEAD, "GET / HTTP/1.1\r\nHost : a\r\n\r\n" },
	{ HEAD, "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n" },
	{ HEAD, "GET / HTTP/1.1\nHost: a\n\n" },
	{ HEAD, "GET / HTTP/1.1\r\nContent-Length: +5\r\nContent-Length: 0x10\r\n\r\n" },
	{ HEAD, "GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" },
	{ HEAD, "GET /a b HTTP/2.0\r\n\r\n" },
	{ HEAD, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" },
	{ HEAD, "\x16\x03\x01\x02\x01\x01" },
	{ ACCEPT, "application/openmetrics-text;version=1.0.0;escaping=underscores;q=0.5,"
		  "text/plain;version=0.0.4;q=0.2,*/*;q=0.1" },
	{ ACCEPT,
	  "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
	  "encoding=delimited;q=0.6,application/openmetrics-text;version=\"0.0.1\";q=1.000" },
	{ ACCEPT, "text/html, text/*;q=0, ;;, */*;q=2;q=.5, \"a\\\"b,c\";x=\"" },
	{ ACCEPT, "gzip, deflate;q=0.5, br, zstd;q=0.9, identity;q=0, *;q=0.001" },
	{ SETTINGS, "tls_server_config:\n"
		    "  cert_file: server.crt\n"
		    "  key_file: server.key\n"
		    "  client_auth_type: RequireAndVerifyClientCert\n"
		    "  client_ca_file: ca.crt\n"
		    "  client_allowed_sans: [a.example, 10.0.0.1]\n"
		    "  min_version: TLS12\n"
		    "  max_version: TLS13\n"
		    "  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n"
		    "  prefer_server_cipher_suites: true\n"
		    "  curve_preferences: [X25519, CurveP256]\n" },
	{ SETTINGS, "tls_server_config: { cert: \"-----BEGIN CERTIFICATE-----\\nAA==\\n"
		    "-----END CERTIFICATE-----\\n\", key: x, client_ca: y }\n" },
	{ SETTINGS, "http_server_config:\n"
		    "  http2: false\n"
		    "  headers:\n"
		    "    Content-Security-Policy: default-src 'self'\n"
		    "    X-Frame-Options: deny\n"
		    "    X-Content-Type-Options: nosniff\n"
		    "    X-XSS-Protection: 1\n"
		    "    Strict-Transport-Security: max-age=1\n"
		    "rate_limit: { interval: 1s, burst: 20 }\n" },
	{ SETTINGS, "basic_auth_users:\n"
		    "  alice: $2y$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234\n"
		    "  bob: plain\n" },
	{ SETTINGS, "unknown: 1\ntls_server_config: []\nrate_limit: { interval: -1 }\n" },
	{ SETTINGS, "" },
};

bool fuzz_http_seed(unsigned index, struct etw_payload *seed, const char **name)
{
	static char text[16];

	if (index >= sizeof requests / sizeof requests[0]) {
		return false;
	}
	snprintf(text, sizeof text, "http-%u", index);
	*name = text;
	etw_payload_u8(seed, requests[index].part);
	if (requests[index].part == HEAD) {
		etw_payload_u8(seed, (uint8_t)index); /* the size of the pieces */
	}
	etw_payload_bytes(seed, requests[index].text, strlen(requests[index].text));
	return true;
}

/* ---- manifests ---- */

#define BEFORE                                                                 \
	"<instrumentationManifest xmlns:win='urn:w'><instrumentation><events>" \
	"<provider name='P' guid='{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}'>"
#define BEHIND "</provider></events></instrumentation>"
#define END    "</instrumentationManifest>"

const struct fuzz_text fuzz_manifests[] = {
	{ "words",
	  BEFORE "<keywords><keyword name='K' mask='0x1'/></keywords>"
		 "<levels><level name='L' value='16'/></levels>"
		 "<tasks><task name='T' value='1'><opcodes><opcode name='O' value='11'/>"
		 "</opcodes></task></tasks><opcodes><opcode name='O' value='12'/></opcodes>"
		 "<events><event value='1' version='2' task='T' opcode='O' level='L'"
		 " keywords='K win:ResponseTime' symbol='S'/>"
		 "<event value='0x2' opcode='win:Start'/></events>" BEHIND END },
	{ "maps", BEFORE
	  "<maps><valueMap name='V'><map value='1' message='$(string.s)'/></valueMap>"
	  "<bitMap name='B'><map value='0x4' message='b '/></bitMap></maps>"
	  "<events><event value='1' template='A'/></events>"
	  "<templates><template tid='A'><data name='v' inType='win:UInt8' map='V'/>"
	  "<data name='b' inType='win:UInt32' map='B' count='2'/></template></templates>" BEHIND
	  "<localization><resources culture='en-US'><stringTable>"
	  "<string id='s' value='one'/></stringTable></resources></localization>" END },
	{ "templates", BEFORE
	  "<events><event value='1' template='A'/></events><templates><template tid='A'>"
	  "<data name='n' inType='win:UInt8'/><data name='d' inType='win:Binary' length='n'/>"
	  "<struct name='s' count='n'><data name='x' inType='win:UnicodeString' length='2'/>"
	  "<struct name='t'><data name='y' inType='win:Pointer' count='2'/></struct></struct>"
	  "<data name='a' inType='win:UInt32' outType='win:IPv4'/>"
	  "<data name='z' inType='win:SID'/></template></templates>" BEHIND END },
};
const size_t fuzz_manifest_count = sizeof fuzz_manifests / sizeof fuzz_manifests[0];

/* ---- YAML ---- */

const struct fuzz_text fuzz_yaml_snippets[] = {
	{ "counter",
	  "collector: a\n"
	  "help: A.\n"
	  "default: on\n"
	  "needs: { kernel: [DISK_IO, PROCESS], providers: [\"Name|{4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7}:4:1,2:0x10\"] }\n"
	  "metrics:\n"
	  "  - name: etw_a_written_bytes_total\n"
	  "    type: counter\n"
	  "    help: Bytes.\n"
	  "    labels: { process: Process, provider: Provider, disk: DiskNumber }\n"
	  "    events:\n"
	  "      - { event: DiskIo/Write, value: TransferSize, version: [2, 3] }\n"
	  "      - { event: DiskIo/11, value: TransferSize, version: '>=2' }\n" },
	{ "histogram",
	  "collector: b\n"
	  "help: B.\n"
	  "default: off\n"
	  "metrics:\n"
	  "  - name: etw_b_duration_seconds\n"
	  "    type: histogram\n"
	  "    help: Time.\n"
	  "    labels: { disk: DiskNumber }\n"
	  "    buckets: { start: 0.000128, factor: 2, count: 16 }\n"
	  "    max_series: 100\n"
	  "    events:\n"
	  "      - { event: DiskIo/Read, value: HighResResponseTime, unit: ticks, labels: { operation: { text: read } } }\n"
	  "      - { event: PageFault/HardFault, since: InitialTime, labels: { disk: { text: none }, operation: { text: fault } } }\n" },
	{ "buckets",
	  "collector: c\n"
	  "help: C.\n"
	  "metrics:\n"
	  "  - { name: etw_c_bytes, type: histogram, help: H., buckets: [1, 2.5, 1000], events: [{ event: DiskIo/Read, value: TransferSize }] }\n"
	  "  - { name: etw_d_bytes, type: histogram, help: H., buckets: { start: 0, width: 4096, count: 8 }, events: [{ event: DiskIo/Write, value: TransferSize, unit: KB }] }\n" },
	{ "gauge", "collector: d\n"
		   "help: D.\n"
		   "metrics:\n"
		   "  - name: etw_open_things\n"
		   "    type: gauge\n"
		   "    help: Things.\n"
		   "    events:\n"
		   "      - { event: FileIo/Create, op: inc }\n"
		   "      - { event: FileIo/Close, op: dec }\n"
		   "      - { event: Process/Start, op: set, value: ParentId }\n" },
	{ "where",
	  "collector: e\n"
	  "help: E.\n"
	  "metrics:\n"
	  "  - name: etw_e_total\n"
	  "    type: counter\n"
	  "    help: Some.\n"
	  "    labels:\n"
	  "      process: Process\n"
	  "      status: { field: NtStatus, decode: [ntstatus], default: other }\n"
	  "      name: { field: Path, decode: [basename, lower, extension, directory, drive, { regex: '^(.*)\\.log$', replace: '$1' }] }\n"
	  "      kind: { field: InfoClass, map: { 5: standard, 0x0d: disposition }, default: else }\n"
	  "    events:\n"
	  "      - event: FileIo/OperationEnd\n"
	  "        where:\n"
	  "          - { field: NtStatus, ne: 0 }\n"
	  "          - { field: NtStatus, has: 0xC0000000 }\n"
	  "          - { field: NtStatus, lacks: 1 }\n"
	  "          - { field: Process, in: [svchost, 'System'] }\n"
	  "          - { field: Path, starts: 'C:\\' }\n"
	  "          - { field: Path, ends: .log }\n"
	  "          - { field: Path, matches: '(a|b)+[0-9]{2,3}$' }\n"
	  "          - { field: Duration, gt: 1000 }\n"
	  "          - { field: Duration, le: 10 }\n" },
	{ "every-event",
	  "collector: f\n"
	  "help: F.\n"
	  "metrics:\n"
	  "  - { name: etw_f_total, type: counter, help: All., labels: { process: Process, provider: Provider }, events: [{ event: '*' }] }\n"
	  "  - { name: etw_g_total, type: counter, help: Others., labels: { event: Event, volume: Volume, driver: Driver },\n"
	  "      events: [{ event: DiskIo/* }, { event: 'Microsoft-Windows-Kernel-File/12' }, { event: '{4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7}/OrderPlaced' }] }\n" },
	{ "configuration",
	  "collectors: { disk: on, cpu: off }\n"
	  "collector_files: [my-collectors/*.yaml]\n"
	  "filters:\n"
	  "  processes: { include: ['.*'], exclude: ['^etw_exporter$'] }\n"
	  "  events: [ { event: FileIo/QueryInfo } ]\n"
	  "limits: { series_per_family: 2000, series: 200000, processes: 20000, threads: 200000, files: 200000, strings: 64MiB }\n"
	  "process_case: keep\n"
	  "log: { level: info, format: logfmt }\n"
	  "web: { listen_addresses: [':9189'], telemetry_path: /metrics }\n" },
	{ "wrong-key", "collector: g\nhelp: G.\nmetric: []\n" },
	{ "wrong-types",
	  "collector: [h]\nhelp: { a: b }\nmetrics:\n  - name: 5\n    events: yes\n    buckets: x\n" },
	{ "anchors", "collector: &a i\nhelp: *a\nmetrics: [ &b { name: *a, <<: *b } ]\n" },
	{ "block-text", "collector: j\nhelp: |\n  Two\n  lines.\nmetrics: []\n" },
	{ "folded", "collector: k\nhelp: >-\n  One\n  line.\ndefault: off\nmetrics: [{}]\n" },
	{ "deep",
	  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n" },
	{ "twice", "collector: l\ncollector: m\n---\nsecond: document\n" },
	{ "empty", "" },
};

const size_t fuzz_yaml_snippet_count = sizeof fuzz_yaml_snippets / sizeof fuzz_yaml_snippets[0];
