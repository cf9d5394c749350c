#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the dictionary of a fuzz target for libFuzzer (-dict): usage: dictionary.py TARGET

The words are those of the program itself: string literals of the files that read the input, the keys of config/schema.json, names
of kernel events, GUIDs of kernel classes. So a word that the program learns is in the dictionary too. What a format has besides,
such as the brackets of XML, stands here.
"""
import csv
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
WORD = re.compile(rb"[\w@:/.;=+-]{2,48}")

XML = ["<", "</", "/>", ">", '="', '"', "<!--", "-->", "<![CDATA[", "]]>", "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
       "<!DOCTYPE a [<!ENTITY b \"c\">]>", "&amp;", "&lt;", "&#x", "&#0;", "$(string.", "0x", " xmlns=\"", "\xff\xfe"]
YAML = [": ", "\n", "\n  ", "\n    - ", "{ ", " }", "[", "]", ", ", "'", '"', "#", "&a ", "*a", "<<: ", "!!str ", "| ", "> ", "---\n",
        "...", "~", "null", "0x", ".inf", "1e400", "-1"]
HTTP = ["\r\n", "\r\n\r\n", "\n", ": ", "?", "&", "=", "%5B%5D", "[]", "GET ", "HEAD ", "POST ", "OPTIONS ", "CONNECT ", "PUT ",
        " HTTP/1.1\r\n", " HTTP/1.0\r\n", " HTTP/2.0\r\n", "http://", ";q=0.", ";q=1", ", ", "*/*", "\t", "+5", "0x10", "100-continue",
        "keep-alive", "Expect: ", "X-Prometheus-Scrape-Timeout-Seconds: ", "User-Agent: ", "$2y$10$", "-----BEGIN CERTIFICATE-----\n"]
ARGUMENTS = ["{", "}", "[", "]", '"', "\\", "\\u0000", "\\ud800", ":", ",", "=", "!=", "=~", "!~", "==", "<=", ">=", "<", ">", "%", "+",
             "-", "sum(", ")", "*", "**", "**\\", "?", "eq", "ne", "lt", "le", "gt", "ge", "in", "has", "lacks", "starts", "ends",
             "matches", "null", "true", "false", "1e400", "0x", ".", "T", "Z", "2020-07-29T00:07:00Z", "::ffff:", "/128", "localhost",
             "[::1]:9189", "\n", "Image/Load.FileName=", "*.@id="]


def literals(*patterns):
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            for line in path.read_text(encoding="utf-8").splitlines():
                if not line.startswith("#"):
                    yield from (match.group(1) for match in LITERAL.finditer(line))


def schema_words(node):
    """Keys and fixed values of the configuration."""
    if isinstance(node, dict):
        yield from (f"{key}: " for key in node.get("properties", {}))
        yield from (str(value) for value in node.get("enum", []))
        for value in node.values():
            yield from schema_words(value)
    elif isinstance(node, list):
        for value in node:
            yield from schema_words(value)


def kernel_names():
    with open(ROOT / 'docs/kernel-event-names.csv', encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["name"]:
                yield f'{row["class"]}/{row["name"]}'


def kernel_guids():
    for line in (ROOT / "lib/decode/kernel_classes.txt").read_text(encoding="utf-8").splitlines():
        match = re.match(r"class \S+ ([0-9a-f-]{36})", line)
        if match:
            first, second, third, *rest = match.group(1).split("-")
            yield b"".join(bytes.fromhex(part)[::-1] for part in (first, second, third)) + bytes.fromhex("".join(rest))


def manifest_words():
    return [*literals("lib/decode/manifest/*.c"), *XML]


TARGETS = {
    "fuzz_arguments": lambda: [*ARGUMENTS, *kernel_names(), *literals("etwtool/relog/event_lines.c", "lib/etl/change_record.c",
                                                                      "exporter/track/derived_fields.c", "lib/decode/text_forms.c")],
    "fuzz_decode": manifest_words,
    "fuzz_etl": kernel_guids,
    "fuzz_events": lambda: [*kernel_guids(), *manifest_words()],
    "fuzz_face": kernel_guids,
    "fuzz_http": lambda: [*HTTP, *YAML, *literals("exporter/http/request_head.c", "exporter/http/negotiate.c",
                                                  "exporter/http/web_settings.c", "exporter/http/tls.c")],
    "fuzz_inband": manifest_words,
    "fuzz_manifest": manifest_words,
    "fuzz_pipeline": lambda: [*kernel_guids(), *manifest_words()],
    "fuzz_relog": kernel_guids,
    "fuzz_schema": manifest_words,
    "fuzz_yaml": lambda: [*YAML, *kernel_names(), *schema_words(json.loads((ROOT / "config/schema.json").read_text(encoding="utf-8"))),
                          *literals("exporter/track/derived_fields.c", "exporter/rules/language/decoders.c")],
}


def escaped(word):
    return "".join(chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\x{byte:02x}" for byte in word)


def main():
    fixed = {text.encode("latin-1") for text in XML + YAML + HTTP + ARGUMENTS}
    found = {}
    for word in TARGETS.get(sys.argv[1], list)():
        if isinstance(word, str):
            word = word.encode("latin-1", "ignore")
            if word not in fixed and not WORD.fullmatch(word.strip()):
                continue
        found[word] = f'"{escaped(word)}"'
    for line in found.values():
        print(line)


if __name__ == "__main__":
    main()
