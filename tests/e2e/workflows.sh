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
	local path workflows=() status=0

	for path in "$@"; do
		! grep -q '^jobs:' "$path" || workflows+=("$path")
	done
	node "$lint/lint.mjs" "${workflows[@]}" || status=1
	python3 "$SOURCE_DIR/tests/test_workflows.py" "$@" || status=1
	yamllint --strict -f parsable -d "$style" "$@" || status=1
	return "$status"
}
mapfile -t all < <(find "$SOURCE_DIR/.github" -name '*.yml' | sort)
check_all "${all[@]}" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
echo "ok: ${all[*]#"$SOURCE_DIR/.github/"}"

# finds PATTERN SED-SCRIPT: $file with that change has a fault that reads so. All are checked together, at the end.
patterns=()
changes=()
finds() {
	local changed=$work/${#changes[@]}-changed.yml

	patterns+=("$1")
	changes+=("$file: $2")
	sed "$2" "$SOURCE_DIR/.github/$file" >"$changed"
	if cmp -s "$SOURCE_DIR/.github/$file" "$changed"; then
		fail "$file: $2 changes nothing"
	fi
}
file=workflows/windows.yml
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
finds 'starts by something else than tags' 's/^    tags: .*/    branches: [main]/'
finds 'starts by something else than tags' 's/^  workflow_dispatch:/  workflow_dispatch:\n  pull_request:/'
finds 'starts by something else than by hand' 's/^  workflow_dispatch:/  schedule:\n    - cron: "0 0 * * *"/'
finds 'label "windows-11-alm" is unknown' 's/windows-11-arm/windows-11-alm/'
finds 'permissions are not those' 's/contents: read/contents: write/'
finds 'not pinned by a commit' 's/@[0-9a-f]\{40\} # v6\.0\.2/@v6/'
finds 'keeps credentials' 's/persist-credentials: false/persist-credentials: true/'
finds 'has no timeout-minutes' '/timeout-minutes/d'
finds 'has no concurrency' '/^concurrency/,/cancel-in-progress/d'
finds 'in a fork that did not ask for it' '/repository\.fork/d'
finds 'is nothing that tests/run.sh runs' 's/- run: bash .ci.deps-mingw.sh/- run: apt-get install mingw-w64/'
finds 'has no row in tests/test_workflows.py' 's/etw_selftest.exe$/etw_selftset.exe/'
finds 'trailing spaces' 's/^jobs:/jobs: /'

file=workflows/linux.yml
finds "starts by something else than by hand" 's/^  pull_request:/  pull_request_target:/'
finds "starts by something else than tags" '/^  pull_request:/d'
finds "job short has permissions of its own" 's/^    timeout-minutes: 30/    permissions:\n      contents: write\n&/'
finds "unknown job 'shirt'" 's/needs: short/needs: shirt/'
finds "--al' is nothing that tests/run.sh runs" 's/run.sh --all/run.sh --al/'
finds "Required input .path. not provided|Missing required input .path." '0,/^          path: /{/^          path: /d}'
finds "Unrecognized function: 'hashFile'" 's/hashFiles/hashFile/'
finds 'shellcheck: In' 's/"$GITHUB_WORKSPACE"/$GITHUB_WORKSPACE/'
finds 'an expression inside a command' 's/run: bash tests.run.sh$/run: bash tests\/run.sh ${{ github.head_ref }}/'

file=workflows/release.yml
finds 'in a fork that did not ask for it' '/repository\.fork/d'
finds 'does more than draft a release' "/^    needs: packages/,/^    runs-on/s/if: github.ref_type == 'tag'/if: always()/"
finds 'does more than draft a release' 's/      contents: write/      contents: write\n      packages: write/'
finds 'does more than draft a release' 's/gh release create/gh release delete/'
finds 'does more than draft a release' 's/ --draft / /'
finds 'does more than draft a release' 's/openvex.json} /openvex.json} ; bash /'
finds 'does more than draft a release' 's/actions\/download-artifact@/actions\/checkout@/'
finds "release-note.sh .* is nothing that tests/run.sh runs" 's/release-notes\.sh/release-note.sh/'

file=dependabot.yml
finds 'npm: the folders with a package-lock.json are /dashboards/check' '/tests.workflows$/d'
finds 'has no interval' '/interval/d; s/schedule:/schedule: {}/'

file=ISSUE_TEMPLATE/bug.yml
finds 'the form has no description' '/^description/d'
finds 'unknown type textaera' 's/type: textarea/type: textaera/'
finds 'unknown key lable' 's/^      label:/      lable:/'
finds 'two elements have the id what' 's/id: how/id: what/'

check_all "$work"/*-changed.yml >"$work/out" 2>&1 && fail "no fault at all"
for i in "${!changes[@]}"; do
	grep -E "(^|/)$i-changed\.yml:" "$work/out" | says -E -- "${patterns[i]}" ||
		fail "${changes[i]}: $(grep -E "(^|/)$i-changed\.yml:" "$work/out")"
done
echo "ok: ${#changes[@]} faults are found"

# The notes of a release: the section of the version, or a sentence that says what is wrong.
mkdir -p "$work/tree/.ci"
cp "$SOURCE_DIR/.ci/release-notes.sh" "$work/tree/.ci"
echo 'project(etw_exporter VERSION 1.2.3 LANGUAGES C)' >"$work/tree/CMakeLists.txt"
printf '# Changes\n\n## Unreleased\n\nlater\n\n## 1.2.3 (2030-01-02)\n\n### Added\n\n- now\n\n## 1.2.30\n\nother\n' >"$work/tree/CHANGELOG.md"
notes() { bash "$work/tree/.ci/release-notes.sh" "$1" "$work/new/notes.md" >"$work/out" 2>&1; }
notes v1.2.3 || fail "release-notes.sh: $(cat "$work/out")"
[ "$(grep . "$work/new/notes.md")" = $'### Added\n- now' ] || fail "the notes of 1.2.3: $(cat "$work/new/notes.md")"
rm "$work/new/notes.md"
for tag in v1.2.4 1.2.3 v1.2; do
	! notes "$tag" || fail "the tag $tag has notes"
	says "the tag is $tag, but the version in CMakeLists.txt is 1.2.3" <"$work/out" || fail "$tag: $(cat "$work/out")"
done
sed -i 's/^## 1.2.3 /## 1.2.2 /' "$work/tree/CHANGELOG.md"
! notes v1.2.3 || fail "a version without a section has notes"
says 'CHANGELOG.md has no section "## 1.2.3"' <"$work/out" || fail "no section: $(cat "$work/out")"
[ ! -e "$work/new/notes.md" ] || fail "notes were written"

# The command that drafts a release, with the files of .ci/package.sh and a gh that prints its arguments.
mkdir -p "$work/run/build/packages/winget" "$work/bin"
printf '#!/bin/sh\nprintf "%%s\\n" "$@"\n' >"$work/bin/gh"
chmod +x "$work/bin/gh"
cd "$work/run"
touch build/release-notes.md build/packages/{etw-exporter_1.2.3_amd64.deb,SHA256SUMS,etw_exporter-1.2.3.{spdx,openvex}.json,winget/x.yaml} \
	build/packages/etw_exporter-1.2.3-windows-amd64{.msi,.zip,-debug.zip}
python3 -c 'import sys, yaml
print(yaml.safe_load(open(sys.argv[1]))["jobs"]["draft"]["steps"][-1]["run"])' "$SOURCE_DIR/.github/workflows/release.yml" >draft.sh
PATH=$work/bin:$PATH GITHUB_REF_NAME=v1.2.3 bash -eo pipefail draft.sh >attached || fail "the command that drafts a release: exit $?"
[ "$(sed -n '1,4p' attached | paste -sd ' ')" = "release create v1.2.3 --draft" ] || fail "the draft: $(cat attached)"
diff <(find build/packages -maxdepth 1 -type f | sort) <(grep '^build/packages/' attached | sort) || fail "not all files are attached"
echo "ok: a draft of a release"
