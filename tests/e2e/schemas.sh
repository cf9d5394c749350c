#!/usr/bin/env bash
# Manifests given by configuration and by option: what is reported about faults in them and in rules that name their events.
. "${BASH_SOURCE%/*}/lib.bash"

manifest() { # of a provider with one event, whose first field is called $1
	cat <<-END
		<instrumentationManifest><instrumentation><events>
		<provider name="Contoso-Plant" guid="{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}">
		<tasks><task name="Valve" value="1"/></tasks>
		<events><event value="7" task="Valve" opcode="win:Start" symbol="ValveOpened" template="T"/></events>
		<templates><template tid="T"><data name="$1" inType="win:UInt32"/><data name="Name" inType="win:UnicodeString"/></template>
		</templates></provider></events></instrumentation></instrumentationManifest>
	END
}

collector() { # event, value
	cat >"$work/plant.yaml" <<-END
		collector: plant
		help: A plant.
		default: on
		metrics:
		  - name: plant_litres_total
		    type: counter
		    help: Litres.
		    labels: { valve: Name }
		    events:
		      - event: $1
		        value: $2
	END
}

# refused SENTENCE: both programs refuse the configuration for this reason, among others, with status 2.
refused() {
	local status=0
	"$ETWTOOL" check config "$work/config.yaml" >/dev/null 2>"$work/why" || status=$?
	[ "$status" = 2 ] || fail "status $status, not 2: $(cat "$work/why")"
	sed "s|$work/||g" "$work/why" | grep -Fxq "$1" || fail "it says: $(cat "$work/why")"
	status=0
	"$ETW_EXPORTER" --check-config --config.file="$work/config.yaml" >/dev/null 2>"$work/why" || status=$?
	[ "$status" = 2 ] || fail "etw_exporter: status $status, not 2"
}

mkdir "$work/manifests"
manifest Litres >"$work/manifests/plant.man"
printf 'schemas: [manifests]\ncollector_files: [plant.yaml]\n' >"$work/config.yaml"
for event in Contoso-Plant/Valve/Start Contoso-Plant/ValveOpened Contoso-Plant/7 'Contoso-Plant/*' \
	"'{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}/valve/start'"; do
	collector "$event" Litres
	"$ETWTOOL" check config "$work/config.yaml" >/dev/null || fail "$event is refused"
done

collector Contoso-Plant/Valve/Start Liters
refused "plant.yaml:11:16: event 'Contoso-Plant/Valve/Start' has no field 'Liters'; did you mean 'Litres'?"
collector Contoso-Plant/Valve/Start Name
refused "plant.yaml:11:16: field 'Name' is text, not a number"
collector Contoso-Plant/Valve/Strat Litres
refused "plant.yaml:10:16: unknown event 'Contoso-Plant/Valve/Strat'; did you mean 'Contoso-Plant/Valve/Start'?"
collector Contoso-Plant/8 Litres
refused "plant.yaml:10:16: unknown event 'Contoso-Plant/8'"
# The built-in manifests know some events of their providers: near misses are refused, others may arrive.
collector Microsoft-Windows-TCPIP/TcpConnectTcbFalure Status
refused "plant.yaml:10:16: unknown event 'Microsoft-Windows-TCPIP/TcpConnectTcbFalure'; did you mean 'Microsoft-Windows-TCPIP/TcpConnectTcbFailure'?"
collector Microsoft-Windows-TCPIP/1034 Statsu
refused "plant.yaml:11:16: event 'Microsoft-Windows-TCPIP/1034' has no field 'Statsu'; did you mean 'Status'?"
for event in Microsoft-Windows-TCPIP/TcpipSendSlowPath Microsoft-Windows-TCPIP/1300 Contoso-Unknown/Valve; do
	collector "$event" Litres
	"$ETWTOOL" check config "$work/config.yaml" >/dev/null || fail "$event is refused, though it may arrive"
done

# What is wrong with a manifest has a place. A file that is named alone must be right.
collector Contoso-Plant/7 Litres
manifest Litres | sed 's/win:UInt32/win:Uint33/' >"$work/manifests/plant.man"
printf 'schemas: [manifests/plant.man]\ncollector_files: [plant.yaml]\n' >"$work/config.yaml"
refused "manifests/plant.man:5:30: unknown 'inType' 'win:Uint33' of field 'Litres'"
printf '<instrumentationManifest>\n <b></c>' >"$work/manifests/plant.man"
refused "manifests/plant.man:2:7: invalid XML: mismatched tag"

