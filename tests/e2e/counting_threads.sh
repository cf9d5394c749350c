#!/usr/bin/env bash
# With --once, several threads count one recording (--replay.threads). Whatever their number: the same page, the same exit status and
# the same messages as with one. Where limits make the order of the records count, the page is that of one thread, too. In a slow build
# (lib.bash) nothing is compared: no sanitizer may complain.
. "${BASH_SOURCE%/*}/lib.bash"

# What a run says about itself is another each time.
of_itself='^(# (HELP|TYPE|UNIT) )?(process_|etw_consumer_busy|etw_consumer_lag|etw_exporter_(config|scrape|http|memory)|[a-z_]*_created[{ ])'

count() { # THREADS ARGUMENT...: into the files page and said, without what differs each time
	local threads=$1 status=0
	shift
	"$ETW_EXPORTER" --once --log.level=debug --replay.threads="$threads" "$@" >"$work/out" 2>"$work/err" || status=$?
	grep -vE "$of_itself" "$work/out" >"$work/page" || true
	echo "exit $status" >>"$work/page"
	sed -E -e '/level=debug/d' -e 's/^ts=[^ ]* //' "$work/err" >"$work/said"
}

# How many records the helping threads have counted.
helped() { sed -n 's/.*msg="Recording was read".* helped=\([0-9]*\).*/\1/p' "$work/err"; }
is_again() { grep -q 'msg="A limit of label sets is near' "$work/err"; }

# same HOW NAME ARGUMENT...: HOW is "helped" when most records must be counted by helping threads, "again" when one thread must
# count them again in the end, "alone" when none may help, and "any".
same() {
	local how=$1 name=$2 threads
	shift 2
	if [ -n "$compares" ]; then
		count 1 "$@"
		[ "$(helped | sort -u)" = 0 ] || [ -z "$(helped)" ] || fail "$name: one thread has helpers: $(helped)"
		mv "$work/page" "$work/page.1"
		mv "$work/said" "$work/said.1"
	fi
	for threads in $counts; do
		count $threads "$@"
		grep -q '^exit 0$' "$work/page" || fail "$name: $(cat "$work/page" "$work/said")"
		if [ -n "$compares" ]; then
			cmp -s "$work/page.1" "$work/page" || fail "$name: $threads threads: $* differs: $(diff "$work/page.1" "$work/page" | head -5)"
			cmp -s "$work/said.1" "$work/said" || fail "$name: $threads threads: other messages: $(diff "$work/said.1" "$work/said" | head -5)"
		fi
		case $how in
		helped)
			[ "$(helped | sort -n | head -1)" -gt $((records / 2)) ] || fail "$name: $threads threads: only $(helped) records of $records were helped with"
			! is_again || fail "$name: $threads threads: counted again"
			;;
		again) is_again || fail "$name: $threads threads: not counted again" ;;
		alone)
			! is_again || fail "$name: $threads threads: counted again"
			[ "$(helped | sort -u)" = 0 ] || fail "$name: $threads threads: helpers counted $(helped)"
			;;
		esac
	done
}

counts="3 5 9" compares=yes mib=16
! is_slow || counts=3 compares='' mib=9

# Recordings below 8 MiB are counted by one thread.
plain=$work/plain.etl switches=$work/switches.etl packed=$work/packed.etl
records=$("$MAKE_SAMPLE" --plain-size=${mib}MiB "$plain" | grep -o '[0-9]*' | head -1)
"$MAKE_SAMPLE" --plain-size=${mib}MiB --switches "$switches" >/dev/null
"$ETWTOOL" relog --compress -o "$packed" "$plain" >/dev/null 2>&1

# Collectors that need every record in its order are below.
most=()
for collector in "$SOURCE_DIR"/config/collectors/*.yaml; do
	name=$(basename "$collector" .yaml)
	case $name in
	image | file_groups | file_top) ;;
	*) most+=("--collector.$name") ;;
	esac
done

same helped plain --replay.file="$plain"
same helped compressed --replay.file="$packed"
same any "most collectors" --replay.file="$plain" "${most[@]}"
same any "most collectors, switches" --replay.file="$switches" "${most[@]}"
same helped "two recordings" --replay.file="$plain" --replay.file="$packed"
same helped OpenMetrics --replay.file="$plain" --once.format=openmetrics
for recording in $(if is_slow; then some_recordings; else recordings; fi); do
	same any "${recording##*/}" --replay.file="$recording" "${most[@]}"
