#!/usr/bin/env bash
# process_names: every sum over processes is what it is without them, in every recording; commands that show names have them.
. "${BASH_SOURCE%/*}/lib.bash"

cd "$work"
"$MAKE_SAMPLE" sample.etl >/dev/null
cat >names.yaml <<'END'
process_names: [iis, services, java, sqlserver, dotnet, python, node, chrome]
END
cat >few.yaml <<'END'
process_names: [iis, services, { image: '*', command_line: '([a-z]+)', name: 'x/$1' }]
limits: { process_names: 3 }
END
echo 'labels: [owner, terminal_session]' >owners.yaml

collectors=$(basename -s .yaml "$SOURCE_DIR"/config/collectors/*.yaml | sed 's/^/--collector./')
for recording in sample.etl "$SOURCE_DIR"/../shared/traces/*.etl; do
	[ -e "$recording" ] || continue
	"$ETW_EXPORTER" $collectors --once --replay.file="$recording" >plain.prom 2>/dev/null
	for names in names few owners; do
		"$ETW_EXPORTER" $collectors --config.file="$names.yaml" --once --replay.file="$recording" >named.prom 2>/dev/null
		python3 "$SOURCE_DIR/tests/e2e/sums.py" plain.prom named.prom >/dev/null || fail "$recording with $names.yaml"
	done
done

"$ETW_EXPORTER" --config.file=names.yaml --once --replay.file=sample.etl >named.prom 2>/dev/null
for name in w3wp/shop w3wp/api w3wp/intranet svchost/Schedule java/search.jar sqlservr/MSSQLSERVER python/monthly.py; do
	grep -q "^etw_process_instances{process=\"$name\"," named.prom || fail "no $name: $(grep instances named.prom)"
done
! grep -q 'process="w3wp"' named.prom || fail "a series of w3wp is left"
! grep -q '\-ap\|webengine\|hunter2' named.prom || fail "a command line is on the page"

# Labels of owners: every series with a process of these collectors has them, others do not.
"$ETW_EXPORTER" $collectors --config.file=owners.yaml --once --replay.file=sample.etl >owned.prom 2>/dev/null
for family in etw_file_written_bytes_total etw_disk_process_read_bytes_total etw_network_sent_bytes_total etw_process_cpu_samples_total; do
	grep "^$family{" owned.prom >series || fail "no $family"
	! grep -v ',owner="[^"]*",terminal_session="[^"]*"} ' series || fail "$family without owner"
done
grep -q '^etw_file_written_bytes_total{process="WerFault",.*owner="NT AUTHORITY\\\\SYSTEM",terminal_session="0"} ' owned.prom ||
	fail "$(grep file_written owned.prom)"
! grep '^etw_disk_read_bytes_total{.*owner' owned.prom || fail "an owner of a disk"
# Two users in sessions of their own run the same program.
[ "$(grep -c '^etw_file_written_bytes_total{process="EXCEL",.*owner="S-1-5-21-.*-1105",terminal_session="2"}\|^etw_file_written_bytes_total{process="EXCEL",.*owner="S-1-5-21-.*-1106",terminal_session="3"}' owned.prom)" = 2 ] ||
	fail "$(grep EXCEL owned.prom)"

# A filter, and the commands of etwtool.
echo "filters: { processes: { include: ['^w3wp/'] } }" | cat names.yaml - >filter.yaml
"$ETW_EXPORTER" --config.file=filter.yaml --once --replay.file=sample.etl 2>/dev/null |
	grep '^etw_file_written_bytes_total' >written || fail "the filter leaves nothing"
! grep -v 'process="w3wp/' written || fail "the filter leaves others"
"$ETWTOOL" relog --config.file names.yaml --process sqlservr/MSSQLSERVER --output named.etl sample.etl >/dev/null
"$ETWTOOL" relog --process sqlservr --output plain.etl sample.etl >/dev/null
cmp named.etl plain.etl || fail "relog keeps something else"
expect_exit 1 "has no process 'w3wp/shop'" "$ETWTOOL" relog --process w3wp/shop --output none.etl sample.etl
"$ETWTOOL" report --config.file names.yaml --format json sample.etl | says w3wp/shop || fail "report"
"$ETWTOOL" diff --config.file names.yaml sample.etl plain.etl | says svchost/Schedule || fail "diff"

# Anonymised: the pool has another name and is still told apart; accounts of the machine are hidden, well-known ones stay.
"$ETWTOOL" relog --anonymise --output hidden.etl sample.etl >/dev/null 2>&1
cat owners.yaml names.yaml >both.yaml
"$ETW_EXPORTER" --config.file=both.yaml --once --replay.file=hidden.etl 2>/dev/null | grep '^etw_' >hidden.prom
grep -q '^etw_process_instances{process="w3wp/[a-z]\{10\}",' hidden.prom || fail "no pool: $(grep instances hidden.prom)"
! grep 'w3wp/shop\|S-1-5-21-3623811015' hidden.prom || fail "a name is left"
grep -q 'owner="NT AUTHORITY' hidden.prom || fail "no well-known account"

"$ETWTOOL" check names.yaml --with sample.etl | says -x '  w3wp -> w3wp/shop, 2 processes: 3920 11736' || fail "check --with"
"$ETWTOOL" check names.yaml --with sample.etl --format json |
	python3 -c 'import json, sys; assert {"image": "w3wp", "name": "w3wp/shop", "processes": 2, "process_ids": [3920, 11736]} in json.load(sys.stdin)["processes"]' ||
	fail "check --with --format json"
