# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Node descriptions are what a node says. Nothing of them reaches a terminal, a spreadsheet or a list of hosts as
something else than a text: no control characters, no formulas, no options of ssh."""
import collections
import csv
import io
import re
import subprocess

from command import COMMAND, ask, at, same, topology
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


def rails():
    """Two hosts of two HCAs, and one of one: a name stands for all of them, rail by rail. Where one port is needed the names
    that would do are listed."""
    names = {'h00': 'node-1 mlx5_0', 'h04': 'node-1 mlx5_1', 'h01': 'node-2 mlx5_0', 'h09': 'node-2 mlx5_1', 'h12': 'node-3 mlx5_0'}
    net = renamed(topology('tree-2'), at('rails.net'), lambda _, node: names.get(node))
    full = ['node-%d mlx5_%d' % (host, hca) for host in (1, 2) for hca in (0, 1)]
    one, two = full[:2], full[2:]

    def paths(*words):
        return [(p['from'], p['to']) for p in ask('path', *words, net, code=0)['paths']]

    same('both rails, both ways', paths('node-1', 'node-2'), [*zip(one, two), *zip(two, one)])
    same('one way', paths('--one-way', 'node-1', 'node-2'), [*zip(one, two)])
    same('one HCA', paths('node-1 mlx5_1', 'node-2 mlx5_0'), [(one[1], two[0]), (two[0], one[1])])
    same('a rail that the other lacks', paths('node-1', 'node-3'), [(one[0], 'node-3 mlx5_0'), (one[1], 'node-3 mlx5_0'), ('node-3 mlx5_0', one[0])])
    hops = ask('path', 'node-1', 'node-2', net, code=0)['hops']
    same('senders', {h['from'] for h in hops}, set(full))

    def cables(hosts):
        said = ask('path', '--hosts=' + hosts, '--max=0', net, code=0)
        return collections.Counter({(c['from'], c['from_port']): c['routes'] for c in said.get('cables', ())})

    both = cables('node-[1-2]')
    same('cables of both rails', both, sum((cables('"%s","%s"' % pair) for pair in zip(one, two)), collections.Counter()))
    assert sum(both.values()) == 4, both    # the first rail is within a leaf; the other one goes up and down
    status, out, said = run('path', '--hosts=node-1,node-2', net)
    assert '2 hosts, 4 end ports, 4 routes between them' in out, out
    status, out, said = run('path', '--hosts=h02,h03', net)
    assert status == 0 and 'no cable between switches is shared' in out, out
    listed = 'called "node-1": give "node-1 mlx5_0" or "node-1 mlx5_1"'
    for text, words in (('node-1\nnode-2\n', ['--hosts']), ('phase\nnode-1 h02\n', ['--traffic'])):
        with open(at('list'), 'w') as file:
            file.write(text)
        status, out, said = run('route', words[0] + '=' + at('list'), *['--traffic=' + at('list')] * (words[0] == '--hosts'), net)
        assert status == 2 and listed in said, said
    status, out, said = run('path', 'node', 'h02', net)
    assert status == 2 and '5 nodes are called "node": give ' + ', '.join('"%s"' % name for name in full) + ' or "node-3 mlx5_0"' in said, said
    status, out, said = run('order', '--hosts=node-1,node-2:3', '--csv', net)
    assert [row.split(',')[1::5] for row in out.splitlines()[1:]] == [['node-1', '1'], ['node-2', '3']], out


def unnamed():
    """Hosts that nobody has named: each is listed, by its GUID, and standard error says so; a name map names them."""
    names = {'h00': 'MT25408 ConnectX Mellanox Technologies', 'h01': 'MT25408 ConnectX Mellanox Technologies', 'h02': 'localhost HCA-1',
             'h03': 'MT4129', 'h04': 'mt-node', 'h05': 'ubuntu', 'h06': 'ubuntu'}
    net = renamed(topology('tree-2'), at('unnamed.net'), lambda _, node: names.get(node))
    rows = list(csv.DictReader(io.StringIO(run('order', '--csv', net)[1])))
    for form in 'list', 'rankfile':
        status, out, said = run('order', '--format=' + form, net)
        listed = [re.sub(r'^rank \d+=(\S+) .*', r'\1', line) for line in out.splitlines()]
        same(form, listed, [row['host'] for row in rows])
        same('hosts', (len(listed), len(set(listed))), (16, 16))
        same('by GUID', sum(re.fullmatch('0x[0-9a-f]{16}', host) is not None for host in listed), 6)
        assert 'mt-node' in listed and '6 of 16 hosts have no name of their own ("' in said, said
    by_guid = [row for row in rows if row['host'].startswith('0x')]
    assert all(row['host'] == row['guid'] for row in by_guid), by_guid
    status, out, said = run('order', '--hosts=%s,mt-node' % by_guid[3]['guid'], net)
    assert set(out.split()) == {by_guid[3]['guid'], 'mt-node'}, out
    status, out, said = run('order', '--hosts=MT25408', net)
    assert status == 2 and not out and '2 end ports are called "MT25408": give "MT25408 ConnectX Mellanox Technologies 0x' in said, said
    with open(at('map'), 'w') as file:
        file.writelines('%s "node-%d"\n' % (hex(int(row['guid'], 16) - 1), i) for i, row in enumerate(by_guid))
    status, out, said = run('order', '--names=' + at('map'), net)
    assert not re.search('^0x', out, re.M) and len(set(out.split())) == 16 and 'no name' not in said, (out, said)
    run('generate', 'tree', 'm=4,4', 'w=1,2', '--mgmt', '-o', at('mgmt.net'))
    status, out, said = run('order', at('mgmt.net'))
    assert len(out.split()) == 16 and 'of 22 end ports of CAs and routers 16 are in the order' in said, said


twins()
rails()
unnamed()
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
