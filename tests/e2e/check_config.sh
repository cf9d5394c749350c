#!/usr/bin/env bash
# Everything that is wrong with a configuration and its collectors is said at once, each with its place.
. "${BASH_SOURCE%/*}/lib.bash"

cd "$work"

# refused FILE: both programs refuse the configuration with status 2 and say the lines of standard input, no others.
refused() {
	local status=0
	cat >expected
	"$ETWTOOL" check config "$1" >out 2>err || status=$?
	[ "$status" = 2 ] || fail "etwtool: status $status, not 2: $(cat err)"
	diff expected err || fail "etwtool says this instead"
	[ ! -s out ] || fail "etwtool calls it good as well"
	status=0
	"$ETW_EXPORTER" --check-config --config.file="$1" >out 2>err || status=$?
	[ "$status" = 2 ] || fail "etw_exporter: status $status, not 2: $(cat err)"
	sed 's/^/etw_exporter: /' expected | diff - err || fail "etw_exporter says this instead"
	[ ! -s out ] || fail "etw_exporter calls it good as well"
}

# ---- several files, several mistakes in each ----

cat >etw.yaml <<'END'
collectors: { disk: on }
collector_files: [one.yaml, two.yaml, three.yaml]
limits: { series: many, procesess: 3 }
log: { level: loud }
filters:
  processes: { exclude: ['(a'] }
  events: [{ event: FileIo/Raed }, { event: [] }]
END
# A key that is misspelt is not missing as well, and what depends on the type is not wrong because the type is.
cat >one.yaml <<'END'
collector: one
help: One.
default: maybe
metrics:
  - name: one_total
    typ: gauge
    op: set
    help: One.
    labels: { process: Process }
    events:
      - { evnt: FileIo/Write, where: [{ field: IoSize, gt: 65536 }] }
      - { event: FileIo/Raed }
      - { event: FileIo/Read, where: [{ feild: IoSize, gt: 65536 }, { field: IoSize, is: 3 }] }
  - name: one_seconds
    type: histogram
    help: Two.
    buckets: [1, 2, 2]
    events:
      - { event: DiskIo/Read, value: HighResResponseTime, unit: tick }
END
cat >two.yaml <<'END'
collector: two
help: Two.
default: on
metrics:
  - name: two_total
    type: counter
    help: One.
    labels: { volume: Volum, process: Process }
    events:
      - { event: FileIo/Write, where: [{ field: IoSiz, gt: 65536 }] }
      - { event: FileIo/Write, value: Offst, where: [{ field: IoSize, gt: x }] }
END
printf 'collector: three\nhelp: "x\n' >three.yaml
refused etw.yaml <<'END'
etw.yaml:3:19: series: 'many' is not a whole number from 0
etw.yaml:3:25: unknown key 'procesess'; did you mean 'processes'?
etw.yaml:4:15: unknown level 'loud'; known: debug, info, warn, warning, error
etw.yaml:6:26: regular expression '(a': missing closing parenthesis at character 3
etw.yaml:7:21: unknown event 'FileIo/Raed'; did you mean 'FileIo/Read'?
etw.yaml:7:45: event: expected text, found a list
one.yaml:3:10: default: expected on or off, found 'maybe'
one.yaml:6:5: unknown key 'typ'; did you mean 'type'?
one.yaml:11:11: unknown key 'evnt'; did you mean 'event'?
one.yaml:12:18: unknown event 'FileIo/Raed'; did you mean 'FileIo/Read'?
one.yaml:13:41: unknown key 'feild'; did you mean 'field'?
one.yaml:13:86: unknown key 'is'; did you mean 'in'?
one.yaml:17:21: buckets: bound 2 is not greater than the one before
one.yaml:19:65: unknown unit 'tick'; did you mean 'ticks'?
two.yaml:8:23: event 'FileIo/Write' has no field 'Volum'; did you mean 'Volume'?
two.yaml:10:49: event 'FileIo/Write' has no field 'IoSiz'; did you mean 'IoSize'?
two.yaml:11:39: event 'FileIo/Write' has no field 'Offst'; did you mean 'Offset'?
two.yaml:11:75: 'x' is not a number, as field 'IoSize' is
three.yaml:2:7: the quote that opens here is not closed
END