# Of those in a folder, or that a pattern matches, the bad one is left out with a warning, and the others count.
bad='manifests/plant.man:2:7: warning: invalid XML: mismatched tag; this file is left out'
manifest Litres >"$work/manifests/x.man"
for schemas in manifests 'manifests/*.man'; do
	printf 'schemas: ["%s"]\ncollector_files: [plant.yaml]\n' "$schemas" >"$work/config.yaml"
	"$ETWTOOL" check config "$work/config.yaml" >/dev/null 2>"$work/why" || fail "$schemas is refused: $(cat "$work/why")"
	sed "s|$work/||g" "$work/why" | grep -Fxq "$bad" || fail "$schemas: it says: $(cat "$work/why")"
	"$ETW_EXPORTER" --check-config --config.file="$work/config.yaml" >"$work/out" 2>"$work/why" || fail "$schemas is refused: $(cat "$work/why")"
	sed "s|$work/||g" "$work/why" | grep -Fxq "etw_exporter: $bad" || fail "$schemas: it says: $(cat "$work/why")"
	collector Contoso-Plant/7 Liters
	refused "plant.yaml:11:16: event 'Contoso-Plant/7' has no field 'Liters'; did you mean 'Litres'?"
	collector Contoso-Plant/7 Litres
done
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
expect_exit 0 "etwtool stats: .*/${bad#*/}" "$ETWTOOL" stats "$work/sample.etl" --schema "$work/manifests"
expect_exit 2 "plant.man:2:7: invalid XML: mismatched tag" "$ETWTOOL" stats "$work/sample.etl" --schema "$work/manifests/plant.man"
rm "$work/manifests/plant.man" "$work/manifests/x.man"
printf 'schemas: [manifests/plant.man]\n' >"$work/config.yaml"
if "$ETWTOOL" check config "$work/config.yaml" 2>"$work/why"; then fail "a manifest that is not there is fine"; fi
grep -q "config.yaml:1:11: schemas: 'manifests/plant.man' cannot be opened" "$work/why" || fail "it says: $(cat "$work/why")"

# By option: several times, files and folders; --schema alone makes nothing else known.
manifest Litres >"$work/manifests/b.xml"
printf 'collector_files: [plant.yaml]\n' >"$work/config.yaml"
collector Contoso-Plant/7 Gallons
"$ETWTOOL" check config "$work/config.yaml" >/dev/null || fail "a provider that no manifest describes is refused"
for given in "$work/manifests" "$work/manifests/b.xml"; do
	if "$ETWTOOL" check config "$work/config.yaml" --schema "$given" 2>"$work/why"; then fail "--schema $given has no effect"; fi
	grep -q "has no field 'Gallons'" "$work/why" || fail "it says: $(cat "$work/why")"
done
for command in dump summary stats providers fields backfill; do
	words=("$work/sample.etl")
	[ "$command" != fields ] || words+=(FileIo/Write)
	if "$ETWTOOL" "$command" "${words[@]}" --schema "$work/none.man" 2>"$work/why"; then fail "$command: no such manifest, and no word"; fi
	grep -q "etwtool $command: .*none.man: cannot be opened" "$work/why" || fail "it says: $(cat "$work/why")"
done

clr=$reference_manifests/ClrEtwAll.man
needs "$traces/gcevents.etl" "$clr"

# gcevents.etl has no schema in it. The values are read by hand in the raw payloads that NAME.events.jsonl shows, little-endian:
# 10: "80ab0100 00000000 0800 80ab010000000000 28f86c48fb7f0000 530079007300…": amount 0x1ab80 = 109440, kind 0, CLR 8, the amount
#     again in 64 bits, type 0x7ffb486cf828 = 140717228619816, then UTF-16 "System.Text…"
# 4:  "4802000000000000 a8be040000000000 48cb040000000000 …": 0x248 = 584, 0x4bea8 = 310952, 0x4cb48 = 314184
# 1:  "02000000 02000000 01000000 00000000 0800 0000000000000000": count 2, depth 2, reason 1 (Induced), type 0
dump() { # options
	"$ETWTOOL" dump "$traces/gcevents.etl" "$@" >"$work/dump" || fail "dump $*"
}
seen() { # what must stand in the dump
	grep -qF "$1" "$work/dump" || fail "the dump has no $1"
}
check_values() {
	seen '"event": "GarbageCollection/GCAllocationTick", "fields": {"AllocationAmount": 109440, "AllocationKind": 0, "ClrInstanceID": 8, "AllocationAmount64": 109440, "TypeID": 140717228619816, "TypeName": "System.Text'
	seen '"event": "GarbageCollection/GCHeapStats", "fields": {"GenerationSize0": 584, "TotalPromotedSize0": 310952, "GenerationSize1": 314184,'
	seen '"event": "GarbageCollection/Start", "fields": {"Count": 2, "Depth": 2, "Reason": 1, "Type": 0, "ClrInstanceID": 8, "ClientSequenceNumber": 0}'
	seen '"provider_name": "Microsoft-Windows-DotNETRuntime"'
}
dump --builtin
check_values
dump --schema "$clr"
check_values
dump
if grep -q 'AllocationAmount\|DotNETRuntime' "$work/dump"; then fail "dump shows what the recording does not contain"; fi
"$ETWTOOL" summary "$traces/gcevents.etl" --builtin >"$work/summary"
grep -q '"Microsoft-Windows-DotNETRuntime"' "$work/summary" || fail "summary --builtin names no provider"
"$ETWTOOL" dump "$traces/gcevents.etl" --format text >"$work/dump"
grep -q 'GCAllocationTick.*AllocationAmount=' "$work/dump" || fail "text has no fields of the built-in manifests"
"$ETWTOOL" summary "$traces/gcevents.etl" >"$work/summary"
if grep -q DotNETRuntime "$work/summary"; then fail "summary shows what the recording does not contain"; fi

