#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds config/schema.json, which editors read, against the shipped files and against what the program accepts.

The schema is written by make_schema from the tables that the program reads files by.

Files are read as editors read them (YAML 1.2: `on` is text). Every wrong file differs from one that is right in one place, and
`etwtool check config` must refuse it too. Prints each disagreement and exits 1; 77 without jsonschema or PyYAML.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import yaml
    from jsonschema import Draft202012Validator
except ImportError as missing:
    print(f"SKIP: {missing}")
    sys.exit(77)

ROOT = Path(__file__).resolve().parent.parent.parent

# ---- configurations ----

RIGHT_CONFIGS = [
    "",
    "null",
    "collectors: { disk: 'off', cpu: True, file: FALSE }",
    "sessions: { mine: { logger: user, providers: ['1', '1e3', 'null'] } }",
    "sessions: { mine: { logger: user, providers: [{ provider: A, arguments: { a: " + 1021 * "x" + " } }] } }",
    "# nothing but a comment\n",
    "collectors: { disk: off, cpu: on, events: true, file: false }",
    "filters: { processes: { include: ['^sql'], exclude: [] }, events: [{ event: FileIo/QueryInfo }, { event: DiskIo/10 }] }",
    "filters: { events: [{ event: '{2f07e2ee-15db-40f1-90ef-9d7ba282188a}/Task/Opcode' }] }",
    "limits: { series: 1, series_per_family: 100000000, processes: 0x10, threads: 2, files: 3, strings: 64KiB }",
    "limits: { strings: 1 GiB }",
    "limits: { strings: 65536 }",
    "process_case: lower",
    "log: { level: warn, format: json }",
    "web: { listen_addresses: ['[::1]:9189', localhost:0, '127.0.0.1:65535'], allow: ['::1', 10.0.0.0/8], telemetry_path: /etw/metrics }",
    "web: { telemetry_path: /version/.x }",
    "web: { telemetry_path: /" + 254 * "a" + " }",
    "web: { listen_addresses: [" + 16 * "':1', " + "] }",
    "sessions: {}",
    "sessions: { mine: { logger: private, buffers: { size: 1MiB, min: 2, max: 65536 }, flush: 5000ms, rundown: off } }",
    "sessions: { mine: { logger: system_providers } }",
    "sessions: { mine: { kernel_stacks: [PerfInfo/SampleProf, Thread/CSwitch] } }",
    "sessions: { mine: { logger: attach } }",
    "sessions: { mine: { providers: [{ provider: A, properties: [stack], stack_ids: { include: [1] } }] } }",
    "sessions: { NT Kernel Logger: { logger: attach } }",
    "sessions: { NT Kernel Logger: { logger: nt_kernel_logger, on_conflict: takeover, providers: [] } }",
    "sessions: { mine: { logger: user, providers: [Microsoft-Windows-DNS-Client, 'A:4:1,0x2:0xff:0', 'B::::1'] } }",
    # Only the program knows that without `kernel_events: off` this session would have no events.
    "kernel_events: off\nsessions: { mine: { logger: user } }",
    "sessions: { mine: { providers: [{ provider: A, level: 5, any: 0xffffffffffffffff, all: 0, ids: { exclude: [65535] },"
    " process_ids: [4], executables: [svchost.exe], properties: [sid, session_id, stack, process_start_key, no_keyword_0],"
    " capture_state: { at_start: 1, at_stop: 0, every: 24h } }] } }",
    "sessions: { mine: { providers: [{ provider: A, arguments: { EventCounterIntervalSec: 10, b: 'c', d: on }, payload: [] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 65535, all: [{ field: B, eq: -1 }, { field: B, ne: 0x10 },"
    " { field: B, lt: 1 }, { field: B, le: 1 }, { field: B, gt: 1 }, { field: B, ge: 18446744073709551615 }, { field: B, modulo: 2 },"
    " { field: B, between: [-9223372036854775808, 5] }] }, { any: [{ is: c, field: B }, { field: B, is_not: '1' },"
    " { field: B, contains: x }, { field: B, not_contains: y }, { field: B, not_between: [1, 2] }], event: 1 }] }] } }",
    "schemas: []",
    "path_groups: []",
    "path_groups: [{ name: logs, match: ['C:\\ProgramData\\**\\*.log', 'd:/logs/**'] },"
    " { name: rest, match: ['**', '\\Device\\Mup\\**', '?:\\a', 'c*'] }]",
    "schemas: ['*.none', 'none/?.xml']",
]

