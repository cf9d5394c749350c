/* SPDX-License-Identifier: MIT */
#include "tests/support/fuzz_seeds_yaml.h"

const struct fuzz_yaml_snippet fuzz_yaml_snippets[] = {
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
