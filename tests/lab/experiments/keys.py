# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The evaluation of routing keys (Samuel, Zahavi, Keslassy, section IV)."""
import statistics
import subprocess
import sys

from measure import FLOW, JOBS, Data

ROUTINGS = ['mesh', 'dmodk', 'sssp', 'random', 'conga', 'ark', 'nrk']
PERCENTS = [10, 20, 40, 60]
LATENCY = 2		# us, of every message of figure 9: six cables and five switches
REQUEST = 62000		# us, from a request to the switches' answers (docs/results/keys-paper.md)


def ask(*words, program=FLOW):
    run = subprocess.run([program] + [str(w) for w in words], capture_output=True, text=True)
    if run.returncode:
        sys.exit('%s %s: %s' % (program, ' '.join(map(str, words)), run.stderr))
    return [float(x) for x in run.stdout.split()]


def figure4(sides, seeds):
    """Most flows on one link: median and largest over the seeds."""
    rows = [['hosts', 'flows', 'routing', 'median', 'largest']]
    for side in sides:
        got = [ask('load', side, seed) for seed in range(1, seeds + 1)]
        for i, name in enumerate(('ark', 'nrk', 'dmodk')):
            values = [g[3 + i] for g in got]
            rows.append([int(got[0][0]), int(got[0][1]), name,
                         '%g' % statistics.median(values), '%g' % max(values)])
    return rows


def times(side, apps, percents, kbs, seeds, routings, phases, latency=0):
    """Communication time over that of the full mesh: median over the seeds. ROUTING+request pays for its keys."""
    rows = [['hosts', 'applications', 'percent', 'kb', 'routing', 'ms', 'over_mesh']]
    for n in apps:
        for percent in percents:
            for kb in kbs:
                base = None
                for routing in routings:
                    name, _, pays = routing.partition('+')
                    got = [ask('time', side, n, percent, s, name, kb, phases, REQUEST if pays else 0, latency)[0]
                           for s in range(1, seeds + 1)]
                    base = base or got
                    ratio = statistics.median(g / b for g, b in zip(got, base))
                    rows.append([side ** 3, n, percent, kb, routing,
                                 '%.3f' % (statistics.median(got) * 1e3), '%.3f' % ratio])
                    print(rows[-1], flush=True)
    return rows


def claims():
    """What must hold: keys free of contention take the time of the full mesh."""
    rows = figure4([6, 10], 3)
    for row in rows[1:]:
        if row[2] == 'nrk' and float(row[4]) > 2:
            sys.exit('figure 4: %s' % row)
    rows = times(4, [1, 4], [10], [0], 1, ROUTINGS, 12)[1:]
    ratio = {(r[1], r[4]): float(r[6]) for r in rows}
    for name in ('ark', 'nrk'):
        if abs(ratio[1, name] - 1) > 1e-6:
            sys.exit('one application alone: %s takes %g of the full mesh' % (name, ratio[1, name]))
    # The paper's order. Class c on plane c for every application would make the second's flows meet the first's.
    if not ratio[4, 'dmodk'] > ratio[4, 'ark'] > ratio[4, 'nrk']:
        sys.exit('four applications: %s' % ratio)
    paid = times(4, [1], [10], [4, 1048576], 1, ['mesh', 'dmodk', 'nrk', 'nrk+request'], 6, LATENCY)[1:]
    cost = {(r[3], r[4]): float(r[6]) for r in paid}
    if abs(cost[4, 'nrk'] - 1) > 1e-3 or cost[4, 'nrk+request'] < 1000 or \
            not 1 < cost[1048576, 'nrk+request'] < cost[1048576, 'dmodk']:
        sys.exit('what a request costs: %s' % cost)
    if min(ratio.values()) < 0.999 or ratio[1, 'dmodk'] < 1.2:
        sys.exit('times make no sense: %s' % ratio)


TREES = {144: 'm=12,12 w=1,12', 216: 'm=6,6,6 w=1,6,6', 1728: 'm=12,12,12 w=1,12,12',
         1944: 'm=18,18,6 w=1,18,6 p=1,1,3'}
