#!/usr/bin/env bash
# cmake --install: into an empty prefix, from which the programs then run with the installed configuration. Of the Windows
# build under Wine.
. "${BASH_SOURCE%/*}/lib.bash"

# Wine's background processes keep what they inherit open, as long as any test uses Wine: its output goes to files.
run() { # program, arguments...: what it prints is in $work/said
	"${runner[@]}" "$@" </dev/null >"$work/said" 2>"$work/log" || fail "$*: exit $?: $(cat "$work/log")"
}
command -v cmake >/dev/null || skip "cmake is not installed"
prefix=$work/prefix
bin=$prefix/bin config=$prefix/etc/etw_exporter data=$prefix/share/etw_exporter
collectors=$data/collectors documents=$prefix/share/doc/etw_exporter
if [[ $ETW_EXPORTER == *.exe ]]; then
	runner=("${WINE64:-/usr/lib/wine/wine64}")
	suffix=.exe
	bin=$prefix config=$prefix/config data=$prefix/dashboards collectors=$prefix/config/collectors documents=$prefix
fi
cmake --install "$BUILD_DIR" --prefix "$prefix" >"$work/out" 2>&1 || fail "cmake --install: $(cat "$work/out")"
exporter=$bin/etw_exporter${suffix:-}
tool=$bin/etwtool${suffix:-}

# The programs, with the installed configuration.
run "$MAKE_SAMPLE" "$work/sample.etl"
cd "$work"
run "$exporter" --check-config --config.file="$config/etw_exporter.yaml"
run "$tool" check config "$config/etw_exporter.yaml"
run "$tool" summary sample.etl
grep -q '"records"' said || fail "etwtool summary: $(cat said)"
run "$exporter" --once --config.file="$config/etw_exporter.yaml" --replay.file=sample.etl
mv said page
run "$ETW_EXPORTER" --once --replay.file=sample.etl
mv said page_of_build
counted() { grep -E '^etw_(events|file_written_bytes|disk_written_bytes)_total' "$1"; }
diff <(counted page) <(counted page_of_build) || fail "the installed program counts otherwise"
[ "$(counted page | wc -l)" -gt 20 ] || fail "the installed program counts nothing"

if [ -n "${suffix:-}" ]; then
	run "$exporter" --version
	python3 "$SOURCE_DIR/tests/test_windows_programs.py" "$(sed -n 's/^etw_exporter \([^ ]*\).*/\1/p' said)" \
		"$exporter" "$tool" "$bin/etw_selftest.exe" >"$work/out" || fail "the installed programs: $(cat "$work/out")"
fi

# The rest is what the sources have.
same() { # folder of the sources, pattern, installed folder
	diff <(cd "$SOURCE_DIR/$1" && find . -name "$2" ! -name '*_test.yml' | sort) <(cd "$3" && find . -name "$2" | sort) ||
		fail "$3 is not $1"
}
same config/collectors '*.yaml' "$collectors"
same dashboards/grafana '*.json' "$data/grafana"
same dashboards/external '*.json' "$data/external"
same dashboards/agents '*' "$data/agents"
same dashboards/prometheus '*.yml' "$data/prometheus"
same dashboards/prometheus '*.libsonnet' "$data/prometheus"
same dashboards/provisioning '*.yaml' "$data/provisioning"
# Pages for those who change the program, and those of the library for Windows, stay in the sources.
expected=$(cd "$SOURCE_DIR/docs" && find . -maxdepth 1 -name '*.*' -type f | grep -vE '/(ARCHITECTURE|CONTRIBUTING|STYLE|recipes|build)\.md$' | sort)
[ "${suffix:-}" != .exe ] || expected=$(grep -vE '/(library\.md|etl-format\.md|kernel-event.*\.csv)$' <<<"$expected")
diff <(echo "$expected") <(cd "$documents/docs" && find . -name '*.*' -type f | sort) || fail "$documents/docs has other pages"
for file in "$config/schema.json" "$collectors/../schema.json" "$data/mixin.libsonnet" "$documents"/{CHANGELOG.md,LICENSE,README.md,SECURITY.md} \
	"$documents"/config/{README,METRICS}.md "$documents/dashboards/README.md"; do
	[ -s "$file" ] || fail "$file is not installed"
done
if [ "${suffix:-}" = .exe ]; then
	cmp "$SOURCE_DIR/selftest/collect.cmd" "$bin/collect.cmd" || fail "collect.cmd is not beside the program"
	[ -s "$prefix/completion/etw_selftest.ps1" ] || fail "etw_selftest.ps1 is not installed"
else
	found=$(find "$prefix" -name '*selftest*' ! -name '*.md')
	[ -z "$found" ] || fail "the self-test, which is for Windows, is installed: $found"
	for file in man/man1/etw_exporter.1 man/man1/etwtool.1 bash-completion/completions/etwtool zsh/site-functions/_etwtool \
		fish/vendor_completions.d/etwtool.fish etw_exporter/completion/etwtool.ps1; do
		[ -s "$prefix/share/$file" ] || fail "$file is not installed"
	done
fi
if command -v promtool >/dev/null; then
	promtool check config "$data/prometheus/scrape/one-host.yml" >"$work/out" 2>&1 || fail "Prometheus refuses it: $(cat "$work/out")"
fi
