#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is in the packages, for .ci/package.sh:

sbom.py libraries CACHE BUILD PROGRAM...
                               a line for each source package that a static library in these programs of BUILD is from:
                               name, version, licence, file with the text of the licences, separated by |; without version and file
                               when these have to be fetched
sbom.py write CACHE OUT VERSION REVISION PACKAGE=FOLDER=BUILD=PROGRAM,...  the SBOM, SPDX 2.3 as JSON

BUILD/PROGRAM.map is the linker's; packaging/libraries.csv says which source package a library is from. A library that the table does not know
is an error, so that no licence is forgotten. CACHE/sources has versions and licences of what the set-up scripts built (fetch_source).
"""
import csv
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTHING = "NOASSERTION"


def die(sentence):
    sys.exit(f"sbom.py: {sentence}")


def linked(build, programs):
    """Static libraries in the programs of a build, without our own: their paths."""
    found = set()
    for path in (Path(build, program + ".map") for program in programs):
        if not path.exists():
            die(f"no map of the linker, {path}: the build was configured without tests, or not as Release")
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith(("As-needed library", "Memory Configuration", "Discarded input sections")):
                break
            match = re.match(r"(/[^()]*\.a)\(", line)
            if match and not os.path.realpath(match[1]).startswith(os.path.realpath(build) + "/"):
                found.add(os.path.normpath(match[1]))
    return sorted(found)


def sources(build, programs):
    """{source package: (licences, whether the distribution built it)} of the libraries in the programs."""
    with open(ROOT / "packaging/libraries.csv", encoding="utf-8", newline="") as file:
        rows = {row["library"]: row for row in csv.DictReader(file)}
    found = {}
    for path in linked(build, programs):
        toolchain = path.startswith("/usr/")
        row = rows.get(os.path.basename(path))
        if not row and toolchain and "/x86_64-w64-mingw32/lib/" in path:
            row = rows["libmingw32.a"]  # describes a DLL of Windows
        if not row:
            die(f"{path} is in the programs, but not in packaging/libraries.csv")
        found.setdefault(row["source"], (set(), toolchain))[0].add(row["licence"])
    return found


def facts(cache, name, toolchain):
    """(version, file with the licences), or None when they have to be fetched."""
    if toolchain:
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True, check=True).stdout
        return version, Path("/usr/share/doc", name, "copyright")
    folder = Path(cache, "sources", name)
    if not (folder / "version").exists():
        return None
    return (folder / "version").read_text(encoding="utf-8").strip(), folder / "copyright"


def licence_of(licences):
    parts = sorted(licences)
    return parts[0] if len(parts) == 1 else " AND ".join(f"({part})" if " " in part else part for part in parts)


def print_libraries(cache, build, *programs):
    for name, (licences, toolchain) in sorted(sources(build, programs).items()):
        known = facts(cache, name, toolchain)
        version, text = known if known else ("", "")
        print(name, version, licence_of(licences), text, sep="|")


# ---- SPDX 2.3 ----

def identifier(*words):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def digest(algorithm, path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def dynamic_dependencies(package):
    """(name, version) of what a .deb depends on, as it is on this machine."""
    depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], capture_output=True, text=True, check=True).stdout
    for part in depends.split(","):
        name = re.split(r"[ (|]", part.strip())[0]
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", name], capture_output=True, text=True).stdout
        if name.startswith("lib"):
            yield name, version or NOTHING


class Document:
    def __init__(self, version, revision):
        epoch = int(os.environ["SOURCE_DATE_EPOCH"])
        self.document = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"etw_exporter-{version}",
            "creationInfo": {
                "created": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "creators": [f"Tool: etw_exporter-package.sh-{version}"]},
            "packages": [], "files": [], "relationships": []}
        self.seen = set()
        self.source = self.package("etw_exporter", version, "MIT", sourceInfo=f"commit {revision}", copyrightText="2026 etw_exporter authors",
                                   primaryPackagePurpose="SOURCE")

    def relate(self, one, relationship, other):
        row = {"spdxElementId": one, "relationshipType": relationship, "relatedSpdxElement": other}
        if row not in self.document["relationships"]:
            self.document["relationships"].append(row)

    def package(self, name, version, licence, **more):
        key = identifier("Package", name, version)
        if key not in self.seen:
            self.seen.add(key)
            self.document["packages"].append({
                "SPDXID": key, "name": name, "versionInfo": version, "downloadLocation": NOTHING, "filesAnalyzed": False,
                "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": NOTHING, **more})
        return key

    def library(self, name, version, licence, package_type):
        if licence.startswith("LicenseRef-"):  # one that SPDX has no name for
            self.document["hasExtractedLicensingInfos"] = [{"licenseId": licence, "extractedText": "See the licence of each library."}]
        # "Package URL": a source or a binary package of Debian.
        url = f"pkg:deb/debian/{name}@{version.replace('+', '%2B')}" + ("?arch=source" if package_type == "source" else "")
        return self.package(name, version, licence, sourceInfo=f"Debian {package_type} package {name} {version}", primaryPackagePurpose="LIBRARY",
                            externalRefs=[{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": url}])

    def artifact(self, path, version, folder):
        """A package that users get, with its files."""
        name = os.path.basename(path)
        key = identifier("Package", name)
        self.document["packages"].append({
            "SPDXID": key, "name": name, "versionInfo": version, "packageFileName": name, "downloadLocation": NOTHING,
            "filesAnalyzed": True, "licenseConcluded": "MIT", "licenseDeclared": "MIT", "licenseInfoFromFiles": ["MIT"],
            "copyrightText": "2026 etw_exporter authors", "primaryPackagePurpose": "INSTALL",
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest("sha256", path)}]})
        sums = []
        for file in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            where = "./" + file.relative_to(folder).as_posix()
            one = identifier("File", name, hashlib.sha1(where.encode()).hexdigest()[:16])
            sums.append(digest("sha1", file))
            self.document["files"].append({
                "SPDXID": one, "fileName": where, "licenseConcluded": "MIT" if "/licences/" not in where else NOTHING,
                "copyrightText": NOTHING, "licenseInfoInFiles": [NOTHING],
                "checksums": [{"algorithm": "SHA1", "checksumValue": sums[-1]}, {"algorithm": "SHA256", "checksumValue": digest("sha256", file)}]})
            self.relate(key, "CONTAINS", one)
        # "Package verification code field" of the specification.
        code = hashlib.sha1("".join(sorted(sums)).encode()).hexdigest()
        self.document["packages"][-1]["packageVerificationCode"] = {"packageVerificationCodeValue": code}
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", key)
        self.relate(key, "GENERATED_FROM", self.source)
        return key


def write(cache, out, version, revision, *packages):
    document = Document(version, revision)
    for package in packages:
        path, folder, build, programs = package.split("=")
        key = document.artifact(path, version, folder)
        for name, (licences, toolchain) in sorted(sources(build, programs.split(",")).items()):
            library = document.library(name, facts(cache, name, toolchain)[0], licence_of(licences), "binary" if toolchain else "source")
            document.relate(key, "STATIC_LINK", library)
        if path.endswith(".deb"):
            for name, its_version in dynamic_dependencies(path):
                document.relate(key, "DYNAMIC_LINK", document.library(name, its_version, NOTHING, "binary"))
    text = json.dumps(document.document, sort_keys=True)
    document.document["documentNamespace"] = "urn:uuid:" + str(uuid.uuid5(uuid.NAMESPACE_OID, text))
    Path(out).write_text(json.dumps(document.document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) >= 5 and sys.argv[1] == "libraries":
        print_libraries(*sys.argv[2:])
    elif len(sys.argv) >= 7 and sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        die("see its head for the arguments")
