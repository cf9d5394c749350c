#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what .ci/package.sh wrote besides the packages: check_packages.py OUT

SHA256SUMS names every file and is right. The SBOM is SPDX 2.3: required fields, references to what it has, the check sums of the files
in each archive, a licence and a version for each library, and no library twice. The manifests of winget and Chocolatey name the .msi with its
check sum. Fields: "SPDX Specification 2.3"; "Manifest Schema v1.10.0", microsoft/winget-pkgs, doc/manifest.
"""
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import yaml

faults = []


def expect(what, good):
    if not good:
        faults.append(what)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def check_sums(out):
    listed = {}
    for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ")
        listed[name] = digest
    there = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} - {"SHA256SUMS"}
    expect(f"SHA256SUMS lists {sorted(set(listed) ^ there)} or the folder has it, not both", set(listed) == there)
    for name in there & set(listed):
        expect(f"{name}: another check sum", listed[name] == sha256((out / name).read_bytes()))


def contents(path):
    """{file: SHA-256} of an archive, as it is installed or unpacked; None for an installer, which cabextract would be needed for."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return {"./" + name.split("/", 1)[1]: sha256(archive.read(name)) for name in archive.namelist()}
    if path.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            return {member.name: sha256(archive.extractfile(member).read()) for member in archive if member.isfile()}
    return None


def check_vex(out):
    documents = list(out.glob("*.openvex.json"))
    expect(f"{len(documents)} VEX documents", len(documents) == 1)
    document = json.loads(documents[0].read_text(encoding="utf-8"))
    expect("VEX: a value is not filled in", "@" not in re.sub(r'"@\w+"|@example\.org|pkg:[^"]*', "", documents[0].read_text(encoding="utf-8")))
    for statement in document["statements"]:
        expect("VEX: status", statement["status"] == "not_affected" and statement["justification"] == "vulnerable_code_not_present")
        expect("VEX: name", re.fullmatch(r"CVE-\d{4}-\d+", statement["vulnerability"]["name"]))


def check_sbom(out):
    documents = list(out.glob("*.spdx.json"))
    expect(f"{len(documents)} SBOMs", len(documents) == 1)
    document = json.loads(documents[0].read_text(encoding="utf-8"))
    for field in ("spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"):
        expect(f"SBOM: no {field}", document.get(field))
    expect("SBOM: spdxVersion", document["spdxVersion"] == "SPDX-2.3" and document["dataLicense"] == "CC0-1.0")
    expect("SBOM: created", re.fullmatch(r"\d{4}(-\d\d){2}T\d\d(:\d\d){2}Z", document["creationInfo"]["created"]))
    elements = document["packages"] + document["files"]
    ids = [element["SPDXID"] for element in elements] + ["SPDXRef-DOCUMENT"]
    expect("SBOM: an id stands twice", len(ids) == len(set(ids)))
    expect("SBOM: an id of other characters", all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", one) for one in ids))
    files = {file["SPDXID"]: file for file in document["files"]}
    packages = {package["SPDXID"]: package for package in document["packages"]}
    contained = {}
    for row in document["relationships"]:
        expect(f"SBOM: {row} names what is not there", {row["spdxElementId"], row["relatedSpdxElement"]} <= set(ids))
        if row["relationshipType"] == "CONTAINS":
            contained.setdefault(row["spdxElementId"], []).append(files[row["relatedSpdxElement"]])
    for package in packages.values():
        for field in ("name", "versionInfo", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"):
            expect(f"SBOM: {package['SPDXID']}: no {field}", package.get(field))
    for key, parts in contained.items():
        name = packages[key]["packageFileName"]
        found = contents(out / name)
        listed = {part["fileName"]: next(one["checksumValue"] for one in part["checksums"] if one["algorithm"] == "SHA256") for part in parts}
        expect(f"SBOM: {name} has no files", listed)
        expect(f"SBOM: the files of {name}", found is None or found == listed)
        expect(f"SBOM: {name}: another check sum", packages[key]["checksums"][0]["checksumValue"] == sha256((out / name).read_bytes()))
        linked = {packages[row["relatedSpdxElement"]]["name"]: packages[row["relatedSpdxElement"]] for row in document["relationships"]
                  if row["spdxElementId"] == key and row["relationshipType"] == "STATIC_LINK"}
        expected = {"etwtool": {"libarchive"}, "libetw-dev": set()}.get(name.split("_")[0], {"civetweb", "libarchive"})
        expect(f"SBOM: {name} has only {sorted(linked)}", expected <= set(linked))
        for one in linked.values():
            expect(f"SBOM: {one['name']}: no licence or version", "NOASSERTION" not in (one["licenseConcluded"], one["versionInfo"]))
        folder = {".zip": "./licences", ".deb": f"./usr/share/doc/{name.split('_')[0]}/licences"}.get(name[-4:])
        for library in linked if folder else ():
            expect(f"{name}: no licence of {library}", f"{folder}/{library}.txt" in listed)
        if name.endswith(".zip"):
            expect(f"{name}: only {sorted(linked)} are linked", {"civetweb", "expat", "libarchive", "libxcrypt", "libyaml", "libzstd", "mingw-w64-x86-64-dev", "openssl", "pcre2",
                                                                          "xz-utils", "zlib"} <= set(linked))
    installed = {path.name for path in out.iterdir() if path.suffix in (".deb", ".zip", ".msi") and "-debug" not in path.name}
    expect("SBOM: a package is missing", {packages[key]["packageFileName"] for key in contained} == installed)


def check_manifests(out):
    msi = next(iter(out.glob("*.msi")), None)
    if not msi:
        return
    digest = sha256(msi.read_bytes())
    version = re.search(r"-(\d+\.\d+\.\d+)-", msi.name)[1]
    manifests = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in (out / "winget").iterdir()}
    expect("winget: not three manifests", sorted(one["ManifestType"] for one in manifests.values()) == ["defaultLocale", "installer", "version"])
    for name, manifest in manifests.items():
        expect(f"{name}: its name", name.startswith(manifest["PackageIdentifier"]))
        expect(f"{name}: its version", str(manifest["PackageVersion"]) == version and str(manifest["ManifestVersion"]) == "1.10.0")
        if manifest["ManifestType"] == "installer":
            installer = manifest["Installers"][0]
            expect(f"{name}: the check sum", installer["InstallerSha256"] == digest.upper())
            expect(f"{name}: the address", installer["InstallerUrl"].endswith("/" + msi.name))
            expect(f"{name}: the product code", re.fullmatch(r"\{[0-9A-F-]{36}\}", manifest["ProductCode"]))
    nuspec = ElementTree.parse(out / "chocolatey/etw-exporter.nuspec").getroot()
    space = {"n": "http://schemas.microsoft.com/packaging/2015/06/nuspec.xsd"}
    for field, value in (("id", "etw-exporter"), ("version", version)):
        expect(f"Chocolatey: {field}", nuspec.findtext(f"n:metadata/n:{field}", namespaces=space) == value)
    script = (out / "chocolatey/tools/chocolateyinstall.ps1").read_text(encoding="utf-8")
    expect("Chocolatey: the check sum", f"'{digest}'" in script and msi.name in script)
    for path in (out / "chocolatey").rglob("*"):
        expect(f"{path.name}: a value was not filled in", path.is_dir() or not re.search(r"@\w+@", path.read_text(encoding="utf-8")))


def main(out):
    check_sums(out)
    check_sbom(out)
    check_vex(out)
    check_manifests(out)
    print("\n".join(faults) or "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
