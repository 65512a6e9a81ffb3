#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The experiments of the Angara paper: CSV files, figures and the tables of docs/results/angara-paper.md, and
those of its figures in docs/results/experiments.md.

    angara.py [desmos] [tori] [genetic] [timing]   these, or all; then figures and tables
    angara.py --quick           all of it on a few tiny tori, into a temporary directory
    angara.py --document        figures and tables again, from the CSV files
    angara.py --check           do the tables show what the CSV files say?

`tori` takes five minutes, `genetic` half an hour: it goes on where it was stopped, takes the tori in
a random order (seed 2), and leaves out those of more than --most nodes. OSR_BUILD names the build directory.
"""
import argparse
import itertools
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import studies

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.path.join(os.environ.get('OSR_BUILD', os.path.join(ROOT, 'build')), 'tests', 'experiments', 'srcroutes',
                       'osr-angara')
DATA, FIGURES = os.path.join(ROOT, 'docs', 'results', 'data'), os.path.join(ROOT, 'docs', 'results', 'figures')
PAGES = [os.path.join(ROOT, 'docs', 'results', name) for name in ('angara-paper.md', 'experiments.md')]

SEEDS = range(1, 6)
N_4D = 40


def nodes_of(dims):
    n = 1
    for side in dims:
        n *= side
    return n


def all_tori():
    """All of two and three dimensions, and a sample of four with at most 512 nodes."""
    tori = list(itertools.product(range(2, 9), repeat=2)) + list(itertools.product(range(2, 9), repeat=3))
    four = [d for d in itertools.product(range(2, 9), repeat=4) if nodes_of(d) <= 512]
    return tori + sorted(random.Random(1).sample(four, N_4D))


def name(dims):
    return 'x'.join(map(str, dims))


def run(*words):
    done = subprocess.run([COMMAND, '--json'] + list(words), capture_output=True, text=True)
    if done.returncode:
        sys.exit('osr-angara %s: %s' % (' '.join(words), done.stderr))
    return json.loads(done.stdout)


def route(dims, algorithm, *words):
    got = run('--dims', name(dims), '-a', algorithm, *words)
    return got, got['results'][0]


# ---- experiments ----------------------------------------------------------------------------------


def write(folder, table, columns, rows):
    studies.write(folder, table, [columns] + [['%.5g' % x if isinstance(x, float) else x for x in row] for row in rows])


BOXES = ['2x1x1x1', '4x1x1x1', '4x2x1x1', '4x2x2x1', '4x2x2x2']
LIMITS = ['4x2x2x2', '5x3x3x2', '2x3x3x5', '5x5x6', '6x5x5', '10x5x3', '8x8x8', '8x8x4x2', '4x4x4x8']


def desmos(folder, quick):
    """Table 2 and figure 6: boxes of the Desmos cluster, 4x2x2x2."""
    rows, patterns, ties = [], [], []
    for box in BOXES:
        got = run('--dims', '4x2x2x2', '--box', box, '-a', 'all')
        literal = run('--dims', '4x2x2x2', '--box', box, '-a', 'sssp', '-o', 'literal=yes')
        literal['results'][0]['algorithm'] = 'sssp, literal'
        weighed = run('--dims', '4x2x2x2', '--box', box, '-a', 'bfs', '-o', 'weight=sum')
        weighed['results'][0]['algorithm'] = 'bfs, weight=sum'
        for r in got['results'] + literal['results'] + weighed['results']:
            rows.append((r['algorithm'], got['set_nodes'], r['max_load'], r['min_load'], r['sigma4'],
                         r['max_hops'], r['total_ms'], got['turns_added'],
                         got['pairs_unique'] / got['pairs']))
        for p in got['patterns']:
            patterns.append((p['pattern'], got['set_nodes'], p['algorithm'], p['max_load'], p['bandwidth']))
        for weight in ('least', 'sum', 'none'):
            seen = []
            for seed in range(1, 4 if quick else 101):
                seen.append(run('--dims', '4x2x2x2', '--box', box, '-a', 'bfs', '-o', 'weight=' + weight,
                                '-o', 'ties=%d' % seed)['results'][0])
            most = [r['max_load'] for r in seen]
            ties.append((weight, got['set_nodes'], min(most), statistics.mean(most), max(most),
                         statistics.mean(r['min_load'] for r in seen),
                         statistics.mean(r['sigma4'] for r in seen)))
    write(folder, 'angara_desmos', ['algorithm', 'nodes', 'max_load', 'min_load', 'sigma4', 'max_hops', 'ms',
                                    'turns', 'unique'], rows)
    write(folder, 'angara_patterns', ['pattern', 'nodes', 'algorithm', 'max_load', 'bandwidth'], patterns)
    write(folder, 'angara_ties', ['weight', 'nodes', 'least', 'mean', 'most', 'min_load', 'sigma4'], ties)


def tori(folder, quick):
    """Figures 4 and 5: calls of BUILD_SSSP, loads, times; share of unique routes."""
    rows = []
    for dims in all_tori()[:49:12] if quick else all_tori():
        got, bfs = route(dims, 'bfs')
        bfs_sum = route(dims, 'bfs', '-o', 'weight=sum')[1]
        sssp = route(dims, 'sssp')[1]
        calls = route(dims, 'sssp', '-o', 'unique_first=no')[1]['sssp_calls']
        ours = route(dims, 'balance')[1]
        exact, theirs = route(dims, 'balance', '-o', 'turns=exact')
        share = got['pairs_unique'] / got['pairs']
        rows.append((name(dims), got['torus_nodes'], got['turns_added'], share, exact['turns_added'],
                     exact['pairs_unique'] / exact['pairs'], bfs['max_load'], bfs_sum['max_load'],
                     sssp['max_load'], ours['max_load'], theirs['max_load'], sssp.get('sssp_calls', 0),
                     calls, bfs['total_ms'], sssp['total_ms'], ours['total_ms']))
    write(folder, 'angara_tori', ['torus', 'nodes', 'turns', 'unique', 'turns_exact', 'unique_exact', 'bfs',
                                  'bfs_sum', 'sssp', 'balance', 'balance_exact', 'calls', 'calls_no_unique',
                                  'bfs_ms', 'sssp_ms', 'balance_ms'], rows)


def genetic(folder, quick, most=512):
    """Section 4.2 on the same tori, five seeds each; goes on where it was stopped."""
    columns = ['torus', 'nodes', 'seed', 'max_load', 'generations', 'ms']
    rows = [[r[c] for c in columns] for r in studies.read(folder, 'angara_genetic')]
    done = {(row[0], int(row[2])) for row in rows}
    todo = all_tori()[:49:12] if quick else all_tori()
    random.Random(2).shuffle(todo)  # whoever stops early has a random sample
    for dims in todo:
        if nodes_of(dims) > most:
            continue
        for seed in SEEDS:
            if (name(dims), seed) in done:
                continue
            r = route(dims, 'genetic', '-o', 'seed=%d' % seed)[1]
            rows.append([name(dims), nodes_of(dims), seed, r['max_load'], r.get('generations', 0), r['total_ms']])
            write(folder, 'angara_genetic', columns, rows)


def timing(folder, quick):
    """The paper's limits, and 8x8x8; the median of eleven runs."""
    rows = []
    for text in LIMITS[:6] if quick else LIMITS:
        dims = tuple(map(int, text.split('x')))
        times = [[route(dims, a)[1]['total_ms'] for _ in range(3 if quick else 11)]
                 for a in ('bfs', 'sssp', 'balance')]
        got, r = route(dims, 'balance')
        rows.append((text, got['torus_nodes']) + tuple(statistics.median(t) for t in times) +
                    (r['max_load'], r['moves']))
    write(folder, 'angara_timing', ['torus', 'nodes', 'bfs_ms', 'sssp_ms', 'balance_ms', 'max_load', 'moves'],
          rows)


