#!/usr/bin/env bash
# Collectors for events that describe themselves: by name, with their fields, members of structures among them.
. "${BASH_SOURCE%/*}/lib.bash"

# value NAME_AND_LABELS PAGE: the value of one sample, or nothing.
value() {
	awk -v sample="$1" 'substr($0, 1, length(sample) + 1) == sample " " { print $NF }' "$2"
}

expect() { # NAME_AND_LABELS VALUE
	local found
	found=$(value "$1" "$work/page")
	[ "$found" = "$2" ] || fail "$1 is ${found:-absent}, not $2"
}

# page COLLECTOR RECORDING: its exposition; the collector stands in $work/NAME.yaml.
page() {
	cat >"$work/config.yaml" <<-END
		collector_files: [$1.yaml]
	END
	"$ETW_EXPORTER" --once --config.file="$work/config.yaml" --replay.file="$2" >"$work/page" 2>"$work/log" ||
		fail "$1: $(cat "$work/log")"
}

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
cat >"$work/shop.yaml" <<'END'
collector: shop
help: Orders of the sample's shop.
default: on
metrics:
  - name: shop_orders_total
    type: counter
    help: Orders by customer.
    labels: { customer: Customer }
    events:
      - { event: Contoso.Shop/OrderPlaced }
  - name: shop_items_total
    type: counter
    help: Items of all orders but the small ones.
    events:
      - { event: contoso.shop/orderplaced, value: Items, where: [{ field: Items, ge: 2 }] }
END
page shop "$work/sample.etl"
"$ETWTOOL" dump "$work/sample.etl" | python3 -c '
import collections, json, sys
orders, items = collections.Counter(), 0
for line in sys.stdin:
    event = json.loads(line)
    if event.get("event") == "OrderPlaced":
        orders[event["fields"]["Customer"]] += 1
        items += event["fields"]["Items"] if event["fields"]["Items"] >= 2 else 0
for customer, count in orders.items():
    print(f"shop_orders_total{{customer=\"{customer}\"}}\t{count}")
print(f"shop_items_total\t{items}")
' >"$work/expected"
[ "$(wc -l <"$work/expected")" -gt 2 ] || fail "the sample has no orders"
while IFS=$'\t' read -r sample count; do
	expect "$sample" "$count"
done <"$work/expected"

# A text without a layout (EventWriteString): the sample gets three by a dump's lines, one of them of an id that a manifest names.
cat >"$work/told.man" <<'END'
<instrumentationManifest><instrumentation><events><provider name="Contoso-Teller" guid="{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0009}">
<events><event value="5" symbol="Told"/></events></provider></events></instrumentation></instrumentationManifest>
END
"$ETWTOOL" dump "$work/sample.etl" >"$work/before"
time=$(sed -n '100s/.*"filetime": \([0-9]*\),.*/\1/p' "$work/before")
line="{\"decoded_by\": \"string\", \"provider\": \"aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0009\", \"filetime\": $time, \"level\": 4"
cat >"$work/lines" <<END
$line, "fields": {"Message": "Frame started"}}
$line, "raw": "f6003dd8bedc"}
$line, "id": 5, "fields": {"Message": "by heart"}}
END
"$ETWTOOL" relog "$work/sample.etl" -o "$work/told.etl" --add "$work/lines" >/dev/null
cat >"$work/teller.yaml" <<'END'
collector: teller
help: What is told.
default: on
metrics:
  - name: teller_told_total
    type: counter
    help: By text.
    labels: { message: Message, event: Event }
    events:
      - { event: "{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0009}/EventWriteString" }
END
page teller "$work/told.etl"
expect 'teller_told_total{message="Frame started",event="EventWriteString"}' 1
expect 'teller_told_total{message="ö💾",event="EventWriteString"}' 1
if grep '^etw_decode_errors_total.*no_schema' "$work/page"; then fail "a text counts as an event without a layout"; fi
for form in text csv jsonl; do
	"$ETWTOOL" dump "$work/told.etl" --format "$form" --schema "$work/told.man" --provider Contoso-Teller >"$work/dump"
	for text in 'Frame started' 'ö💾' 'by heart'; do
		grep -q "EventWriteString.*$text\|Told.*by heart" "$work/dump" || fail "$form has no '$text': $(cat "$work/dump")"
	done
done
[ "$("$ETWTOOL" dump "$work/told.etl" --format csv --schema "$work/told.man" --event Told --where 'Message ends heart' | wc -l)" = 2 ] ||
	fail "the name in the manifest is not that of the event"
"$ETWTOOL" relog "$work/told.etl" -o "$work/strange.etl" --anonymise >/dev/null 2>&1
"$ETWTOOL" dump "$work/strange.etl" --format csv --provider '{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0009}' >"$work/dump"
[ "$(grep -c EventWriteString "$work/dump")" = 3 ] || fail "anonymised texts are gone: $(cat "$work/dump")"
if grep 'Frame\|heart' "$work/dump"; then fail "texts are not anonymised"; fi

# Two providers of one name are two.
for provider in 1 2; do
	for count in $(seq "$provider"); do
		echo "{\"decoded_by\": \"tracelogging\", \"provider\": \"aaaaaaaa-bbbb-cccc-dddd-eeeeeeee000$provider\", \"provider_name\": \"Contoso.Twin\", \"filetime\": $time, \"level\": 4, \"event\": \"Birth\", \"fields\": {\"n\": $count}}"
	done
