#!/usr/bin/env bash
# .ci/package.sh for Windows: twice the same bytes; the archive has what cmake installs, and the licences; the .msi is installed, upgraded,
# not downgraded, and removed under Wine: files, registry, service, event source, and the configuration, which stays.
. "${BASH_SOURCE%/*}/lib.bash"

for command in wixl msibuild msiinfo zip; do
	command -v "$command" >/dev/null || skip "$command is not installed (.ci/deps-packages.sh): no package was made"
done

export SOURCE_DATE_EPOCH=1700000000
package() { # folder
	bash "$SOURCE_DIR/.ci/package.sh" --windows "$BUILD_DIR" "$work/$1" >"$work/out" 2>&1 ||
		fail "package.sh: $(tail -5 "$work/out")"
}
package first
package second
diff -r "$work/first" "$work/second" || fail "two runs made different packages"
no_folders "$BUILD_DIR"/{etw_exporter,etwtool,etw_selftest}.debug # whose check sums the programs have in themselves
python3 "$SOURCE_DIR/tests/e2e/check_packages.py" "$work/first" >"$work/out" 2>&1 || fail "check_packages.py: $(cat "$work/out")"

name=$(basename "$work"/first/*.msi .msi)
for component in exporter etwtool; do
	cmake --install "$BUILD_DIR" --prefix "$work/installed" --component $component >"$work/out"
done
(cd "$work" && python3 -m zipfile -e "first/$name.zip" unpacked)
newer=newer/${name/[0-9]*.[0-9]*.[0-9]*-windows/99.0.0-windows}.msi # the same files as a later version
mkdir "$work/newer"
python3 "$SOURCE_DIR/.ci/msi.py" "$work/unpacked/$name" 99.0.0 "$work/$newer" >"$work/out" 2>&1 || fail "msi.py: $(cat "$work/out")"
diff <(cd "$work/installed" && find . -type f ! -name '*.debug' | sort) \
	<(cd "$work/unpacked/$name" && find . -type f ! -path './licences/*' | sort) || fail "the archive and the installation differ"

# ---- the installer, in a Wine of its own ----

export WINEPREFIX=$work/wine
wine=("${WINE64:-/usr/lib/wine/wine64}")
folder="$WINEPREFIX/drive_c/Program Files/etw_exporter"
config=$folder/config/etw_exporter.yaml
# Wine's processes outlive the program: with files in place of pipes, this script does not wait for them.
run() { # program, arguments...: under Wine; what it prints is in $work/said
	timeout 600 "${wine[@]}" "$@" </dev/null >"$work/said" 2>"$work/wine_log"
}
installer() { # what, file, properties...
	until_true 60 no_service_runs || fail "the service of an earlier installation still runs"
	(cd "$work/${2%/*}" && run msiexec "/$1" "${2##*/}" /qn "${@:3}")
}
# Wine leaves a program that still runs: the service, which finds no event tracing here, ends soon after each start.
no_service_runs() {
	local process

	for process in $(pgrep -f 'etw_exporter[.]exe"* --service=run'); do # also one of another test
		! tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | says -xF "WINEPREFIX=$WINEPREFIX" || return 1
	done
}
value() { # key, name
	run reg query "$1" /v "$2" && sed -n "s/^ *$2 *REG_[A-Z]* *//p" "$work/said" | tr -d '\r'
}
service='HKLM\SYSTEM\CurrentControlSet\Services\etw_exporter'
settings='HKLM\SOFTWARE\etw_exporter'
source='HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\etw_exporter'
is() { # what, found, wanted
	[ "$2" = "$3" ] || fail "$1 is \"$2\", not \"$3\""
}
service_line() { # flags: the command line; Windows, unlike Wine, puts the program in quotes
	is "the service" "$(value "$service" ImagePath | tr -d '"')" \
		"C:\\Program Files\\etw_exporter\\etw_exporter.exe --service=run --config.file=C:\\Program Files\\etw_exporter\\config\\etw_exporter.yaml $1"
}
# Its server is ended and waited for before the folder is removed.
end_wine() {
	local status=$? server

	for server in "${wine[0]%/*}"/wineserver{64,}; do
		[ ! -x "$server" ] || { timeout 120 "$server" -k && timeout 120 "$server" -w; } >/dev/null 2>&1 || true
	done
	set +e
	(exit "$status")
	finish
}
trap end_wine EXIT
sh "$SOURCE_DIR/.ci/wine-start.sh" >"$work/wine_log" 2>&1 || fail "Wine: $(cat "$work/wine_log")"

# A service that was installed by hand is replaced.
run sc create etw_exporter binPath= 'C:\other.exe' start= demand || fail "sc create: $(cat "$work/said")"
installer i "first/$name.msi" LISTEN_PORT=19191 LISTEN_ADDRESS=127.0.0.1 'EXTRA_FLAGS=--log.level=debug --collector.cpu' FIREWALL_ALLOW=127.0.0.9 ||
	fail "installing: $?: $(cat "$work/said" "$work/wine_log")"
diff -r "$work/unpacked/$name" "$folder" || fail "other files are installed than the archive has"
service_line "--web.listen-address=127.0.0.1:19191 --log.level=debug --collector.cpu"
is "its start" "$(value "$service" Start)" 0x2
is "its account" "$(value "$service" ObjectName)" LocalSystem
is "the event source" "$(value "$source" EventMessageFile)" 'C:\Program Files\etw_exporter\etw_exporter.exe'
is "its types" "$(value "$source" TypesSupported)" 0x7
run "$folder/etw_exporter.exe" --check-config "--config.file=$config" || fail "the installed configuration: $(cat "$work/wine_log")"

# An upgrade keeps properties and a changed configuration, and has one service; what is given anew changes.
echo '# changed' >>"$config"
installer i "$newer" LISTEN_PORT=19192 || fail "upgrading: $?: $(cat "$work/said")"
is "the end of the configuration" "$(tail -1 "$config")" '# changed'
service_line "--web.listen-address=127.0.0.1:19192 --log.level=debug --collector.cpu"
is "the kept firewall rule" "$(value "$settings" FirewallAllow)" 127.0.0.9
run reg query 'HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Uninstall' /s || fail "no uninstaller"
is "the number of installed versions" "$(grep -c 'DisplayName.*etw_exporter' "$work/said")" 1
grep 'DisplayVersion.*99\.0\.0' "$work/said" >/dev/null || fail "the upgrade is not listed"
if installer i "first/$name.msi"; then
	fail "an older version was installed over a newer one"
fi

# Removed: only the configuration stays. Installed again, it is used.
installer x "$newer" || fail "removing: $?: $(cat "$work/said")"
is "what is left" "$(cd "$folder" && find . -type f)" ./config/etw_exporter.yaml
for key in "$service" "$settings" "$source"; do
	if run reg query "$key"; then
		fail "$key is left: $(cat "$work/said")"
	fi
done
installer i "first/$name.msi" || fail "installing again: $?"
is "the end of the configuration" "$(tail -1 "$config")" '# changed'
service_line "--web.listen-address=:9189 "
installer x "first/$name.msi" || fail "removing again: $?"
# What Windows runs of it was never seen: Wine ignores these tables.
for row in 'DelayedStart.*3.1' 'FailureFlag.*4.1' 'SeChangeNotifyPrivilege\[~\]SeSystemProfilePrivilege'; do
	msiinfo export "$work/first/$name.msi" MsiServiceConfig | tr -d '\r' | grep "$row" >/dev/null || fail "MsiServiceConfig has no $row"
done
