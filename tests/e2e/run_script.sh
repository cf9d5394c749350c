#!/usr/bin/env bash
# exporter/run.sh in a tree of its own, whose cmake and set-up only write down that they were called: the programs are those
# of this build.
. "${BASH_SOURCE%/*}/lib.bash"

tree=$work/tree
calls=$work/calls
mkdir -p "$tree"/{exporter,.ci,build/release} "$work/bin" "$work/folder"
cp "$SOURCE_DIR/exporter/run.sh" "$tree/exporter/"
ln -s "$ETW_EXPORTER" "$tree/build/release/etw_exporter"
ln -s "$MAKE_SAMPLE" "$tree/build/release/make_sample"
echo "echo set-up >>'$calls'" >"$tree/.ci/deps-debian.sh"
printf '#!/bin/sh\necho "cmake $*" >>"%s"\n' "$calls" >"$work/bin/cmake"
chmod +x "$work/bin/cmake"
PATH=$work/bin:$PATH
run=$tree/exporter/run.sh

# What cannot work is said before anything is installed or built.
expect_exit 1 'folder is a folder; name the recordings in it' bash "$run" "$work/folder"
expect_exit 1 'none.etl: no such file' bash "$run" "$work/none.etl"
"$MAKE_SAMPLE" "$work/a.etl" >/dev/null
expect_exit 1 'none.etl: no such file' bash "$run" "$work/a.etl" "$work/none.etl"
bash "$run" --help >"$work/help" || fail "--help: exit $?"
for word in FILE.etl web.listen-address build/sample.etl --replay.speed; do
	grep -q -- "$word" "$work/help" || fail "--help says nothing of $word"
done
[ ! -e "$calls" ] || fail "it was installed or built: $(cat "$calls")"

serves() { curl -fsS "$page" | says '<title>etw_exporter</title>'; }

# start_script ARGUMENTS...: runs it until it says where to look; sets script_pid and page. The log of the script before goes first:
# on a busy machine it is read before the new one is there, and a port in it may serve for another test meanwhile.
start_script() {
	rm -f "$calls" "$work/log"
	bash "$run" "$@" </dev/null >"$work/stdout" 2>"$work/log" &
	script_pid=$!
	until_true 30 grep -q 'Look at ' "$work/log" || fail "it names no address: $(cat "$work/log")"
	page=$(sed -n 's/^Look at \(http[^;]*\);.*/\1/p' "$work/log" | head -1)
	until_true 30 serves || fail "$page is not the landing page: $(cat "$work/log")"
}
stop_script() {
	kill -INT "$script_pid"
	wait "$script_pid" || fail "exit $? after SIGINT"
}
port_of_log() { sed -n 's/.*Listening.*port"*[=:]\([0-9]*\).*/\1/p' "$work/log" | head -1; }

# Several recordings; the address is that of the log, whatever the flags say.
cp "$work/a.etl" "$work/b.etl"
start_script "$work/a.etl" "$work/b.etl" --web.listen-address=127.0.0.1:0 --web.telemetry-path=/m
[ "$page" = "http://127.0.0.1:$(port_of_log)/" ] || fail "it says $page"
until_true 30 grep -q 'recordings=2$' "$work/log" || fail "not two recordings: $(cat "$work/log")"
stop_script
printf '%s\n' set-up 'cmake --preset release' 'cmake --build --preset release --target etw_exporter etwtool' >"$work/expected"
diff "$work/expected" "$calls" || fail "other calls"

# Without a recording it makes one. Every address of the machine: localhost.
start_script --web.listen-address=:0 --log.format=json
[ "$page" = "http://localhost:$(port_of_log)/" ] || fail "it says $page"
stop_script
[ -s "$tree/build/sample.etl" ] || fail "no sample"
grep -qx 'cmake --build --preset release --target etw_exporter etwtool make_sample' "$calls" || fail "$(cat "$calls")"