# ---- a bounded number ----

{
	printf 'limits:\n'
	for i in {1..30}; do printf '  z%d: 1\n' "$i"; done
} >many.yaml
known='series_per_family, series, processes, threads, files, top_paths, shares, process_names, strings, idle'
{
	for i in {1..20}; do printf "many.yaml:%d:3: unknown key 'z%d'; known: %s\n" $((i + 1)) "$i" "$known"; done
	printf 'and 10 more\n'
} | refused many.yaml

# ---- a family of a shipped collector ----

printf 'collector_files: [clash.yaml]\n' >clash_config.yaml
cat >clash.yaml <<'END'
collector: clash
help: Clash.
default: on
metrics:
  - name: etw_events_total
    type: counter
    help: Mine.
    events: [{ event: FileIo/Read }]
END
refused clash_config.yaml <<'END'
clash.yaml:5:11: 'etw_events_total' is already a family of the shipped collector 'events', with another help
END

# ---- patterns that match nothing ----

mkdir my-collectors
printf 'collector_files: ["my-colectors/*.yaml"]\n' >pattern.yaml
warning="pattern.yaml:1:19: warning: collector_files: 'my-colectors/*.yaml' matches no file; \
there is no folder 'my-colectors'; did you mean 'my-collectors'?"
"$ETWTOOL" check config pattern.yaml >out 2>err || fail "etwtool refuses a pattern that matches nothing: $(cat err)"
grep -q '^pattern.yaml: good' out || fail "$(cat out)"
grep -Fxq "$warning" err || fail "etwtool does not warn: $(cat err)"
"$ETW_EXPORTER" --check-config --config.file=pattern.yaml >out 2>err || fail "etw_exporter refuses it: $(cat err)"
grep -Fxq "etw_exporter: $warning" err || fail "--check-config does not warn: $(cat err)"
"$MAKE_SAMPLE" sample.etl >/dev/null
"$ETW_EXPORTER" --config.file=pattern.yaml --once --replay.file=sample.etl >out 2>err || fail "it does not run"
grep -q "level=warn.* msg=.*my-collectors" err || fail "the log has no warning: $(cat err)"

printf 'collector_files: [my-colectors/disk.yaml]\nschemas: [disk.man]\n' >path.yaml
refused path.yaml <<'END'
path.yaml:1:19: collector_files: 'my-colectors/disk.yaml' cannot be opened: No such file or directory; there is no folder 'my-colectors'; did you mean 'my-collectors'?
path.yaml:2:11: schemas: 'disk.man' cannot be opened: No such file or directory; there is 'clash.yaml', for example
END

# ---- collectors that no session feeds ----

printf 'log: { level: info }\nkernel_events: off\n' >user.yaml
warning='user.yaml:2:16: warning: with `kernel_events: off` these collectors count nothing, because only kernel events report what '\
'they count: memory; turn them off under `collectors:`'
"$ETWTOOL" check user.yaml >out 2>err || fail "etwtool refuses kernel_events: off: $(cat err)"
printf '%s\n' "$warning" | diff - err || fail "etwtool does not warn"
"$ETW_EXPORTER" --check-config --config.file=user.yaml >out 2>err || fail "etw_exporter refuses kernel_events: off: $(cat err)"
grep -Fxq "etw_exporter: $warning" err || fail "--check-config does not warn: $(cat err)"
printf 'collectors: { memory: off, file_top: on }\nkernel_events: off\n' >fed.yaml
"$ETWTOOL" check fed.yaml >out 2>err || fail "$(cat err)"
[ ! -s err ] || fail "a warning without cause: $(cat err)"
"$ETWTOOL" check --strict fed.yaml >out 2>err || fail "--strict fails without a warning: $(cat err)"
status=0
"$ETWTOOL" check --strict user.yaml >out 2>err || status=$?
[ "$status" = 1 ] || fail "check --strict: status $status with a warning"
grep -q '^user.yaml: good' out || fail "check --strict prints no report"
status=0
"$ETWTOOL" doctor --strict user.yaml >out 2>err || status=$?
[ "$status" = 1 ] || fail "doctor --strict: status $status with a warning"
"$ETW_EXPORTER" --config.file=user.yaml --once --replay.file=sample.etl >out 2>err || fail "it does not replay"
! grep -q "count nothing" err || fail "a replay needs no session: $(cat err)"