MIXES = [(216, [36] * 6), (216, [12] * 18), (216, [36] * 2), (144, [18] * 8),
         (1944, [512, 324, 256, 128, 128] + [64] * 4 + [36] * 4 + [16] * 4 + [8] * 4), (1944, [128] * 4),
         (1944, [64] * 3), (1728, [36] * 3)]
JOB_ROUTINGS = ['dmodk', 'dmodk-random', 'key', 'key-random', 'ark', 'nrk']
LINKS = {144: 144, 216: 432, 1944: 3888}	# between switches
BROKEN = [(144, 72), (216, 36), (216, 108), (1944, 128), (1944, 512)]


def means(n_hosts, links, sizes, seeds, routing):
    draws = 50 if n_hosts > 1000 else 200
    got = [ask(TREES[n_hosts], links, ','.join(map(str, sizes)), seed, draws, routing, program=JOBS)
           for seed in range(1, seeds + 1)]
    return ['%.2f' % statistics.mean(g[i] for g in got) for i in range(3)] + ['%d' % max(g[3] for g in got)]


def several(mixes, seeds, routings):
    """Most flows on a cable: all jobs at once; on those of one while each other one has 20 %; one alone."""
    rows = [['hosts', 'jobs', 'ranks', 'routing', 'all', 'one', 'alone', 'worst']]
    for n_hosts, sizes in mixes:
        ranks = '%d to %d' % (min(sizes), max(sizes)) if len(set(sizes)) > 1 else str(sizes[0])
        rows += [[n_hosts, len(sizes), ranks, r] + means(n_hosts, 0, sizes, seeds, r) for r in routings]
    return rows


def broken(jobs, percents, seeds):
    """One job alone on a tree without some cables."""
    rows = [['hosts', 'ranks', 'missing', 'routing', 'alone', 'worst']]
    for n_hosts, n in jobs:
        for percent in percents:
            links = max(1, LINKS[n_hosts] * percent // 100)
            rows += [[n_hosts, n, '%d %%' % percent, r] + means(n_hosts, links, [n], seeds, r)[2:]
                     for r in ('dmodk', 'key')]
    return rows


def job_claims():
    """What must hold: alone a job has contention 1, all together jobs are below the base, seed by seed."""
    for n_hosts, sizes in MIXES:
        for seed in (1, 2):
            base, key = (ask(TREES[n_hosts], 0, ','.join(map(str, sizes)), seed, 40, r, program=JOBS) for r in ('dmodk', 'key'))
            if key[3] != 1 or key[0] >= base[0] or (max(sizes) <= 64 and len(sizes) == 3 and key[0] != 1):
                sys.exit('jobs %s on %d hosts, seed %d: base %s, keys %s' % (sizes, n_hosts, seed, base, key))


def jobs(workshop):
    """Jobs with one key each, beside ARK and NRK a phase, the base routing, and ranks in random order."""
    return [data_of('jobs', several(MIXES, 4, JOB_ROUTINGS)), data_of('broken', broken(BROKEN, (1, 5), 6))]


PAID = ['mesh', 'dmodk', 'nrk', 'nrk+request']
TABLES = {
    'load': lambda: figure4([20, 30, 40, 50, 60, 70, 80, 90, 100], 25),
    'time216': lambda: times(6, [6], PERCENTS, [0], 5, ROUTINGS, 60),
    'time1728': lambda: times(12, [2, 8, 32], PERCENTS, [0], 3, ROUTINGS, 18),
    'single': lambda: times(12, [2, 8], [10, 40], [32], 3, ROUTINGS, 12) +
    times(12, [32], [10], [32], 3, ROUTINGS, 12)[1:],
    'sizes': lambda: times(12, [2], [20], [4, 16, 64, 256], 1, ROUTINGS, 6, LATENCY),
    'cost': lambda: times(12, [2], [20], [256, 16384, 262144, 1048576], 1, PAID, 6, LATENCY)}


def data_of(name, rows):
    data = Data('keys_' + name, rows[0])
    for row in rows[1:]:
        data.add(*row)
    return data


def evaluation(workshop):
    """Contention and communication time (Samuel, Zahavi, Keslassy, section IV); minutes."""
    return [data_of(name, make()) for name, make in TABLES.items()]


ALL = {'keys': evaluation, 'jobs': jobs}
