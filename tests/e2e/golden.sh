#!/usr/bin/env bash
# The exposition of the sample recording, as it was last looked at and found right: a change shows as a few lines.
# To accept one: UPDATE_GOLDEN=1 bash tests/e2e/golden.sh with the variables that ctest sets (lib.bash).
. "${BASH_SOURCE%/*}/lib.bash"

golden=$SOURCE_DIR/tests/golden/sample.prom
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" "${all_collectors[@]}" 2>/dev/null |
	grep -vE '^(# (HELP|TYPE) )?(process_|etw_consumer_busy|etw_exporter_)' >"$work/page"
if [ -n "${UPDATE_GOLDEN:-}" ]; then
	cp "$work/page" "$golden"
fi
diff -u "$golden" "$work/page" >"$work/diff" || fail "the exposition has changed: $(head -40 "$work/diff")"

# limits.shares: a share of the network has a value of its own, and nothing else changes.
echo 'limits: { shares: 1 }' >"$work/shares.yaml"
"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --config.file="$work/shares.yaml" "${all_collectors[@]}" 2>/dev/null |
	grep -vE '^(# (HELP|TYPE) )?(process_|etw_consumer_busy|etw_exporter_)' >"$work/shares"
grep -q 'volume="Mup"' "$work/page" || fail "no file of the sample is on the network"
sed 's/volume="Mup"/volume="\\\\\\\\backup01\\\\logs"/' "$work/page" | diff - "$work/shares" >"$work/diff" ||
	fail "with a share: $(head -40 "$work/diff")"
