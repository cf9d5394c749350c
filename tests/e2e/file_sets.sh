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
commands=(stats 'dump --process sqlservr --format text' 'backfill --step 10s')
is_slow || commands+=(providers 'dump --format text' 'dump --format csv')
for command in "${commands[@]}"; do
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
done
page "$work/pipes/p_*.etl.gz" | sed 's/p_\*\.etl\.gz/sample.etl/; s/sample\.etl\.gz/sample.etl/' >"$work/parts"
cmp -s "$work/whole" "$work/parts" || fail "pipes: $(diff "$work/whole" "$work/parts" | head -5)"
"$ETWTOOL" relog "$set" -o "$work/sample_again.etl" >/dev/null
page "$work/sample_again.etl" | sed 's/sample_again/sample/' >"$work/parts"
cmp -s "$work/whole" "$work/parts" || fail "relog: $(diff "$work/whole" "$work/parts" | head -5)"

# A filter of relog knows in every file the names that stand in another one: the second of three has none. The files of a set, and recordings
# that are given one by one, give what the whole gives.
mkdir "$work/third"
"$ETWTOOL" relog "$sample" -o "$work/third/p_1.etl" --exact --to 10 >/dev/null
"$ETWTOOL" relog "$sample" -o "$work/third/p_2.etl" --exact --from 10 --to 30 >/dev/null
"$ETWTOOL" relog "$sample" -o "$work/third/p_3.etl" --exact --from 30 >/dev/null
expect_exit 1 "no process 'sqlservr'" "$ETWTOOL" relog "$work/third/p_2.etl" -o "$work/third.etl" --process sqlservr
events() { "$ETWTOOL" dump "$@" | sed 's/"i": [0-9]*, //; /"EventTrace_Header"/d' | sort; }
for filter in '--process sqlservr' '--where Process_eq_sqlservr --from 12' '--event DiskIo/Write --from 2 --to 15'; do
	read -ra words <<<"$filter"
	words=("${words[@]//_/ }")
	events "$sample" "${words[@]}" >"$work/whole"
	[ "$(wc -l <"$work/whole")" -gt 10 ] || fail "$filter: $(wc -l <"$work/whole") events"
	for inputs in "$work/third/p_*.etl" "$work/third/p_3.etl $work/third/p_2.etl $work/third/p_1.etl"; do
		files=("$inputs")
		[[ $inputs == *' '* ]] && read -ra files <<<"$inputs"
		"$ETWTOOL" relog "${files[@]}" -o "$work/third.etl" "${words[@]}" >/dev/null 2>"$work/err" || fail "$filter: $(cat "$work/err")"
		events "$work/third.etl" "${words[@]}" >"$work/parts"
		cmp -s "$work/whole" "$work/parts" || fail "relog $inputs $filter: $(diff "$work/whole" "$work/parts" | head -5 | cut -c1-300)"
	done
done
# Likewise the records that --set changes.
for inputs in "$sample" "$work/third/p_*.etl"; do
	"$ETWTOOL" relog "$inputs" -o "$work/third.etl" --process sqlservr --set '*.@tid=5' | sed 's/.*, \([0-9]* changed\).*/\1/'
done >"$work/changed"
[ "$(sort -u "$work/changed" | grep -c changed)" = 1 ] || fail "--set: $(cat "$work/changed")"

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
expect_exit 1 'none_\*\.etl: no file has such a name$' "$ETWTOOL" stats "$work/set/none_*.etl"
# What a shell would make of it, as those of Windows do not: relog takes all, other commands the only one.
mkdir "$work/any"
"$ETWTOOL" relog "$sample" -o "$work/any/b.etl" --exact --to 10 >/dev/null
"$ETWTOOL" relog "$sample" -o "$work/any/A.ETL" --exact --from 10 >/dev/null
cp "$sample" "$work/any/.hidden.etl"
for pattern in '*.etl' '?.etl'; do
	"$ETWTOOL" relog "$work/any/$pattern" -o "$work/all.etl" >"$work/got" 2>"$work/err" || fail "$pattern: $(cat "$work/err")"
	"$ETWTOOL" relog "$work/any/A.ETL" "$work/any/b.etl" -o "$work/both.etl" >/dev/null
	cmp "$work/all.etl" "$work/both.etl" || fail "$pattern is not A.ETL and b.etl"
done
expect_exit 1 'x\*\.etl: no file has such a name$' "$ETWTOOL" relog "$work/any/x*.etl" -o "$work/all.etl"
expect_exit 1 '\*\.etl: 2 files have such a name, .*A\.ETL and .*b\.etl first; name one of them$' "$ETWTOOL" stats "$work/any/*.etl"
expect_exit 2 '2 files have such a name' "$ETW_EXPORTER" --once --replay.file="$work/any/*.etl"
# All files of a set are open at once, so there are 900 at most; relog counts those of all its sets.
mkdir "$work/many"
touch "$work/many/"{a,b}_{1..500}.etl
expect_exit 1 'more than 900 recordings$' "$ETWTOOL" relog "$work/many/a_*.etl" "$work/many/b_*.etl" -o "$work/all.etl"
touch "$work/many/a_"{501..901}.etl
for words in stats 'relog -o all.etl'; do
	read -ra words <<<"$words"
	expect_exit 1 'a_\*\.etl: has more than 900 files; name fewer with a narrower pattern$' "$ETWTOOL" "${words[@]}" "$work/many/a_*.etl"
done
rm "$work/any/b.etl"
"$ETWTOOL" stats "$work/any/*.etl" >"$work/got" || fail "the only file that matches"
"$ETWTOOL" stats "$work/any/A.ETL" | tail -n +2 | cmp - <(tail -n +2 "$work/got") || fail "the only file that matches is another recording"
cp "$sample" "$work/set/p_000003.etl"
head -c 4000 "$sample" >"$work/set/p_000004.etl"
"$ETWTOOL" summary "$set" | says 'cut short' || fail "a file that is cut short"
echo "This is a letter." >"$work/set/p_000005.etl"
expect_exit 1 'p_000005\.etl: is not a recording' "$ETWTOOL" stats "$set"
