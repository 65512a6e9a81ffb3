#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tables of docs/results/faults.md: what faults change, and whether old and new tables may mix.

    faults.py BUILD [--only=REGEX]      measures rows: all, or those whose "TABLE FABRIC" match
    faults.py BUILD --check             the test bench.faults: are a few of them as good as they have to be?

Default engine, default options, eight lanes, multicast. Cables and switches are drawn by osr-faults.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(ROOT, 'docs', 'results', 'data')
sys.path.append(os.path.join(ROOT, 'tests', 'lab', 'experiments'))
import studies  # noqa: E402

FABRICS = {
    'tree-3': ('tree-3, 20 hosts', None),
    'tree512': ('tree, 512 hosts', 'kary k=8 n=3'),
    'tree1944': ('tree, 1,944 hosts', 'tree m=18,18,6 w=1,18,6 p=1,1,3'),
    'tree11664': ('tree, 11,664 hosts', 'tree m=18,18,36 w=1,18,18'),
    'narrow': ('tree, 3 cables wide', 'tree m=6,6,4 w=1,3,3'),
    'dragonfly': ('dragonfly, 1,056 hosts', 'dragonfly a=8 h=4 p=4'),
    'dragonfly72': ('dragonfly, 72 hosts', 'dragonfly a=4 h=2 p=2'),
}
for _n, _links in (64, 128), (128, 300):
    for _seed in 1, 2, 3:
        FABRICS['random%d-%d' % (_n, _seed)] = ('random %d, seed %d' % (_n, _seed), 'random switches=%d links=%d hosts=16 '
                                                'seed=%d' % (_n, _links, _seed))

CUT = ['-r', '1']       # of the largest trees: the cut bound, which is tight there
RUNS = [('cable', f, n, more) for f, n, more in (
    ('tree512', 20, []), ('tree1944', 6, CUT), ('tree11664', 2, CUT), ('narrow', 12, []), ('dragonfly', 8, []),
    ('dragonfly72', 40, []), ('random64-1', 6, []), ('random64-3', 6, []), ('random128-1', 4, []), ('random128-2', 4, []), ('random128-3', 4, []))]
RUNS += [('switch', f, n, ['-S'] + more) for f, n, more in (
    ('tree512', 8, []), ('tree1944', 4, CUT), ('narrow', 8, []), ('dragonfly', 4, []), ('random128-1', 4, []))]
RUNS += [('pile', f, n, ['-p']) for f, n in (('tree512', 12), ('narrow', 10), ('dragonfly', 5), ('random64-1', 8))]
RUNS += [('transition', f, n, ['-t', '-s', '11']) for f, n in (
    ('tree-3', 20), ('tree512', 20), ('tree1944', 20), ('tree11664', 4), ('narrow', 20), ('dragonfly', 20), ('dragonfly72', 40), ('random64-1', 20),
    ('random64-2', 20), ('random64-3', 20), ('random128-1', 20), ('random128-2', 10), ('random128-3', 10))]


# Table, fabric, faults, options: what may be at most so large, the mean or the worst. Load and blocks are over the least that
# shortest paths allow, longer routes a share of all; unproven transitions in percent.
LOAD, WORST, LONGER = 'efi_over_bound', 'worst_efi_over_bound', 'worst_longer'
BLOCKS, MEAN_BLOCKS = 'worst_blocks_over_bound', 'blocks_over_bound'
TRANSITION, SHORT = ['-t', '-s', '11'], ['-r', '20']
BY_SL, R32 = ['-o', 'any_sl=off'] + SHORT, 'random switches=32 links=64 hosts=4 seed=1'
R64 = 'random switches=64 links=160 hosts=4 seed=2'
BARS = [
    ('cable', 'tree512', 12, [], {LOAD: 1.05, WORST: 1.05, BLOCKS: 1.0, LONGER: 0, 'not_kept': 0}),
    # Random fabrics have lanes by turn, and repairs have to leave the lanes of turns that are in use.
    ('cable', 'random64-1', 6, [], {LOAD: 1.15, WORST: 1.2, MEAN_BLOCKS: 1.1}),
    ('cable', 'random128-2', 3, [], {LOAD: 1.15, WORST: 1.16}),
    ('cable', 'dragonfly', 3, [], {LOAD: 1.04, WORST: 1.05, MEAN_BLOCKS: 2.7}),
    ('cable', 'dragonfly72', 40, [], {LOAD: 1.06, WORST: 1.15}),
    ('cable', 'tree1944', 8, SHORT, {WORST: 1.05, BLOCKS: 1.1, LONGER: 0, 'not_kept': 0}),
    ('cable', 'tree m=12,16 w=1,12', 12, SHORT, {WORST: 1.05, BLOCKS: 1.0, LONGER: 0, 'not_kept': 0}),
    ('cable', 'narrow', 12, SHORT, {WORST: 1.08}),
    ('cable', R32, 8, SHORT + ['-s', '7'], {WORST: 1.3, MEAN_BLOCKS: 1.2, LONGER: 0.03}),
    ('cable', R64, 8, SHORT, {WORST: 1.3, MEAN_BLOCKS: 1.1, LONGER: 0.02}),
    ('cable', R32, 8, BY_SL + ['-s', '7'], {WORST: 1.13, MEAN_BLOCKS: 1.25, LONGER: 0.01}),
    ('cable', 'random switches=24 links=40 hosts=2 seed=3', 8, BY_SL + ['-s', '2'], {WORST: 1.42, MEAN_BLOCKS: 1.4, LONGER: 0.03}),
    ('cable', R64, 8, BY_SL + ['-s', '6'], {WORST: 1.12, MEAN_BLOCKS: 1.12, LONGER: 0.01}),
    ('cable', 'torus dims=4,4,4 hosts=2', 4, ['-e', 'sssp'] + SHORT, {WORST: 1.06}),
    ('transition', 'tree-3', 20, TRANSITION, {'unproven': 0}),
    ('transition', 'random64-2', 12, TRANSITION, {'unproven': 25}),
    ('transition', 'dragonfly', 3, TRANSITION, {'unproven': 5})]
