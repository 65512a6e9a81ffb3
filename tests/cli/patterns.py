#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""share/examples/traffic-patterns and `osmroutes route --traffic` against a slow program that shares nothing with them:
patterns as ORCS 2.0 and table 2 of the D-Mod-K paper define them, cables from the net file, tables from the dumps,
packets followed one by one (bandwidth.py). Every digit must be the same.

    patterns.py COMMAND ROOT
"""
import importlib.machinery
import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import tempfile

from bandwidth import Oracle, SplitMix, run

# ---- ORCS: one list of pairs for each level, the first empty one ends it ----------------------------


def orcs_levels(function, n, *args):
    level, phases = 0, []
    while True:
        pairs = function(n, level, *args)
        if not pairs:
            return phases
        phases.append(pairs)
        level += 1


def bisect(n, level):
    return [(i, i + 1) for i in range(0, n - 1, 2)] if level == 0 else []


def bisect_fb_sym(n, level):
    return [p for i in range(0, n - 1, 2) for p in ((i, i + 1), (i + 1, i))] if level == 0 else []


def tree(n, level):
    dist = 1 << level
    return [(i, i + dist) for i in range(dist) if i + dist < n]


def bruck(n, level):
    dist = 1 << level
    return [(i, (i + dist) % n) for i in range(n)] if dist < n else []


def gather(n, level):
    return [(i, 0) for i in range(1, n)] if level == 0 else []


def scatter(n, level):
    return [(0, i) for i in range(1, n)] if level == 0 else []


def ring(n, level):
    return [(level, (level + 1) % n)] if level < n else []


def recdbl(n, level):
    dist, power, pairs = 1 << level, 1 << (n.bit_length() - 1), []
    if dist < power:
        for i in range(0, power, 2 * dist):
            for k in range(i, i + dist):
                if k + dist < n:
                    pairs += [(k, k + dist), (k + dist, k)]
    elif dist // 2 < power:
        pairs = [(i, i + power) for i in range(n - power)]
    return pairs


def neighbor2d(n, level):
    if level:
        return []
    columns = math.ceil(math.sqrt(n))
    rows = math.ceil(n / columns)
    pairs = set()
    for node in range(n):
        x, y = node % columns, node // columns
        for dx, dy in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            i = 0
            while True:		# jump over empty places
                i += 1
                other = (y + i * dy) % rows * columns + (x + i * dx) % columns
                if other < n:
                    break
            pairs.add((node, other))
    return [(a, b) for a, b in sorted(pairs) if a != b]


def neighbor(n, level, neighbors):
    if level:
        return []
    neighbors = min(neighbors, n - 1)
    slot = [[None] * neighbors for _ in range(n)]
    for i in range(n):
        for k in range(neighbors):
            if slot[i][k] is not None:
                continue
            for j in range(i + 1, n):
                if i not in slot[j] and None in slot[j]:
                    slot[j][slot[j].index(None)] = i
                    slot[i][k] = j
                    break
    return [(i, j) for i in range(n) for j in slot[i] if j is not None]


# ---- the collective permutation sequences ------------------------------------------------------------


def stages(n):
    return range(math.ceil(math.log2(n)))


def dissemination(n):
    return [[(i, (i + 2 ** s) % n) for i in range(n)] for s in stages(n)]


def tournament(n):
    return [[(i + 2 ** s, i) for i in range(n) if i % 2 ** (s + 1) == 0 and i + 2 ** s < n]
            for s in stages(n)]


def shift(n):
    return [[(i, (i + s) % n) for i in range(n)] for s in range(1, n)]


def one_ring(n):
    return [[(i, (i + 1) % n) for i in range(n)]]


def binomial(n):
    return [[(i, i + 2 ** s) for i in range(2 ** s) if i + 2 ** s < n] for s in stages(n)]


def doubling(n):
    return [[(i, i ^ 2 ** s) for i in range(n) if i ^ 2 ** s < n] for s in stages(n)]


def halving(n):
    return doubling(n)[::-1]


def doubling_mpi(n):
    s = int(math.log2(n))
    pre = [(i + 2 ** s, i) for i in range(n - 2 ** s)]
    post = [(b, a) for a, b in pre]
    return [p for p in [pre] + doubling(2 ** s) + [post] if p]


def doubling_tree(n, *m):
    """Section VI; the digit of level l is XORed, and stands aside from 2^L_l on."""
    phases = []
    for level, digits in enumerate(m):
        below = math.prod(m[:level])
        power = 2 ** int(math.log2(digits))
        extra = digits > power

        def digit(i):
            return i // below % digits
        outside = [i for i in range(n) if digit(i) >= power]
        inside = [i for i in range(n) if digit(i) < power]
        pre = [(i, i - power * below) for i in outside]
        phases.append(pre if extra else [])
        for s in range(int(math.log2(digits))):
            other = [i + ((digit(i) ^ 2 ** s) - digit(i)) * below for i in inside]
            phases.append([(i, j) for i, j in zip(inside, other) if j < n])
        phases.append([(b, a) for a, b in pre] if extra else [])
    return [p for p in phases if p]


def stencil(n, *sides):
    def place(i):
        where = []
        for side in sides:
            where.append(i % side)
            i //= side
        return tuple(where)
    places = {place(i): i for i in range(n)}
    phases = []
    for d in range(len(sides)):
        for step in (1, -1):
            pairs = []
            for where, i in places.items():
                other = where[:d] + (where[d] + step,) + where[d + 1:]
                if other in places:
                    pairs.append((i, places[other]))
            phases.append(pairs)
    return phases


def alltoall(n):
    return [[(i, j) for i in range(n) for j in range(n) if i != j]]


def halves(n):
    return [[(i, n // 2 + i) for i in range(n // 2)]]


ORCS = [bisect, bisect_fb_sym, tree, bruck, gather, scatter, ring, recdbl, neighbor2d]
CPS = {'dissemination': dissemination, 'tournament': tournament, 'shift': shift, 'ring': one_ring,
       'binomial': binomial, 'doubling': doubling, 'halving': halving, 'doubling-mpi': doubling_mpi}


def sequences(n):
    """{name as typed: phases}"""
    found = {f.__name__: orcs_levels(f, n) for f in ORCS}
    found.update(('cps-' + name, f(n)) for name, f in CPS.items())
    for k in (1, 3, 5):
        found['neighbor:%d' % k] = orcs_levels(neighbor, n, k)
    found['halves'], found['alltoall'] = halves(n), alltoall(n)
    divisors = [d for d in range(2, n) if n % d == 0]
    if divisors:
        side = divisors[len(divisors) // 2]
        found['stencil:%d,%d' % (side, n // side)] = stencil(n, side, n // side)
    for m in ((3, 3, (n + 8) // 9), (7, (n + 6) // 7), (n,)):
        found['cps-doubling-tree:' + ','.join(map(str, m))] = doubling_tree(n, *m)
    return found


# ---- measuring ---------------------------------------------------------------------------------------


def flows(oracle, pairs):
    """How many pairs go over each cable, and what each meets at worst."""
    ways = [oracle.path(a, b) + [('to', b)] for a, b in pairs]
    load = {}
    for way in ways:
        for channel in way:
            load[channel] = load.get(channel, 0) + 1
    return max(load.values()), [max(load[c] for c in way) for way in ways]


def one_run(oracle, phases, hosts):
    hot, sum_bandwidth, n_pairs = [], 0.0, 0
    for phase in phases:
        if not phase:
            continue
        hsd, worst = flows(oracle, [(hosts[a], hosts[b]) for a, b in phase])
        hot.append(hsd)
        n_pairs += len(phase)
        part = 0.0
        for congestion in sorted(set(worst)):
            part += worst.count(congestion) / congestion
        sum_bandwidth += part
    return sum(hot) / len(hot), sum(hot), sum_bandwidth / n_pairs, max(hot), n_pairs


def spread(values):
    total = squares = 0.0
    for x in values:
        total += x
    mean = total / len(values)
    for x in values:
        squares += (x - mean) * (x - mean)
    n = len(values)
    return mean, 1.96 * math.sqrt(squares / (n - 1.0) / n) if n > 1 else 0


def expected(oracle, hosts, phases, n_ranks, ranking, n_runs, seed):
    order, draw, runs = list(hosts), SplitMix(seed), []
    for _ in range(n_runs if ranking == 'random' else 1):
        if ranking == 'random':
            draw.shuffle(order)
        runs.append(one_run(oracle, phases, order[:n_ranks]))
    hsd, sums, bandwidth = ([r[i] for r in runs] for i in range(3))
    row = {'ranks': n_ranks, 'phases': len(phases), 'runs': len(runs), 'hsd': spread(hsd)[0],
           'hsd_sum': spread(sums)[0], 'max_congestion': max(r[3] for r in runs),
           'bandwidth': spread(bandwidth)[0], 'pairs': sum(r[4] for r in runs), 'pairs_no_path': 0}
    if len(runs) > 1:
        for key, values in (('hsd', hsd), ('bandwidth', bandwidth)):
            row.update({key + '_half_width': spread(values)[1], key + '_min': min(values),
                        key + '_max': max(values)})
    return row


def judge(where, got, want):
    for key, value in want.items():
        if got.get(key) != value:
            sys.exit('%s, %s, %s: %s is %r, and the oracle says %r' % (
                where, got['pattern'], got['ranking'], key, got.get(key), value))


def written(text):
    """Phases of a traffic file of ranks, and how many ranks."""
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    phases = []
    for line in lines[1:]:
        if line == 'phase':
            phases.append([])
        else:
            phases[-1].append(tuple(map(int, line.split())))
    return phases, int(re.match(r'ranks (\d+)$', lines[0]).group(1))


def write_patterns(script, n, workdir):
    """{path: phases} of all patterns for n ranks, each as it is defined."""
    files = {}
    for name, phases in sequences(n).items():
        text = script.text_of(name, n)
        got, ranks = written(text)
        phases = [phase for phase in phases if phase]
        if ranks != n or [sorted(p) for p in got] != [sorted(p) for p in phases]:
            sys.exit('%s of %d ranks: %r, expected %r' % (name, n, got, phases))
        path = os.path.join(workdir, 'traffic-' + name)
        with open(path, 'w') as file:
            file.write(text)
        files[path] = phases
    return files


def judge_random(script, path):
    """Permutations without a fixed point; senders that are no receivers, spread evenly over them."""
    for seed in range(1, 6):
        for n in (2, 3, 9, 40):
            (pairs,), _ = written(script.text_of('rand', n, seed))
            if not sorted(a for a, _ in pairs) == sorted(b for _, b in pairs) == list(range(n)) or \
                    any(a == b for a, b in pairs):
                sys.exit('rand of %d: %r' % (n, pairs))
            for k in (1, 4, n):
                (pairs,), _ = written(script.text_of('receivers:%d' % k, n, seed))
                few = min(k, n // 2)
                load = [sum(b == r for _, b in pairs) for r in range(few)]
                if sorted(a for a, _ in pairs) != list(range(few, n)) or max(load) > min(load) + 1 or \
                        sum(load) != len(pairs):
                    sys.exit('receivers:%d of %d: %r' % (k, n, pairs))
    if len({script.text_of('rand', 40, seed) for seed in range(1, 6)}) != 5:
        sys.exit('rand does not depend on the seed')
    for words in (['star', '4'], ['ring:1', '4'], ['stencil:3,3', '8'], ['neighbor', '4'], ['ring', '1'],
                  ['cps-doubling-tree:2,2', '5']):
        done = subprocess.run([path, *words], capture_output=True, text=True)
        if done.returncode != 1 or done.stdout or done.stderr.count('\n') != 1:
            sys.exit('traffic-patterns %s: %r' % (words, done))


def compare(command, script, net, workdir, n_ranks, n_runs, seed, threads):
    """Every pattern in order and at random; returns how many rows were the same."""
    dump = os.path.join(workdir, 'dump')
    run(command, 'route', net, '-e', 'sssp', '--dump', dump)
    oracle = Oracle(net, os.path.join(dump, 'opensm-lfts.dump'))
    n = n_ranks or len(oracle.hosts)
    wanted = write_patterns(script, n, workdir)
    words = ['route', net, '-e', 'sssp', '--json', '--bisections=0', '--runs=%d' % n_runs,
             '--seed=%d' % seed, '--threads=%d' % threads] + ['--traffic=' + path for path in wanted]
    rows = json.loads(run(command, *words))['patterns']
    if len(rows) != 2 * len(wanted):
        sys.exit('%s: %d rows for %d patterns' % (net, len(rows), len(wanted)))
    for row in rows:
        judge(net, row, expected(oracle, oracle.hosts, wanted[row['pattern']], n, row['ranking'],
                                 n_runs, seed))
    return len(rows)


# ---- files -------------------------------------------------------------------------------------------


def read_names(path):
    """{(switch, port): name of the CA on it}"""
    oracle_names, node, kinds = {}, None, {}
    for line in open(path):
        m = re.match(r'(Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?', line)
        if m:
            node, kinds[m.group(2)] = m.group(2), m.group(3) or m.group(2)
            continue
        m = re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)
        if m:
            oracle_names[node, int(m.group(1))] = m.group(2)
    return {(kinds[s], p): kinds[n] for (s, p), n in oracle_names.items()}


def compare_files(command, net, workdir):
    """A list of hosts with the ranks backwards, ranks in a traffic file, and end ports in another."""
    dump = os.path.join(workdir, 'dump')
    run(command, 'route', net, '-e', 'dfsssp', '--dump', dump)
    oracle, names = Oracle(net, os.path.join(dump, 'opensm-lfts.dump')), read_names(net)
    hosts = oracle.hosts[::-1][:12]
    phases = [[(0, 5), (5, 0), (3, 4)], [(1, 0), (2, 0), (11, 0)]]
    lids = oracle.lids
    files = {name: os.path.join(workdir, name) for name in ('hosts', 'ranks', 'ends')}
    with open(files['hosts'], 'w') as out:
        for i, host in enumerate(hosts):
            out.write(('"%s"  # rank\n' % names[host]) if i % 2 else 'lid:%d\n' % lids[host])
    with open(files['ranks'], 'w') as out:
        out.write('# ranks\nranks 12\n')
        for phase in phases:
            out.write('phase x\n' + ''.join('%d %d\n' % p for p in phase))
    with open(files['ends'], 'w') as out:
        for phase in phases:
            out.write('phase\n\n' + ''.join('"%s" lid:%d\n' % (names[hosts[a]], lids[hosts[b]])
                                            for a, b in phase))
    words = ['route', net, '--json', '--bisections=0', '--runs=4', '--hosts', files['hosts'],
             '--traffic', files['ranks'], '--traffic', files['ends']]
    rows = json.loads(run(command, *words))['patterns']
    if [r['ranking'] for r in rows] != ['ordered', 'random', 'given']:
        sys.exit('traffic files: rows for %r' % [r['ranking'] for r in rows])
    for row in rows:
        want = expected(oracle, hosts, phases, 12, row['ranking'], 4, 1)
        if row['ranking'] == 'given':
            want['ranks'] = len({x for phase in phases for pair in phase for x in pair})
        judge(net, row, want)
    return len(rows)


def same_for_any_threads(command, net, path):
    """Hosts are shuffled in the order of the runs, whichever thread measures them."""
    words = ['route', net, '-e', 'sssp', '--csv=patterns', '--bisections=50', '--runs=9', '--traffic=' + path]

    def text(threads):
        lines = run(command, *words, '--threads=%d' % threads).splitlines()
        return [line.split(',')[:-1] for line in lines]		# without the CPU time
    if not text(1) == text(2) == text(7):
        sys.exit('%s: the number of threads changes the figures' % net)


def main():
    command, root = sys.argv[1:]
    path = os.path.join(root, 'share', 'examples', 'traffic-patterns')
    loader = importlib.machinery.SourceFileLoader('traffic_patterns', path)
    script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(script)
    if run(path, 'cps-ring', '3') != '# cps-ring\nranks 3\nphase\n0 1\n1 2\n2 0\n':
        sys.exit('traffic-patterns cps-ring 3: another file')
    judge_random(script, path)
    n = 0
    with tempfile.TemporaryDirectory() as workdir:
        nets = []
        for i, words in enumerate((('kary', 'k=3', 'n=3'), ('torus', 'dims=3x3x2', 'hosts=2'),
                                   ('tree', 'm=4,4', 'w=1,2', 'p=1,2'),
                                   ('random', 'switches=12', 'links=20', 'hosts=3', 'seed=4'))):
            nets.append(os.path.join(workdir, '%d.net' % i))
            run(command, 'generate', *words, '-o', nets[-1])
        for i, net in enumerate(nets):
            n += compare(command, script, net, workdir, 0 if i % 2 else 13 + i, 1 + 2 * i, 70 + i, 1 + i)
        n += compare_files(command, nets[3], workdir)
        same_for_any_threads(command, nets[3], os.path.join(workdir, 'traffic-cps-shift'))
        n += compare(command, script, os.path.join(root, 'topologies', 'tree-2.net'), workdir, 0, 3, 1, 2)
    print('%d rows: the same figures, to the last digit' % n)


if __name__ == '__main__':
    main()