WRONG_CONFIGS = [
    # What looks like a number, a switch or nothing must be in quotes where it is a text, and must not where it is none.
    "limits: { series: '3' }",
    "limits: { series: 0X10 }",
    "limits: { strings: '65536' }",
    "limits: null",
    "process_case: ~",
    "schemas: [NULL]",
    "sessions: { mine: { logger: user, providers: [1] } }",
    "sessions: { mine: { logger: user, providers: [1.5e3] } }",
    "sessions: { mine: { logger: user, providers: [null] } }",
    "sessions: { mine: { logger: user, providers: [{ provider: A, any: '0xff' }] } }",
    "sessions: { mine: { logger: user, providers: [{ provider: A, arguments: { a: null } }] } }",
    "sessions: { mine: { logger: user, providers: [{ provider: A, arguments: { a: " + 1022 * "x" + " } }] } }",
    "sessions: { mine: { logger: user, providers: [{ provider: A, arguments: { " + 1023 * "x" + ": '' } }] } }",
    "sessions: { mine: { logger: user, providers: [{ provider: A, arguments: { " + ", ".join(f"{i:x}: ''" for i in range(342)) + " } }] } }",
    "[]",
    "disk: on",
    "collectors: [disk]",
    "collectors: { disk: yes }",
    "collectors: { disk: 1 }",
    "collectors: { Disk: on }",
    "collector_files: mine.yaml",
    "collector_files: [mine.txt]",
    "schemas: a.man",
    "schemas: [{ file: a.man }]",
    "schemas: ['']",
    "path_groups: logs",
    "path_groups: [{ name: logs }]",
    "path_groups: [{ name: logs, match: [] }]",
    "path_groups: [{ name: logs, match: 'D:\\logs\\**' }]",
    "path_groups: [{ name: logs, match: [logs] }]",
    "path_groups: [{ name: _logs, match: ['D:\\logs\\**'] }]",
    "path_groups: [{ name: '', match: ['D:\\logs\\**'] }]",
    "path_groups: [{ name: logs, match: ['D:\\logs\\**'], x: 1 }]",
    "filters: { process: {} }",
    "filters: { processes: { include: x } }",
    "filters: { processes: { only: [x] } }",
    "filters: { events: [FileIo/QueryInfo] }",
    "filters: { events: [{}] }",
    "filters: { events: [{ event: FileIo }] }",
    "filters: { events: [{ event: FileIo/ }] }",
    "filters: { events: [{ event: '{2f07e2ee}/12' }] }",
    "filters: { events: [{ event: '{2f07e2ee-15db-40f1-90ef-9d7ba282188a}' }] }",
    "filters: { events: [{ event: DiskIo/Read, value: TransferSize }] }",
    "limits: { series: many }",
    "limits: { series: 0 }",
    "limits: { series: -1 }",
    "limits: { files: 1.5 }",
    "limits: { threads: 100000001 }",
    "limits: { serie: 1 }",
    "limits: { strings: 63KiB }",
    "limits: { strings: 64MB }",
    "limits: { strings: 65GiB }",
    "limits: { strings: 1 }",
    "process_case: upper",
    "log: { level: loud }",
    "log: { format: xml }",
    "log: { file: x }",
    "web: { listen_addresses: [] }",
    "web: { listen_addresses: ['9189'] }",
    "web: { listen_addresses: [':65536'] }",
    "web: { listen_addresses: ['::1:9189'] }",
    "web: { allow: [localhost] }",
    "web: { allow: [10.0.0.0/8/8] }",
    "web: { telemetry_path: metrics }",
    "web: { telemetry_path: / }",
    "web: { telemetry_path: /-/healthy }",
    "web: { telemetry_path: '/a?b' }",
    "web: { telemetry_path: /%20 }",
    "web: { telemetry_path: /a//b }",
    "web: { telemetry_path: //a }",
    "web: { telemetry_path: /a/../b }",
    "web: { telemetry_path: /a/. }",
    "web: { telemetry_path: /version }",
    "web: { telemetry_path: /" + 255 * "a" + " }",
    "web: { listen_addresses: [" + 17 * "':1', " + "] }",
    "web: { port: 80 }",
    "sessions: []",
    "sessions: { mine: }",
    "sessions: { mine: { logger: kernel } }",
    "sessions: { mine: { logger: nt_kernel_logger } }",
    "sessions: { nt kernel logger: { logger: private } }",
    "sessions: { nt kernel logger: { logger: attach, on_conflict: wait } }",
    "sessions: { mine: { logger: attach, flush: 5s } }",
    "sessions: { NT Kernel Logger: { logger: nt_kernel_logger, providers: [A] } }",
    "sessions: { mine: { on_conflict: wait } }",
    "sessions: { mine: { buffers: { size: 15KiB } } }",
    "sessions: { mine: { buffers: { size: 20000 } } }",
    "sessions: { mine: { buffers: { size: 2MiB } } }",
    "sessions: { mine: { buffers: { min: 1 } } }",
    "sessions: { mine: { buffers: { max: 65537 } } }",
    "sessions: { mine: { flush: 1 } }",
    "sessions: { mine: { flush: 1500ms } }",
    "sessions: { mine: { flush: 0s } }",
    "sessions: { mine: { flush: 2h } }",
    "sessions: { mine: { rundown: maybe } }",
    "sessions: { mine: { kernel_stacks: [CSwitch] } }",
    "sessions: { mine: { logger: attach, kernel_stacks: [Thread/CSwitch] } }",
    "sessions: { mine: { logger: user, providers: [A], kernel_stacks: [Thread/CSwitch] } }",
    "sessions: { mine: { providers: A } }",
    "sessions: { mine: { providers: ['A:256'] } }",
    "sessions: { mine: { providers: ['A:4:x'] } }",
    "sessions: { mine: { providers: ['A:4:1:2:3:4'] } }",
    "sessions: { mine: { providers: ['{00000000-0000-0000-0000-000000000000}'] } }",
    "sessions: { mine: { providers: [{ level: 4 }] } }",
    "sessions: { mine: { providers: [{ provider: A, level: 256 }] } }",
    "sessions: { mine: { providers: [{ provider: '{A}' }] } }",
    "sessions: { mine: { providers: [{ provider: A, ids: { include: [1], exclude: [2] } }] } }",
    "sessions: { mine: { providers: [{ provider: A, stack_ids: { include: [1], exclude: [2] } }] } }",
    "sessions: { mine: { providers: [{ provider: A, ids: { include: [] } }] } }",
    "sessions: { mine: { providers: [{ provider: A, ids: { include: [65536] } }] } }",
    "sessions: { mine: { providers: [{ provider: A, process_ids: [1, 2, 3, 4, 5, 6, 7, 8, 9] }] } }",
    "sessions: { mine: { providers: [{ provider: A, executables: ['a.exe;b.exe'] }] } }",
    "sessions: { mine: { providers: [{ provider: A, properties: [stacks] }] } }",
    "sessions: { mine: { providers: [{ provider: A, arguments: [a] }] } }",
    "sessions: { mine: { providers: [{ provider: A, arguments: { '': a } }] } }",
    "sessions: { mine: { providers: [{ provider: A, arguments: { a: { b: c } } }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: { event: 1 } }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1 }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 65536, all: [{ field: B, eq: 1 }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B, eq: 1 }], any: [{ field: B, eq: 1 }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ all: [{ field: B, eq: 1 }], any: [{ field: B, eq: 1 }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ eq: 1, ne: 2 }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B, eq: 1, ne: 2 }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B, has: 1 }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B, eq: x }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B, between: [1] }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: B, is: '' }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, payload: [{ event: 1, all: [{ field: '', is: a }] }] }] } }",
    "sessions: { mine: { providers: [{ provider: A, capture_state: { every: 5m } }] } }",
    "sessions: { mine: { providers: [{ provider: A, capture_state: { at_start: 1, every: 10ms } }] } }",
]

