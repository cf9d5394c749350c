#!/usr/bin/env bash
# etwtool providers --export-manifests: a recording without its descriptions decodes by the manifests of the one that has them;
# what is registered on a machine becomes manifests; which files stay as they are.
. "${BASH_SOURCE%/*}/lib.bash"

qpc=$traces/synthetic-qpc.etl
net=$traces/net.4.5.2.x64.etl
out=$work/manifests

# export STATUS SUMMARY ARGUMENTS...: the exit status, and the line on standard output.
export_to() {
	local want=$1 summary=$2 status=0
	shift 2
	"$ETWTOOL" providers --export-manifests "$out" "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
	[ "$status" = "$want" ] || fail "$*: status $status, not $want: $(cat "$work/stderr")"
	[ "$(cat "$work/stdout")" = "$summary" ] || fail "$*: it says: $(cat "$work/stdout" "$work/stderr")"
}

# ---- wrong use, and nothing to export ----

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
expect_exit 1 'sample.etl has no manifest and no description of an event$' \
	"$ETWTOOL" providers "$work/sample.etl" --export-manifests "$out"
[ ! -e "$out" ] || fail "an export that fails leaves its folder"
mkdir "$out"
expect_exit 1 'sample.etl has no manifest and no description of an event$' \
	"$ETWTOOL" providers "$work/sample.etl" --export-manifests "$out"
[ -d "$out" ] || fail "an export that fails removes a folder that was there"
rmdir "$out"
expect_exit 2 '^etwtool providers: --format is of no use with --export-manifests$' \
	"$ETWTOOL" providers "$work/sample.etl" --export-manifests "$out" --format json
expect_exit 2 '^etwtool providers: name a recording; without one, .*, but only Windows has event tracing$' \
	"$ETWTOOL" providers --export-manifests "$out"
expect_exit 2 '^etwtool providers: name a recording; ' "$ETWTOOL" providers --installed --export-manifests "$out" 'Contoso-*'
expect_exit 1 'nowhere.etl: ' "$ETWTOOL" providers nowhere.etl --export-manifests "$out"
expect_exit 1 "^etwtool providers: $work/no/folder: the folder cannot be made: " \
	"$ETWTOOL" providers "$work/sample.etl" --export-manifests "$work/no/folder"
# It is in the sample, which does not describe it.
expect_exit 1 '^etwtool providers: Contoso.Shop: the recording describes no such provider$' \
	"$ETWTOOL" providers "$work/sample.etl" --export-manifests "$out" Contoso.Shop
[ ! -e "$out" ] || fail "no provider was found, and the folder is there"
# A mistake in the order: there is one complaint, about what is read as a recording.
expect_exit 1 '^etwtool providers: nowhere: cannot be opened: ' "$ETWTOOL" providers nowhere Contoso.Shop --export-manifests "$out"

# ---- three providers whose files would have one name ----

# manifest GUID NAME SYMBOL: an event of an EventSource with its whole manifest, as a line for relog --add.
manifest() {
	local xml="<instrumentationManifest><instrumentation><events><provider name='$2' guid='{$1}'>"
	xml+="<events><event value='1' symbol='$3'/></events></provider></events></instrumentation></instrumentationManifest>"
	printf '{"provider": "%s", "id": 65534, "filetime": 133601436010000000, "pid": 7, "raw": "0101005b01000000%s"}\n' \
		"$1" "$(printf %s "$xml" | od -An -v -tx1 | tr -d ' \n')"
}
one=11111111-1111-1111-1111-111111111111 two=22222222-2222-2222-2222-222222222222 three=33333333-3333-3333-3333-333333333333
{
	manifest $one Contoso-Twice First
	manifest $two Contoso-Twice-$three Second
	manifest $three Contoso-Twice Third
} >"$work/three.jsonl"
"$ETWTOOL" relog "$work/sample.etl" -o "$work/three.etl" --add "$work/three.jsonl" >/dev/null || fail "no recording with three providers"
export_to 0 "3 providers, 3 events in $out" "$work/three.etl"
for symbol in First Second Third; do
	[ "$(grep -l "$symbol" "$out"/*.man | wc -l)" = 1 ] || fail "the manifest of $symbol is not there once: $(ls "$out")"
done
export_to 0 "3 providers, 3 events in $out; 3 files replaced" "$work/three.etl"
[ "$(ls "$out" | wc -l)" = 3 ] || fail "another export adds files: $(ls "$out")"
rm -r "$out"

