# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The experiments of the Angara paper (Mukosey, Semenov, Tretiakov); its routes are no InfiniBand
tables. `tori` takes five minutes, `genetic` half an hour."""
import itertools
import json
import math
import os
import random
import statistics
import subprocess

from measure import BUILD, Data, Failure

COMMAND = os.path.join(BUILD, 'tests', 'experiments', 'srcroutes', 'osr-angara')
SEEDS = range(1, 6)
N_4D = 40
GENETIC_MOST = 512	# nodes of the tori that the genetic search gets
BOXES = ['2', '4', '4x2', '4x2x2', '4x2x2x2']
LIMITS = ['4x2x2x2', '5x3x3x2', '2x3x3x5', '5x5x6', '6x5x5', '10x5x3', '8x8x8', '8x8x4x2', '4x4x4x8']
# Table 2 of the paper, boxes of 2 to 32 nodes: largest and least load, sigma(4).
PAPER = {
    'bfs': ('1 / 1 / 0', '2 / 2 / 0', '6 / 2 / 1.429', '18 / 3 / 4.341', '48 / 3 / 12.254'),
    'genetic': ('1 / 1 / 0', '2 / 2 / 0', '4 / 4 / 0', '11 / 5 / 1.745', '27 / 8 / 6.274'),
    'sssp': ('1 / 1 / 0', '2 / 2 / 0', '5 / 3 / 0.707', '12 / 3 / 2.319', '28 / 8 / 6.298')}


def all_tori():
    """All of two and three dimensions, and a sample of four with at most 512 nodes."""
    sides = range(2, 9)
    tori = list(itertools.product(sides, repeat=2)) + list(itertools.product(sides, repeat=3))
    four = [d for d in itertools.product(sides, repeat=4) if math.prod(d) <= 512]
    return tori + sorted(random.Random(1).sample(four, N_4D))


def run(*words):
    done = subprocess.run([COMMAND, '--json'] + list(words), capture_output=True, text=True)
    if done.returncode:
        raise Failure('osr-angara %s: %s' % (' '.join(words), done.stderr))
    return json.loads(done.stdout)


def route(torus, algorithm, *words):
    got = run('--dims', torus, '-a', algorithm, *words)
    return got, got['results'][0]


def some_tori(quick):
    return ['x'.join(map(str, dims)) for dims in (all_tori()[:49:12] if quick else all_tori())]


def desmos(workshop, quick):
    """Boxes of the Desmos cluster, 4x2x2x2 (Angara, table 2, figure 6)."""
    data = Data('angara_desmos', ['algorithm', 'nodes', 'max_load', 'min_load', 'sigma4', 'max_hops',
                                  'ms', 'turns', 'unique', 'paper'])
    patterns = Data('angara_patterns', ['pattern', 'nodes', 'algorithm', 'max_load', 'bandwidth'])
    ties = Data('angara_ties', ['weight', 'nodes', 'least', 'mean', 'most', 'min_load', 'sigma4'])
    for box in BOXES:
        def ask(algorithm, *options):
            return run('--dims', box, '-a', algorithm,
                       *(word for option in options for word in ('-o', option)))
        got = ask('all')
        literal, weighed = ask('sssp', 'literal=yes'), ask('bfs', 'weight=sum')
        literal['results'][0]['algorithm'] = 'sssp, literal'
        weighed['results'][0]['algorithm'] = 'bfs, weight=sum'
        for r in got['results'] + literal['results'] + weighed['results']:
            paper = PAPER.get(r['algorithm'].split(',')[0])
            data.add(r['algorithm'], got['torus_nodes'], r['max_load'], r['min_load'], r['sigma4'],
                     r['max_hops'], r['total_ms'], got['turns_added'],
                     got['pairs_unique'] / got['pairs'],
                     paper and paper[got['torus_nodes'].bit_length() - 2])
        for p in got['patterns']:
            patterns.add(p['pattern'], got['torus_nodes'], p['algorithm'], p['max_load'],
                         p['bandwidth'])
        for weight in ('least', 'sum', 'none'):
            seen = [ask('bfs', 'weight=' + weight, 'ties=%d' % seed)['results'][0]
                    for seed in range(1, 4 if quick else 101)]
            most = [r['max_load'] for r in seen]
            ties.add(weight, got['torus_nodes'], min(most), statistics.mean(most), max(most),
                     statistics.mean(r['min_load'] for r in seen),
                     statistics.mean(r['sigma4'] for r in seen))
    return [data, patterns, ties]


def tori(workshop, quick):
    """Calls of BUILD_SSSP, loads, times; share of unique routes (Angara, figures 4 and 5)."""
    data = Data('angara_tori', [
        'dimensions', 'torus', 'nodes', 'turns', 'unique', 'turns_exact', 'unique_exact', 'bfs',
        'bfs_sum', 'sssp', 'balance', 'balance_exact', 'calls', 'calls_no_unique', 'bfs_ms',
        'sssp_ms', 'balance_ms'])
    for torus in some_tori(quick):
        got, bfs = route(torus, 'bfs')
        bfs_sum = route(torus, 'bfs', '-o', 'weight=sum')[1]
        sssp = route(torus, 'sssp')[1]
        calls = route(torus, 'sssp', '-o', 'unique_first=no')[1]['sssp_calls']
        ours = route(torus, 'balance')[1]
        exact, theirs = route(torus, 'balance', '-o', 'turns=exact')
        data.add(torus.count('x') + 1, torus, got['torus_nodes'], got['turns_added'],
                 got['pairs_unique'] / got['pairs'], exact['turns_added'],
                 exact['pairs_unique'] / exact['pairs'], bfs['max_load'], bfs_sum['max_load'],
                 sssp['max_load'], ours['max_load'], theirs['max_load'], sssp.get('sssp_calls', 0),
                 calls, bfs['total_ms'], sssp['total_ms'], ours['total_ms'])
    return [data]


def genetic(workshop, quick):
    """The genetic search on the same tori, five seeds each (Angara, section 4.2)."""
    data = Data('angara_genetic', ['torus', 'nodes', 'seed', 'max_load', 'generations', 'ms'])
    for torus in some_tori(quick):
        nodes = math.prod(map(int, torus.split('x')))
        for seed in SEEDS if nodes <= GENETIC_MOST else ():
            r = route(torus, 'genetic', '-o', 'seed=%d' % seed)[1]
            data.add(torus, nodes, seed, r['max_load'], r.get('generations', 0), r['total_ms'])
    return [data]


def timing(workshop, quick):
    """The paper's limits, and 8x8x8; the median of eleven runs."""
    data = Data('angara_timing', ['torus', 'nodes', 'bfs_ms', 'sssp_ms', 'balance_ms', 'max_load',
                                  'moves'])
    for torus in LIMITS[:6] if quick else LIMITS:
        times = [statistics.median(route(torus, a)[1]['total_ms'] for _ in range(3 if quick else 11))
                 for a in ('bfs', 'sssp', 'balance')]
        got, r = route(torus, 'balance')
        data.add(torus, got['torus_nodes'], *times, r['max_load'], r['moves'])
    return [data]


ALL = {'angara-desmos': desmos, 'angara-tori': tori, 'angara-timing': timing,
       'angara-genetic': genetic}
