#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Some rows of every table in docs/results/data are measured again, and must be there to the digit; but for
times and memory. A change of an engine that moves a figure fails here until scripts/experiments has been run.

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
from measure import Data, Workshop, have_opensm

# What a clock or the memory allocator says.
MOVING = {'route_ms', 'layers_ms', 'memory_kb', 'over_sssp_kb', 'ms', 'bfs_ms', 'sssp_ms', 'balance_ms'}
# Of what is summed over a hundred fabrics the file has the value of each: the first ones are measured.
SUMMED = {'section4', 'figure9', 'figure9_lash', 'lower_efi'}
FIRST = 2


def section4(w):
    experiments.SEEDS = FIRST
    return experiments.section4(w, False)


def figure9(w):
    experiments.SEEDS = FIRST
    experiments.FIGURE9[:] = LINKS[:4:3]
    return list(experiments.figure9(w, False))[-1:]


def figure9_lash(w):
    experiments.LASH_SEEDS = 1
    experiments.FIGURE9[:] = LINKS[2:3]
    return experiments.figure9_lash(w, False)


def applications(w):
    experiments.APPLICATIONS[:] = experiments.APPLICATIONS[3:4]
    experiments.APPLICATION_ENGINES[:] = ['minhop']
    return experiments.applications(w, False)


def lower_efi(w):
    experiments.LOWER_EFI_SEEDS = FIRST
    return experiments.lower_efi(w, False)[:1]


def lower_efi_cases(w):
    """The worst case again; where there is none, none of the first fabrics is one."""
    row = Data.read(DATA, 'lower_efi_cases').rows[0]
    if row['fabric'] == 'none':
        experiments.LOWER_EFI_SEEDS = FIRST
        return experiments.lower_efi(w, False)[1:]
    data = Data('lower_efi_cases', list(row))
    net = w.generate(*experiments.LOWER_EFI[row['fabric']], 'seed=' + row['seed'])
    figures = []
    for name in (row['routing'], row['than']):
        engine, options = experiments.LOWER_EFI_ROUTINGS[name]
        got = w.ours(net, engine, 5000, **options)
        figures += [name, got['efi'], got['ebb']]
    data.add(row['fabric'], row['seed'], *figures)
    return [data]


def dmodk_partial(w):
    fattree.PARTIAL[:] = [(fattree.PARTIAL[0][0], fattree.PARTIAL[0][1][:1])]
    return fattree.partial(w, False)


def dmodk_faults(w):
    return fattree._faults(w, 'dmodk_faults', SIZES[-1][1], 1, {'dmodk': 1, 'dfsssp': 1}, [], 0)


def dmodk_faults_large(w):
    return fattree._faults(w, 'dmodk_faults_large', fattree.LARGE, 1, {'dmodk': 1}, [], 0, 'cps-shift:100')


def table1(w):
    fabrics.TABLE_I[:] = fabrics.TABLE_I[:1]
    return experiments.table1(w, False)


def systems(w):
    for name in list(experiments.SYSTEMS)[1:]:
        del experiments.SYSTEMS[name]
    return experiments.systems(w, False)


def slides(w):
    first = list(experiments._slide_fabrics(False))[:1]
    experiments._slide_fabrics = lambda quick: first
    return experiments.slides(w, False)


def online(w):
    del experiments.ONLINE['Kautz(6, 3)'], experiments.ONLINE['dragonfly a=8 h=4 p=16']
    experiments.ONLINE_WAYS[:] = ['order']
    return experiments.online(w, False)


def sharing(w):
    return experiments.sharing(w, False)


def table3(w):
    experiments.TABLE3[:] = experiments.TABLE3[:1]
    return experiments.table3(w, False)


def dmodk_figure2(w):
    fattree.FIGURE2[:] = [fattree.SIZES[1] + (3, 20, (0,))]
    return fattree.figure2(w, False)


def dmodk_figure3(w):
    fattree.SIZES[:] = SIZES[:2]
    return fattree.figure3(w, False)


def dmodk_theorem3(w):
    fattree.SIZES[:] = SIZES[:2]
    fattree.MORE[:] = fattree.MORE[:1]
    return fattree.theorem3(w, False)


def dmodk_ring(w):
    fattree.SIZES[:] = SIZES
    return fattree.ring(w, False)


