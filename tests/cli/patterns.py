# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""share/examples/traffic-patterns against what was defined, and `osmroutes route --traffic` against a
slow program that shares nothing with it: cables from the net file, tables from the dumps, packets
followed one by one (netfile.py). Every digit must be the same."""
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import zlib

from command import ROOT, ask, at, generate, run, same, same_keys, topology
from netfile import Oracle, SplitMix, spread

# ---- what the patterns are -----------------------------------------------------------------------

# CRC-32 of the pairs of each pattern, phase by phase, for all of RANKS: written by a second program,
# which had them from ORCS 2.0 and table 2 of the D-Mod-K paper. That program is not in the tree any
# more: the numbers rest on this file of revision 863f1827, which can be run there.
RANKS = [*range(2, 18), 31, 36, 64, 65]
DEFINED = {
    'bisect': 0x32c3c6e6, 'bisect_fb_sym': 0x57023a8d, 'tree': 0x44d251c5, 'bruck': 0x025473f5,
    'gather': 0xad6cbafb, 'scatter': 0x0c90e6fe, 'ring': 0xad5aa8c2, 'recdbl': 0xb8f00314,
    'neighbor2d': 0x2e6aa568, 'cps-dissemination': 0xf013ca83, 'cps-tournament': 0xfb79a0d0,
    'cps-shift': 0xa561325b, 'cps-ring': 0xf571a7d4, 'cps-binomial': 0x7082d528,
    'cps-doubling': 0xa5b851f8, 'cps-halving': 0xc20f26d4, 'cps-doubling-mpi': 0x03081526,
    'neighbor': 0x7afb0f91, 'halves': 0x24f53454, 'alltoall': 0x9130c5d9, 'stencil': 0x310b63c8,
    'cps-doubling-tree': 0x8053f7ff}


def names_of(n):
    """As typed, for n ranks."""
    values = {'neighbor': (1, 3, 5), 'stencil': (),
              'cps-doubling-tree': ['3,3,%d' % ((n + 8) // 9), '7,%d' % ((n + 6) // 7), n]}
    divisors = [d for d in range(2, n) if n % d == 0]
    if divisors:
        side = divisors[len(divisors) // 2]
        values['stencil'] = ['%d,%d' % (side, n // side)]
    for name in DEFINED:
        yield from ('%s:%s' % (name, v) for v in values[name]) if name in values else [name]


def judge_definitions(script):
    crcs = dict.fromkeys(DEFINED, 0)
    for n in RANKS:
        for name in names_of(n):
            phases, ranks = written(script.text_of(name, n))
            text = repr((name, ranks, [sorted(phase) for phase in phases]))
            kind = name.split(':')[0]
            crcs[kind] = zlib.crc32(text.encode(), crcs[kind])
    same('not as defined', [name for name in DEFINED if crcs[name] != DEFINED[name]], [])


# ---- measuring ---------------------------------------------------------------------------------------


def expected(oracle, hosts, phases, n_ranks, ranking, n_runs, seed):
    order, draw, runs = list(hosts), SplitMix(seed), []
    for _ in range(n_runs if ranking == 'random' else 1):
        if ranking == 'random':
            draw.shuffle(order)
        runs.append(oracle.one_run(phases, order[:n_ranks]))
    hsd, sums, bandwidth = ([r[i] for r in runs] for i in range(3))
    row = {'ranks': n_ranks, 'phases': len(phases), 'runs': len(runs), 'hsd': spread(hsd)[0],
           'hsd_sum': spread(sums)[0], 'max_congestion': max(r[3] for r in runs),
           'bandwidth': spread(bandwidth)[0], 'pairs': sum(r[4] for r in runs), 'pairs_no_path': 0}
    if len(runs) > 1:
        for key, values in (('hsd', hsd), ('bandwidth', bandwidth)):
            row.update({key + '_half_width': spread(values)[1], key + '_min': min(values),
                        key + '_max': max(values)})
    return row


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


def write_patterns(script, n):
    """{path: phases} of all patterns for n ranks."""
    files = {}
    for name in names_of(n):
        path = at('traffic-' + name)
        with open(path, 'w') as file:
            file.write(script.text_of(name, n))
        files[path] = written(script.text_of(name, n))[0]
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


def routed(net, engine):
    run('route', net, '-e', engine, '--dump', at('dump'))
    return Oracle(net, at('dump', 'opensm-lfts.dump'))


def compare(script, net, n_ranks, n_runs, seed, threads):
    """Every pattern in order and at random; random bisections are `halves` of all hosts at random."""
    oracle = routed(net, 'sssp')
    n = n_ranks or len(oracle.hosts)
    wanted = write_patterns(script, n)
    said = ask('route', net, '-e', 'sssp', '--bisections=%d' % n_runs, '--runs=%d' % n_runs, '--seed=%d' % seed,
               '--threads=%d' % threads, *('--traffic=' + path for path in wanted))
    rows = said['patterns']
    same('%s: rows' % net, len(rows), 2 * len(wanted))
    for row in rows:
        same_keys('%s, %s, %s' % (net, row['pattern'], row['ranking']), row,
                  expected(oracle, oracle.hosts, wanted[row['pattern']], n, row['ranking'], n_runs, seed))
    if not n_ranks:
        halves, = (row for row in rows if row['pattern'] == at('traffic-halves') and row['ranking'] == 'random')
        same_keys(net, said['results'][0], {'ebb': halves['bandwidth'], 'ebb_half_width': halves['bandwidth_half_width'],
                                            'ebb_worst': halves['bandwidth_min'], 'ebb_best': halves['bandwidth_max'],
                                            'max_congestion': halves['max_congestion']})


# ---- files -------------------------------------------------------------------------------------------


def compare_files(net):
    """A list of hosts with the ranks backwards, ranks in a traffic file, and end ports in another."""
    oracle = routed(net, 'dfsssp')
    names = {end: peer[0] for end, peer in oracle.cables.items()}
    hosts = oracle.hosts[::-1][:12]
    phases = [[(0, 5), (5, 0), (3, 4)], [(1, 0), (2, 0), (11, 0)]]
    lids = oracle.lids
    with open(at('hosts'), 'w') as out:
        for i, host in enumerate(hosts):
            out.write(('"%s"  # rank\n' % names[host]) if i % 2 else 'lid:%d\n' % lids[host])
    with open(at('ranks'), 'w') as out:
        out.write('# ranks\nranks 12\n')
        for phase in phases:
            out.write('phase x\n' + ''.join('%d %d\n' % p for p in phase))
    with open(at('ends'), 'w') as out:
        for phase in phases:
            out.write('phase\n\n' + ''.join('"%s" lid:%d\n' % (names[hosts[a]], lids[hosts[b]])
                                            for a, b in phase))
    rows = ask('route', net, '--bisections=0', '--runs=4', '--hosts', at('hosts'), '--traffic', at('ranks'),
               '--traffic', at('ends'))['patterns']
    same('traffic files: rows', [r['ranking'] for r in rows], ['ordered', 'random', 'given'])
    for row in rows:
        want = expected(oracle, hosts, phases, 12, row['ranking'], 4, 1)
        if row['ranking'] == 'given':
            want['ranks'] = len({x for phase in phases for pair in phase for x in pair})
        same_keys('%s, %s' % (row['pattern'], row['ranking']), row, want)


def same_for_any_threads(net, path):
    """Hosts are shuffled in the order of the runs, whichever thread measures them."""
    words = ['route', net, '-e', 'sssp', '--csv=patterns', '--bisections=50', '--runs=9', '--traffic=' + path]

    def text(threads):
        lines = run(*words, '--threads=%d' % threads).stdout.splitlines()
        return [line.split(',')[:-1] for line in lines]		# without the CPU time
    same('threads', (text(2), text(7)), (text(1),) * 2)


path = os.path.join(ROOT, 'share', 'examples', 'traffic-patterns')
loader = importlib.machinery.SourceFileLoader('traffic_patterns', path)
script = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(script)
same('cps-ring', subprocess.run([path, 'cps-ring', '3'], stdout=subprocess.PIPE, text=True).stdout,
     '# cps-ring\nranks 3\nphase\n0 1\n1 2\n2 0\n')
judge_definitions(script)
judge_random(script, path)
nets = [generate(*words, name=words[0]) for words in (
    ('kary', 'k=3', 'n=3'), ('torus', 'dims=3x3x2', 'hosts=2'), ('tree', 'm=4,4', 'w=1,2', 'p=1,2'),
    ('random', 'switches=12', 'links=20', 'hosts=3', 'seed=4'))]
for i, net in enumerate(nets):
    compare(script, net, 0 if i % 2 else 13 + i, 1 + 2 * i, 70 + i, 1 + i)
for name in ('dual-port', 'bare-switches', 'parallel', 'mixed-speeds'):
    compare(script, topology(name), 0, 7, 3, 2)
compare_files(nets[3])
same_for_any_threads(nets[3], at('traffic-cps-shift'))
compare(script, topology('tree-2'), 0, 3, 1, 2)
print('the same figures, to the last digit')
