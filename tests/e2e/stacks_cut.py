"""stacks_cut.py ETWTOOL WHOLE PART...: a part has the stacks of its events, no others, and each key means what it means in the whole.
With --split the parts are those of one recording, in which events that describe others are repeated without their stacks."""
import sys

from stacks import Stacks

arguments = [argument for argument in sys.argv[1:] if argument != "--split"]
split = len(arguments) < len(sys.argv) - 1
tool, whole, parts = arguments[0], Stacks(tool=arguments[0], path=arguments[1]), arguments[2:]
wanted = {whole.what(stack): stack for stack in whole.stacks}
print(f"{whole.path}: {whole.bytes} bytes, {len(whole.stacks)} stacks")
total = 0
for path in parts:
    part = Stacks(tool, path)
    found = {part.what(stack) for stack in part.stacks}
    total += len(part.stacks)
    keys = {reference["fields"]["StackKey"] for reference in part.references()}
    undefined = {reference["fields"]["StackKey"] for reference in part.references() if part.definition_of(reference) is None}
    print(f"{path}: {part.bytes} bytes, {len(part.stacks)} stacks, {len(undefined)} of {len(keys)} keys undefined")
    if undefined:
        sys.exit(f"{path}: keys without a definition: {sorted(undefined)[:5]}")
    if found - set(wanted):
        sys.exit(f"{path}: other stacks than the whole: {sorted(found - set(wanted))[:2]}")
    if any(not part.has_event_of(stack) for stack in part.stacks):
        sys.exit(f"{path}: a stack has lost its event")
    lost = [what for what, stack in wanted.items() if part.has_event_of(stack) and what not in found]
    if lost and not split:
        sys.exit(f"{path}: {len(lost)} stacks of its events are missing: {lost[:2]}")
if split and total != len(whole.stacks):
    sys.exit(f"the parts have {total} stacks together")