done >"$work/lines"
"$ETWTOOL" relog "$work/sample.etl" -o "$work/twins.etl" --add "$work/lines" >/dev/null
"$ETWTOOL" providers "$work/twins.etl" Contoso.Twin >"$work/providers"
printf '%s\n' 'Contoso.Twin {aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0002}: 2 events' '           2  Birth (id 0)  n' '' \
	'Contoso.Twin {aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0001}: 1 events' '           1  Birth (id 0)  n' | diff - "$work/providers" >&2 ||
	fail "two providers of one name"
"$ETWTOOL" providers "$work/twins.etl" --format json | python3 -c '
import json, sys
twins = [p for p in json.load(sys.stdin)["providers"] if p["name"] == "Contoso.Twin"]
assert [(p["guid"][-1], p["records"]) for p in twins] == [("2", 2), ("1", 1)], twins
'
expect_exit 2 "'Birth' is several events: \{aaaaaaaa-.*0001\}/Birth, \{aaaaaaaa-.*0002\}/Birth; a \{guid\} distinguishes providers of one name" \
	"$ETWTOOL" fields "$work/twins.etl" Birth
for event in '{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0002}/Birth' '{aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0002} Birth'; do
	# shellcheck disable=SC2086 # provider and event are two words
	"$ETWTOOL" fields "$work/twins.etl" $event >"$work/fields" || fail "fields $event"
	grep -q '2 events in' "$work/fields" || fail "fields $event: $(cat "$work/fields")"
done

needs "$traces"/{net.4.5.2.x64,SelfDescribingSingleEvent}.etl

# Two orders of names: as a manifest writes them, as a description spells them; an event in a structure.
cat >"$work/dotnet_test.yaml" <<'END'
collector: dotnet_test
help: Events of .NET and of an EventSource.
default: on
metrics:
  - name: test_allocated_bytes_total
    type: counter
    help: Bytes that allocation ticks report, by type.
    labels: { type: TypeName }
    events:
      - event: Microsoft-Windows-DotNETRuntime/GarbageCollection/GCAllocationTick
        value: AllocationAmount64
        where: [{ field: TypeName, eq: System.Object }]
  - name: test_collections_total
    type: counter
    help: Garbage collections by generation, under either spelling of the event.
    labels: { depth: Depth, provider: Provider }
    events:
      - { event: Microsoft-Windows-DotNETRuntime/GarbageCollection/Start, labels: { spelling: { text: short } } }
      - { event: '{e13c0d23-ccbc-4e12-931b-d9cc2eee27e4}/GarbageCollection/win:Start', labels: { spelling: { text: long } } }
  - name: test_allocations_total
    type: counter
    help: Allocation ticks by kind, under the name that the recording has for it; the number where that is asked for.
    labels: { kind: AllocationKind, number: { field: AllocationKind, decode: [hex] } }
    events:
      - { event: Microsoft-Windows-DotNETRuntime/GarbageCollection/GCAllocationTick }
  - name: test_perfview_messages_total
    type: counter
    help: Log messages of an EventSource.
    events:
      - { event: PerfView/PerfViewLog, where: [{ field: message, matches: '^Turning on' }] }
END
page dotnet_test "$traces/net.4.5.2.x64.etl"
"$ETWTOOL" dump "$traces/net.4.5.2.x64.etl" | python3 -c '
import collections, json, sys
allocated, messages, depths, kinds, names = 0, 0, collections.Counter(), collections.Counter(), {}
for line in sys.stdin:
    event = json.loads(line)
    name, fields = event.get("event"), event.get("fields", {})
    if name == "EventMapInfo" and fields["map"] == "GCAllocationKindMap":
        names = fields["entries"]
    elif name == "GarbageCollection/GCAllocationTick":
        kinds[fields["AllocationKind"]] += 1
    if name == "GarbageCollection/GCAllocationTick" and fields["TypeName"] == "System.Object":
        allocated += fields["AllocationAmount64"]
    elif name == "GarbageCollection/win:Start" and "Runtime" in event["provider_name"]:
        depths[fields["Depth"]] += 1
    elif name == "PerfViewLog":
        messages += fields["message"].startswith("Turning on")
print(f"test_allocated_bytes_total{{type=\"System.Object\"}}\t{allocated}")
print(f"test_perfview_messages_total\t{messages}")
for kind, count in kinds.items():
    print(f"test_allocations_total{{kind=\"{names[str(kind)]}\",number=\"{kind:#x}\"}}\t{count}")
for depth, count in depths.items():
    for spelling in "short", "long":
        print(f"test_collections_total{{depth=\"{depth}\",provider=\"Microsoft-Windows-DotNETRuntime\",spelling=\"{spelling}\"}}\t{count}")
' >"$work/expected"
[ "$(wc -l <"$work/expected")" -gt 4 ] || fail "the recording lacks what is looked for"
while IFS=$'\t' read -r sample count; do
	expect "$sample" "$count"
done <"$work/expected"

cat >"$work/nested.yaml" <<'END'
collector: nested
help: Members of a structure.
default: on
metrics:
  - name: test_nested_total
    type: counter
    help: Events by a member of their structure.
    labels: { first: a.b, second: { field: a.c, decode: [lower] } }
    events:
      - { event: MySource/TestEvent }
END
page nested "$traces/SelfDescribingSingleEvent.etl"
expect 'test_nested_total{first="Hello",second="world!"}' 1
