# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""counters.py OSMROUTES PROJECT: `osmroutes counters` against traffic that a program invents and sends along the tables
(bandwidth.py). What went along the tables is explained, whatever it was; even traffic is expected to the byte; what went
along other tables is named.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from bandwidth import Oracle, run

MB = 1 << 20


def guids(lst):
    """{name: node GUID} of an opensm-subnet.lst."""
    with open(lst, encoding='utf-8') as file:
        return {name: guid for guid, name in re.findall(r'NodeGUID:(\w+) .*?\{([^{}]+)\}', file.read())}


def count(oracle, flows):
    """{(node, port): [sent, received]} of {(a, b): bytes}."""
    counters = {}
    for (a, b), size in flows.items():
        way = oracle.path(a, b)
        for end in [oracle.cables[way[0][1]]] + way[1:]:	# the host's own port first
            counters.setdefault(end, [0, 0])[0] += size
            counters.setdefault(oracle.cables[end], [0, 0])[1] += size
    return counters


def write(path, counters, ids, extra=0):
    with open(path, 'w', encoding='utf-8') as file:
        for (node, port), (sent, received) in sorted(counters.items()):
            file.write('   GUID 0x%s port %d: [PortXmitData == %d (1KB)] [PortRcvData == %d (1KB)]\n'
                       % (ids[node], port, sent // 4 + extra, received // 4 + extra))


def ask(command, net, path, *words):
    done = subprocess.run([command, 'counters', '--json', '--max=0', '--counters', path, *words, net],
                          capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(done.stderr)
    said = json.loads(done.stdout)
    if done.returncode != bool(said['unexplained']):
        sys.exit('exit code %d: %s' % (done.returncode, said))
    return said


def main(command, root):
    n = 0
    for name in ('tree-2', 'torus-4x4', 'random-12'):
        net = os.path.join(root, 'topologies', name + '.net')
        with tempfile.TemporaryDirectory() as work:
            oracles = []
            for engine, words in (('dfsssp', ['-e', 'dfsssp']), ('sssp', ['-e', 'sssp', '-o', 'rounds=0'])):
                folder = os.path.join(work, engine)
                run(command, 'route', net, *words, '--dump', folder)
                oracles.append(Oracle(net, os.path.join(folder, 'opensm-lfts.dump')))
            ids = guids(os.path.join(work, 'dfsssp/opensm-subnet.lst'))
            hosts, path = oracles[0].hosts, os.path.join(work, 'counters')
            pairs = [(a, b) for a in hosts for b in hosts if a != b]

            # As much from each to each: expected to the byte. The default engine with default options.
            even = {p: 8 * MB for p in pairs}
            for extra, words in ((0, []), (12345, ['--before', os.path.join(work, 'before')])):
                write(path, count(oracles[0], even), ids, extra)
                write(os.path.join(work, 'before'), {end: [0, 0] for end in count(oracles[0], even)}, ids, extra)
                said = ask(command, net, path, *words)
                wrong = [c for c in said['cables'] if abs(c['carried'] - c['expected']) > 0.01]
                if wrong or said['unexplained'] or said['hosts_uncounted']:
                    sys.exit('%s, even traffic: %s' % (name, wrong or said))
                n += len(said['cables'])

            # A few large flows: not expected, but explained.
            rng = random.Random(1)
            large = {p: 500 * MB for p in rng.sample(pairs, len(hosts))}
            write(path, count(oracles[0], large), ids)
            said = ask(command, net, path)
            if said['unexplained']:
                sys.exit('%s, large flows along the tables: %s' % (name, said['cables'][0]))

            # Along other tables: only cables that no such flow reaches by these tables are named, and one at least.
            write(path, count(oracles[1], large), ids)
            said = ask(command, net, path)
            by_tables = {}
            for (a, b), size in large.items():
                for end in oracles[0].path(a, b)[1:]:
                    by_tables[end] = by_tables.get(end, 0) + size
            for cable in said['cables']:
                end = (cable['from'], cable['from_port'])
                if not cable['explained'] and by_tables.get(end, 0) >= cable['carried'] * 1e6:
                    sys.exit('%s: %s is falsely named' % (name, cable))
            if not said['unexplained'] and count(oracles[0], large) != count(oracles[1], large) and name != 'random-12':
                sys.exit('%s: nothing named, although packets went elsewhere' % name)
    print('%d directions of cables: what they should carry is what they carry' % n)


main(*sys.argv[1:])