# ---- collectors ----

COLLECTOR = """
collector: mine
help: Of the test.
default: off
needs: { kernel: [DISK_IO], providers: ['Microsoft-Windows-DNS-Client:4:3008', { provider: 'System.Runtime:1', arguments: { a: 1 } }] }
decoders: { short: [basename] }
pairs: { io: { start: DiskIo/WriteInit, key: [Irp] } }
metrics:
  - name: test_writes_total
    type: counter
    help: Of the test.
    labels: { disk: DiskNumber }
    events:
      - { event: DiskIo/Write, where: [{ field: IrpFlags, has: 0x1 }] }
  - name: test_duration_seconds
    type: histogram
    help: Of the test.
    buckets: { start: 1e-6, factor: 2, count: 16 }
    events:
      - { event: DiskIo/Write, value: HighResResponseTime, unit: ticks }
  - name: test_size_bytes
    type: histogram
    help: Of the test.
    buckets: [512, 4096]
    events:
      - { event: DiskIo/Write, value: TransferSize }
  - name: test_running
    type: gauge
    help: Of the test.
    events:
      - { event: Process/Start, op: inc }
      - { event: Process/Stop, op: dec }
  - name: test_dns_total
    type: counter
    help: Of the test.
    labels: { name: { field: QueryName, decode: [lower] } }
    events:
      - { event: Contoso-DNS-Client/3008 }
"""

