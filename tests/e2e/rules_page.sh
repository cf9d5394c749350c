#!/usr/bin/env bash
# docs/rules.md: its examples are right, and it has every key and word that config/schema.json has.
. "${BASH_SOURCE%/*}/lib.bash"

page=$SOURCE_DIR/docs/rules.md
mkdir "$work/my-collectors" "$work/manifests"
cp "$SOURCE_DIR"/config/manifests/*TCPIP.man "$work/manifests"
awk -v to="$work" '/^```yaml/ { file = to "/block" ++count ".yaml"; next } /^```/ { file = "" } file { print >file }' "$page"
[ -s "$work/block2.yaml" ] && [ ! -e "$work/block3.yaml" ] || fail "the page has a collector and a configuration"
mv "$work/block1.yaml" "$work/my-collectors/disk.yaml"
"$ETWTOOL" check config "$work/block2.yaml" >"$work/checked" 2>&1 || fail "$(cat "$work/checked")"
grep -q '^  histogram etw_disk_operation_duration_seconds{disk, operation}$' "$work/checked" || fail "$(cat "$work/checked")"

python3 - "$SOURCE_DIR/config/schema.json" "$page" <<'PYTHON' || fail "docs/rules.md lacks words of config/schema.json"
import json
import re
import sys

found = set()


def collect(node):
    """Keys that a file may have, and words that a value may be."""
    if isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            found.update(node["properties"])
        found.update(word for word in node.get("enum", []) if isinstance(word, str))
        for key, value in node.items():
            if key != "properties":
                collect(value)
            else:
                for schema in value.values():
                    collect(schema)
    elif isinstance(node, list):
        for value in node:
            collect(value)


schema = json.load(open(sys.argv[1], encoding="utf-8"))
page = open(sys.argv[2], encoding="utf-8").read()
collect(schema)
# Derived fields stand in a description.
found.update(re.findall(r"\b(?:Event\.)?[A-Z][a-z]+(?:[A-Z][a-z]+)*\b", schema["$defs"]["field"]["description"].split("derived one: ")[1].split(" Inside ")[0]))
missing = sorted(word for word in found if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", page))
print("\n".join(missing) or f"ok: {len(found)} words")
sys.exit(bool(missing) or len(found) < 150)
PYTHON
