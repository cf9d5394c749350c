#!/usr/bin/env bash
# Recordings of several files, as sessions write them and as etwtool relog --split does: every program reads them as one, and says
# what is missing.
. "${BASH_SOURCE%/*}/lib.bash"

sample=$work/sample.etl
"$MAKE_SAMPLE" "$sample" >/dev/null
mkdir "$work/set"
"$ETWTOOL" relog "$sample" -o "$work/set/p.etl" --split 10s >/dev/null
set="$work/set/p_*.etl"
[ "$(find "$work/set" -name 'p_0*.etl' | wc -l)" -ge 4 ] || fail "not several files: $(ls "$work/set")"

# What every command prints is that of the whole, except for what the header and the names say.
same() { # command, its words before and behind the recording
	"$ETWTOOL" "$@" >"$work/got" 2>"$work/err" || fail "$*: $(cat "$work/err")"
	[ -s "$work/err" ] && fail "$*: $(cat "$work/err")"
	sed -E 's/p_\*\.etl/sample.etl/g; /EventTrace\/Header/d; /^etw_(consumer_buffers|session_buffers_written|exporter_config)_/d' "$work/got"
}
for command in stats providers 'dump --format text' 'dump --format csv' 'dump --process sqlservr --format text' 'backfill --step 10s'; do
	read -ra words <<<"$command"
	same "${words[0]}" "$sample" "${words[@]:1}" >"$work/whole"
	same "${words[0]}" "$set" "${words[@]:1}" >"$work/parts"
	cmp -s "$work/whole" "$work/parts" || fail "$command: $(diff "$work/whole" "$work/parts" | head -5 | cut -c1-300)"
	[ "$(wc -l <"$work/whole")" -gt 5 ] || fail "$command: $(cat "$work/whole")"
done
page() {
	"$ETW_EXPORTER" --once "${all_collectors[@]}" --replay.file="$1" 2>"$work/err" >"$work/page" || fail "$1: $(cat "$work/err")"
	grep -vE '^(process_|etw_consumer_b|etw_session_buffers_written|etw_exporter_(build_info|config_))' "$work/page" |
		sed 's/p_\*\.etl/sample.etl/'
}
page "$sample" >"$work/whole"
page "$set" >"$work/parts"
cmp -s "$work/whole" "$work/parts" || fail "--once: $(diff "$work/whole" "$work/parts" | head -5)"

# Packed files are a set, too; relog makes one recording of it.
mkdir "$work/packed"
for part in "$work/set"/p_*.etl; do
	gzip -1 -c "$part" >"$work/packed/$(basename "$part").gz"
done
page "$work/packed/p_*.etl.gz" | sed 's/p_\*\.etl\.gz/sample.etl/; s/sample\.etl\.gz/sample.etl/' >"$work/parts"
cmp -s "$work/whole" "$work/parts" || fail "packed: $(diff "$work/whole" "$work/parts" | head -5)"
# The exporter reads and unpacks each file once: a second reader of these pipes finds nothing.
mkdir "$work/pipes"
for part in "$work/packed"/p_*.etl.gz; do
	pipe=$work/pipes/$(basename "$part")
	mkfifo "$pipe"
	{
		cat "$part" >"$pipe"
		: >"$pipe"
	} &
	pids+=("$!")
done
page "$work/pipes/p_*.etl.gz" | sed 's/p_\*\.etl\.gz/sample.etl/; s/sample\.etl\.gz/sample.etl/' >"$work/parts"
cmp -s "$work/whole" "$work/parts" || fail "pipes: $(diff "$work/whole" "$work/parts" | head -5)"
"$ETWTOOL" relog "$set" -o "$work/sample_again.etl" >/dev/null
page "$work/sample_again.etl" | sed 's/sample_again/sample/' >"$work/parts"
cmp -s "$work/whole" "$work/parts" || fail "relog: $(diff "$work/whole" "$work/parts" | head -5)"

# Each file with its losses; numbers that are missing.
"$ETWTOOL" summary "$set" >"$work/summary"
[ "$(grep -c '"file": "p_00000[0-9]\.etl"' "$work/summary")" = "$(find "$work/set" -type f | wc -l)" ] || fail "$(head -20 "$work/summary")"
says '"events_lost"' <"$work/summary" || fail "no losses"
says '"problems": \[\]' <"$work/summary" || fail "$(tail -3 "$work/summary")"
rm "$work/set/p_000001.etl" "$work/set/p_000003.etl"
"$ETWTOOL" summary "$set" | says 'numbers of the set are missing: 1, 3"' || fail "the summary lacks the gaps"
"$ETWTOOL" stats "$set" 2>&1 >/dev/null | says '^etwtool stats: warning: numbers of the set are missing: 1, 3$' || fail "no warning"
"$ETW_EXPORTER" --once --replay.file="$set" 2>&1 >/dev/null | says 'level=warning msg="Files of the recording are missing".*missing: 1, 3' ||
	fail "nothing in the log"

# What a shell makes of the pattern; what is no set.
expect_exit 2 'one recording at a time.*write \* in place of the number, in quotes$' "$ETWTOOL" stats "$work/set"/p_*.etl
expect_exit 1 'none_\*\.etl: .*No such file or directory$' "$ETWTOOL" stats "$work/set/none_*.etl"
cp "$sample" "$work/set/p_000003.etl"
head -c 4000 "$sample" >"$work/set/p_000004.etl"
"$ETWTOOL" summary "$set" | says 'cut short' || fail "a file that is cut short"
echo "This is a letter." >"$work/set/p_000005.etl"
expect_exit 1 'p_000005\.etl: is not a recording' "$ETWTOOL" stats "$set"
