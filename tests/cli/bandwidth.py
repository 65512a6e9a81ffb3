#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes route` against a slow program that shares nothing with it but the definitions of
src/traffic/survey.h: cables from the net file, tables from the dumps, packets followed one
by one. Every digit must be the same.

    bandwidth.py COMMAND ROOT
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from netfile import read_net

MASK = (1 << 64) - 1


class SplitMix:
    """The published generator (Steele, Lea, Flood 2014), bounded draws, Fisher and Yates."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        limit = MASK - MASK % n
        while True:
            x = self.next()
            if x < limit:
                return x % n

    def shuffle(self, items):
        for i in range(len(items), 1, -1):
            j = self.below(i)
            items[i - 1], items[j] = items[j], items[i - 1]


def read_lfts(path):
    """{switch: {lid: port}}, switches by ascending GUID."""
    tables, guids = {}, {}
    for line in open(path):
        m = re.match(r"Unicast lids .* guid (0x[0-9a-f]+) \('(.*)'\):", line)
        if m:
            table = tables.setdefault(m.group(2), {})
            guids[m.group(2)] = int(m.group(1), 16)
        elif line.startswith('0x'):
            lid, port = line.split()[:2]
            table[int(lid, 16)] = int(port)
    return {s: tables[s] for s in sorted(tables, key=guids.get)}


class Oracle:
    def __init__(self, net, lfts):
        self.cables, self.kinds = read_net(net)
        self.tables = read_lfts(lfts)
        self.lids = {}		# (switch, port) of a CA -> LID
        for switch, table in self.tables.items():
            for lid, port in table.items():
                peer = self.cables.get((switch, port))
                if peer and self.kinds[peer[0]] in ('Ca', 'Hca'):
                    place = (switch, port)
                    self.lids[place] = min(lid, self.lids.get(place, lid))
        self.hosts = [(s, p) for s in self.tables for p in range(256) if (s, p) in self.lids]

    def path(self, source, target):
        """Every cable on the way, in its direction."""
        switch, lid, way = source[0], self.lids[target], [('from', source)]
        while True:
            port = self.tables[switch][lid]
            way.append((switch, port))
            if (switch, port) == target:
                return way
            switch = self.cables[switch, port][0]

    def flows(self, pairs):
        """How many pairs go over the busiest cable, and what each meets at worst."""
        ways = [self.path(a, b) for a, b in pairs]
        load = {}
        for way in ways:
            for channel in way:
                load[channel] = load.get(channel, 0) + 1
        return max(load.values()), [max(load[c] for c in way) for way in ways]

    def one_run(self, phases, hosts):
        """Mean and sum of the hot spots, bandwidth, the worst, and pairs, of phases of ranks on these hosts."""
        hot, sum_bandwidth, n_pairs = [], 0.0, 0
        for phase in phases:
            if not phase:
                continue
            hsd, worst = self.flows([(hosts[a], hosts[b]) for a, b in phase])
            hot.append(hsd)
            n_pairs += len(phase)
            part = 0.0
            for congestion in sorted(set(worst)):
                part += worst.count(congestion) / congestion
            sum_bandwidth += part
        return sum(hot) / len(hot), sum(hot), sum_bandwidth / n_pairs, max(hot), n_pairs

    def bisections(self, n, seed):
        hosts, draw, runs, half = list(self.hosts), SplitMix(seed), [], len(self.hosts) // 2
        for _ in range(n):
            draw.shuffle(hosts)
            runs.append(self.one_run([[(i, half + i) for i in range(half)]], hosts))
        means = [r[2] for r in runs]
        return {'ebb': spread(means)[0], 'ebb_half_width': spread(means)[1], 'ebb_worst': min(means),
                'ebb_best': max(means), 'max_congestion': max(r[3] for r in runs), 'pairs_no_path': 0}


def spread(values):
    """The mean, and 1.96 standard errors, summed in order."""
    total = squares = 0.0
    for x in values:
        total += x
    mean = total / len(values)
    for x in values:
        squares += (x - mean) * (x - mean)
    n = len(values)
    return mean, 1.96 * math.sqrt(squares / (n - 1.0) / n) if n > 1 else 0


def run(command, *words):
    done = subprocess.run([command, *words], capture_output=True, text=True)
    if done.returncode > 1:	# 1: what sssp makes can deadlock
        sys.exit('%s: exit code %d: %s' % (' '.join(words), done.returncode, done.stderr))
    return done.stdout


def compare(command, net, engine, patterns, seed, workdir):
    dump = os.path.join(workdir, 'dump')
    lfts = os.path.join(dump, 'opensm-lfts.dump')
    saved = os.path.join(workdir, 'saved')
    run(command, 'route', net, '-e', engine, '--dump', dump, '--save', saved)
    expected = Oracle(net, lfts).bisections(patterns, seed)
    got = json.loads(run(command, 'route', net, '-e', engine, '--tables', lfts,
                         '--tables', saved, '--json', '--bisections', str(patterns), '--seed',
                         str(seed)))
    for result in got['results']:	# the engine's own tables, and the same read from two files
        for key, value in expected.items():
            if result[key] != value:
                sys.exit('%s, %s, %s: %r, and the oracle says %r'
                         % (net, result['tables'], key, result[key], value))
    own, *read = got['results']
    for key in ('efi', 'efi_mean', 'sigma', 'mean_hops', 'routes', 'routes_longer'):
        if any(own[key] != other[key] for other in read):
            sys.exit('%s: %s of the engine and of its files differ' % (net, key))


# Several columns, each as it is alone, and how many paths differ ------------------------------------

SAME = ('efi', 'efi_mean', 'sigma', 'ebb', 'ebb_half_width', 'mean_hops', 'routes_longer',
        'host_routes_lost')


def differing(one, other):
    """Pairs of hosts with another path, that share, and entries."""
    pairs = [(a, b) for a in one.hosts for b in one.hosts if a != b]
    n = sum(one.path(a, b) != other.path(a, b) for a, b in pairs)
    return n, n / len(pairs), sum(one.tables[s][lid] != other.tables[s][lid]
                                  for s in one.tables for lid in one.tables[s])


def columns(command, net, workdir):
    oracle, dumps = {}, {}
    for engine in ('sssp', 'dfsssp'):
        folder = os.path.join(workdir, engine)
        run(command, 'route', net, '-e', engine, '--dump', folder)
        dumps[engine] = os.path.join(folder, 'opensm-lfts.dump')
        oracle[engine] = Oracle(net, dumps[engine])
    words = ['-e', 'sssp'], ['-e', 'dfsssp'], ['--tables', dumps['sssp']]

    def ask(*more):
        return json.loads(run(command, 'route', net, '--json', '--bisections=20', *more))['results']
    got = ask(*sum(words, []))
    for a, b in zip(got, [ask(*column)[0] for column in words]):
        for key in SAME:
            if a[key] != b[key]:
                sys.exit('%s, %s: %s is %r, and alone %r' % (net, a['tables'], key, a[key], b[key]))
    if 'pairs_changed' in got[0]:
        sys.exit('%s: the first tables differ from themselves' % net)
    for row, want in zip(got[1:], [differing(oracle['sssp'], oracle['dfsssp']), (0, 0, 0)]):
        said = tuple(row[k] for k in ('pairs_changed', 'pairs_changed_share', 'entries_changed'))
        if said != want:
            sys.exit('%s, %s: %r differ, and the oracle says %r' % (net, row['tables'], said, want))


GENERATED = [
    ('kary', 'k=4', 'n=3'), ('torus', 'dims=4x4x2', 'hosts=3'), ('kautz', 'b=3', 'n=2', 'hosts=5'),
    ('random', 'switches=24', 'links=60', 'hosts=7', 'seed=3'), ('dragonfly', 'a=4', 'h=2', 'p=2'),
    ('tree', 'm=4,4', 'w=1,2', 'p=1,2'),
]


def main():
    command, root = sys.argv[1:]
    shipped = ['tree-2', 'ring-5', 'torus-4x4', 'parallel', 'dual-port', 'bare-switches', 'cluster-192']
    n = 0
    with tempfile.TemporaryDirectory() as workdir:
        nets = [os.path.join(root, 'topologies', name + '.net') for name in shipped]
        for i, words in enumerate(GENERATED):
            nets.append(os.path.join(workdir, '%d.net' % i))
            run(command, 'generate', *words, '-o', nets[-1])
        for i, net in enumerate(nets):
            for engine in ('sssp', 'dfsssp'):
                compare(command, net, engine, 1 + 7 * (i % 4), 1000 + i, workdir)
                n += 1
        for name in ('torus-4x4', 'cluster-192', 'random-12'):
            columns(command, os.path.join(root, 'topologies', name + '.net'), workdir)
    print('%d routings: the same bandwidths, to the last digit' % n)


if __name__ == '__main__':
    main()
