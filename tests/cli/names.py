# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Node descriptions are what a node says. Nothing of them reaches a terminal, a spreadsheet or a list of hosts as
something else than a text: no control characters, no formulas, no options of ssh."""
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

COMMAND, ROOT = sys.argv[1:3]
NAMES = {'h0': '\x1b[31mred', 'h1': '=1+1', 'h2': '-oProxyCommand=x', 'h3': 'h0[1-9]', 'h4': 'caf\xe9 \x9b2J',
         'leaf': '\x1b]0;titleleaf', 'spine': '@SUM(A1)'}


def hostile_net(directory, names):
    path = os.path.join(directory, 'hostile.net')
    with open(os.path.join(ROOT, 'topologies', 'tree-2.net')) as file:
        lines = file.read().splitlines()
    with open(path, 'wb') as file:
        left = dict(names)
        for line in lines:
            m = re.match(r'(Hca|Ca|Switch)(\s+\d+\s+)"([^"]+)"', line)
            if m:
                kind = next((k for k in left if k.startswith('h') == (m[1] != 'Switch')), None)
                name = left.pop(kind) if kind else m[3]
                line = '%s%s"%s"\t\t# "%s"' % (m[1], m[2], m[3], name)
            file.write(line.encode('latin-1') + b'\n')
    return path


def run(*words):
    done = subprocess.run([COMMAND] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for out in (done.stdout, done.stderr):
        for byte in (b'\x1b', b'\x07', b'\x9b', b'\xe9'):
            assert byte not in out, '%s prints %r: %r' % (words[0], byte, out[:300])
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def main():
    with tempfile.TemporaryDirectory() as directory:
        net = hostile_net(directory, NAMES)
        for words in (['analyze', '-R', 'dmodk'], ['check', '-R', 'dmodk'], ['route', '-R', 'dmodk'], ['analyze'],
                      ['whatif', '--links=1'], ['order', '--json']):
            run(*words, net)
        status, out, said = run('order', '--csv', net)
        rows = list(csv.reader(io.StringIO(out)))
        assert status == 0 and len(rows) > 4, said
        cells = [c for row in rows[1:] for c in row]
        assert "'=1+1" in cells, 'the formula is not there as a text: %s' % cells
        bad = [c for c in cells if len(c) > 1 and c[0] in '=+-@']
        assert not bad, 'formulas: %s' % bad
        for form in ('list', 'rankfile', 'slurm-topology', 'slurm-blocks', 'slurm-yaml'):
            status, out, said = run('order', '--format=' + form, net)
            assert status and not out and 'no host name' in said, '%s: %s %s' % (form, out, said)
        for name in ('-oProxyCommand=x', 'h0[1-9]', 'a:9'):
            status, out, said = run('order', '--format=rankfile', hostile_net(directory, {'h0': name}))
            assert status and not out and 'no host name' in said, '%s: %s %s' % (name, out, said)
        status, out, said = run('order', '--format=rankfile', hostile_net(directory, {'h0': 'node-7.example HCA-1'}))
        assert status == 0 and 'node-7.example' in out, said


main()