def keys_load(w):
    return [keys.data_of('load', keys.figure4([20], 25))]


def keys_time216(w):
    return [keys.data_of('time216', keys.times(6, [6], [10], [0], 5, ['mesh', 'dmodk', 'nrk'], 60))]


def keys_time1728(w):
    return [keys.data_of('time1728', keys.times(12, [2], [10], [0], 3, ['mesh', 'ark'], 18))]


def keys_single(w):
    return [keys.data_of('single', keys.times(12, [2], [10], [32], 3, ['mesh', 'dmodk'], 12))]


def keys_sizes(w):
    return [keys.data_of('sizes', keys.times(12, [2], [20], [4, 256], 1, ['mesh', 'nrk'], 6,
                                             keys.LATENCY))]


def keys_cost(w):
    return [keys.data_of('cost', keys.times(12, [2], [20], [256], 1, ['mesh', 'nrk+request'], 6,
                                            keys.LATENCY))]


def angara_some(w):
    """Two boxes, three tori."""
    whole = angara.all_tori()
    angara.all_tori = lambda: whole[:49:13] + [(2, 3, 4)]
    angara.BOXES[:] = ['4x2x1x1']
    angara.LIMITS[:] = ['4x2x2x2']
    angara.GENETIC_MOST = 16
    return [data for measure in angara.ALL.values() for data in measure(w, False)]


SIZES = list(fattree.SIZES)
LINKS = list(experiments.FIGURE9)
ALL = {f.__name__: f for f in (
    section4, figure9, figure9_lash, applications, lower_efi, lower_efi_cases, dmodk_partial, dmodk_faults,
    dmodk_faults_large,
    table1, systems, slides, online, sharing, table3, dmodk_figure2, dmodk_figure3,
    dmodk_theorem3, dmodk_ring, keys_load, keys_time216, keys_time1728,
    keys_single, keys_sizes, keys_cost)}
# The tests osm.packets and bench.faults measure rows of these.
ELSEWHERE = {'packets'} | {'faults_' + n for n in ('cable', 'switch', 'pile', 'transition')}
ANGARA = {'angara_' + n for n in ('desmos', 'patterns', 'ties', 'tori', 'timing', 'genetic')}


def steady(row):
    return tuple((k, v) for k, v in sorted(row.items()) if k not in MOVING)


def compare_first(data):
    """Of rows that sum up, what is known by its key, and the first of its values."""
    results = {'min', 'mean', 'max', 'over_15', 'over_8', 'each', 'fabrics', 'pairs', 'efi_differs', 'ebb_agrees',
               'ebb_contradicts'}
    wrong = 0
    for row in data.rows:
        key = {k: v for k, v in row.items() if k not in results}
        there = [r for r in Data.read(DATA, data.name).rows if all(r[k] == v for k, v in key.items())]
        if len(there) != 1 or not (there[0]['each'] + ' ').startswith(row['each'] + ' '):
            print('%s: of %s the first are not %s' % (data.name, key, row['each']))
            wrong += 1
    return wrong


def compare(data):
    if data.name in SUMMED:
        return compare_first(data)
    there = {steady(row) for row in Data.read(DATA, data.name).rows}
    wrong = [dict(steady(row)) for row in data.rows if steady(row) not in there]
    for row in wrong[:5]:
        print('%s has no such row: %s' % (data.name, row))
    return len(wrong)


def main():
    wanted = sys.argv[1:] or sorted(ALL) + ['angara']
    if not have_opensm() and 'figure9_lash' in wanted:
        print('skipped: figure9_lash: no opensm or ibsim')
        wanted.remove('figure9_lash')
    covered = set(ALL) | ANGARA
    files = studies.names(DATA)
    if covered | ELSEWHERE != files:
        sys.exit('sample.py and docs/results/data differ: %s' % sorted((covered | ELSEWHERE) ^ files))
    wrong = 0
    for name in wanted:
        w = Workshop(DATA)
        try:
            rows = (angara_some if name == 'angara' else ALL[name])(w)
            if not all(data.rows for data in rows):
                sys.exit('%s: nothing measured' % name)
            wrong += sum(compare(data) for data in rows)
        finally:
            w.close()
    if wrong:
        sys.exit('%d rows differ: what an engine does has changed; run scripts/experiments for these' % wrong)


if __name__ == '__main__':
    main()
