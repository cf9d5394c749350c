# SPDX-License-Identifier: MIT
"""Events of made-up machines for three_users.sh, as lines for "etwtool relog --add".

usage: three_users.py iis|rds|loggers START

START is the time at which the recording begins, as a FILETIME. A minute of events follows. Each program writes and sends its own number of bytes
each second, so that sums by name and by owner are known: `bytes_of`.
"""
import json
import sys

PROCESS, THREAD = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c"
FILE, TCP = "90cbdc39-4a3e-11d1-84f4-0000f80464e3", "9a280ac0-c8e0-11d1-84e2-00c04fb998a2"
KERNEL_PROCESS, KERNEL_NETWORK = "22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", "7dd42a49-5329-4832-8dfd-43d979153a88"
SYSTEM, DOMAIN = "S-1-5-18", "S-1-5-21-3623811015-3361044348-30300820"
SECONDS, POOLS, USERS = 60, ["shop", "api", "intranet", "reports", "legacy app"], 30


def bytes_of(number):
    """What the program of this number writes, and sends, in a second."""
    return 1000 * (number + 1)


def programs(machine):
    """Rows of (image, command line, SID, terminal session)."""
    yield "svchost.exe", r"C:\Windows\system32\svchost.exe -k netsvcs -p -s Schedule", SYSTEM, 0
    if machine == "iis":
        for number, pool in enumerate(POOLS):
            yield "w3wp.exe", rf'c:\windows\system32\inetsrv\w3wp.exe -ap "{pool}" -v "v4.0" -h "C:\inetpub\temp\apppools\{pool}.config"', f"S-1-5-82-{number}-2-3-4-5", 0
        return
    for number in range(USERS):
        yield "EXCEL.EXE", r'"C:\Program Files\Microsoft Office\root\Office16\EXCEL.EXE"', f"{DOMAIN}-{1101 + number}", 2 + number
        yield "OUTLOOK.EXE", r'"C:\Program Files\Microsoft Office\root\Office16\OUTLOOK.EXE"', f"{DOMAIN}-{1101 + number}", 2 + number


def line(time, provider, number, fields, process, kind="perfinfo"):
    """Prints an event of a process. Records of the kind perfinfo have no process in their header, as those of the kernel mostly."""
    header = {} if kind == "perfinfo" else {"pid": process, "tid": process + 4}
    print(json.dumps({"filetime": time, "kind": kind, "ptr": 8, "cpu": process // 4 % 8, "provider": provider, "fields": fields, **number, **header}))


def kernel(machine, start):
    for number, (image, command_line, sid, session) in enumerate(programs(machine)):
        process, thread, path = 5000 + 16 * number, 5004 + 16 * number, rf"\Device\HarddiskVolume5\data\{number}.dat"
        line(start, PROCESS, {"opcode": 3, "version": 4},
             {"UniqueProcessKey": 4096 * process, "ProcessId": process, "ParentId": 4, "SessionId": session, "ExitStatus": 259, "DirectoryTableBase": 0,
              "Flags": 0, "UserSID": sid, "ImageFileName": image, "CommandLine": command_line, "PackageFullName": "", "ApplicationId": ""}, process)
        line(start, THREAD, {"opcode": 3, "version": 3},
             {**dict.fromkeys(["StackBase", "StackLimit", "UserStackBase", "UserStackLimit", "Affinity", "Win32StartAddr", "TebBase", "SubProcessTag",
                               "BasePriority", "PagePriority", "IoPriority", "ThreadFlags"], 0), "ProcessId": process, "TThreadId": thread,
              "ThreadName": ""}, process)
        for second in range(SECONDS):
            time, irp, opened = start + 10000000 * second + 20000 * number + 50000, 1 << 40 | number << 16 | second, 1 << 41 | number << 16 | second
            where = {"IrpPtr": irp, "FileObject": opened, "TTID": thread}
            key = 1 << 42 | number << 16
            line(time, FILE, {"opcode": 64, "version": 3}, {**where, "CreateOptions": 0x01000060, "FileAttributes": 128, "ShareAccess": 7, "OpenPath": path}, process)
            line(time + 10, FILE, {"opcode": 68, "version": 3}, {**where, "Offset": 0, "FileKey": key, "IoSize": bytes_of(number), "IoFlags": 0x60a00}, process)
            line(time + 20, FILE, {"opcode": 66, "version": 3}, {**where, "FileKey": key}, process)
            line(time + 30, TCP, {"opcode": 10, "version": 2},
                 {"PID": process, "size": 2 * bytes_of(number), "daddr": "203.0.113.24", "saddr": "10.20.4.17", "dport": 51000, "sport": 443, "startime": 0,
                  "endtime": 0, "seqnum": 0, "connid": 0}, process)


def providers(start):
    """What a session without a system logger gets."""
    for number, image in enumerate(("sqlservr", "w3wp")):
        process = 5000 + 16 * number
        connection = {"PID": process, "size": 0, "daddr": "203.0.113.24", "saddr": "10.20.4.17", "dport": 51000, "sport": 443}
        line(start, KERNEL_PROCESS, {"id": 15, "version": 0, "level": 4, "opcode": 0, "task": 15, "keyword": "0x10"},
             {"ProcessID": process, "CreateTime": 0, "ParentProcessID": 4, "SessionID": 0, "Flags": 0,
              "ImageName": rf"\Device\HarddiskVolume3\bin\{image}.exe", "ImageChecksum": 0, "TimeDateStamp": 0}, process, "event")
        for second in range(SECONDS):
            line(start + 10000000 * second + 20000 * number + 50000, KERNEL_NETWORK, {"id": 10, "version": 0, "level": 4, "opcode": 10, "task": 10, "keyword": "0x10"},
                 {**connection, "size": 2 * bytes_of(number), "startime": 0, "endtime": 0, "seqnum": 0, "connid": 0}, process, "event")
            line(start + 10000000 * second + 20000 * number + 60000, KERNEL_NETWORK, {"id": 11, "version": 0, "level": 4, "opcode": 11, "task": 10, "keyword": "0x10"},
                 {**connection, "size": bytes_of(number), "seqnum": 0, "connid": 0}, process, "event")


if __name__ == "__main__":
    if sys.argv[1] == "loggers":
        providers(int(sys.argv[2]))
    else:
        kernel(sys.argv[1], int(sys.argv[2]))