# What stands in COLLECTOR, and what in its place is as right.
RIGHT_COLLECTORS = [
    ("default: off", "default: true"),
    ("[DISK_IO]", "[]"),
    ("{ disk: DiskNumber }", "{}"),
    ("{ disk: DiskNumber }", "{ _Disk2: { field: DiskNumber } }"),
    ("{ disk: DiskNumber }", "{ disk: { text: 1 } }"),
    ("{ disk: DiskNumber }", "{ disk: Event.Sid, activity: Event.RelatedActivityId }"),
    ("{ field: QueryName, decode", "{ field: 'a[1].b[0].c', decode"),
    ("DNS-Client/3008 }", "DNS-Client/3008, value: 'Names.count', where: [{ field: '[2][0]', eq: 1 }] }"),
    ("{ disk: DiskNumber }", "{ disk: { field: DiskNumber, map: { 0: system, 0x1: data }, default: other } }"),
    ("[lower]", "[hex, lower, basename, directory, extension, drive, { regex: '^(a)', replace: '$1' }, { regex: b, replace: }]"),
    ("[lower]", "[ntstatus]"),
    ("[lower]", "[win32_error]"),
    *(("[lower]", f"[{decoder}]") for decoder in ("bits", "ip", "network", "port", "service_port", "guid", "sid", "hresult")),
    ("[lower]", "[{ bits: { 1: read, 0x8000: write } }, lower]"),
    ("help: Of the test.\n    labels", "help: Of the test.\n    max_series: 10\n    labels"),
    ("{ field: IrpFlags, has: 0x1 }", ""),
    ("has: 0x1", "lacks: 1"),
    ("has: 0x1", "in: [1, 2]"),
    ("has: 0x1", "ge: -1"),
    ("DNS-Client/3008 }", "DNS-Client/*, where: [{ field: QueryName, ends: .de }, { field: QueryName, matches: '^a' }] }"),
    ("DNS-Client/3008 }", "DNS-Client/Query, where: [{ field: QueryName, starts: on }, { field: QueryType, in: [A, 1] }] }"),
    ("event: DiskIo/Write, where", "event: DiskIo/11, version: [2, 3], where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, version: '>= 2', where"),
    ("unit: ticks", "unit: 100ns"),
    ("has: 0x1", "exists: on"),
    ("value: TransferSize", "value: TransferSize, unit: MB"),
    ("type: gauge\n", "type: gauge\n    decimals: 3\n"),
    ("test_running", "test_ratio"),
    ("unit: ticks", "unit: ns"),
    ("value: HighResResponseTime, unit: ticks", "since: HighResResponseTime"),
    ("value: TransferSize", "value: TransferSize, unit: KB"),
    ("value: HighResResponseTime, unit: ticks", "value: Duration, pair: { start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp] }"),
    ("value: HighResResponseTime, unit: ticks", "value: Duration, pair: { start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], carry: { a: Cpu, b: { field: Cpu, decode: [hex] } }, carried_by: DiskIo/WriteInit }"),
    ("    events:\n      - { event: DiskIo/Write, value: HighResResponseTime, unit: ticks }",
     "    pair: { start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], timeout: 500ms }\n    events:\n      - { event: DiskIo/Write, value: Duration }"),
    ("value: HighResResponseTime, unit: ticks", "value: Duration, pair: io"),
    ("value: HighResResponseTime, unit: ticks", "value: Duration, pair: { start: DiskIo/WriteInit, key: [Irp] }"),
    ("{ start: DiskIo/WriteInit, key: [Irp] }", "{ start: DiskIo/WriteInit, key: [Irp], keep: on, carry: { a: Cpu } }"),
    ("{ short: [basename] }", "{ short: [basename], shorter: [short, lower] }"),
    ("[lower]", "[short, lower]"),
    ("{ start: 1e-6, factor: 2, count: 16 }", "{ start: 1, width: 0.5, count: 64 }"),
    ("{ start: 1e-6, factor: 2, count: 16 }", "[0.001, 1]"),
    ("help: Of the test.\n    events:\n      - { event: Process/Start, op: inc }",
     "help: Of the test.\n    op: inc\n    events:\n      - { event: Process/Start }"),
]