# EFI after any of thirty dead cables over that of a full route of what is left.
BARS += [('cable', words, 30, CUT, {'worst_efi_over_anew': 1.2}) for words in (
    'hyperx dims=3x5 hosts=5', 'torus dims=4x4x4 hosts=2', 'hyperx dims=4x4 hosts=4', 'dragonfly a=4 h=2 p=2', 'slimfly q=5 p=4')]
# Entries over the least that any routing could change, and blocks, as of today; 1.6 times as many are a loss.
BARS += [('cable', words, 5, ['-e', engine] + CUT, {'changed_over_bound': 1.6 * entries, 'blocks': 1.6 * blocks})
         for words, engine, entries, blocks in (
             ('tree m=16,32 w=1,8', 'dfsssp', 1.0, 61.2), ('tree m=16,32 w=1,8', 'dmodk', 1.0, 61.2),
             ('dragonfly a=8 h=4 p=4', 'dfsssp', 1.71, 255.2),
             ('random switches=64 links=192 hosts=4', 'dfsssp', 1.05, 44.0))]


def number(x):
    return '%.0f' % x


def faults_row(name, r):
    n = r['cables']
    return [name, '%d of %d' % (r['kept'], n), '%.3f, %.3f' % (r['efi_over_bound'], r['worst_efi_over_bound']),
            '%.3f, %.3f' % (r['efi_anew_over_bound'], r['worst_efi_anew_over_bound']), number(r['blocks']),
            number(r['blocks_anew']), number(r['longer'] / n), number(r['longer_anew'] / n), number(r['sl_lost'] / n),
            '%.1f, %.1f' % (r['route_ms'], r['full_route_ms'])]


def transition_row(name, r):
    row = [name]
    for way in 'dead', 'back':
        x = r[way]
        row += ['%d of %d' % (x['proven'] - x['in_rounds'], x['n']), '%d of %d' % (x['proven'], x['n']), '%d of %d' % (x['kept'], x['n']),
                '%s, %s' % (number(x['withdrawn'] / x['n']), number(x['withdrawn_whole'] / x['n']))]
    return row + ['%.1f, %.1f' % (r['dead']['transition_ms'], r['back']['transition_ms'])]


FAULTS_HEAD = ['fabric', 'kept', 'load', 'load_of_full_route', 'blocks', 'blocks_of_full_route',
               'longer', 'longer_of_full_route', 'SLs_lost', 'ms']
HEADS = {'cable': FAULTS_HEAD, 'switch': FAULTS_HEAD, 'pile': FAULTS_HEAD,
         'transition': ['fabric', 'dead_at_once', 'dead_proven', 'dead_kept', 'dead_withdrawn',
                        'back_at_once', 'back_proven', 'back_kept', 'back_withdrawn', 'ms']}


def measure(build, table, fabric, n, more):
    """fabric: a key of FABRICS, or words of the generator."""
    words = FABRICS.get(fabric, (fabric, fabric))[1]
    with tempfile.TemporaryDirectory() as directory:
        net = os.path.join(directory, 'fabric.net')
        if words:
            subprocess.run([os.path.join(build, 'src', 'cli', 'osmroutes'), 'generate', '-o', net] + words.split(), check=True)
        else:
            net = os.path.join(ROOT, 'topologies', fabric + '.net')
        run = subprocess.run([os.path.join(build, 'tests', 'bench', 'osr-faults'), '-n', str(n)] + more + [net],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return json.loads(run.stdout)


def check(build):
    failed = 0
    for table, fabric, n, more, bars in BARS:
        r = measure(build, table, fabric, n, more)
        if table == 'transition':
            r['unproven'] = max(100 - 100 * r[way]['proven'] / r[way]['n'] for way in ('dead', 'back'))
        else:
            r.update(not_kept=n - r['kept'], blocks_over_bound=r['blocks'] / max(r['blocks_bound'], 1),
                     changed_over_bound=r['changed'] / max(r['bound'], 1))
        for what, bar in bars.items():
            print('%s %s %s, %s: %.3f of %.3f%s' % (table, fabric, ' '.join(more), what, r[what], bar,
                                                   '' if r[what] <= bar else ' MISSED'))
            failed |= r[what] > bar
    return failed


def main():
    words = [a for a in sys.argv[1:] if not a.startswith('--')]
    only = re.compile(next((a.split('=', 1)[1] for a in sys.argv[1:] if a.startswith('--only=')), ''))
    if not words:
        sys.exit(__doc__)
    if '--check' in sys.argv:
        sys.exit(check(words[0]))
    for table, fabric, n, more in RUNS:
        if not only.search('%s %s' % (table, fabric)):
            continue
        make = transition_row if table == 'transition' else faults_row
        row = make(FABRICS[fabric][0], measure(words[0], table, fabric, n, more))
        print(table, ' | '.join(row), flush=True)
        rows = {r['fabric']: list(r.values()) for r in studies.read(DATA, 'faults_' + table)}
        rows[row[0]] = row
        order = [FABRICS[f][0] for t, f, _, _ in RUNS if t == table]
        studies.write(DATA, 'faults_' + table, [HEADS[table]] + [rows[f] for f in order if f in rows])


if __name__ == '__main__':
    main()
