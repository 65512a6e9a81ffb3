# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Completion in zsh and fish, as a user has it: files where the package puts them, keys pressed on a terminal. What bash
completes is what both complete."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

from command import at, COMMAND, ROOT

WHERE = {'bash': 'bash-completion/completions/osmroutes', 'zsh': 'zsh/site-functions/_osmroutes',
         'fish': 'fish/vendor_completions.d/osmroutes.fish'}
# What is typed, and what has to be offered; the last is a file.
CASES = (('osmroutes rou', ['route']), ('osmroutes route --bis', ['--bisections=']), ('osmroutes route -e dm', ['dmodk']),
         ('osmroutes route -e dfsssp -o any_sl=', ['any_sl=auto', 'any_sl=on', 'any_sl=off']),
         ('osmroutes generate tor', ['torus']), ('osmroutes route fabr', ['fabric.topo']))


def install():
    """The share of a prefix; the environment of a shell that finds it and the command."""
    for shell, path in WHERE.items():
        os.makedirs(os.path.dirname(at('share', path)), exist_ok=True)
        shutil.copy(os.path.join(ROOT, 'share', 'completion.' + shell), at('share', path))
    os.makedirs(at('work'))
    open(at('work', 'fabric.topo'), 'w').close()
    return dict(os.environ, PATH=os.path.dirname(COMMAND) + ':' + os.environ['PATH'], HOME=at('work'), XDG_DATA_DIRS=at('share'),
                TERM='dumb', LC_ALL='C.UTF-8', LINES='40', COLUMNS='200')


def bash(line, environment):
    """The words of the completion for bash, complete ones."""
    script = """. "$1"; compopt() { :; }; COMP_WORDBREAKS= COMP_LINE=$2 COMP_POINT=${#2}; _osmroutes; printf '%s\\n' "${COMPREPLY[@]}" """
    done = subprocess.run(['bash', '-c', script, 'bash', at('share', WHERE['bash']), line], env=environment, cwd=at('work'),
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.split()


def fish(line, environment):
    done = subprocess.run(['fish', '-c', 'complete -C "$argv[1]"', line], env=environment, cwd=at('work'), stdout=subprocess.PIPE, text=True)
    return [word.split('\t')[0] for word in done.stdout.splitlines()]


def zsh(line, environment):
    """Of a shell on a terminal, where Tab is pressed and then ^A is asked for the line, or for all that is listed."""
    rc = 'fpath=(%s $fpath); autoload -U compinit; compinit -u -D; PS1="ready> "; setopt no_beep; zstyle ":completion:*" list-prompt ""\n' % at('share/zsh/site-functions')
    with open(at('work', '.zshrc'), 'w') as file:
        file.write(rc)
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(at('work'))
        os.execvpe('zsh', ['zsh', '-i'], dict(environment, ZDOTDIR=at('work')))

    def until(pattern, seconds=30):
        text, end = '', time.time() + seconds
        while time.time() < end and not re.search(pattern, text):
            if select.select([terminal], [], [], 0.5)[0]:
                text += os.read(terminal, 65536).decode(errors='replace')
        return text
    until('ready> ')
    os.write(terminal, line.encode() + b'\t')
    time.sleep(0.2)
    os.write(terminal, b'\t')
    shown = until(r'(?!)', 3)
    os.write(terminal, b'\x03')
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown


def check(shell, environment):
    for line, wanted in CASES:
        if shell == 'fish':
            got = fish(line, environment)
            if sorted(got) != sorted(wanted):
                sys.exit('fish offers %s for "%s", not %s' % (got, line, wanted))
        else:
            shown = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', zsh(line, environment))
            if not all(word in shown or word[len(os.path.commonprefix([word, line.split()[-1]])):] in shown for word in wanted):
                sys.exit('zsh shows %r for "%s", not %s' % (shown, line, wanted))


environment = install()
for line, wanted in CASES:
    if sorted(bash(line, environment)) != sorted(wanted):
        sys.exit('bash offers %s for "%s", not %s' % (bash(line, environment), line, wanted))
shells = [shell for shell in ('zsh', 'fish') if shutil.which(shell)]
for shell in shells:
    check(shell, environment)
if len(shells) < 2:
    print('skipped: %s not installed' % ' and '.join({'zsh', 'fish'} - set(shells)))
    sys.exit(77)