WRONG_COLLECTORS = [
    ("collector: mine", "collector: Mine"),
    ("collector: mine", "collector: 9mine"),
    ("collector: mine\nhelp: Of the test.", "collector: mine"),
    ("default: off\n", ""),
    ("default: off", "default: maybe"),
    ("default: off", "deflaut: off"),
    ("collector: mine\nhelp: Of the test.", "collector: mine\nhelp: ''"),
    ("[DISK_IO]", "[DISC_IO]"),
    ("[DISK_IO]", "DISK_IO"),
    ("DNS-Client:4:3008", "DNS-Client:300"),
    ("arguments: { a: 1 }", "arguments: [a]"),
    ("arguments: { a: 1 }", "level: 4"),
    ("provider: 'System.Runtime:1', ", ""),
    ("kernel: ", "kernels: "),
    ("test_writes_total", "test_writes"),
    ("test_writes_total", "Test_writes_total"),
    ("test_writes_total", "test-writes_total"),
    ("test_writes_total", "etw_exporter_writes_total"),
    ("test_size_bytes", "test_size_total"),
    ("test_size_bytes", "test_size_bytes_count"),
    ("test_running", "etw_disk_info"),
    ("type: counter", "type: count"),
    ("type: histogram", "type: summary"),
    ("type: counter", "type: gauge"),
    ("type: gauge", "type: gauges"),
    ("    type: counter\n", ""),
    ("    labels: { disk: DiskNumber }", "    lables: { disk: DiskNumber }"),
    ("    events:\n      - { event: DiskIo/Write, where: [{ field: IrpFlags, has: 0x1 }] }\n", ""),
    ("events:\n      - { event: DiskIo/Write, where: [{ field: IrpFlags, has: 0x1 }] }\n", "events: []\n"),
    ("help: Of the test.\n    labels", "help: Of the test.\n    max_series: 0\n    labels"),
    ("help: Of the test.\n    labels", "help: Of the test.\n    op: inc\n    labels"),
    ("help: Of the test.\n    labels", "help: Of the test.\n    buckets: [1]\n    labels"),
    ("    buckets: [512, 4096]\n", ""),
    ("[512, 4096]", "[]"),
    ("[512, 4096]", "[0, 1]"),
    ("[512, 4096]", "[0.5, 1]"),
    ("[512, 4096]", "[small, large]"),
    ("[512, 4096]", "{ start: 1.5, width: 1, count: 2 }"),
    ("factor: 2, ", ""),
    ("factor: 2, ", "factor: 2, width: 1, "),
    ("factor: 2", "factor: 1"),
    ("count: 16", "count: 65"),
    ("count: 16", "count: few"),
    ("start: 1e-6", "start: -1"),
    (", op: inc", ""),
    ("op: inc", "op: add"),
    ("has: 0x1", "exists: maybe"),
    ("{ event: Process/Start, op: inc }", "{ event: Process/Start, op: inc, value: SessionId, unit: percent }"),
    ("type: gauge\n", "type: gauge\n    decimals: 10\n"),
    ("type: gauge\n", "type: gauge\n    decimals: '3'\n"),
    ("[512, 4096]", "['512', 4096]"),
    ("has: 0x1", "has: '0x1'"),
    ("'Microsoft-Windows-DNS-Client:4:3008'", "1"),
    ("name: test_running\n    type: gauge\n", "name: test_ratio\n    type: gauge\n    decimals: 3\n"),
    ("help: Of the test.\n    labels", "help: Of the test.\n    decimals: 3\n    labels"),
    ("event: DiskIo/Write, where", "op: inc, event: DiskIo/Write, where"),
    ("event: DiskIo/Write, where", "event: DiskIo, where"),
    ("event: DiskIo/Write, where", "where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, version: 2, where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, version: [256], where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, version: '>=300', where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, unit: ticks, where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, pair: {}, where"),
    *(("value: HighResResponseTime, unit: ticks", f"value: Duration, pair: {{ {pair} }}") for pair in (
        "stop: DiskIo/Write, key: [Irp]",
        "start: DiskIo/WriteInit, stop: DiskIo/Write",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: Irp",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: []",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [" + ", ".join(["Irp"] * 9) + "]",
        "start: '*', stop: DiskIo/Write, key: [Irp]",
        "start: WriteInit, stop: DiskIo/Write, key: [Irp]",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], timeout: 30",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], timeout: 0s",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], timeout: 25h",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], carry: {}",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], carry: [Cpu]",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], carry: { a: Cpu, b: Cpu, c: Cpu, d: Cpu, e: Cpu }",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], carried_by: DiskIo/WriteInit",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], carry: { a: Cpu }, carried_by: '*'",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], keep: on",
        "start: DiskIo/WriteInit, stop: DiskIo/Write, key: [Irp], end: x")),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, since: HighResResponseTime, where"),
    ("event: DiskIo/Write, where", "event: DiskIo/Write, value: TransferSize, unit: KB, where"),
    ("unit: ticks", "unit: ps"),
    ("unit: ticks", "unit: KB"),
    ("unit: ticks", "unit: ticks, since: HighResResponseTime"),
    ("value: HighResResponseTime, unit: ticks", "labels: {}"),
    (", value: TransferSize", ""),
    ("value: TransferSize", "value: TransferSize, unit: ms"),
    ("value: TransferSize", "value: [TransferSize]"),
    ("value: TransferSize", "value: ''"),
    ("where: [{ field: IrpFlags, has: 0x1 }]", "where: { field: IrpFlags, has: 0x1 }"),
    ("field: IrpFlags, has: 0x1", "field: IrpFlags"),
    ("field: IrpFlags, has: 0x1", "has: 0x1"),
    ("has: 0x1", "has: 0x1, lacks: 2"),
    ("has: 0x1", "has: one"),
    ("has: 0x1", "gt: 1.5"),
    ("has: 0x1", "in: []"),
    ("has: 0x1", "in: 1"),
    ("has: 0x1", "contains: 1"),
    ("{ disk: DiskNumber }", "[DiskNumber]"),
    ("{ disk: DiskNumber }", "{ le: DiskNumber }"),
    ("{ disk: DiskNumber }", "{ __disk: DiskNumber }"),
    ("{ disk: DiskNumber }", "{ disk-number: DiskNumber }"),
    ("{ disk: DiskNumber }", "{ disk: [DiskNumber] }"),
    ("{ disk: DiskNumber }", "{ disk: { text: a, field: DiskNumber } }"),
    ("{ disk: DiskNumber }", "{ disk: {} }"),
    ("{ disk: DiskNumber }", "{ disk: { field: DiskNumber, map: { 0: a } } }"),
    ("{ disk: DiskNumber }", "{ disk: { field: DiskNumber, default: a } }"),
    ("{ disk: DiskNumber }", "{ disk: { field: DiskNumber, map: {}, default: a } }"),
    ("{ disk: DiskNumber }", "{ disk: { field: DiskNumber, map: { 0: a }, default: b, decode: [hex] } }"),
    ("{ disk: DiskNumber }", "{ disk: { field: DiskNumber, maps: { 0: a }, default: b } }"),
    ("{ disk: DiskNumber }", "{ " + ", ".join(f"l{i}: DiskNumber" for i in range(9)) + " }"),
    ("[lower]", "lower"),
    ("[lower]", "[]"),
    ("[lower]", "[Lower]"),
    ("[lower]", "[1]"),
    ("[lower]", "[[lower]]"),
    ("{ short: [basename] }", "{}"),
    ("{ short: [basename] }", "{ Short: [basename] }"),
    ("{ short: [basename] }", "{ short: basename }"),
    ("{ short: [basename] }", "{ short: [] }"),
    ("{ io: { start: DiskIo/WriteInit, key: [Irp] } }", "{}"),
    ("{ io: { start: DiskIo/WriteInit, key: [Irp] } }", "{ Io: { start: DiskIo/WriteInit, key: [Irp] } }"),
    ("{ io: { start: DiskIo/WriteInit, key: [Irp] } }", "{ io: { start: DiskIo/WriteInit } }"),
    ("{ io: { start: DiskIo/WriteInit, key: [Irp] } }", "{ io: io }"),
    ("value: HighResResponseTime, unit: ticks", "value: Duration, pair: Io"),
    ("value: HighResResponseTime, unit: ticks", "value: Duration, pair: [io]"),
    ("[lower]", "[{ regex: a }]"),
    ("[lower]", "[{ regex: a, with: b }]"),
    ("[lower]", "[" + ", ".join(["lower"] * 17) + "]"),
    ("[lower]", "[{ bits: {} }]"),
    ("[lower]", "[{ bits: { 0: none } }]"),
    ("[lower]", "[{ bits: { read: 1 } }]"),
    ("[lower]", "[{ bits: [1] }]"),
    ("[lower]", "[{ bits: { 1: read }, replace: x }]"),
]

