#!/usr/bin/env bash
# --print-config: what it prints is read as the same configuration, and says what the program then does.
. "${BASH_SOURCE%/*}/lib.bash"

mkdir -p "$work/own folder/collectors" "$work/other"
cp "$SOURCE_DIR/config/collectors/disk.yaml" "$work/own folder/collectors/disk.yaml"
cp "$SOURCE_DIR"/config/manifests/*DNS*.man "$work/own folder/"
cat >"$work/own folder/all.yaml" <<'END'
web: { telemetry_path: '/own', listen_addresses: ['127.0.0.1:0', '[::1]:0'] }
log: { format: json, level: warn }
sessions:
  "it's a ☃ session": { logger: user, providers: [Microsoft-Windows-DNS-Client:4:3006] }
  NT Kernel Logger:
    logger: nt_kernel_logger
    on_conflict: takeover
    buffers: { size: 131072, min: 0x40, max: 128 }
    flush: 5000ms
    rundown: off
  "third\u202e\n": # quoted, because it has characters that mislead
    logger: user
    buffers: { min: 8 }
    providers:
      - provider: '{2f07e2ee-15db-40f1-90ef-9d7ba282188a}'
        level: 4
        any: 0x10
        all: 16
        ids: { exclude: [1, 2] }
        process_ids: [4, 8]
        executables: [svchost.exe, "two words.exe"]
        properties: [sid, stack]
        arguments: { EventCounterIntervalSec: 10, "a b": "c: 'd' # e", empty: '' }
        payload:
          - { event: 3008, all: [{ field: Status, '!=': 0 }, { field: N, between: [-5, 9] }] }
          - { event: 3009, any: [{ field: Name, contains: "'quoted' # not a comment" }] }
        capture_state: { at_start: 1, every: 60s }
      - Microsoft-Windows-TCPIP
process_case: lower
limits: { series_per_family: 10, series: 0x64, processes: 30, threads: 40, files: 50, top_paths: 7, shares: 8, strings: 128 KiB }
path_groups:
  - { name: 7, match: ['C:\logs\**', "**\\a'b: c.txt"] }
  - { name: 'on', match: [\x\*] }
filters:
  processes: { include: ['^a: b$', 'c # d', 'x''y', 'e\\f', '1', 'true', ' g ', '- h', '&i', '{j: k}', '%', '@', '!', '', 'a:'], exclude: [a, "tab\t", ~x, 'null', '~'] }
  events: [{ event: FileIo/QueryInfo }, { event: '*' }]
schemas: [.]
collector_files: ['collectors/*.yaml', /no/such/folder/*.yaml]
collectors: { dns: on, file: off }
END
# What etw_exporter.yaml shows of sessions is a comment.
sed -n '/^#   sessions:$/,/^sessions: {}/ s/^#   //p' "$SOURCE_DIR/config/etw_exporter.yaml" >"$work/commented.yaml"

# same NAME FLAGS...: prints the configuration that the flags name; it must read as itself, in another folder and without them.
same() {
	local name=$1 printed=$work/$1.yaml again=$work/other/$1.yaml

	shift
	"$ETW_EXPORTER" --print-config "$@" >"$printed" 2>"$work/err" || fail "$name: exit $?: $(cat "$work/err")"
	(cd "$work/other" && "$ETW_EXPORTER" --print-config --config.file "$printed" >"$again") || fail "$name: not read: $(cat "$printed")"
	diff "$printed" "$again" || fail "$name: read as another one"
	"$ETWTOOL" check "$printed" >/dev/null || fail "$name: etwtool refuses it"
}
# has NAME LINE...: lines of the printed file, which stand in it in this order.
has() {
	local file=$work/$1.yaml at=0 line found

	shift
	for line in "$@"; do
		found=$(tail -n +$((at + 1)) "$file" | grep -nxF -- "$line" | head -n 1 | cut -d: -f1 || true)
		[ -n "$found" ] || fail "'$line' is not there, or not in its place: $(cat "$file")"
		at=$((at + found))
	done
}

echo 'kernel_events: off' >"$work/no kernel.yaml"
same without_kernel --config.file "$work/no kernel.yaml"
same defaults
has defaults '  cpu: off' '  disk: on' 'collector_files: []' '  series_per_family: 2000' '  etw_exporter:' '    logger: auto' \
	'      size: 256KiB' '    rundown: on' '    providers: []' '  level: info' "    - ':9189'" '  telemetry_path: /metrics'
same shipped --config.file "$SOURCE_DIR/config/etw_exporter.yaml"
diff "$work/defaults.yaml" "$work/shipped.yaml" || fail "etw_exporter.yaml has other values than the program"
same sessions --config.file "$work/commented.yaml"
has sessions '  etw_exporter:' '      - Microsoft-Windows-DNS-Client:4' '        level: 5' '        any: 0xffffffffffffffff' '          at_start: 0'

cd "$work"
same all --config.file 'own folder/all.yaml'
has all '  dns: on' '  file: off' "  - '$work/own folder/collectors/*.yaml'" "  - '/no/such/folder/*.yaml'" "  - '$work/own folder/.'" \
	"      - '- h'" "      - a" '      - "tab\t"' '  series: 0x64' "  strings: '128 KiB'" 'process_case: lower' "  'it''s a ☃ session':" \
	'    on_conflict: takeover' '      min: 0x40' '  "third\u202e\n":' "                '!=': 0" "                contains: '''quoted'' # not a comment'" \
	'          at_stop: 0' '          every: 60s' '  level: warn' '    - '"'127.0.0.1:0'"
! grep -q on_conflict defaults.yaml || fail "on_conflict for a session that must not have it"

# Flags win, and are in the file.
same flags --config.file 'own folder/all.yaml' --collector.disable-defaults --collector.cpu --no-collector.dns --log.level=error \
	--log.format=logfmt --web.listen-address=127.0.0.1:9999 --web.listen-address=[::1]:9998 --web.telemetry-path=/flag
has flags '  cpu: on' '  disk: off' '  dns: off' '  level: error' '  format: logfmt' '    - 127.0.0.1:9999' "    - '[::1]:9998'" '  telemetry_path: /flag'
! grep -q 127.0.0.1:0 flags.yaml || fail "an address of the file, though a flag gives others"

# A configuration with an error is not printed.
echo 'limits: { series: 0 }' >wrong.yaml
expect_exit 2 'wrong.yaml:1:19: series: 0 is not from 1' "$ETW_EXPORTER" --print-config --config.file wrong.yaml
[ ! -s "$work/out" ] || fail "it printed $(cat "$work/out")"