# ---- events that no session delivers, and providers that nobody knows ----

# warned FILE [LINE...]: both programs call the configuration good and warn of this, and of nothing else.
warned() {
	local file=$1
	shift
	printf '%s\n' "$@" | sed '/^$/d' >expected
	"$ETWTOOL" check "$file" >out 2>err || fail "etwtool refuses $file: $(cat err)"
	diff expected err || fail "etwtool warns of this instead"
	"$ETW_EXPORTER" --check-config --config.file="$file" >out 2>err || fail "etw_exporter refuses $file: $(cat err)"
	sed 's/^/etw_exporter: /' expected | diff - err || fail "etw_exporter warns of this instead"
}

# collector NEEDS EVENT...: needs.yaml has a collector with these.
collector() {
	printf 'collector: needs\nhelp: Needs.\ndefault: on\nneeds: %s\nmetrics:\n' "$1" >needs.yaml
	printf '  - name: needs_total\n    type: counter\n    help: Needs.\n    labels: { provider: Provider }\n    events:\n' >>needs.yaml
	shift
	printf '      - { event: %s }\n' "$@" >>needs.yaml
}
printf 'collector_files: [needs.yaml]\n' >needs_config.yaml

# The kernel's events bring their flags with them, so `needs` may be absent.
collector '{}' Registry/Create
warned needs_config.yaml
"$ETWTOOL" doctor needs_config.yaml >out || fail "doctor refuses it"
grep -q REGISTRY out || fail "doctor does not ask for REGISTRY: $(cat out)"
# Of a whole class it is unknown which.
collector '{}' "'FileIo/*'"
warned needs_config.yaml "needs.yaml:11:18: warning: no session is asked for 'FileIo/*': add a kernel flag to 'needs', at least one \
of DISK_FILE_IO, FILE_IO, FILE_IO_INIT, VAMAP, FLT_IO_INIT, FLT_IO, FLT_FASTIO, FLT_IO_FAILURE"
collector '{ kernel: [VAMAP] }' "'FileIo/*'"
warned needs_config.yaml
# What no flag enables is in recordings only.
collector '{ kernel: [DISK_IO] }' DiskIo/ReadInit
warned needs_config.yaml "needs.yaml:11:18: warning: no session delivers 'DiskIo/ReadInit': no kernel flag of 'needs' enables it"
collector '{ kernel: [POOL] }' Pool/32
warned needs_config.yaml
collector '{}' Pool/32
warned needs_config.yaml "needs.yaml:11:18: warning: no session delivers 'Pool/32': 'needs' names no kernel flag"
# A provider has a level, ids and keywords, which a rule does not name.
collector '{}' Microsoft-Windows-DNS-Client/3008 "'{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}/3006'" Unknown-Vendor-App/Start
warned needs_config.yaml \
	"needs.yaml:11:18: warning: no session is asked for 'Microsoft-Windows-DNS-Client/3008': 'needs' does not name this provider" \
	"needs.yaml:12:18: warning: no session is asked for '{1c95126e-7eea-49a9-a3fe-a378b03ddb4d}/3006': 'needs' does not name this provider" \
	"needs.yaml:13:18: warning: no session is asked for 'Unknown-Vendor-App/Start': 'needs' does not name this provider"