# ---- on Windows ----

(
	ETWTOOL=$ETWTOOL_ON_FAKE
	export_to 0 "1 provider, 1 event in $out; 1 provider has no manifest"
	grep -Fq '<event value="7" version="2" level="win:Informational" task="Change" keywords="Changes" template="T1"/>' \
		"$out/Contoso-Described.man" || fail "the manifest: $(cat "$out/Contoso-Described.man")"
	grep -Fq '<data name="State" inType="win:UInt32" map="States"/>' "$out/Contoso-Described.man" || fail "its template"
	export_to 0 "1 provider, 1 event in $out; 1 file replaced" 'contoso-d*'
	export_to 1 "0 providers, 0 events in $out" Fabrikam
	grep -Fxq 'etwtool providers: Fabrikam: there is no such provider' "$work/stderr" || fail "$(cat "$work/stderr")"
	export_to 1 "0 providers, 0 events in $out; 1 provider has no manifest" '{10adf00d-10ad-10ad-0102-03040506070a}' Fabrikam
)
rm -r "$out"

# ---- of a recording ----

[ -e "$qpc" ] && [ -e "$net" ] || skip "the recordings are absent"

# A manifest of an EventSource, which arrives in chunks.
export_to 0 "1 provider, 2 events in $out" "$qpc"
export_to 0 "1 provider, 2 events in $out; 1 file replaced" "$qpc" 'synth-*'
export_to 1 "0 providers, 0 events in $out" "$qpc" Fabrikam
rm -r "$out"
mkdir "$out"
echo '<!-- by hand -->' >"$out/Synth-Source.man"
export_to 1 "0 providers, 0 events in $out; 1 provider failed" "$qpc"
grep -Eq "Synth-Source: $out/Synth-Source.man exists and is no manifest of this command, so it stays as it is\$" "$work/stderr" ||
	fail "it says: $(cat "$work/stderr")"
[ "$(cat "$out/Synth-Source.man")" = '<!-- by hand -->' ] || fail "the file was replaced"
rm -r "$out"

# Descriptions of a merge. Without them the events are undecoded, and with the exported manifests they have the same fields.
export_to 0 "10 providers, 224 events in $out" "$net"
"$ETWTOOL" relog --exact --provider 'Microsoft-*' "$net" -o "$work/bare.etl" >/dev/null
"$ETWTOOL" dump --per-kind 100 --provider 'Microsoft-*' "$net" >"$work/whole.jsonl"
"$ETWTOOL" dump --per-kind 100 "$work/bare.etl" >"$work/bare.jsonl"
"$ETWTOOL" dump --per-kind 100 --schema "$out" "$work/bare.etl" >"$work/given.jsonl"
python3 - "$work" <<'END' || fail "the fields differ"
import ipaddress, json, sys

def address(value):
    """Of a socket address without port: bytes where EventInfo describes the event, text where a manifest does."""
    for family, size, start, end in (("02000000", 32, 4, 8), ("17000000", 56, 8, 24)):
        if isinstance(value, str) and len(value) == size and value.startswith(family):
            return str(ipaddress.ip_address(bytes.fromhex(value)[start:end]))
    return value

def events(name):
    found = {}
    for line in open(f"{sys.argv[1]}/{name}.jsonl", encoding="utf-8"):
        record = json.loads(line)
        if record["kind"] == "event" and record["id"] != 65534:
            key = record["provider"], record["ts"], record["cpu"], record["tid"], record["id"]
            event = record.get("event", "").replace("/win:", "/")
            fields = record.get("fields")
            found.setdefault(key, []).append((event, fields and {name: address(value) for name, value in fields.items()}))
    return found

whole, bare, given = events("whole"), events("bare"), events("given")
decoded = 0
for key, rows in given.items():
    if rows != whole[key]:
        sys.exit(f"{key}: {rows} is not {whole[key]}")
    if all(fields is None for _, fields in bare[key]):
        decoded += sum(fields is not None for _, fields in rows)
print(decoded, "events")
if decoded < 1000:
    sys.exit("too few events are decoded by the manifests")
END

# The same of one machine as schemas of another one's configuration.
printf 'schemas: [ %s ]\n' "$out" >"$work/config.yaml"
"$ETW_EXPORTER" --check-config --config.file="$work/config.yaml" >/dev/null 2>"$work/stderr" || fail "$(cat "$work/stderr")"