# The documentation of .NET calls the task GC, the manifest GarbageCollection; a part of a name is no answer to a whole one.
for name in GC/Start gc/start GarbageColection/Start; do
	expect_exit 1 "no event '$name'; did you mean 'GarbageCollection/Start'\?" "$ETWTOOL" fields "$traces/gcevents.etl" "$name"
	expect_exit 1 "no event '$name'; did you mean 'GarbageCollection/Start'\?" "$ETWTOOL" dump "$traces/gcevents.etl" --event "$name"
done

# Another manifest of the same provider comes before the built-in one, for all that look at events as rules do.
manifest Litres | sed 's/aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001/e13c0d23-ccbc-4e12-931b-d9cc2eee27e4/; s/value="7"/value="10" version="4"/' >"$work/clr.man"
"$ETWTOOL" stats "$traces/gcevents.etl" >"$work/stats"
grep -q 'Microsoft-Windows-DotNETRuntime/GarbageCollection/GCAllocationTick$' "$work/stats" || fail "stats does not use what is built in: $(cat "$work/stats")"
"$ETWTOOL" stats "$traces/gcevents.etl" --schema "$work/clr.man" >"$work/stats"
grep -q ' 12 .*/Valve/Start$' "$work/stats" || fail "stats: $(cat "$work/stats")"
"$ETWTOOL" providers "$traces/gcevents.etl" --schema "$work/clr.man" >"$work/providers"
grep -q '12  Valve/Start (id 10)  Litres, Name$' "$work/providers" || fail "providers: $(cat "$work/providers")"
"$ETWTOOL" fields "$traces/gcevents.etl" Valve/Start --schema "$work/clr.man" >"$work/fields"
grep -q 'value: Litres' "$work/fields" || fail "fields: $(cat "$work/fields")"

# Counting uses the built-in manifests without a word, names of values included.
cat >"$work/gc.yaml" <<'END'
collector: gc
help: Garbage collections.
default: on
metrics:
  - name: gc_total
    type: counter
    help: By reason.
    labels: { reason: Reason }
    events:
      - { event: Microsoft-Windows-DotNETRuntime/GarbageCollection/Start }
END
printf 'collector_files: [gc.yaml]\n' >"$work/config.yaml"
"$ETW_EXPORTER" --once --config.file="$work/config.yaml" --replay.file="$traces/gcevents.etl" >"$work/page" || fail "replay"
grep -qx 'gc_total{reason="Induced"} 2' "$work/page" || fail "no collection was induced: $(grep ^gc_total "$work/page")"
sed 's|Collection/Start|&, where: [{ field: Reason, eq: Induced }, { field: Type, ne: BackgroundGC }]|; s/: Reason }$/: { field: Reason, map: { Induced: on demand }, default: other } }/' \
	"$work/gc.yaml" >"$work/named.yaml"
printf 'collector_files: [named.yaml]\n' >"$work/named_config.yaml"
sed -i 's/collector: gc/collector: named/' "$work/named.yaml"
"$ETW_EXPORTER" --once --config.file="$work/named_config.yaml" --replay.file="$traces/gcevents.etl" >"$work/page" || fail "names of values are refused"
grep -qx 'gc_total{reason="on demand"} 2' "$work/page" || fail "no collection was induced: $(grep ^gc_total "$work/page")"
sed -i 's/eq: Induced/eq: Inducd/' "$work/named.yaml"
if "$ETWTOOL" check config "$work/named_config.yaml" >/dev/null 2>"$work/why"; then fail "a name that no value has is fine"; fi
grep -q "'Inducd' is not a number, as field 'Reason' is" "$work/why" || fail "it says: $(cat "$work/why")"
"$ETWTOOL" backfill "$traces/gcevents.etl" --config "$work/config.yaml" >"$work/page" || fail "backfill"
grep -q '^gc_total{.*reason="Induced".*} 2 ' "$work/page" || fail "backfill knows no reason: $(grep ^gc_total "$work/page")"
sed -i 's|Microsoft-Windows-DotNETRuntime/GarbageCollection/Start|"{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}/Valve/Start"|; s/Reason/Litres/' "$work/gc.yaml"
"$ETWTOOL" backfill "$traces/gcevents.etl" --config "$work/config.yaml" --schema "$work/clr.man" >"$work/page" || fail "backfill --schema"
grep -q '^gc_total{.*reason="109440".*} ' "$work/page" || fail "backfill --schema: $(grep ^gc_total "$work/page")"
