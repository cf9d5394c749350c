#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the man page of a program, and its completions for bash, zsh, fish and PowerShell.

usage: pages.py FOLDER DATE PROGRAM...

PROGRAM --describe prints the tables from which it reads its command line; what they do not say, such as exit statuses, stands
below. FOLDER gets the layout of an installation, from share/ on. DATE is that of the man page, such as 2026-01-31, or empty. The
same program and date give the same bytes.
"""
import json
import pathlib
import re
import subprocess
import sys
import textwrap

# What the tables do not say, by program: the summary, and sections of the man page, each a list of paragraphs, or of pairs of a
# term and its meaning.
STATUS = [('0', 'Success. A truncated recording only causes a warning.'), ('1', 'The program could not run.'),
          ('2', 'Wrong flags, or a wrong configuration.')]
ABOUT = {
    'etw_exporter': {
        'summary': 'Prometheus exporter for Event Tracing for Windows',
        'DESCRIPTION': [
            'etw_exporter turns events of Event Tracing for Windows (ETW) into Prometheus metrics and serves them over HTTP. On '
            'Windows it starts trace sessions of its own; on any system it replays recordings (.etl files) with the same counts.',
            'A flag with a value is written --flag=VALUE or --flag VALUE.'],
        'EXIT STATUS': STATUS,
        'FILES': [('/etc/etw_exporter/etw_exporter.yaml', 'Every key of the configuration with its default; read when '
                   '--config.file names it.'),
                  ('/usr/share/etw_exporter', 'The shipped collectors, dashboards and rules for Prometheus.'),
                  ('/usr/share/doc/etw_exporter', 'The documentation.')],
        'SIGNALS': [('SIGHUP', 'Reads the configuration again; a mistake changes nothing and is logged. In a terminal that is closed, it '
                     'ends the program.'),
                    ('SIGINT, SIGTERM', 'End the program: requests that are being answered get their answer, and sessions are stopped.')],
        'ENVIRONMENT': [('TMPDIR', 'The folder for what --replay.file=- reads from a pipe, and for what is unpacked; otherwise /tmp.')],
        'EXAMPLES': [('etw_exporter --replay.file=server.etl --once', 'Prints the metrics of a recording.'),
                     ('etw_exporter --config.file=my.yaml --print-config', 'Prints the configuration that applies.')],
        'SEE ALSO': ['etwtool(1)'],
    },
    'etwtool': {
        'summary': 'looks at recordings and configurations of etw_exporter',
        'DESCRIPTION': [
            'etwtool shows what is in a recording of Event Tracing for Windows (an .etl file), changes and compares recordings, '
            'and checks configurations and collectors of etw_exporter. Each command has options of its own; etwtool COMMAND '
            '--help lists them.',
            'A recording may be packed (.gz, .xz, .zst, or in a .zip) or come from a pipe; - is the standard input.'],
        'EXIT STATUS': STATUS,
        'EXAMPLES': [('etwtool stats server.etl', 'Lists the processes, providers and events with the most records, and who makes the disks busy.'),
                     ('etwtool relog server.etl -o small.etl --process sqlservr', 'Writes a recording with the events of a process.'),
                     ('etwtool relog server.etl -o for-a-bug.etl --anonymise', 'Writes it with hashes instead of names.'),
                     ('etwtool doctor server.etl', 'Says what the recording lacks, and what would have recorded it.'),
                     ('etwtool report server.etl.gz -o report.html', 'Writes a page that shows what happened.'),
                     ('etwtool report server.etl --format markdown', 'Prints the same in short, for a ticket.'),
                     ("etwtool diff before.etl after.etl --fail-if 'etw_file_written_bytes_total > +20 %'",
                      'Compares two recordings; exit status 1 if the condition holds.'),
                     ('etwtool dump --provider Microsoft-Windows-DNS-Client', 'On Windows: prints the events of a provider as they come.'),
                     ('etwtool check my.yaml --with server.etl', 'Tries the rules of a configuration on a recording.')],
        'ENVIRONMENT': [('NO_COLOR', 'If it is set and not empty, dump and top use no colours.'),
                        ('TERM', 'With dumb, top prints tables, one below the other.'),
                        ('TMPDIR', 'The folder for temporary files, such as what is unpacked; otherwise /tmp.')],
        'SIGNALS': [('SIGINT, SIGTERM', 'End top and record, which then complete their output. Other commands leave no half file.')],
        'SEE ALSO': ['etw_exporter(1)'],
    },
    'etw_selftest': {  # only the packages for Windows have it, and these have no man pages
        'summary': 'compares what etw_exporter counts with a known activity',
        'DESCRIPTION': ['etw_selftest starts a trace session of its own, performs a known activity and compares it with the counts.'],
        'EXIT STATUS': STATUS,
        'SEE ALSO': ['etw_exporter(1)'],
    },
}
# Options that a program with commands has beside them.
COMMON = [{'name': '--help', 'value': None, 'words': None, 'is_switch': False, 'help': 'print this help'},
          {'name': '--version', 'value': None, 'words': None, 'is_switch': False, 'help': 'print the version'}]


def spellings(page, option):
    """The names under which an option is written, each collector by its own."""
    if not option['is_switch']:
        return [option['name']]
    stem = option['name'].removeprefix('--')
    return [f'--{no}{stem}{name}' for name in page['collectors'] for no in ('', 'no-')]


def takes(option):
    """What completes the value of an option: files, folders, words, or nothing that is known."""
    value = option['value']
    if option['words']:
        return option['words']
    if value is None or option['is_switch']:
        return None
    return 'files' if 'FILE' in value.split('|') else 'folders' if value == 'DIR' else []


def takes_files(command):
    return bool(re.search(r'\b(FILE|OUT|CONFIG|A B)\b', command['synopsis']))


# ---- the man page ----

def roff(text):
    text = text.replace('\\', '\\e').replace('-', '\\-').replace('…', '\\&...')
    return re.sub(r"^([.'])", r'\\&\1', text, flags=re.M)


def paragraph(text):
    """Lines of at most 70 characters, which roff fills anew."""
    return roff('\n'.join(textwrap.wrap(text, 70, break_long_words=False, break_on_hyphens=False)))


def bold(text):
    return f'\\fB{roff(text)}\\fR'


def man_option(option):
    name = option['name']
    if option['is_switch']:
        term = f"\\fB\\-\\-\\fR[\\fBno\\-\\fR]{bold(name.removeprefix('--'))}\\fI{roff(option['value'])}\\fR"
    elif option['words'] and '|' in option['value']:
        term = f"{bold(name)} {bold('|').join(bold(word) for word in option['words'])}"
    else:
        term = bold(name) + (f" \\fI{roff(option['value'])}\\fR" if option['value'] else '')
    text = option['help'] if option['words'] else option['help'][0].upper() + option['help'][1:]
    return f".TP\n{term}\n{paragraph(text if text.endswith('.') else text + '.')}\n"


def man_section(content):
    out = []
    for i, part in enumerate(content):
        if isinstance(part, tuple):
            out.append(f'.TP\n{bold(part[0])}\n{paragraph(part[1])}\n')
        else:
            out.append(('' if i == 0 else '.PP\n') + paragraph(part) + '\n')
    return ''.join(out)


def man_page(page, date):
    name, about = page['program'], ABOUT[page['program']]
    out = [f'.TH {name.upper()} 1 "{date}" "{name} {page["version"]}" "User Commands"\n',
           f'.SH NAME\n{name} \\- {roff(about["summary"])}\n',
           f'.SH SYNOPSIS\n{bold(name)} {roff(page["synopsis"])}\n', '.SH DESCRIPTION\n', man_section(about['DESCRIPTION'])]
    if 'options' in page:
        out += ['.SH OPTIONS\n'] + [man_option(option) for option in page['options']]
    else:
        out += ['.SH OPTIONS\n'] + [man_option(option) for option in COMMON] + ['.SH COMMANDS\n']
        for command in page['commands']:
            out.append(f".SS {name} {command['name']} {roff(command['synopsis'])}".rstrip() + f"\n{roff(command['about'])}.\n")
            out += [man_option(option) for option in command['options'] if option['name'] != '--help']
            if command['more']:
                # Lines that are indented are an example or a table and stay as they are.
                for block in re.split(r'\n\n+', command['more'].strip('\n')):
                    indented = '\n ' in '\n' + block
                    out.append('.PP\n' + (f'.nf\n{roff(block)}\n.fi\n' if indented else paragraph(block) + '\n'))
    for title in ('EXIT STATUS', 'SIGNALS', 'ENVIRONMENT', 'FILES', 'EXAMPLES', 'SEE ALSO'):
        if title == 'SEE ALSO':
            out.append('.SH SEE ALSO\n' + ',\n'.join(re.sub(r'(.*)\((\d)\)', r'.BR \1 (\2)', see) for see in about[title]) + '\n')
        elif title in about:
            out += [f'.SH {title}\n', man_section(about[title])]
    return ''.join(out)


# ---- bash ----

BASH = r'''# Completion of @NAME@ for bash. bash splits words at "=" as well, so the value of --flag=VALUE is a word of its own.
_@NAME@() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' flags

	if [[ $word == '=' ]]; then
		word=
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD-2]}
	fi
@COMMAND@
	COMPREPLY=()
	case $command:$before in
@VALUES@
	esac
	case $command in
@FLAGS@
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$word")
		[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace 2>/dev/null
		return
	fi
@WORDS@
}
complete -F _@NAME@ @NAME@ @NAME@.exe
'''


def bash_action(value):
    if value in ('files', 'folders'):
        return ['compopt -o filenames 2>/dev/null', f"""mapfile -t COMPREPLY < <(compgen -{'f' if value == 'files' else 'd'} -- "$word")"""]
    return [f"""mapfile -t COMPREPLY < <(compgen -W '{' '.join(value)}' -- "$word")"""] if value else []


def bash_case(patterns, lines):
    return '\t' + '|'.join(patterns) + ')\n' + ''.join(f'\t\t{line}\n' for line in lines) + '\t\t;;\n'


def bash_values(commands):
    """A case for each sort of value, with all options that take it."""
    cases = {}
    for command, options in commands:
        for option in options:
            if takes(option) is not None:
                lines = tuple(bash_action(takes(option)) + ['return'])
                cases.setdefault(lines, []).append(f"{command}:{option['name']}")
    return ''.join(bash_case(patterns, lines) for lines, patterns in cases.items())


def bash_flags(page, command, options, equals):
    names = [name + ('=' if equals and takes(option) is not None else '')
             for option in options for name in spellings(page, option)]
    return bash_case([command], [f"flags='{' '.join(names)}'"])


def bash(page):
    find = words = ''
    if 'options' in page:
        values, flags = bash_values([('', page['options'])]), bash_flags(page, "''", page['options'], True)
    else:
        names = [command['name'] for command in page['commands']]
        values = bash_values((command['name'], command['options']) for command in page['commands'])
        flags = ''.join(bash_flags(page, command['name'], command['options'], False) for command in page['commands'])
        flags += bash_flags(page, '*', COMMON, False)
        find = '\t[[ $COMP_CWORD -lt 2 ]] || command=${COMP_WORDS[1]}\n'
        words = '\tcase $command in\n' + bash_case(["''"], bash_action(names)) + \
            bash_case([command['name'] for command in page['commands'] if takes_files(command)], bash_action('files')) + '\tesac\n'
    text = BASH
    for mark, part in (('COMMAND', find), ('VALUES', values), ('FLAGS', flags), ('WORDS', words)):
        text = text.replace(f'@{mark}@\n', part)
    return text.replace('@NAME@', page['program'])


# ---- zsh ----

def zsh_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_specs(page, options):
    out = []
    for option in options:
        help_text = re.sub(r'([\[\]:\\])', r'\\\1', option['help'])
        value = takes(option)
        action = ('' if value is None else ':' + re.sub(r'([:\\])', r'\\\1', option['value']) + ':' +
                  ('_files' if value == 'files' else '_files -/' if value == 'folders' else f"({' '.join(value)})" if value else ' '))
        repeated = '*' if 'epeatable' in option['help'] else ''
        for name in spellings(page, option):
            joined = '=' if value is not None and name.startswith('--') else ''  # --flag=VALUE
            out.append(zsh_quoted(f"{repeated}{name}{joined}[{help_text}]{action}"))
    return ' \\\n\t\t'.join(out)


def zsh(page):
    name = page['program']
    if 'options' in page:
        return f"#compdef {name} {name}.exe\n# Completion of {name} for zsh.\n_arguments \\\n\t\t{zsh_specs(page, page['options'])}\n"
    names = ' '.join(zsh_quoted(command['name'] + ':' + command['about'].replace(':', r'\:')) for command in page['commands'])
    cases = ''.join(f"\t{command['name']})\n\t\t_arguments {zsh_quoted('*:FILE:_files') if takes_files(command) else ''} \\\n\t\t"
                    f"{zsh_specs(page, command['options'])}\n\t\t;;\n" for command in page['commands'])
    return f'''#compdef {name} {name}.exe
# Completion of {name} for zsh.
local curcontext=$curcontext state line
local -a commands=({names})

_arguments -C '1:command:->command' '*::argument:->argument' \\
		{zsh_specs(page, COMMON)}
case $state in
command) _describe command commands ;;
argument)
	case $words[1] in
{cases}	esac
	;;
esac
'''


# ---- fish ----

def fish_quoted(text):
    return "'" + text.replace('\\', '\\\\').replace("'", "\\'") + "'"


def fish_lines(page, options, condition):
    out = []
    for option in options:
        value = takes(option)
        action = ('' if value is None else ' -r -F' if value == 'files' else " -x -a '(__fish_complete_directories)'"
                  if value == 'folders' else f" -x -a {fish_quoted(' '.join(value))}" if value else ' -x')
        for spelling in spellings(page, option):
            flag = f"-l {spelling.removeprefix('--')}" if spelling.startswith('--') else f"-s {spelling.removeprefix('-')}"
            out.append(f"complete -c {page['program']}{condition} {flag}{action} "
                       f"-d {fish_quoted(option['help'])}\n")
    return out


def fish(page):
    name = page['program']
    out = [f'# Completion of {name} for fish.\n', f'complete -c {name} -f\n']
    if 'options' in page:
        return ''.join(out + fish_lines(page, page['options'], ''))
    out += fish_lines(page, COMMON, ' -n __fish_use_subcommand')
    for command in page['commands']:
        condition = f" -n '__fish_seen_subcommand_from {command['name']}'"
        out.append(f"complete -c {name} -n __fish_use_subcommand -a {command['name']} -d {fish_quoted(command['about'])}\n")
        out += [f'complete -c {name}{condition} -F\n'] if takes_files(command) else []
        out += fish_lines(page, command['options'], condition)
    return ''.join(out)


# ---- PowerShell ----

POWERSHELL = r'''# Completion of @NAME@ for PowerShell. In a profile: . PATH\@NAME@.ps1
# Of each command ('' is the program itself): its flags with what they take ($null: nothing, '*': any text, 'file', 'folder', or
# words) and with their help.
Register-ArgumentCompleter -Native -CommandName '@NAME@', '@NAME@.exe' -ScriptBlock {
	param($word, $ast, $position)

	$about = [ordered]@{
@ABOUT@
	}
	$flags = @{
@FLAGS@
	}
	$words = @($ast.CommandElements | Select-Object -Skip 1 |
		Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })
	$command = ''
	if ($about.Count -gt 0 -and $words.Count -gt 0 -and $flags.ContainsKey($words[0])) {
		$command = $words[0]
	}
	$own = $flags[$command]
	$flag = ''
	$start = ''
	$typed = $word
	if ($word -match '^(--[^=]+)=(.*)$') {
		$flag = $Matches[1]
		$start = "$flag="
		$typed = $Matches[2]
	} elseif ($words.Count -gt 0) {
		$flag = $words[-1]
	}
	$found = @()
	if ($own.Contains($flag) -and $null -ne $own[$flag][0]) {
		$takes = $own[$flag][0]
		if ($takes -is [array]) {
			$found = @($takes | ForEach-Object { , @($_, $_) })
		} elseif ($takes -eq 'file' -or $takes -eq 'folder') {
			return # PowerShell completes paths itself
		}
	} elseif ($typed.StartsWith('-')) {
		$found = @($own.Keys | ForEach-Object { , @($_, $own[$_][1]) })
	} elseif ($command -eq '') {
		$found = @($about.Keys | ForEach-Object { , @($_, $about[$_]) })
	}
	$found | Where-Object { $_[0].StartsWith($typed) } | ForEach-Object {
		[System.Management.Automation.CompletionResult]::new($start + $_[0], $_[0], 'ParameterValue', $_[1])
	}
}
'''


def ps_quoted(text):
    return "'" + text.replace("'", "''").replace('’', '’’').replace('‘', '‘‘') + "'"


def ps_flags(page, command, options):
    out = [f'\t\t{ps_quoted(command)} = [ordered]@{{\n']
    for option in options:
        value = takes(option)
        taken = ('$null' if value is None else ps_quoted('file') if value == 'files' else ps_quoted('folder') if value == 'folders'
                 else '@(' + ', '.join(ps_quoted(word) for word in value) + ')' if value else ps_quoted('*'))
        for name in spellings(page, option):
            out.append(f"\t\t\t{ps_quoted(name)} = @({taken}, {ps_quoted(option['help'])})\n")
    return ''.join(out) + '\t\t}'


def powershell(page):
    commands = page.get('commands', [])
    flags = [ps_flags(page, '', page.get('options', COMMON))]
    flags += [ps_flags(page, command['name'], command['options']) for command in commands]
    about = '\n'.join(f"\t\t{ps_quoted(command['name'])} = {ps_quoted(command['about'])}" for command in commands)
    text = POWERSHELL.replace('@ABOUT@\n', about + '\n' if about else '').replace('@FLAGS@', '\n'.join(flags))
    return text.replace('@NAME@', page['program'])


def describe(program):
    """What the program says of itself. Wine, which may run it, says before that it has made its folder, and more."""
    out = subprocess.run([*program.split('|'), '--describe'], check=True, stdout=subprocess.PIPE).stdout
    if not out.startswith(b'{'):
        out = out[out.index(b'\n{') + 1:]
    return json.JSONDecoder().raw_decode(out.decode('utf-8', 'replace'))[0]


def main():
    folder, date = pathlib.Path(sys.argv[1]), sys.argv[2]
    for program in sys.argv[3:]:
        page = describe(program)
        name = page['program']
        for path, text in ((f'man/man1/{name}.1', man_page(page, date)), (f'bash-completion/completions/{name}', bash(page)),
                           (f'zsh/site-functions/_{name}', zsh(page)), (f'fish/vendor_completions.d/{name}.fish', fish(page)),
                           (f'etw_exporter/completion/{name}.ps1', powershell(page))):
            target = folder / 'share' / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding='utf-8', newline='\n')


main()