sed 's/^/sessions: { s: { logger: user, providers: [Microsoft-Windows-DNS-Client, Unknown-Vendor-App] } }\n/' needs_config.yaml >session.yaml
warned session.yaml
# Another collector that is on may ask for it, and without kernel events a second source.
printf 'collectors: { dns: on }\n' | cat - needs_config.yaml >with_dns.yaml
collector '{}' Microsoft-Windows-DNS-Client/3008
warned with_dns.yaml
collector "{ without_kernel: ['Microsoft-Windows-Kernel-File:4:15'] }" Microsoft-Windows-Kernel-File/15
warned needs_config.yaml
# Events that the level, the ids or the keywords leave out.
collector "{ providers: ['Microsoft-Windows-DNS-Client:4:3006,3010'] }" Microsoft-Windows-DNS-Client/3006 Microsoft-Windows-DNS-Client/3008 \
	Microsoft-Windows-DNS-Client/QueryCompleted
warned needs_config.yaml \
	"needs.yaml:12:18: warning: no session is asked for 'Microsoft-Windows-DNS-Client/3008': 'needs' names this provider, but leaves the event out by its id, level or keywords" \
	"needs.yaml:13:18: warning: no session is asked for 'Microsoft-Windows-DNS-Client/QueryCompleted': 'needs' names this provider, but leaves the event out by its id, level or keywords"
cat >shop.man <<'END'
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="Contoso-Shop" guid="{0f1e2d3c-0001-4000-8000-000000000001}" symbol="S" resourceFileName="x" messageFileName="x">
<events><event value="7" level="win:Verbose" symbol="Placed"/></events></provider></events></instrumentation></instrumentationManifest>
END
printf 'collector_files: [needs.yaml]\nschemas: [shop.man]\n' >shop.yaml
collector "{ providers: ['Contoso-Shop:4'] }" Contoso-Shop/7
warned shop.yaml "needs.yaml:11:18: warning: no session is asked for 'Contoso-Shop/7': 'needs' names this provider, but leaves \
the event out by its id, level or keywords"
collector "{ providers: ['{0f1e2d3c-0001-4000-8000-000000000001}:5'] }" Contoso-Shop/Placed
warned shop.yaml
collector "{ providers: ['Microsoft-Windows-Kernel-Process:5::0x20'] }" Microsoft-Windows-Kernel-Process/1
warned needs_config.yaml "needs.yaml:11:18: warning: no session is asked for 'Microsoft-Windows-Kernel-Process/1': 'needs' names this \
provider, but leaves the event out by its id, level or keywords"
# A provider gets one set of arguments.
arguments() {
	sed "s/^needs:.*/needs: { providers: [{ provider: '$1', arguments: { $2 } }] }/; s/^collector: .*/collector: $3/; s/etw_mine/etw_$3/" \
		needs.yaml >"$3.yaml"
}
collector '{}' System.Runtime/EventCounters
arguments System.Runtime:1 'EventCounterIntervalSec: 10' first
arguments '{49592c0f-5a05-516d-aa4b-a64e02026c89}:1' 'EventCounterIntervalSec: 5' second
printf 'collector_files: [first.yaml, second.yaml]\n' >arguments.yaml
warned arguments.yaml "second.yaml:4:34: warning: these arguments are not used: 'System.Runtime' is in the collector 'first' with other arguments, or none"
arguments System.Runtime:1 'EventCounterIntervalSec: 10' second
warned arguments.yaml
printf 'sessions: { s: { providers: [System.Runtime:1] } }\n' >>arguments.yaml
warned arguments.yaml "first.yaml:4:34: warning: these arguments are not used: 'System.Runtime' is in 'sessions' with other arguments, or none" \
	"second.yaml:4:34: warning: these arguments are not used: 'System.Runtime' is in 'sessions' with other arguments, or none"