EXPERIMENTS = {'desmos': desmos, 'tori': tori, 'timing': timing, 'genetic': genetic}


# ---- tables ---------------------------------------------------------------------------------------


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    return '\n'.join(lines + ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows])


PAPER_2 = {('bfs', 2): (1, 1, 0), ('bfs', 4): (2, 2, 0), ('bfs', 8): (6, 2, 1.429), ('bfs', 16): (18, 3, 4.341),
           ('bfs', 32): (48, 3, 12.254), ('genetic', 2): (1, 1, 0), ('genetic', 4): (2, 2, 0),
           ('genetic', 8): (4, 4, 0), ('genetic', 16): (11, 5, 1.745), ('genetic', 32): (27, 8, 6.274),
           ('sssp', 2): (1, 1, 0), ('sssp', 4): (2, 2, 0), ('sssp', 8): (5, 3, 0.707),
           ('sssp', 16): (12, 3, 2.319), ('sssp', 32): (28, 8, 6.298)}


def desmos_table(folder):
    rows = []
    for r in studies.read(folder, 'angara_desmos'):
        paper = PAPER_2.get((r['algorithm'].split(',')[0], int(r['nodes'])))
        rows.append([r['algorithm'], r['nodes'], r['max_load'], r['min_load'], '%.3f' % float(r['sigma4']),
                     r['max_hops'], '%d / %d / %.3f' % paper if paper else '-', '%.2f' % float(r['ms'])])
    order = ['bfs', 'bfs, weight=sum', 'genetic', 'sssp', 'sssp, literal', 'balance']
    rows.sort(key=lambda r: (order.index(r[0]), int(r[1])))
    return table(['algorithm', 'nodes', 'max', 'min', 'sigma(4)', 'max D', 'paper: max / min / sigma(4)',
                  'ms'], rows)


