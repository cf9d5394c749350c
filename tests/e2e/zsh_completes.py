#!/usr/bin/env python3
"""Types beginnings of commands into an interactive zsh, presses Tab, and compares what stands on the line then.

usage: zsh_completes.py FOLDER_OF_COMPLETIONS
"""
import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time

WAIT_S = 120

# What is typed, and the line after Tab.
CASES = [
    ('etw_exporter --log.l', 'etw_exporter --log.level='),
    ('etw_exporter --log.level=de', 'etw_exporter --log.level=debug'),
    ('etw_exporter --log.level er', 'etw_exporter --log.level error'),
    ('etw_exporter --no-collector.virt', 'etw_exporter --no-collector.virtual_alloc'),
    ('etw_exporter --config.file=oth', 'etw_exporter --config.file=other.yaml'),
    ('etw_exporter --replay.file=x --replay.fi', 'etw_exporter --replay.file=x --replay.file='),
    ('etwtool summ', 'etwtool summary'),
    ('etwtool check oth', 'etwtool check other.yaml'),
    ('etwtool check --wi', 'etwtool check --with='),
    ('etwtool stats x.etl --format j', 'etwtool stats x.etl --format json'),
]
# Tab twice lists what is possible; so a widget writes the line into a file instead of leaving it on the screen.
SET_UP = r'''
fpath=(%s $fpath)
autoload -Uz compinit && compinit -u -D
unsetopt beep list_beep
PS1='' RPROMPT=''
complete-and-write() { zle complete-word; print -r -- "$BUFFER" >>%s; BUFFER='' }
zle -N complete-and-write
bindkey '^T' complete-and-write
print -r -- ready >>%s
'''


def main():
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, 'lines')
        for name in ('lines', 'other.yaml'):
            open(os.path.join(folder, name), 'w').close()
        master, slave = pty.openpty()
        shell = subprocess.Popen(['zsh', '-f', '-i'], stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
                                 env={**os.environ, 'TERM': 'dumb', 'HOME': folder, 'ZDOTDIR': folder, 'LC_ALL': 'C.UTF-8'})
        os.close(slave)
        screen = b''

        def written(count):
            nonlocal screen
            end = time.monotonic() + WAIT_S
            while time.monotonic() < end and shell.poll() is None:
                if select.select([master], [], [], 0.05)[0]:
                    screen += os.read(master, 4096)
                with open(lines) as file:
                    text = file.read().splitlines()
                if len(text) >= count:
                    return text
            sys.exit(f'zsh: no answer: {screen.decode(errors="replace")}')

        try:
            os.write(master, (SET_UP % (os.path.abspath(sys.argv[1]), lines, lines)).replace('\n', '\r').encode())
            written(1)
            for number, (typed, _) in enumerate(CASES):
                os.write(master, typed.encode() + b'\x14')
                written(number + 2)
            got = [re.sub(r' $', '', line) for line in written(len(CASES) + 1)[1:]]
        finally:
            shell.kill()
            shell.wait()
        wrong = [f'{typed}: {line}' for (typed, expected), line in zip(CASES, got) if line != expected]
        print('\n'.join(wrong) or f'zsh: {len(CASES)} completions')
        sys.exit(1 if wrong else 0)


main()