done

# Whoever counts, a recording that was cut or damaged is reported once, and what follows the damage is counted.
head -c $((mib * 950000)) "$plain" >"$work/cut.etl"
same helped "a cut recording" --replay.file="$work/cut.etl"
cp "$plain" "$work/damaged.etl"
for place in $((mib * 300000)) $((mib * 550000)) $((mib * 800000)); do
	head -c 300 /dev/zero | tr '\0' '\377' | dd of="$work/damaged.etl" bs=1 seek=$place conv=notrunc status=none
done
same helped "a damaged recording" --replay.file="$work/damaged.etl"

for seed in $(if is_slow; then echo 1; else seq 8; fi); do
	python3 "$SOURCE_DIR/tests/e2e/damage.py" "$plain" "$seed" >"$work/random.etl"
	same any "damaged, seed $seed" --replay.file="$work/random.etl" "${most[@]}"
done

# Events DiskIo/Write in version 0, which has no duration: two rules do not apply, which is reported and counted once, whoever counts the
# records. A record begins with its version: 3 becomes 0.
python3 - "$plain" >"$work/old.etl" <<'END'
import sys
sys.stdout.buffer.write(open(sys.argv[1], "rb").read().replace(bytes.fromhex("030011c044000b01"), bytes.fromhex("000011c044000b01")))
END
same any "rules that do not apply" --replay.file="$work/old.etl"
grep -q 'msg="Rule does not apply to an event".* event DiskIo/Write ' "$work/said" || fail "rules that do not apply: not reported: $(cat "$work/said")"
grep -q '^etw_decode_errors_total.*reason="rule"} 1$' "$work/page" || fail "rules that do not apply: not counted"
[ "$(helped | sort -n | head -1)" -gt $((records / 2)) ] || fail "rules that do not apply: only $(helped) records of $records were helped with"

# with NAME LIMITS: a configuration.
with() {
	printf '%s\n' "$2" >"$work/$1.yaml"
	echo "$work/$1.yaml"
}

# Places run out while the helpers count, or so nearly that they may: counted again, on one thread.
same again "a limit of one metric" --replay.file="$plain" --config.file="$(with family 'limits: { series_per_family: 40 }')"
same again "a limit that is not reached" --replay.file="$plain" --config.file="$(with near 'limits: { series_per_family: 90 }')"
same again "a limit of all metrics" --replay.file="$plain" --config.file="$(with all 'limits: { series: 400 }')"
same again "two recordings" --replay.file="$plain" --replay.file="$packed" --config.file="$(with both 'limits: { series_per_family: 40 }')"

# What needs every record in its order is counted by one thread from the beginning.
same alone "an idle limit" --replay.file="$plain" --config.file="$(with idle 'limits: { idle: 1m }')"
same alone "shares" --replay.file="$plain" --config.file="$(with shares 'limits: { shares: 5 }')"
same alone "path groups" --replay.file="$plain" --collector.file_groups \
	--config.file="$(with groups "path_groups: [ { name: logs, match: ['**\\\\*.log'] } ]")"
same alone "the most written files" --replay.file="$plain" --collector.file_top
same alone "program files" --replay.file="$plain" --collector.image

# Tables that are too small for the recording.
for limit in processes threads files; do
	same any "few $limit" --replay.file="$plain" "${all_collectors[@]}" --config.file="$(with $limit "limits: { $limit: 5 }")"
done
same any "filters" --replay.file="$plain" --config.file="$(with filters 'filters: { processes: { exclude: [ svc ] } }')"

# A pipe can be read once only, and is counted twice.
count 1 --replay.file=- --config.file="$work/family.yaml" <"$plain"
mv "$work/page" "$work/page.1"
gzip -c "$plain" | "$ETW_EXPORTER" --once --log.level=debug --replay.threads=5 --replay.file=- --config.file="$work/family.yaml" 2>"$work/err" |
	grep -vE "$of_itself" >"$work/page"
is_again || fail "a pipe: not counted again"
echo "exit 0" >>"$work/page"
cmp -s "$work/page.1" "$work/page" || fail "a pipe: $(diff "$work/page.1" "$work/page" | head -5)"

expect_exit 2 '\-\-replay.threads takes .*8 or 9, not "10"' "$ETW_EXPORTER" --once --replay.threads=10 --replay.file="$plain"
