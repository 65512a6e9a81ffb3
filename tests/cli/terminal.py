# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a terminal gets: colours, and no line that is wider than it. What a pipe gets: neither.

    terminal.py OSMROUTES
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

OSMROUTES = sys.argv[1]
COLUMNS = 80


def on_terminal(*words, **env):
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 24, COLUMNS, 0, 0))
    own = {k: v for k, v in os.environ.items() if k != 'NO_COLOR'}
    process = subprocess.Popen([OSMROUTES, *words], stdout=terminal, stderr=subprocess.DEVNULL, env=dict(own, **env))
    os.close(terminal)
    text = b''
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:		# the other end is closed
            break
        if not piece:
            break
        text += piece
    process.wait()
    os.close(main)
    return text.decode().replace('\r\n', '\n')


def plain(*words):
    return subprocess.run([OSMROUTES, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def main():
    check = ['check', '-e', 'sssp', 'topologies/torus-4x4.net']
    seen = on_terminal(*check)
    assert '\x1b[31mrefuted\x1b[0m' in seen and '\x1b[32mproven\x1b[0m' in seen, seen
    for text in (on_terminal(*check, NO_COLOR='1'), on_terminal(*check, '--color=never'), plain(*check)):
        assert 'refuted' in text and '\x1b' not in text, text
    assert '\x1b[31mrefuted' in plain(*check, '--color=always')
    assert subprocess.run([OSMROUTES, *check, '--color=red'], capture_output=True).returncode == 2
    # The same words, whatever the width; a table's columns may be wider than the terminal, its last text is not.
    without = re.sub(r'\x1b\[\d+m', '', seen)
    words = [re.sub(r'\d+', '0', text).split() for text in (without, plain(*check))]	# times differ
    assert words[0] == words[1], words
    assert max(map(len, plain(*check).split('\n'))) > COLUMNS >= max(map(len, without.split('\n'))), without
    text = plain('--help')
    for command in ('route', 'check', 'status', 'drain', 'generate'):
        assert re.search(r'^  %s +\w' % command, text, re.M), command
    assert len(re.findall(r'^ \S[^:\n]*:$', text, re.M)) == 3, text


main()