# Misspelt, in one place or in both.
collector "{ providers: ['Microsoft-Windows-DNS-Cliennt:4'] }" Microsoft-Windows-DNS-Client/3008
warned needs_config.yaml \
	"needs.yaml:4:22: warning: no provider 'Microsoft-Windows-DNS-Cliennt' is known; did you mean 'Microsoft-Windows-DNS-Client'?" \
	"needs.yaml:11:18: warning: no session is asked for 'Microsoft-Windows-DNS-Client/3008': 'needs' does not name this provider"
collector "{ providers: ['Microsoft-Windows-DNS-Cliennt:4'] }" Microsoft-Windows-DNS-Cliennt/3008
warned needs_config.yaml \
	"needs.yaml:4:22: warning: no provider 'Microsoft-Windows-DNS-Cliennt' is known; did you mean 'Microsoft-Windows-DNS-Client'?"
collector "{ providers: ['Contoso-Shop-Orders:4'] }" Contoso-Shop-Order/Placed
warned needs_config.yaml \
	"needs.yaml:4:22: warning: no provider 'Contoso-Shop-Orders' is known, and no rule is about its events" \
	"needs.yaml:11:18: warning: no session is asked for 'Contoso-Shop-Order/Placed': 'needs' does not name this provider; did you mean 'Contoso-Shop-Orders'?"
# A provider whose name only its own machine knows, or whose GUID has no name here, may be the right one.
collector "{ providers: ['Contoso-Shop-Orders:4'] }" Contoso-Shop-Orders/Placed "'*'"
warned needs_config.yaml
collector "{ providers: ['{4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7}:4'] }" Contoso.Shop/OrderPlaced
warned needs_config.yaml
collector "{ providers: ['Contoso-Shop-Orders:4'] }" "'{4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7}/*'"
warned needs_config.yaml
# Both names may have slashes.
collector "{ providers: ['Contoso/Shop:4'] }" Contoso/Shop/Order/Placed Contoso/Shop/7
warned needs_config.yaml
# A replay takes what is in the recording. A check on a recording is for sessions, too.
collector '{}' Microsoft-Windows-DNS-Client/3008
for command in "check needs_config.yaml --with sample.etl" "doctor needs_config.yaml"; do
	# shellcheck disable=SC2086
	"$ETWTOOL" $command >out 2>err || fail "$command: $(cat err)"
	grep -q "needs.yaml:11:18: warning: no session is asked for" err || fail "$command does not warn: $(cat err)"
done
"$ETW_EXPORTER" --config.file=needs_config.yaml --once --replay.file=sample.etl >out 2>err || fail "it does not replay"
! grep -q "no session" err || fail "a replay needs no session: $(cat err)"

# ---- a flight recorder that would never record ----

mkdir rec
recorder() { # DIR SERIES...: recorder.yaml
	printf 'recorder:\n  dir: %s\n  on:\n' "$1" >recorder.yaml
	shift
	printf '    - { series: %s, above: 5 }\n' "$@" >>recorder.yaml
}
recorder rec etw_file_written_bytes_total "'etw_file_operations_total{operation=\"read\"}'" etw_session_events_lost_total etw_disk_info \
	etw_exporter_series_overflow_total etw_disk_operation_duration_seconds
warned recorder.yaml
recorder rec "'etw_file_writen_bytes_total{process=\"x\"}'" etw_nonsense "'etw_file_written_bytes_total{proces=\"x\"}'" \
	etw_dns_queries_total etw_file_top_written_bytes "'etw_session_events_lost_total{sesion=\"x\"}'"
