#!/usr/bin/env bash
# collect.cmd under Wine, with the self-test and the exporter on the fake: the whole way of a person who runs it, up to the archive. On Windows
# itself the machine's own programs pack; here a stand-in does.
. "${BASH_SOURCE%/*}/lib.bash"

wine=("${WINE64:-/usr/lib/wine/wine64}")
command -v python3 >/dev/null || skip "no python3 to pack the archive with"
system=$WINEPREFIX/drive_c/windows/system32
[ ! -e "$system/tar.exe" ] || fail "$system/tar.exe exists already"

tidy() {
	local status=$?
	set +e
	rm -f "$system/tar.exe"
	[ "$status" -eq 0 ] || tail -n 40 "$work"/*/{log,summary}.txt # which parts failed, and why
	(exit "$status") # which finish() ends with
	finish
}
trap tidy EXIT

# Packs what the stand-in for tar.exe requests.
export TAR_REQUEST="Z:${work//\//\\}\\request"
pack() {
	local request=$work/request arguments archive folder
	while [ -d "$work" ]; do
		if [ "$(tail -n 1 "$request" 2>/dev/null)" = end ]; then
			mapfile -t arguments <"$request"
			archive=${arguments[2]#Z:} folder=${arguments[4]#Z:}
			[ "${arguments[*]:0:2} ${arguments[3]} ${arguments[5]}" = "-a -cf -C ." ] &&
				(cd "${folder//\\//}" && python3 -m zipfile -c "${archive//\\//}" ./*)
			rm "$request"
		fi
		sleep 0.05
	done
}
cp "$TAR_STAND_IN" "$system/tar.exe"
pack </dev/null >"$work/packed" 2>&1 &

# A path with a blank, as "Program Files" has one.
place="$work/the program"
mkdir "$place"
cp "$SELFTEST_ON_FAKE" "$place/etw_selftest.exe"
cp "$EXPORTER_ON_FAKE" "$place/etw_exporter.exe" # which the service of the cycle runs
cp "$SOURCE_DIR/selftest/collect.cmd" "$place"

# As an administrator: with the key that only they can read. Wine loses it when its last process ends.
printf '@reg add "HKU\\S-1-5-19" /f >nul\r\n@collect.cmd %%*\r\n' >"$place/as_administrator.cmd"

# collect SCRIPT ARGUMENTS...: output goes to files, because Wine's background processes would keep a pipe open.
collect() {
	(cd "$place" && "${wine[@]}" cmd /c "$@" </dev/null >"$work/out" 2>"$work/err")
}
windows_path() { echo "Z:${1//\//\\}"; }
says() { grep -q "$1" "$2" || fail "$2 has no \"$1\": $(head -c 2000 "$2")"; }

# ---- who is no administrator ----
"${wine[@]}" reg delete 'HKU\S-1-5-19' /f >/dev/null 2>&1 </dev/null || true
status=0
collect collect.cmd "$(windows_path "$work/none")" || status=$?
[ "$status" = 2 ] || fail "exit $status without administrator's rights"
says 'must run as administrator' "$work/out"
[ ! -e "$work/none" ] || fail "a folder was made without rights"

# ---- all ----
status=0
collect as_administrator.cmd "$(windows_path "$work/all of it")" || status=$?
out="$work/all of it"
[ -f "$out/summary.txt" ] || fail "no summary: exit $status, $(cat "$work/out" "$work/err")"
[ "$status" = 1 ] || fail "exit $status: the fake reports no activity, so rows must fail"
python3 -m zipfile -l "$out.zip" >"$work/listed" || fail "no archive: $(cat "$work/out" "$work/err")"
for name in README.txt summary.txt assumptions.txt machine.csv sessions-before.csv sessions-after.csv session.csv timeline.csv \
	loggers.csv self-test.txt self-test.csv before.prom after.prom disks.csv kernel-masks.csv kernel-counts.csv all-kernel.etl \
	service.csv service.yaml; do
	says "^$name " "$work/listed"
done
says '^Self-test: [1-9][0-9]* of [0-9]* rows failed:' "$out/summary.txt"
says '^Confirmed (' "$out/summary.txt"
[ "$(wc -l <"$out/summary.txt")" -le 30 ] || fail "the summary has more than 30 lines"
says '^S12   confirmed' "$out/assumptions.txt"
says '^private,0,' "$out/loggers.csv"
says '^private without rights,' "$out/loggers.csv"
for step in install start runs kill stop remove; do
	says "^$step,0," "$out/service.csv"
done
says '^administrator,' "$out/machine.csv"
says 'The archive is "Z:' "$work/out"
grep -q 'sessions are left behind' "$work/err" && fail "$(cat "$work/err")"
"${wine[@]}" sc query etw_exporter_probe </dev/null >"$work/sc" 2>&1 && fail "the service is still there: $(cat "$work/sc")"

# ---- private ----
collect as_administrator.cmd private noservice "$(windows_path "$work/masked")" || true
python3 -m zipfile -l "$work/masked.zip" >"$work/listed" || fail "no archive: $(cat "$work/out" "$work/err")"
says '^summary.txt ' "$work/listed"
grep -qE '^(service\.csv|.*\.evtx) ' "$work/listed" && fail "what cannot be masked is in the archive"
machine=$(sed -n 's/.*"ComputerName"="\(.*\)"/\1/p' "$WINEPREFIX/system.reg" | head -1)
[ -n "$machine" ] || machine=$(hostname)
grep -rqiw -- "$machine" "$work/masked" && fail "the name of the machine: $(grep -rnwi -- "$machine" "$work/masked" | head -3)"
says 'pseudonyms' "$work/masked/README.txt"

# ---- a folder with files: of an earlier run, which masked nothing ----
status=0
rm -f "$out.zip"
collect as_administrator.cmd private noservice "$(windows_path "$out")" || status=$?
[ "$status" = 2 ] || fail "exit $status for a folder that has files"
says 'has files' "$work/out"
[ ! -e "$out.zip" ] || fail "files of an earlier run are in an archive"
[ ! -e "$out/run-2" ] || fail "it was run all the same"

# ---- no tar.exe, no PowerShell, no exporter for the service ----
rm "$system/tar.exe" "$place/etw_exporter.exe"
status=0
collect as_administrator.cmd "$(windows_path "$work/unpacked")" || status=$?
[ "$status" = 3 ] || fail "exit $status when nothing can pack"
says 'could not be packed' "$work/out"
[ -f "$work/unpacked/summary.txt" ] || fail "the files are gone"
says '^  service\.csv: .*etw_exporter\.exe is missing: it must be in the folder of this program' "$work/unpacked/summary.txt"
echo "ok: collected, masked, packed"
