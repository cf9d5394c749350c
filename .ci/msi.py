#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the installer for Windows of a folder: msi.py FOLDER VERSION OUT.msi

wixl of msitools makes it of packaging/windows/etw_exporter.wxs.in and a component for each other file of FOLDER. Tables that wixl does not
know are added with msibuild, and what changes from run to run is replaced: the same folder, version and SOURCE_DATE_EPOCH make the same
bytes. Tables and columns: "MSI database tables", Microsoft Learn.
"""
import hashlib
import os
import re
import struct
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from xml.sax.saxutils import quoteattr

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "packaging/windows/etw_exporter.wxs.in"
SPACE = uuid.UUID("9f7c6e52-3b0b-5d0e-9c59-6c1c5b1e1a52")  # of our names; also the UpgradeCode

PROGRAM = "etw_exporter.exe"          # in the template
KEPT = "config/etw_exporter.yaml"     # the administrator's: never overwritten and never removed


def guid(name):
    return str(uuid.uuid5(SPACE, name)).upper()


def identifier(path):
    """A primary key: short, and of the characters that are allowed."""
    return "f" + uuid.uuid5(SPACE, path).hex


def tree(folder, prefix, depth, components):
    """The <Directory> elements of what is below, with a component for each file."""
    lines, space = [], "  " * depth
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        path = prefix + entry.name
        if entry.is_dir():
            lines.append(f"{space}<Directory Id={quoteattr(identifier(path))} Name={quoteattr(entry.name)}>")
            lines += tree(entry, path + "/", depth + 1, components)
            lines.append(f"{space}</Directory>")
        elif path != PROGRAM:
            key = identifier(path)
            components.append(key)
            lines.append(f'{space}<Component Id="{key}" Guid="{guid(path)}" Win64="yes">'
                         f'<File Id="{key}" Name={quoteattr(entry.name)} Source={quoteattr(path)} KeyPath="yes"/></Component>')
    return lines


PROPERTIES = [prefix + name for name in ("LISTEN_ADDRESS", "LISTEN_PORT", "EXTRA_FLAGS", "FIREWALL_ALLOW") for prefix in ("", "PREVIOUS_")]

# Custom actions: "Summary List of All Custom Action Types". 51 sets a property; 34 runs a program of a folder; +64 goes on when that
# fails, +256 runs it when the installation is undone, +1024 runs it with the others that change the machine, +2048 as LocalSystem.
SET, RUN = 51, 34 + 1024 + 2048
NETSH = '"[System64Folder]netsh.exe" advfirewall firewall '
RULE = "name=etw_exporter"
ADD = (NETSH + f"add rule {RULE} dir=in action=allow protocol=TCP localport=[LISTEN_PORT] remoteip=[FIREWALL_ALLOW] "
       'program="[INSTALLDIR]etw_exporter.exe"')
DELETE = NETSH + f"delete rule {RULE}"
REMOVED = 'REMOVE="ALL" AND NOT UPGRADINGPRODUCTCODE'
ACTIONS = [
    # name, type, source, target, condition, place (AppSearch is at 50, StopServices at 1900, InstallFiles at 4000, StartServices at 5900)
    ("KeepListenAddress", SET, "LISTEN_ADDRESS", "[PREVIOUS_LISTEN_ADDRESS]", "NOT LISTEN_ADDRESS AND PREVIOUS_LISTEN_ADDRESS", 51),
    ("KeepListenPort", SET, "LISTEN_PORT", "[PREVIOUS_LISTEN_PORT]", "NOT LISTEN_PORT AND PREVIOUS_LISTEN_PORT", 52),
    ("DefaultListenPort", SET, "LISTEN_PORT", "9189", "NOT LISTEN_PORT", 53),
    ("KeepExtraFlags", SET, "EXTRA_FLAGS", "[PREVIOUS_EXTRA_FLAGS]", "NOT EXTRA_FLAGS AND PREVIOUS_EXTRA_FLAGS", 54),
    ("KeepFirewallAllow", SET, "FIREWALL_ALLOW", "[PREVIOUS_FIREWALL_ALLOW]", "NOT FIREWALL_ALLOW AND PREVIOUS_FIREWALL_ALLOW", 55),
    ("RemoveFirewallRule", RUN + 64, "INSTALLDIR", DELETE, f"FIREWALL_ALLOW AND (NOT REMOVE OR {REMOVED})", 5801),
    ("UndoFirewallRule", RUN + 64 + 256, "INSTALLDIR", DELETE, "FIREWALL_ALLOW AND NOT REMOVE", 5802),
    ("AddFirewallRule", RUN, "INSTALLDIR", ADD, "FIREWALL_ALLOW AND NOT REMOVE", 5803),
]

# What --service=install sets (exporter/windows/service_win32.c), as the tables of Windows Installer 5: at installation and repair (1 + 2
# of Event). "MsiServiceConfig table": 3 delayed start, 4 failure actions flag, 6 required privileges, separated by [~].
INSTALLED = 1 + 2
SERVICE_TABLES = [
    "CREATE TABLE `MsiServiceConfig` (`MsiServiceConfig` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL, `Event` INT NOT NULL, "
    "`ConfigType` LONG NOT NULL, `Argument` CHAR(0), `Component_` CHAR(72) NOT NULL PRIMARY KEY `MsiServiceConfig`)",
    "CREATE TABLE `MsiServiceConfigFailureActions` (`MsiServiceConfigFailureActions` CHAR(72) NOT NULL, `Name` CHAR(255) NOT NULL, "
    "`Event` INT NOT NULL, `ResetPeriod` LONG, `RebootMessage` CHAR(255) LOCALIZABLE, `Command` CHAR(255) LOCALIZABLE, `Actions` CHAR(0), "
    "`DelayActions` CHAR(0), `Component_` CHAR(72) NOT NULL PRIMARY KEY `MsiServiceConfigFailureActions`)",
]
SERVICE_SETTINGS = [("DelayedStart", 3, "1"), ("FailureFlag", 4, "1"), ("Privileges", 6, "SeChangeNotifyPrivilege[~]SeSystemProfilePrivilege")]
RESTARTS_MS = ("5000", "30000", "300000")

# msidbComponentAttributesPermanent, NeverOverwrite, 64bit: "Component table".
KEPT_ATTRIBUTES = 16 + 128 + 256


def queries():
    yield f"UPDATE `Component` SET `Attributes` = {KEPT_ATTRIBUTES} WHERE `Component` = '{identifier(KEPT)}'"
    # What a user may pass on although the installation runs with higher rights.
    yield ("UPDATE `Property` SET `Value` = 'WIX_DOWNGRADE_DETECTED;WIX_UPGRADE_DETECTED;" + ";".join(PROPERTIES) +
           "' WHERE `Property` = 'SecureCustomProperties'")
    yield from SERVICE_TABLES
    for name, config_type, argument in SERVICE_SETTINGS:
        yield ("INSERT INTO `MsiServiceConfig` (`MsiServiceConfig`, `Name`, `Event`, `ConfigType`, `Argument`, `Component_`) "
               f"VALUES ('{name}', 'etw_exporter', {INSTALLED}, {config_type}, '{argument}', 'Program')")
    yield ("INSERT INTO `MsiServiceConfigFailureActions` (`MsiServiceConfigFailureActions`, `Name`, `Event`, `ResetPeriod`, `Actions`, "
           f"`DelayActions`, `Component_`) VALUES ('Restart', 'etw_exporter', {INSTALLED}, 86400, '1[~]1[~]1', "
           f"'{'[~]'.join(RESTARTS_MS)}', 'Program')")
    yield "INSERT INTO `InstallExecuteSequence` (`Action`, `Condition`, `Sequence`) VALUES ('MsiConfigureServices', 'VersionMsi >= \"5.00\"', 5850)"
    for name, action_type, source, target, condition, place in ACTIONS:
        yield f"INSERT INTO `CustomAction` (`Action`, `Type`, `Source`, `Target`) VALUES ('{name}', {action_type}, '{source}', '{target}')"
        yield f"INSERT INTO `InstallExecuteSequence` (`Action`, `Condition`, `Sequence`) VALUES ('{name}', '{condition}', {place})"


def tables_of(msi):
    return subprocess.run(["msiinfo", "tables", msi], check=True, capture_output=True, text=True).stdout.split()


def make(folder, version, out):
    components = []
    files = tree(folder, "", 5, components)
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in (("product_code", guid("product " + version)), ("version", version), ("guid_program", guid(PROGRAM)),
                        ("files", "\n".join(files)),
                        ("components", "\n".join(f'      <ComponentRef Id="{key}"/>' for key in components))):
        text = text.replace(f"@{name}@", value)
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "etw_exporter.wxs")
        msi = os.path.join(work, "etw_exporter.msi")
        Path(source).write_text(text, encoding="utf-8")
        subprocess.run(["wixl", "--arch", "x64", "-o", msi, source], check=True, cwd=folder)
        if "CustomAction" not in tables_of(msi):
            subprocess.run(["msibuild", msi, "-q", "CREATE TABLE `CustomAction` (`Action` CHAR(72) NOT NULL, `Type` INT NOT NULL, "
                            "`Source` CHAR(72), `Target` CHAR(255), `ExtendedType` LONG PRIMARY KEY `Action`)"], check=True)
        command = ["msibuild", msi]
        for query in queries():
            command += ["-q", query]
        subprocess.run(command, check=True)
        Path(out).write_bytes(reproducible(Path(msi).read_bytes()))


def reproducible(data):
    """The same installer with the time of the sources, and with a package code that its contents decide, in its summary information."""
    begin = data.index(b"Prometheus exporter for Event") - 512
    around = data[begin:begin + 1024]
    codes = [match.start(1) for match in re.finditer(rb"(\{[0-9A-F-]{36}\})\0", around)]
    times = [match.start(1) for match in re.finditer(rb"\x40\0\0\0(.{6}[\xd0-\xe0]\x01)", around, re.S)]
    if len(codes) != 1 or len(times) != 2:
        raise ValueError(f"{len(codes)} package codes and {len(times)} times in the summary information, expected 1 and 2")
    fixed = bytearray(data)
    for time in times:  # 100 ns since 1601
        struct.pack_into("<Q", fixed, begin + time, (int(os.environ["SOURCE_DATE_EPOCH"]) + 11644473600) * 10000000)
    code = slice(begin + codes[0], begin + codes[0] + 38)
    fixed[code] = b"\0" * 38
    fixed[code] = b"{%s}" % guid("package " + hashlib.sha256(fixed).hexdigest()).encode()
    return bytes(fixed)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: msi.py FOLDER VERSION OUT.msi")
    make(Path(sys.argv[1]).resolve(), sys.argv[2], os.path.abspath(sys.argv[3]))
