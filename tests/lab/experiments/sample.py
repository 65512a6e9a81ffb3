#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Some rows of every table in docs/results/data are measured again, and must be there to the digit; but for
times and memory. A change of an engine that moves a figure fails here until scripts/study experiments has been run.

    sample.py           all
    sample.py NAME...   these files
"""
import sys

import angara
import experiments
import fabrics
import fattree
import keys
import studies
from document import DATA
from measure import Workshop, have_opensm

# What a clock or the memory allocator says.
MOVING = {'route_ms', 'layers_ms', 'memory_kb', 'over_sssp_kb', 'ms', 'bfs_ms', 'sssp_ms'}
# Of what is summed over a hundred fabrics the file has the value of each: the first ones are measured.
SUMMED = {'section4', 'figure9', 'figure9_lash', 'lower_efi'}
FIRST = 2


def broken(name, shape, engines, pattern='cps-shift'):
    return lambda w: fattree._faults(w, name, shape, 1, engines, [], 0, pattern)


def broken_with_stock(w):
    """Stock ftree, which gets a list of roots, on a small tree, for on 1,944 hosts it takes long."""
    stock, = fattree._faults(w, 'dmodk_faults', ('12,12', '1,12', '1,1'), 1, {}, ['ftree'], 1)
    if have_opensm() and [row['routing'] for row in stock.rows] != ['ftree']:
        sys.exit('dmodk_faults: stock ftree does not route a tree')
    return broken('dmodk_faults', fattree.SIZES[-1][1], {'dmodk': 1, 'dfsssp': 1})(w)


def some_keys(name, *words):
    """Rows of the figures 6 to 9."""
    return lambda w: [keys.data_of(name, keys.times(*words))]


X, T, A = experiments, fattree, angara
SLIDES = list(X._slide_fabrics())[:1]
TORI = A.all_tori()
STOCK = {(X, 'STOCK'): ['minhop']}
# What measures the tables of a name, and what is changed so that it measures less: {(module, name): value}.
SAMPLES = {
    'section4': (X.section4, {(X, 'SEEDS'): FIRST}),
    'figure9': (X.figure9, {(X, 'SEEDS'): FIRST, (X, 'FIGURE9'): X.FIGURE9[:4:3]}),
    'figure9_lash': (X.figure9_lash, {(X, 'LASH_SEEDS'): 1, (X, 'FIGURE9'): X.FIGURE9[2:3]}),
    'applications': (X.applications, {(X, 'APPLICATIONS'): X.APPLICATIONS[3:4],
                                      (X, 'APPLICATION_ENGINES'): ['minhop']}),
    'lower_efi': (X.lower_efi, {(X, 'LOWER_EFI_SEEDS'): FIRST}),
    'table1': (X.table1, {(fabrics, 'TABLE_I'): fabrics.TABLE_I[:1], **STOCK}),
    'systems': (X.systems, {(X, 'SYSTEMS'): dict(list(X.SYSTEMS.items())[:1]), **STOCK}),
    'slides': (X.slides, {(X, '_slide_fabrics'): lambda: SLIDES}),
    'online': (X.online, {(X, 'ONLINE'): dict(list(X.ONLINE.items())[:1]), (X, 'ONLINE_WAYS'): ['order']}),
    'sharing': (X.sharing, {}),
    'table3': (X.table3, {(X, 'TABLE3'): X.TABLE3[:1]}),
    'dmodk_partial': (T.partial, {(T, 'PARTIAL'): [(T.PARTIAL[0][0], T.PARTIAL[0][1][:1])]}),
    'dmodk_subsets': (T.subsets, {(T, 'SUBSETS'): [T.SUBSETS[1][:3] + (0,)], (T, 'SUBSET_DRAWS'): FIRST}),
    'dmodk_faults': (broken_with_stock, {}),
    'dmodk_faults_large': (broken('dmodk_faults_large', T.LARGE, {'dmodk': 1}, 'cps-shift:100'), {}),
    'dmodk_figure2': (T.figure2, {(T, 'FIGURE2'): [T.SIZES[1] + (3, 20, (0,))]}),
    'dmodk_figure3': (T.figure3, {(T, 'SIZES'): T.SIZES[:2]}),
    'dmodk_theorem3': (T.theorem3, {(T, 'SIZES'): T.SIZES[:2], (T, 'MORE'): T.MORE[:1]}),
    'dmodk_ring': (T.ring, {}),
    'keys_load': (lambda w: [keys.claims() or keys.data_of('load', keys.figure4([20], 25))], {}),
    'keys_time216': (some_keys('time216', 6, [6], [10], [0], 5, ['mesh', 'dmodk', 'nrk'], 60), {}),
    'keys_time1728': (some_keys('time1728', 12, [2], [10], [0], 3, ['mesh', 'ark'], 18), {}),
    'keys_single': (some_keys('single', 12, [2], [10], [32], 3, ['mesh', 'dmodk'], 12), {}),
    'keys_sizes': (some_keys('sizes', 12, [2], [20], [4, 256], 1, ['mesh', 'nrk'], 6, keys.LATENCY), {}),
    'keys_jobs': (lambda w: [keys.job_claims() or keys.data_of('jobs', keys.several(keys.MIXES[2:3], 4, keys.JOB_ROUTINGS))], {}),
    'keys_broken': (lambda w: [keys.data_of('broken', keys.broken(keys.BROKEN[:1], (1,), 6))], {}),
    'keys_cost': (some_keys('cost', 12, [2], [20], [256], 1, ['mesh', 'nrk+request'], 6, keys.LATENCY), {}),
    # Two boxes, three tori.
    'angara': (lambda w: [data for measure in A.ALL.values() for data in measure(w)],
               {(A, 'all_tori'): lambda: TORI[:49:13] + [(2, 3, 4)], (A, 'BOXES'): ['4x2'],
                (A, 'LIMITS'): ['4x2x2x2']})}
# The tests osm.packets and bench.faults measure rows of these.
ELSEWHERE = {'packets'} | {'faults_' + n for n in ('cable', 'switch', 'pile', 'transition')}
ANGARA = {'angara_' + n for n in ('desmos', 'patterns', 'tori', 'timing')}


def steady(row):
    return tuple((k, v) for k, v in sorted(row.items()) if k not in MOVING)


def compare_first(data):
    """Of rows that sum up, what is known by its key, and the first of its values."""
    results = {'min', 'mean', 'max', 'over_8', 'each', 'fabrics', 'pairs', 'efi_differs', 'ebb_agrees',
               'ebb_contradicts'}
    wrong = 0
    for row in data.rows:
        key = {k: v for k, v in row.items() if k not in results}
        there = [r for r in studies.read(DATA, data.name) if all(r[k] == v for k, v in key.items())]
        if len(there) != 1 or not (there[0]['each'] + ' ').startswith(row['each'] + ' '):
            print('%s: of %s the first are not %s' % (data.name, key, row['each']))
            wrong += 1
    return wrong


def compare(data):
    if data.name in SUMMED:
        return compare_first(data)
    there = {steady(row) for row in studies.read(DATA, data.name)}
    wrong = [dict(steady(row)) for row in data.rows if steady(row) not in there]
    for row in wrong[:5]:
        print('%s has no such row: %s' % (data.name, row))
    return len(wrong)


def measure(name, w):
    """The tables; of figure 9, which gives them link by link, the last, which has all."""
    function, changes = SAMPLES[name]
    before = {(module, what): getattr(module, what) for module, what in changes}
    for (module, what), value in changes.items():
        setattr(module, what, value)
    try:
        found = list(function(w))
        return found[-1:] if name == 'figure9' else found
    finally:
        for (module, what), value in before.items():
            setattr(module, what, value)


def main():
    wanted = sys.argv[1:] or sorted(SAMPLES)
    if not have_opensm() and 'figure9_lash' in wanted:
        print('skipped: figure9_lash: no opensm or ibsim')
        wanted.remove('figure9_lash')
    covered = set(SAMPLES) - {'angara'} | ANGARA | ELSEWHERE
    if covered != studies.names(DATA):
        sys.exit('sample.py and docs/results/data differ: %s' % sorted(covered ^ studies.names(DATA)))
    wrong = 0
    for name in wanted:
        w = Workshop()
        try:
            rows = measure(name, w)
            if not rows or not all(data.rows for data in rows):
                sys.exit('%s: nothing measured' % name)
            wrong += sum(compare(data) for data in rows)
        finally:
            w.close()
    if wrong:
        sys.exit('%d rows differ: what an engine does has changed; run scripts/study experiments for these' % wrong)


if __name__ == '__main__':
    main()
