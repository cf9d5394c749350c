#!/usr/bin/env bash
# The workflows of GitHub: three checkers and yamllint find no fault, and do find the faults that are put in.
. "${BASH_SOURCE%/*}/lib.bash"

lint=$SOURCE_DIR/tests/workflows
for tool in node yamllint shellcheck; do
	command -v "$tool" >/dev/null || skip "$tool is not installed: bash .ci/deps-more-tests.sh; bash .ci/deps-workflows.sh"
done
[ -d "$lint/node_modules" ] || skip "npm's packages are not installed: bash .ci/deps-workflows.sh"

style='{ extends: default, rules: { line-length: { max: 130 }, comments: { min-spaces-from-content: 1 } } }'
check_all() { # file...: status 1 when one of the checkers finds a fault; each line names the file
	local status=0
	node "$lint/lint.mjs" "$@" || status=1
	python3 "$SOURCE_DIR/tests/test_workflows.py" "$@" || status=1
	yamllint --strict -f parsable -d "$style" "$@" || status=1
	return "$status"
}
check_all "$SOURCE_DIR"/.github/workflows/*.yml >"$work/out" 2>&1 || fail "$(cat "$work/out")"
echo "ok: $(ls "$SOURCE_DIR/.github/workflows")"

# finds PATTERN SED-SCRIPT: windows.yml with that change has a fault that reads so. All are checked together, at the end.
patterns=()
changes=()
finds() {
	local changed=$work/${#changes[@]}-changed.yml

	patterns+=("$1")
	changes+=("$2")
	sed "$2" "$SOURCE_DIR/.github/workflows/windows.yml" >"$changed"
	if cmp -s "$SOURCE_DIR/.github/workflows/windows.yml" "$changed"; then
		fail "$2 changes nothing"
	fi
}
# What GitHub would refuse.
finds "Unexpected value 'runs_on'" 's/runs-on: ubuntu/runs_on: ubuntu/'
finds "unknown job 'built'" 's/needs: build/needs: built/'
finds 'loger' 's/matrix\.logger }}$/matrix.loger }}/'
finds 'shell name "cdm" is invalid' 's/shell: cmd/shell: cdm/'
finds 'label "windows-2052" is unknown' 's/windows-2025/windows-2052/'
finds "Unrecognized function: 'canceled'" 's/!cancelled()/!canceled()/'
finds "Unexpected value 'content'" 's/contents: read/content: read/'
finds "Invalid action input 'if-no-file-found'" 's/if-no-files-found/if-no-file-found/'
finds 'Unable to resolve action' 's#actions/checkout@#actions/chekout@#'
finds 'Nested mappings' 's/^    container: /      container: /'
# What it would accept and we do not.
finds 'starts by something else' 's/^    tags: .*/    branches: [main]/'
finds 'starts by something else' 's/^  workflow_dispatch:/  pull_request:/'
finds 'permissions are not those' 's/contents: read/contents: write/'
finds 'not pinned by a commit' 's/@[0-9a-f]\{40\} # v6\.0\.2/@v6/'
finds 'keeps credentials' 's/persist-credentials: false/persist-credentials: true/'
finds 'has no timeout-minutes' '/timeout-minutes/d'
finds 'has no concurrency' '/^concurrency/,/cancel-in-progress/d'
finds 'in a fork that did not ask for it' '/repository\.fork/d'
finds 'is nothing that tests/run.sh runs' 's/- run: bash .ci.deps-mingw.sh/- run: apt-get install mingw-w64/'
finds 'has no row in tests/test_workflows.py' 's/--self-test$/--self-tset/'
finds 'trailing spaces' 's/^jobs:/jobs: /'
check_all "$work"/*-changed.yml >"$work/out" 2>&1 && fail "no fault at all"
for i in "${!changes[@]}"; do
	grep -E "(^|/)$i-changed\.yml:" "$work/out" | says -E -- "${patterns[i]}" ||
		fail "${changes[i]}: $(grep -E "(^|/)$i-changed\.yml:" "$work/out")"
done
echo "ok: ${#changes[@]} faults are found"