def ties_table(folder):
    return table(['weight', 'nodes', 'max: least / mean / most', 'min, mean', 'sigma(4), mean'],
                 [[r['weight'], r['nodes'], '%s / %.1f / %s' % (r['least'], float(r['mean']), r['most']),
                   '%.1f' % float(r['min_load']), '%.3f' % float(r['sigma4'])]
                  for r in studies.read(folder, 'angara_ties') if int(r['nodes']) > 4])


def patterns_table(folder):
    data = studies.read(folder, 'angara_patterns')
    by = {(r['pattern'], r['nodes'], r['algorithm']): r for r in data}
    names = ['bfs', 'genetic', 'sssp', 'balance']
    return table(['pattern', 'nodes'] + names, [
        [p, n] + ['%s / %.3f' % (by[p, n, a]['max_load'], float(by[p, n, a]['bandwidth'])) for a in names]
        for p, n in dict.fromkeys((r['pattern'], r['nodes']) for r in data)])


def groups(folder):
    """{dimensions: rows of tori}"""
    found = {}
    for r in studies.read(folder, 'angara_tori'):
        found.setdefault(r['torus'].count('x') + 1, []).append(r)
    return found


def gain(rows, key, base):
    return '%.1f %%' % (100 * statistics.mean(1 - int(r[key]) / int(r[base]) for r in rows))


def tori_table(folder):
    paper = {2: '13 %', 3: '11 %', 4: '17 %'}
    return table(['dimensions', 'tori', 'sssp below bfs', 'balance below bfs', 'balance below bfs, weight=sum',
                  'paper: sssp below bfs', 'balance above bfs'],
                 [[d, len(rows), gain(rows, 'sssp', 'bfs'), gain(rows, 'balance', 'bfs'),
                   gain(rows, 'balance', 'bfs_sum'), paper.get(d, '-'),
                   sum(int(r['balance']) > min(int(r['bfs']), int(r['bfs_sum'])) for r in rows)]
                  for d, rows in groups(folder).items()])


def ratio_of(group):
    """Total EFI over that of BFS, of tori as (EFI, EFI of BFS)."""
    return '%d: %.3f' % (len(group), sum(x for x, _ in group) / sum(y for _, y in group)) if group else '0'


def groups_table(folder):
    """The three groups of figure 5: EFI less than, equal to and greater than that of BFS."""
    rows, middle = [], medians(folder)
    for d, tori_rows in groups(folder).items():
        for key in ('genetic', 'sssp', 'balance'):
            pairs = [(middle.get(r['torus']) if key == 'genetic' else int(r[key]), int(r['bfs']))
                     for r in tori_rows]
            pairs = [p for p in pairs if p[0] is not None]
            rows.append([d, key, '%d of %d' % (len(pairs), len(tori_rows))] +
                        [ratio_of([p for p in pairs if (p[0] > p[1]) - (p[0] < p[1]) == wanted])
                         for wanted in (-1, 0, 1)])
    return table(['dimensions', 'algorithm', 'measured', 'less: tori, ratio', 'equal', 'greater'], rows)


def calls_table(folder):
    """Figure 4: calls of BUILD_SSSP, mean over the tori."""
    def mean(rows, key):
        return '%.0f' % statistics.mean(int(r[key]) for r in rows)
    return table(['dimensions', 'tori', 'nodes, mean', 'sort and group alone', 'unique routes first'],
                 [[d, len(rows), mean(rows, 'nodes'), mean(rows, 'calls_no_unique'), mean(rows, 'calls')]
                  for d, rows in groups(folder).items()])


