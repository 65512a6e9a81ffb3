# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The command writes what -o, --dump, --save and --html name, and nothing else; it starts no program and opens no
socket of the net. What it writes holds nothing of its environment."""
import os
import re
import subprocess
import sys

from command import COMMAND, at, topology

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'osm'))
from osmtest import PRELOAD, Failure, Skip
from traced import STRACE, changes, judge_changes, need_strace

MARK = 'env-mark-2f9c61'


def traced(cwd, words, places):
    """Runs the command; all that it wrote must match one of these patterns, and each of them be met."""
    trace = os.path.join(cwd, '..', 'strace')
    env = dict(os.environ, OSR_SECRET=MARK, HOME=cwd, TMPDIR=cwd)
    done = subprocess.run([w for w in STRACE if w != '-D'] + ['-o', trace, COMMAND] + words, cwd=cwd, env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    if done.returncode > 1:
        raise Failure('%s: status %d: %s' % (words, done.returncode, done.stdout[-300:].decode()))
    if MARK.encode() in done.stdout:
        raise Failure('%s: its environment is in what it says' % words)
    with open(trace, errors='replace') as file:
        found = list(changes(file.read(), cwd))
    if not any(call == 'execve' for call, _ in found):
        raise Failure('strace saw nothing of %s' % words)
    patterns = [re.escape(cwd) + '/' + p + '$' for p in places]
    try:
        # ThreadSanitizer makes a file of its own and removes it.
        judge_changes(found, patterns + [r'/dev/(null|tty)$'] + [re.escape(cwd) + r'/tsan\.rodata\.\d+$'] * bool(PRELOAD))
    except Failure as f:
        raise Failure('%s: %s' % (' '.join(words), f))
    for p in patterns:
        if not any(re.match(p, what) for call, what in found if call not in ('execve', 'socket')):
            raise Failure('%s: nothing written to %s' % (words, p))


def main():
    try:
        need_strace()
    except Skip as s:
        print('skipped:', s)
        return 77
    tree, random = topology('tree-2'), topology('random-12')
    dumps = r'd(/(opensm-lfts\.dump|opensm\.fdbs|opensm-sl2vl\.dump|opensm-subnet\.lst|opensm\.mcfdbs|' \
            r'opensm-path-sl\.dump))?'
    runs = (
        (['route', random], []),
        (['route', random, '--json'], []),
        (['route', random, '--dump=d', '--ibdmchk', '--save=tables'], [dumps, 'tables']),
        (['check', 'd'], []),
        (['route', random, '--tables=tables', '--csv'], []),
        (['route', random, '--threads=2'], []),
        (['route', random, '-e', 'sssp', '-e', 'dfsssp', '--json'], []),
        (['whatif', random, '--each=link'], []),
        (['diff', 'd', 'd'], []),
        (['report', random, '--html=page.html'], [r'page\.html']),
        (['order', tree, '--format=slurm-topology'], []),
        (['conf', '--list'], []),
        (['generate', '-o', 'made.net', 'torus', 'dims=3x3'], [r'made\.net']),
        (['whatif', '--links=1', '--write=broken.net', random], [r'broken\.net']),
    )
    cwd = os.path.realpath(at('here'))
    os.mkdir(cwd)
    for words, places in runs:
        traced(cwd, words, places)
    for folder, _, names in os.walk(cwd):
        for name in names:
            with open(os.path.join(folder, name), 'rb') as file:
                if MARK.encode() in file.read():
                    raise Failure('the environment is in ' + name)
    left = sorted(os.listdir(cwd))
    if left != ['broken.net', 'd', 'made.net', 'page.html', 'tables']:
        raise Failure('left behind: %s' % left)
    print('%d runs of the command wrote what they were told to' % len(runs))
    return 0


sys.exit(main())
