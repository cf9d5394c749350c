#!/usr/bin/env bash
# Draws the pictures of README.md that show the report of the sample, light and dark, in headless Chromium: docs/report-*.webp.
# It needs the release build, and Chromium (.ci/deps-dashboards.sh).
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for tool in node chromium build/release/etwtool build/release/make_sample; do
	command -v "$tool" >/dev/null || { echo "report_pictures.sh: $tool is missing" >&2; exit 1; }
done
build/release/make_sample "$work/sample.etl" >/dev/null
build/release/etwtool report "$work/sample.etl" -o "$work/sample.html" >/dev/null
node tests/e2e/report.mjs "$work/profile" docs picture "$work/sample.html"
ls -l docs/report-*.webp