def unique_table(folder):
    paper = {2: '81.6 %', 3: '58.2 %', 4: '36.6 %'}

    def mean(rows, key):
        return '%.1f %%' % (100 * statistics.mean(float(r[key]) for r in rows)) if rows else '-'
    return table(['dimensions', 'tori', 'theorem 2, vertex order', 'no turns possible', 'of these',
                  'turns=exact', 'paper'],
                 [[d, len(rows), mean(rows, 'unique'), sum(r['turns'] == '0' for r in rows),
                   mean([r for r in rows if r['turns'] == '0'], 'unique'), mean(rows, 'unique_exact'),
                   paper.get(d, '-')] for d, rows in groups(folder).items()])


def medians(folder):
    """{torus: median of five}"""
    found = {}
    for r in studies.read(folder, 'angara_genetic'):
        found.setdefault(r['torus'], []).append(int(r['max_load']))
    return {t: statistics.median(x) for t, x in found.items() if len(x) == len(SEEDS)}


def genetic_table(folder):
    middle, rows = medians(folder), []
    for d, tori_rows in groups(folder).items():
        have = [r for r in tori_rows if r['torus'] in middle]
        if not have:
            continue
        rows.append([d, '%d of %d' % (len(have), len(tori_rows)), max(int(r['nodes']) for r in have)] +
                    [sum(op(int(r['balance']), middle[r['torus']]) for r in have)
                     for op in (int.__lt__, int.__eq__, int.__gt__)] +
                    ['%.1f %%' % (100 * statistics.mean(1 - int(r[k]) / middle[r['torus']] for r in have))
                     for k in ('balance', 'sssp')])
    return table(['dimensions', 'tori', 'nodes at most', 'balance below genetic', 'equal', 'above',
                  'balance below, mean', 'sssp below, mean'], rows)


def exact_table(folder):
    return table(['dimensions', 'tori', 'more turns', 'lower EFI', 'higher EFI', 'EFI lower by, mean'],
                 [[d, len(rows), sum(int(r['turns_exact']) > int(r['turns']) for r in rows),
                   sum(int(r['balance_exact']) < int(r['balance']) for r in rows),
                   sum(int(r['balance_exact']) > int(r['balance']) for r in rows),
                   gain(rows, 'balance_exact', 'balance')] for d, rows in groups(folder).items()])


def timing_table(folder):
    return table(['torus', 'nodes', 'bfs, ms', 'sssp, ms', 'balance, ms', 'EFI', 'moves'],
                 [[r['torus'], r['nodes']] + ['%.2f' % float(r[k]) for k in ('bfs_ms', 'sssp_ms', 'balance_ms')] +
                  [r['max_load'], r['moves']] for r in studies.read(folder, 'angara_timing')])


TABLES = {'calls': calls_table,
          'desmos': desmos_table, 'ties': ties_table, 'patterns': patterns_table, 'tori': tori_table,
          'groups': groups_table, 'unique': unique_table, 'genetic': genetic_table, 'exact': exact_table,
          'timing': timing_table}


def filled(text, folder):
    def fill(match):
        return '<!-- angara: %s -->\n\n%s\n\n<!-- end -->' % (match.group(1), TABLES[match.group(1)](folder))
    return re.sub(r'<!-- angara: (\S+) -->.*?<!-- end -->', fill, text, flags=re.S)


# ---- figures --------------------------------------------------------------------------------------


def plot(path, lines):
    head = ['set terminal svg size 760,430 background rgb "white"', 'set output "%s"' % path, 'set grid',
            'set key outside right']
    subprocess.run(['gnuplot'], input='\n'.join(head + lines), text=True, check=True)


def scatter(folder, path, curves, ylabel, log='xy'):
    """curves: [(title, dimensions, column)] of angara_tori over the number of nodes."""
    found, lines, parts = groups(folder), [], []
    for i, (title, d, key) in enumerate(curves):
        points = [(r['nodes'], r[key]) for r in found.get(d, []) if float(r[key]) > 0]
        if not points:
            continue
        lines += ['$c%d << EOD' % i] + ['%s %s' % p for p in points] + ['EOD']
        parts.append('$c%d using 1:2 with points pointsize 0.5 title "%s"' % (i, title))
    lines += ['set xlabel "nodes"', 'set ylabel "%s"' % ylabel, 'set logscale ' + log]
    if parts:
        plot(path, lines + ['plot ' + ', '.join(parts)])