# ---- YAML as editors read it ----

PLAIN = [  # "10.3.2. Tag Resolution", YAML 1.2.2
    (re.compile(r"(|~|null|Null|NULL)"), lambda text: None),
    (re.compile(r"(true|True|TRUE|false|False|FALSE)"), lambda text: text.lower() == "true"),
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+"), lambda text: int(text, 0)),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
]


def value_of(node):
    if isinstance(node, yaml.MappingNode):
        return {key.value: value_of(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(entry) for entry in node.value]
    if node is None:
        return None
    if node.style is None:
        for pattern, read in PLAIN:
            if pattern.fullmatch(node.value):
                return read(node.value)
    return node.value


# ---- the test ----


class Test:
    def __init__(self, folder):
        schema = json.loads((ROOT / "config/schema.json").read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        self.validator = Draft202012Validator(schema)
        self.folder = Path(folder)
        self.files = self.faults = 0

    def fault(self, what, text):
        self.faults += 1
        print(f"{what}: {text}")

    def check(self, good, what, text, program):
        """Schema and program (exit status, what it says) agree that the text is good, or not."""
        self.files += 1
        error = next(self.validator.iter_errors(value_of(yaml.compose(text))), None)
        if (error is None) != good:
            self.fault(what, "the schema accepts it" if error is None else f"the schema: {error.json_path}: {error.message}")
        if program and program.returncode != (0 if good else 2):
            self.fault(what, f"the program: exit {program.returncode} {program.stderr.decode().strip()}")

    def run(self, config):
        path = self.folder / "config.yaml"
        path.write_text(config, encoding="utf-8")
        return subprocess.run([os.environ["ETWTOOL"], "check", "config", path], capture_output=True, check=False)

    def config(self, good, text):
        self.check(good, text, text, self.run(text))

    def collector(self, good, change):
        if COLLECTOR.count(change[0]) == 0:
            self.fault(change, "it is not in the collector")
        text = COLLECTOR.replace(*change, 1)
        (self.folder / "mine.yaml").write_text(text, encoding="utf-8")
        self.check(good, f"{change[0]!r} -> {change[1]!r}", text, self.run("collector_files: [mine.yaml]"))


def written_anew():
    """Whether config/schema.json is what the tables of the program say."""
    made = subprocess.run([os.environ["MAKE_SCHEMA"]], capture_output=True, check=True).stdout
    if made == (ROOT / "config/schema.json").read_bytes():
        return True
    print("config/schema.json is not what the tables say; build/release/make_schema >config/schema.json writes it anew")
    return False


def main():
    with tempfile.TemporaryDirectory() as folder:
        test = Test(folder)
        shipped = sorted((ROOT / "config/collectors").glob("*.yaml"))
        for path in [ROOT / "config/etw_exporter.yaml", *shipped]:
            test.check(True, path, path.read_text(encoding="utf-8"), None)
        page = (ROOT / "config/README.md").read_text(encoding="utf-8")
        for text in re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
            test.check(True, text, text, None)
        test.collector(True, ("", ""))
        for change in RIGHT_COLLECTORS:
            test.collector(True, change)
        for change in WRONG_COLLECTORS:
            test.collector(False, change)
        for text in RIGHT_CONFIGS:
            test.config(True, text)
        for text in WRONG_CONFIGS:
            test.config(False, text)
        print(f"{test.files} files, {test.faults} faults")
        return 0 if written_anew() and shipped and not test.faults else 1


if __name__ == "__main__":
    sys.exit(main())
