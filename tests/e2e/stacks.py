"""Call stacks of recordings, as `etwtool dump` shows their records (docs/etl-format.md section 15, "StackWalk")."""
import collections
import json
import os
import re
import subprocess

STACK, DELETE, RUNDOWN, KERNEL_KEY, USER_KEY = 32, 35, 36, 37, 38


HEADER = re.compile(r'"ts": (\d+),.* "tid": (\d+), "provider"')


def lines(tool, path):
    done = subprocess.run([tool, "dump", path], capture_output=True, check=True)
    return done.stdout.decode("utf-8").splitlines()


def thread(event):
    """The thread whose stack an event without a thread in its header has; None: the event names none."""
    fields = event.get("fields", {})
    for name in ("ThreadId", "NewThreadId", "TTID"):
        if name in fields:
            return fields[name]
    return fields["TThreadId"] if event.get("event") == "PageFault_HardFault" else None


class Stacks:
    def __init__(self, tool, path):
        self.events = set()
        self.stacks = []
        self.definitions = collections.defaultdict(list)
        self.bytes = os.path.getsize(path)
        self.path = path
        for line in lines(tool, path):
            header = HEADER.search(line)
            if header:
                self.events.add((int(header[1]), int(header[2])))
                continue
            record = json.loads(line)
            if record.get("provider_name") != "StackWalk":
                self.events.add((record["ts"], thread(record)))
            elif record["opcode"] in (STACK, KERNEL_KEY, USER_KEY):
                self.stacks.append(record)
            elif record["opcode"] in (DELETE, RUNDOWN):
                self.definitions[record["fields"]["StackKey"]].append(record)

    def has_event_of(self, stack):
        fields = stack["fields"]
        return any((fields["EventTimeStamp"], thread) in self.events for thread in (fields["StackThread"], None))

    def definition_of(self, reference):
        """The first one of the key from its time on."""
        later = [d for d in self.definitions.get(reference["fields"]["StackKey"], ()) if d["ts"] >= reference["ts"]]
        return min(later, key=lambda d: d["ts"])["fields"]["Stack"] if later else None

    def references(self):
        return [stack for stack in self.stacks if stack["opcode"] != STACK]

    def what(self, stack):
        """A stack without its place in the file, and with its addresses."""
        addresses = stack["fields"]["Stack"] if stack["opcode"] == STACK else self.definition_of(stack)
        return (stack["ts"], stack["opcode"], json.dumps(stack["fields"]), json.dumps(addresses))