warned recorder.yaml \
	"recorder.yaml:4:17: warning: this rule never fires: there is no metric 'etw_file_writen_bytes_total'; did you mean 'etw_file_written_bytes_total'?" \
	"recorder.yaml:5:17: warning: this rule never fires: there is no metric 'etw_nonsense'" \
	"recorder.yaml:6:17: warning: 'etw_file_written_bytes_total' has no label 'proces'; did you mean 'process'?" \
	"recorder.yaml:7:17: warning: this rule never fires: the collector of 'etw_dns_queries_total' is off: dns" \
	"recorder.yaml:8:17: warning: this rule never fires: the collector of 'etw_file_top_written_bytes' is off: file_top" \
	"recorder.yaml:9:17: warning: 'etw_session_events_lost_total' has no label 'sesion'; did you mean 'session'?"
"$ETWTOOL" check recorder.yaml --with sample.etl >out 2>err || fail "$(cat err)"
[ "$(grep -c '^recorder.yaml:.*warning' err)" = 6 ] || fail "check --with says: $(cat err)"
# Without a folder there is no recorder, and its rules do not matter.
sed -i '/dir:/d' recorder.yaml
warned recorder.yaml
# The folder of a recorder is needed where it runs. Other machines, on which configurations are checked as well, need not have it.
recorder nowhere etw_file_written_bytes_total
"$ETWTOOL" check recorder.yaml >out 2>err || fail "etwtool refuses a folder that this machine does not have: $(cat err)"
[ "$(cat err)" = "recorder.yaml:2:8: warning: recorder: dir: 'nowhere' is not a folder here" ] || fail "$(cat err)"
status=0
"$ETW_EXPORTER" --check-config --config.file=recorder.yaml >out 2>err || status=$?
[ "$status" = 2 ] || fail "--check-config: status $status without the folder of the recorder"
[ "$(cat err)" = "etw_exporter: recorder.yaml:2:8: recorder: dir: 'nowhere' is not a folder" ] || fail "$(cat err)"
[ ! -s out ] || fail "--check-config calls it valid: $(cat out)"

# ---- spellings of comparisons ----

printf 'collector_files: [signs.yaml]\nsessions: { u: { logger: user, providers: [{ provider: Contoso, payload: [%s] }] } }\n' \
	"{ event: 1, all: [{ field: a, '!=': 1 }, { field: b, <=: 2 }, { field: c, =: 3 }] }" >signs_config.yaml
cat >signs.yaml <<'END'
collector: signs
help: Signs.
default: on
metrics:
  - name: signs_total
    type: counter
    help: Signs.
    events:
      - { event: FileIo/Write, where: [{ field: IoSize, '>': 65536 }, { field: Offset, <=: 100000000 }] }
      - event: FileIo/Read
        where:
          - { field: IoSize, ==: 4096 }
          - { field: Process, '!=': System }
          - field: Path
            =~: '\.mdf$'
END
"$ETWTOOL" check config signs_config.yaml >out 2>err || fail "spellings are refused: $(cat err)"
sed "s/==: 4096/'!~': 4096/; s/'!=': System/'>': System/" signs.yaml >signs2.yaml
sed -i 's/: signs$/: signs2/; s/signs_total/signs2_total/' signs2.yaml
printf 'collector_files: [signs2.yaml]\n' >signs2_config.yaml
refused signs2_config.yaml <<'END'
signs2.yaml:12:30: unknown key '!~'; known: field, eq, ne, lt, le, gt, ge, in, has, lacks, starts, ends, matches, exists
END

# ---- the shipped configuration and config/README.md list every collector with its default ----

for file in "$SOURCE_DIR"/config/collectors/*.yaml; do
	name=$(basename "$file" .yaml)
	default=$(sed -n 's/^default: //p' "$file")
	grep -Eq "^#   $name +$default " "$SOURCE_DIR/config/etw_exporter.yaml" || fail "etw_exporter.yaml: no $name, $default"
	grep -Eq "^\| .*\`$name\`.* \| $default \|" "$SOURCE_DIR/config/README.md" || fail "config/README.md: no $name, $default"
done