def bars(folder, path):
    """Figure 5a-c: mean ratio of EFI to that of BFS, by dimensions."""
    lines = ['$b << EOD']
    for d, rows in groups(folder).items():
        lines.append('"%dD" %s' % (d, ' '.join('%.4f' % statistics.mean(int(r[k]) / int(r['bfs']) for r in rows)
                                               for k in ('bfs_sum', 'sssp', 'balance'))))
    lines += ['EOD', 'set style data histogram', 'set style fill solid 0.7', 'set yrange [0:1.1]',
              'set ylabel "EFI / EFI of bfs, mean"',
              'plot $b using 2:xtic(1) title "bfs, weight=sum", "" using 3 title "sssp", "" using 4 title "balance"']
    plot(path, lines)


def pattern_bars(folder, path):
    """Figure 6 on 32 nodes: bandwidth relative to BFS."""
    by = {(r['pattern'], r['algorithm']): float(r['bandwidth'])
          for r in studies.read(folder, 'angara_patterns') if r['nodes'] == '32'}
    names = ['genetic', 'sssp', 'balance']
    lines = ['$p << EOD']
    for p in dict.fromkeys(k[0] for k in by):
        lines.append('%s %s' % (p, ' '.join('%.4f' % (by[p, a] / by[p, 'bfs']) for a in names)))
    lines += ['EOD', 'set style data histogram', 'set style fill solid 0.7', 'set yrange [0:1.6]',
              'set ylabel "bandwidth / that of bfs, 32 nodes"',
              'plot ' + ', '.join('$p using %d%s title "%s"' % (i + 2, '' if i else ':xtic(1)', a)
                                  for i, a in enumerate(names))]
    plot(path, lines)


def figures(folder, plots):
    if not shutil.which('gnuplot'):
        print('no gnuplot: no figures')
        return
    scatter(folder, os.path.join(plots, 'angara-figure4.svg'),
            [('%dD, %s' % (d, text), d, key) for d in (2, 3, 4)
             for text, key in (('sort and group alone', 'calls_no_unique'), ('unique routes first', 'calls'))],
            'calls of BUILD_SSSP')
    bars(folder, os.path.join(plots, 'angara-figure5.svg'))
    scatter(folder, os.path.join(plots, 'angara-figure5-time.svg'),
            [('%dD, %s' % (d, a), d, a + '_ms') for d in (2, 3, 4) for a in ('bfs', 'sssp', 'balance')],
            'CPU, ms')
    pattern_bars(folder, os.path.join(plots, 'angara-figure6.svg'))


# ---- the command ----------------------------------------------------------------------------------


def quick():
    folder = tempfile.mkdtemp(prefix='osr-angara-')
    try:
        for experiment in EXPERIMENTS.values():
            experiment(folder, True)
        figures(folder, folder)
        for make in TABLES.values():
            if len(make(folder).split('\n')) < 3:
                sys.exit('%s has no rows' % make.__name__)
    finally:
        shutil.rmtree(folder)


def is_current(page):
    with open(page) as file:
        text = file.read()
    return text == filled(text, DATA)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('names', nargs='*', choices=[[], *EXPERIMENTS], help='which experiments (default: all)')
    p.add_argument('--most', type=int, default=512, help='genetic: tori of at most so many nodes')
    for flag in ('quick', 'document', 'check'):
        p.add_argument('--' + flag, action='store_true')
    args = p.parse_args()
    if args.quick:
        quick()
        return
    if args.check:
        sys.exit(0 if all(is_current(page) for page in PAGES) else
                 'the tables show other numbers than docs/results/data: run angara.py --document')
    for n in [] if args.document else args.names or EXPERIMENTS:
        genetic(DATA, False, args.most) if n == 'genetic' else EXPERIMENTS[n](DATA, False)
    if set(args.names) == {'genetic'}:
        return
    figures(DATA, FIGURES)
    for page in PAGES:
        with open(page) as file:
            text = filled(file.read(), DATA)
        with open(page, 'w') as file:
            file.write(text)


if __name__ == '__main__':
    main()
