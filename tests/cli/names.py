# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Node descriptions are what a node says. Nothing of them reaches a terminal, a spreadsheet or a list of hosts as
something else than a text: no control characters, no formulas, no options of ssh."""
import csv
import io
import re
import subprocess

from command import COMMAND, at, topology
from netfile import renamed

NAMES = {'h0': '\x1b[31mred', 'h1': '=1+1', 'h2': '-oProxyCommand=x', 'h3': 'h0[1-9]', 'h4': 'caf\xe9 \x9b2J',
         'leaf': '\x1b]0;titleleaf', 'spine': '@SUM(A1)'}


def hostile_net(names):
    left = dict(names)

    def name(is_switch, _):
        return left.pop(next((k for k in left if k.startswith('h') != is_switch), None), None)
    return renamed(topology('tree-2'), at('hostile.net'), name)


def run(*words):
    done = subprocess.run([COMMAND] + list(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for out in (done.stdout, done.stderr):
        for byte in (b'\x1b', b'\x07', b'\x9b', b'\xe9'):
            assert byte not in out, '%s prints %r: %r' % (words[0], byte, out[:300])
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def twins():
    """Two spines and two hosts that their vendor gave one name each: every output tells them apart."""
    path = at('twins.net')
    names = {'spine-1': 'Twin switch', 'spine-2': 'Twin switch', 'h04': 'MT25408', 'h05': 'MT25408'}
    renamed(topology('tree-2'), path, lambda _, node: names.get(node))
    for words in (['path', 'h00', 'h04'], ['path', 'h00', 'h05'], ['path', '--via=spine-1:1', '--max=0'],
                  ['path', '--via=spine-2:1', '--max=0'], ['whatif', '--each=switch'], ['whatif', '--each=link'],
                  ['report'], ['route', '-e', 'dmodk', '-e', 'dfsssp'], ['check', '-e', 'sssp', '--json'], ['route', '--csv']):
        status, out, said = run(*words, path)
        assert status < 2, (words, said)
        for name in ('Twin switch', 'MT25408'):
            for m in re.finditer(name, out):
                assert re.match(' 0x[0-9a-f]{16}', out[m.end():]), (words, out[m.start() - 80:m.end() + 40])
    broken = at('broken.net')
    assert run('whatif', '--link=spine-1:1', '--write=' + broken, path)[0] < 2
    with open(broken) as file:
        assert not re.search('Twin switch 0x', file.read()), 'a file has the names of the nodes'
    for words in (['diff', path, broken], ['generate', '--format=dot', path]):
        status, out, said = run(*words)
        assert status < 2 and re.search('Twin switch 0x[0-9a-f]{16}', out) and \
            not re.search('Twin switch(?! 0x)', out), (words, out, said)
    shown = sorted(set(re.findall('Twin switch (0x[0-9a-f]+)', run('whatif', '--each=switch', path)[1])))
    assert len(shown) == 2, shown
    for word in ['Twin switch ' + shown[0], shown[0], shown[0].lstrip('0x'), 'S-' + shown[0][2:], 'spine-1']:
        status, out, said = run('path', '--via=' + word + ':1', path)
        assert not status and shown[0] in out and shown[1] not in out, (word, said, out)
    status, out, said = run('path', '--via=Twin:1', path)
    assert status == 2 and all(g in said for g in shown), said
    for wrong, meant in ((['path', '--via=spine-9:1', path], 'spine-0'), (['rout', path], 'route'),
                         (['route', '-e', 'dfssp', path], 'dfsssp'), (['whatif', '--switch=laef-0', path], 'leaf-0')):
        status, out, said = run(*wrong)
        assert status == 2 and 'did you mean "%s"?' % meant in said, said


twins()
net = hostile_net(NAMES)
with open(at('bad.net'), 'w') as file:
    file.write('Switch 2 "\x1b[31ma"\n[3] "b"[1]\n')
assert run('route', file.name)[0] == 2
for words in (['route', '-R', 'dmodk'], ['check', '-R', 'dmodk'], ['route'],
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
    status, out, said = run('order', '--format=rankfile', hostile_net({'h0': name}))
    assert status and not out and 'no host name' in said, '%s: %s %s' % (name, out, said)
status, out, said = run('order', '--format=rankfile', hostile_net({'h0': 'node-7.example HCA-1'}))
assert status == 0 and 'node-7.example' in out, said
