# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a terminal gets: colours, and no line that is wider than it. What a pipe gets: neither."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from command import COMMAND, at, run, topology

COLUMNS = 80
ENGINES = ['dfsssp', 'sssp', 'angara', 'p2sssp', 'osmroutes']


def on_terminal(*words, **env):
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, COLUMNS, 0, 0))
    own = {k: v for k, v in os.environ.items() if k != 'NO_COLOR'}
    process = subprocess.Popen([COMMAND, *words], stdout=terminal, stderr=subprocess.DEVNULL, env=dict(own, **env))
    os.close(terminal)
    text = b''
    while True:
        try:
            text += os.read(main, 65536)
        except OSError:		# the other end is closed
            break
    process.wait()
    os.close(main)
    return text.decode().replace('\r\n', '\n')


def plain(*words):
    return run(*words).stdout


def wide(words):
    """What a command says on a terminal, which is wider on a pipe."""
    seen, piped = on_terminal(*words, NO_COLOR='1'), plain(*words)
    widths = [max(map(len, text.split('\n'))) for text in (seen, piped)]
    assert widths[0] <= COLUMNS < widths[1], (words, widths)
    return seen


check = ['check', '-e', 'sssp', topology('torus-4x4')]
seen = on_terminal(*check)
assert '\x1b[31mrefuted\x1b[0m' in seen and '\x1b[32mproven\x1b[0m' in seen, seen
for text in (on_terminal(*check, NO_COLOR='1'), on_terminal(*check, '--color=never'), plain(*check)):
    assert 'refuted' in text and '\x1b' not in text, text
assert '\x1b[31mrefuted' in plain(*check, '--color=always')
run(*check, '--color=red', code=2)
# The same words, whatever the width.
without = re.sub(r'\x1b\[\d+m', '', seen)
words = [re.sub(r'\d+', '0', text).split() for text in (without, plain(*check))]	# times differ
assert words[0] == words[1], words
assert max(map(len, plain(*check).split('\n'))) > COLUMNS >= max(map(len, without.split('\n'))), without
wide(['conf', '--list'])
# Columns that do not fit beside each other come below; every figure is there.
route = ['route', topology('torus-4x4'), '--bisections=0'] + [w for e in ENGINES for w in ('-e', e)]
seen = wide(route)
heads = [l.split()[2:] for l in seen.split('\n') if l.startswith('tables of ') and ' loop ' not in l]
assert len(heads) > 1 and sum(heads, []) == ENGINES, heads
# Names in a table are cut off; in the last column they go on below.
for name, dims in ('a.net', 'dims=4'), ('b.net', 'dims=3'):
    with open(at(name), 'w') as file:
        file.write(plain('generate', 'torus', dims).replace('"s-', '"' + 'switch' * 9 + '-'))
seen = wide(['path', 'h0', 'h2', at('a.net')])
assert re.search(r'switchsw\w*\.\.  ', seen), seen
seen = wide(['diff', at('a.net'), at('b.net')])
assert 'switch' * 9 + '-3' in re.sub(r'\s', '', seen), seen
wide(['path', 'switch' * 9 + '-0', at('a.net')])
text = plain('--help')
for command in ('route', 'check', 'status', 'drain', 'generate'):
    assert re.search(r'^  %s +\w' % command, text, re.M), command
assert len(re.findall(r'^ \S[^:\n]*:$', text, re.M)) == 3, text
