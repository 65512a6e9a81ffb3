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

COMMAND = os.path.join(BUILD, 'tests', 'experiments', 'osr-angara')
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


def ask(*words):
    done = subprocess.run([COMMAND] + list(words), capture_output=True, text=True)
    if done.returncode:
        raise Failure('osr-angara %s: %s' % (' '.join(words), done.stderr))
    return json.loads(done.stdout)


def route(torus, algorithm, *words):
    got = ask(torus, algorithm, *words)
    return got, got['results'][0]


def some_tori(quick):
    return ['x'.join(map(str, dims)) for dims in (all_tori()[:49:12] if quick else all_tori())]


def desmos(workshop, quick):
    """Boxes of the Desmos cluster, 4x2x2x2 (Angara, table 2)."""
    data = Data('angara_desmos', ['algorithm', 'nodes', 'max_load', 'min_load', 'sigma4', 'max_hops',
                                  'ms', 'turns', 'unique', 'paper'])
    for box in BOXES:
        got = ask(box, 'all')
        for r in got['results']:
            data.add(r['algorithm'], got['torus_nodes'], r['max_load'], r['min_load'], r['sigma4'],
                     r['max_hops'], r['total_ms'], got['turns_added'],
                     got['pairs_unique'] / got['pairs'],
                     PAPER[r['algorithm']][got['torus_nodes'].bit_length() - 2])
    return [data]


def tori(workshop, quick):
    """Calls of BUILD_SSSP, loads, times; share of unique routes (Angara, figures 4 and 5)."""
    data = Data('angara_tori', ['dimensions', 'torus', 'nodes', 'turns', 'unique', 'bfs', 'sssp', 'calls',
                                'calls_no_unique', 'bfs_ms', 'sssp_ms'])
    for torus in some_tori(quick):
        got, bfs = route(torus, 'bfs')
        sssp = route(torus, 'sssp')[1]
        calls = route(torus, 'sssp', 'unique_first=0')[1]['sssp_calls']
        data.add(torus.count('x') + 1, torus, got['torus_nodes'], got['turns_added'],
                 got['pairs_unique'] / got['pairs'], bfs['max_load'], sssp['max_load'],
                 sssp['sssp_calls'], calls, bfs['total_ms'], sssp['total_ms'])
    return [data]


def genetic(workshop, quick):
    """The genetic search on the same tori, five seeds each (Angara, section 4.2)."""
    data = Data('angara_genetic', ['torus', 'nodes', 'seed', 'max_load', 'generations', 'ms'])
    for torus in some_tori(quick):
        nodes = math.prod(map(int, torus.split('x')))
        for seed in SEEDS if nodes <= GENETIC_MOST else ():
            r = route(torus, 'genetic', 'seed=%d' % seed)[1]
            data.add(torus, nodes, seed, r['max_load'], r['generations'], r['total_ms'])
    return [data]


def timing(workshop, quick):
    """The paper's limits, and 8x8x8; the median of eleven runs."""
    data = Data('angara_timing', ['torus', 'nodes', 'bfs_ms', 'sssp_ms'])
    for torus in LIMITS[:6] if quick else LIMITS:
        times = [statistics.median(route(torus, a)[1]['total_ms'] for _ in range(3 if quick else 11))
                 for a in ('bfs', 'sssp')]
        data.add(torus, math.prod(map(int, torus.split('x'))), *times)
    return [data]


ALL = {'angara-desmos': desmos, 'angara-tori': tori, 'angara-timing': timing,
       'angara-genetic': genetic}
