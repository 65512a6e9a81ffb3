# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The experiments of the Angara paper (Mukosey, Semenov, Tretiakov); its routes are no InfiniBand
tables. `tori` takes five minutes."""
import collections
import itertools
import json
import math
import os
import random
import re
import statistics
import subprocess

from measure import BUILD, COMMAND as MEASURED, Data, Failure

COMMAND = os.path.join(BUILD, 'tests', 'lab', 'experiments', 'osr-angara')
N_4D = 40
BOXES = ['2', '4', '4x2', '4x2x2', '4x2x2x2']
LIMITS = ['4x2x2x2', '5x3x3x2', '2x3x3x5', '5x5x6', '6x5x5', '10x5x3', '8x8x8', '8x8x4x2', '4x4x4x8']
# Table 2 of the paper, boxes of 2 to 32 nodes: largest and least load, sigma(4).
PAPER = {
    'bfs': ('1 / 1 / 0', '2 / 2 / 0', '6 / 2 / 1.429', '18 / 3 / 4.341', '48 / 3 / 12.254'),
    'sssp': ('1 / 1 / 0', '2 / 2 / 0', '5 / 3 / 0.707', '12 / 3 / 2.319', '28 / 8 / 6.298')}


def all_tori():
    """All of two and three dimensions, and a sample of four with at most 512 nodes."""
    sides = range(2, 9)
    tori = list(itertools.product(sides, repeat=2)) + list(itertools.product(sides, repeat=3))
    four = [d for d in itertools.product(sides, repeat=4) if math.prod(d) <= 512]
    return tori + sorted(random.Random(1).sample(four, N_4D))


def told(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise Failure('%s: %s' % (' '.join(words), done.stderr))
    return done.stdout


def ask(torus):
    return json.loads(told(COMMAND, torus))


def desmos(workshop):
    """Boxes of the Desmos cluster, 4x2x2x2 (Angara, table 2)."""
    data = Data('angara_desmos', ['algorithm', 'nodes', 'max_load', 'min_load', 'sigma4', 'max_hops',
                                  'ms', 'turns', 'unique', 'paper'])
    for box in BOXES:
        got = ask(box)
        for name, paper in PAPER.items():
            r = got[name]
            data.add(name, got['torus_nodes'], r['max_load'], r['min_load'], r['sigma4'], r['max_hops'], r['total_ms'],
                     got['turns_added'], got['pairs_unique'] / got['pairs'], paper[got['torus_nodes'].bit_length() - 2])
    return [data]


def tori(workshop):
    """Calls of BUILD_SSSP, loads, times; share of unique routes (Angara, figures 4 and 5)."""
    data = Data('angara_tori', ['dimensions', 'torus', 'nodes', 'turns', 'unique', 'bfs', 'sssp', 'calls',
                                'calls_no_unique', 'bfs_ms', 'sssp_ms'])
    for torus in ('x'.join(map(str, dims)) for dims in all_tori()):
        got = ask(torus)
        bfs, sssp, every = got['bfs'], got['sssp'], got['sssp_all']
        data.add(torus.count('x') + 1, torus, got['torus_nodes'], got['turns_added'],
                 got['pairs_unique'] / got['pairs'], bfs['max_load'], sssp['max_load'],
                 sssp['sssp_calls'], every['sssp_calls'], bfs['total_ms'], sssp['total_ms'])
    return [data]


def timing(workshop):
    """The paper's limits, and 8x8x8; the median of eleven runs."""
    data = Data('angara_timing', ['torus', 'nodes', 'bfs_ms', 'sssp_ms'])
    for torus in LIMITS:
        runs = [ask(torus) for _ in range(11)]
        data.add(torus, runs[0]['torus_nodes'], *(statistics.median(r[a]['total_ms'] for r in runs) for a in ('bfs', 'sssp')))
    return [data]


def follow(line, sides, load):
    """Counts the channels of a route as its sender writes it: "0,0 -> 1,2: +Y first +X +Y"."""
    ends, header = line.split(':')
    at, to = ([int(x) for x in end.split(',')] for end in ends.split(' -> '))
    words = [(word[0], 'XYZK'.index(word[1]), how) for word, how in re.findall(r'([-+][XYZK])( first| last)?', header)]

    def step(sign, axis):
        load[tuple(at), sign, axis] += 1
        at[axis] = (at[axis] + (1 if sign == '+' else -1)) % sides[axis]

    last = next((axis for _, axis, how in words if how == ' last'), None)
    for sign, axis, how in words:
        if how:
            step(sign, axis)
        while not how and at[axis] != (to[axis] + (axis == last)) % sides[axis]:
            step(sign, axis)
    assert at == to, line


def pairs_of(pattern, nodes, sides):
    """Dally and Towles: bits of the number turned by half, one further and nearly half around in each dimension."""
    moves = {'neighbor': lambda x: [(a + 1) % k for a, k in zip(x, sides)],
             'tornado': lambda x: [(a + (k + 1) // 2 - 1) % k for a, k in zip(x, sides)],
             'transpose': lambda x: nodes[(nodes.index(x) >> 2 | nodes.index(x) << 3) & 31]}
    if pattern == 'alltoall':
        return list(itertools.permutations(nodes, 2))
    return [(x, tuple(moves[pattern](x))) for x in nodes if tuple(moves[pattern](x)) != x]


def patterns(workshop):
    """Flows on the most loaded channel of Desmos (Angara, figure 6): the paper's routes and the engine's tables."""
    data = Data('angara_patterns', ['pattern', 'bfs', 'sssp', 'graph', 'any'])
    sides, net, traffic = (4, 2, 2, 2), workshop.path('desmos.net'), workshop.path('pattern.txt')
    nodes = list(itertools.product(*map(range, sides)))
    told(MEASURED, 'generate', '-o', net, 'torus', 'dims=4x2x2x2', 'hosts=1')
    routes = {a: told(COMMAND, '4x2x2x2', a).splitlines() for a in ('bfs', 'sssp')}
    for pattern in ('transpose', 'neighbor', 'tornado', 'alltoall'):
        pairs, row = pairs_of(pattern, nodes, sides), [pattern]
        named = {'%s -> %s' % tuple(','.join(map(str, x)) for x in pair) for pair in pairs}
        for lines in routes.values():
            load = collections.Counter()
            for line in lines:
                if line.split(':')[0] in named:
                    follow(line, sides, load)
            row.append(max(load.values()))
        with open(traffic, 'w') as file:
            file.write('ranks 32\nphase\n' + ''.join('%d %d\n' % tuple(map(nodes.index, pair)) for pair in pairs))
        for paths in ('graph', 'any'):
            said = json.loads(told(MEASURED, 'route', net, '-e', 'angara', '-o', 'paths=' + paths, '--traffic', traffic, '--json'))
            row.append(said['results'][0]['efi'] if pattern == 'alltoall' else said['patterns'][0]['max_congestion'])
        data.add(*row)
    return [data]


ALL = {'angara-desmos': desmos, 'angara-patterns': patterns, 'angara-tori': tori, 'angara-timing': timing}
