# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Figures (gnuplot) and the tables of docs/results/experiments.md, from the CSV files alone.

A table stands in the document between <!-- table: NAME --> and <!-- end -->.
"""
import math
import os
import re
import shutil
import subprocess

import fattree_document
from fattree_document import table as _table
import studies
from measure import Data

WAYS = {'weakest': 'weakest edge (the paper)', 'first': 'first edge ("pseudo-random")',
        'heaviest': 'heaviest edge', 'online': 'online, route by route',
        'order': 'channel order', 'default': 'dfsssp as it is'}


# ---- tables ---------------------------------------------------------------------------------------


def _number(text, digits=None):
    if text == '':
        return '-'
    if digits is not None:
        return '%.*f' % (digits, float(text))
    return '{:,}'.format(int(text)) if text.isdigit() else text


def _routing(row):
    return ('stock ' if row['by'] == 'stock' else '') + row['routing']


def _pivot(data, key, wanted, digits):
    """One line per fabric and size, one column per routing."""
    names, lines = [], {}
    for row in data.rows:
        if wanted and _routing(row) not in wanted:
            continue
        if _routing(row) not in names:
            names.append(_routing(row))
        line = lines.setdefault((row['fabric'], row['hosts']), {})
        line[_routing(row)] = _number(row[key], digits)
    names.sort(key=lambda n: n.startswith('stock '))
    return _table(['fabric', 'hosts'] + names,
                  [[fabric, _number(hosts)] + [line.get(n, '-') for n in names]
                   for (fabric, hosts), line in lines.items()])


def _spread(row):
    over = ', %s need more than 15' % row['over_15'] if row['over_15'] != '0' else ''
    if row['min'] == '':
        return 'all need more than 15'
    return '%s / %.2f / %s%s' % (row['min'], float(row['mean']), row['max'], over)


def _lash_spread(row):
    over = ', %s of %s more than 8' % (row['over_8'], row['fabrics']) if row['over_8'] != '0' else ''
    return '%s / %.2f / %s%s' % (row['min'], float(row['mean']), row['max'], over) if row['min'] else 'more than 8'


def _figure9(folder):
    data, lash = Data.read(folder, 'figure9'), Data.read(folder, 'figure9_lash')
    ways = list(dict.fromkeys(r['way'] for r in data.rows))
    by = {(r['links'], r['way']): r for r in data.rows}
    lash = {r['links']: _lash_spread(r) for r in lash.rows}
    links = list(dict.fromkeys(r['links'] for r in data.rows))
    return _table(['links', 'stock lash'] + [WAYS[w] for w in ways],
                  [[n, lash.get(n, '-')] + [_spread(by[n, w]) for w in ways] for n in links])


def _applications(folder):
    """Time of the communication, stages one after the other, over that of stock minhop."""
    rows = Data.read(folder, 'applications').rows
    base = {(r['fabric'], r['program'], r['ranks']): float(r['time']) for r in rows
            if (r['by'], r['routing']) == ('stock', 'minhop')}
    names = list(dict.fromkeys(_routing(r) for r in rows if _routing(r) != 'stock minhop'))
    lines = {}
    for r in rows:
        key = r['fabric'], r['program'], r['ranks']
        lines.setdefault(key, {})[_routing(r)] = '%+.1f %%' % (100 * (float(r['time']) / base[key] - 1)) if key in base else '-'
    return _table(['fabric', 'program', 'ranks'] + names,
                  [list(key) + [line.get(n, '-') for n in names] for key, line in lines.items()])


def _least_lanes(folder):
    """One line a fabric. An interval where the solver had not the time."""
    data = Data.read(folder, 'least_lanes')
    lines = {}
    for r in data.rows:
        line = lines.setdefault(r['fabric'], {})
        line[r['routes_of'], r['way']] = r['lanes']
        if r['least']:
            line[r['routes_of']] = r['least'] if r['least'] == r['at_most'] else '%s .. %s' % (r['least'], r['at_most'])
    ways = ['weakest', 'first', 'heaviest', 'online', 'order']
    keys = [('P-SSSP', w) for w in ways] + ['P-SSSP', ('dfsssp', 'any_sl=off'), 'dfsssp', ('dfsssp', 'as it is')] + \
        [k for e in ('stock dfsssp', 'stock lash') for k in ((e, 'its own'), e)]
    return _table(['fabric'] + ways + ['**least**', 'dfsssp any_sl=off', '**least**', 'dfsssp as it is', 'stock dfsssp',
                                       '**least**', 'stock lash', '**least**'],
                  [[fabric] + [line.get(k, '-') for k in keys] for fabric, line in lines.items()])


def _section4(folder):
    return _table(['edge to cut', 'min / mean / max'],
                  [[WAYS[r['way']], _spread(r)] for r in Data.read(folder, 'section4').rows])


def _online(folder):
    return _table(['fabric', 'way', 'layers', 'CPU of the layers, ms', 'memory beyond sssp, kB'],
                  [[r['fabric'], WAYS[r['way']], r['layers'], _number(r['layers_ms'], 1),
                    _number(r['over_sssp_kb'])] for r in Data.read(folder, 'online').rows])


def _plain(name, heads):
    def make(folder):
        data = Data.read(folder, name)
        return _table(heads, [[_number(r[c]) for c in data.columns[:len(heads)]] for r in data.rows])
    return make


def _pivoted(name, key, digits, wanted=None):
    return lambda folder: _pivot(Data.read(folder, name), key, wanted, digits)


def _contradiction(rows):
    """(ratio of bandwidths, lower EFI, higher EFI): the worst of one fabric, or None."""
    found = []
    for x in rows:
        for y in rows:
            apart = math.hypot(float(x['half_width']), float(y['half_width']))
            if int(x['efi']) < int(y['efi']) and float(x['ebb']) + apart < float(y['ebb']):
                found.append((float(y['ebb']) / float(x['ebb']), x, y))
    return max(found, key=lambda f: f[0], default=None)


def _large_contradictions(folder):
    """The same question asked of all fabrics above; the ten largest."""
    by_fabric = {}
    for name in ('table1', 'systems', 'slides'):
        for row in Data.read(folder, name).rows:
            if row['efi']:
                by_fabric.setdefault((name, row['fabric'], row['hosts']), []).append(row)
    found = [(key, _contradiction(rows)) for key, rows in by_fabric.items()]
    found = sorted((f for f in found if f[1]), key=lambda f: -f[1][0])[:10]
    return _table(['fabric', 'hosts', 'routing', 'EFI', 'eBB', 'than', 'its EFI', 'its eBB'],
                  [[key[1], _number(key[2]), _routing(x), _number(x['efi']), _number(x['ebb'], 4),
                    _routing(y), _number(y['efi']), _number(y['ebb'], 4)]
                   for key, (_, x, y) in found])


def _table3(folder):
    lines = []
    for row in Data.read(folder, 'table3').rows:
        lines.append([row['printed'], row['built'], _number(row['hosts']), row['sequence'], row['paper'],
                      _number(row['random'], 2), '%s .. %s' % (_number(row['least'], 2),
                                                               _number(row['most'], 2)),
                      row['apart'], _number(row['ordered'], 2)])
    return _table(['printed', 'built', 'hosts', 'sequence', 'paper', 'here', 'least .. most', 'apart',
                   'in order'], lines)


TABLES = {
    **fattree_document.TABLES,
    'table3': _table3,
    'lower-efi-large': _large_contradictions,
    'section4': _section4,
    'figure9': _figure9,
    'least-lanes': _least_lanes,
    'applications': _applications,
    'table1-ebb': _pivoted('table1', 'ebb', 3),
    'table1-efi': _pivoted('table1', 'efi', None),
    'table1-ms': _pivoted('table1', 'route_ms', 1),
    'systems-ebb': _pivoted('systems', 'ebb', 4),
    'systems-efi': _pivoted('systems', 'efi', None),
    'systems-ms': _pivoted('systems', 'route_ms', 1),
    'online': _online,
    'slides-ebb': _pivoted('slides', 'ebb', 4),
    'slides-efi': _pivoted('slides', 'efi', None),
    'sharing': _plain('sharing', ['routing', 'channels', 'number', 'routes', 'destinations',
                                  'sources']),
    'lower-efi': _plain('lower_efi', ['fabric', 'pairs of routings', 'EFI differs',
                                      'bandwidth agrees', 'bandwidth contradicts']),
    'lower-efi-cases': _plain('lower_efi_cases', ['fabric', 'seed', 'routing', 'EFI', 'eBB',
                                                  'than', 'its EFI', 'its eBB']),
}


FILES = ['section4', 'figure9', 'figure9_lash', 'least_lanes', 'applications', 'table1', 'systems', 'online', 'slides', 'lower_efi',
         'lower_efi_cases', 'sharing', 'table3'] + fattree_document.FILES


def missing(folder):
    there = studies.names(folder)
    return [name for name in FILES if name not in there]


def tables(folder):
    return {name: make(folder) for name, make in TABLES.items()}


def _filled(text, folder, makers):
    def fill(match):
        return '<!-- table: %s -->\n\n%s\n\n<!-- end -->' % (match.group(1), makers[match.group(1)](folder))
    return re.sub(r'<!-- table: (\S+) -->.*?<!-- end -->', fill, text, flags=re.S)


def update(path, folder, makers=TABLES):
    with open(path) as file:
        text = file.read()
    with open(path, 'w') as file:
        file.write(_filled(text, folder, makers))


def is_current(path, folder, makers=TABLES):
    with open(path) as file:
        text = file.read()
    return text == _filled(text, folder, makers)


# ---- figures --------------------------------------------------------------------------------------


def block(name, rows):
    lines = ['$%s << EOD' % name]
    return lines + [' '.join(str(x) if x != '' else 'NaN' for x in row) for row in rows] + ['EOD']


def gnuplot(path, lines):
    head = ['set terminal svg size 760,430 background rgb "white"', 'set output "%s"' % path,
            'set grid', 'set key outside right']
    subprocess.run(['gnuplot'], input='\n'.join(head + lines), text=True, check=True)


def _draw_figure9(folder, plots):
    rows = Data.read(folder, 'figure9').rows
    ways = list(dict.fromkeys(r['way'] for r in rows))
    lash = [(r['links'], r['mean'], r['min'], r['max']) for r in Data.read(folder, 'figure9_lash').rows]
    lines, curves = block('lash', lash), ['$lash using 1:2:3:4 with yerrorlines title "stock lash"']
    for i, way in enumerate(ways):
        lines += block('w%d' % i, [(r['links'], r['mean'], r['min'], r['max'])
                                   for r in rows if r['way'] == way])
        curves.append('$w%d using 1:2:3:4 with yerrorlines title "%s"'
                      % (i, WAYS[way].replace('"', '')))
    lines += ['set xlabel "links between switches"', 'set ylabel "virtual layers"',
              'set yrange [0:]', 'plot ' + ', '.join(curves)]
    gnuplot(os.path.join(plots, 'figure9.svg'), lines)


def _draw_sizes(folder, plots, name, fabric, key, label, title, log=False):
    rows = [r for r in Data.read(folder, name).rows if r['fabric'] == fabric and r[key] != '']
    routings = list(dict.fromkeys(_routing(r) for r in rows))
    lines, curves = [], []
    for i, routing in enumerate(routings):
        lines += block('r%d' % i, [(r['hosts'], r[key]) for r in rows if _routing(r) == routing])
        curves.append('$r%d using 1:2 with linespoints title "%s"' % (i, routing))
    lines += ['set xlabel "hosts"', 'set ylabel "%s"' % label, 'set logscale x 2']
    lines += ['set logscale y'] if log else ['set yrange [0:]']
    gnuplot(os.path.join(plots, title + '.svg'), lines + ['plot ' + ', '.join(curves)])


def figures(folder, plots):
    """Without gnuplot there are no figures, and that is said."""
    if not shutil.which('gnuplot'):
        print('no gnuplot: no figures')
        return
    _draw_figure9(folder, plots)
    for fabric, name in (('XGFT', 'figure5'), ('Kautz', 'figure6'), ('k-ary n-tree', 'kary')):
        _draw_sizes(folder, plots, 'table1', fabric, 'ebb', 'effective bisection bandwidth', name)
    _draw_sizes(folder, plots, 'table1', 'k-ary n-tree', 'route_ms', 'CPU, ms', 'figure7', log=True)
    for fabric in dict.fromkeys(r['fabric'] for r in Data.read(folder, 'slides').rows):
        _draw_sizes(folder, plots, 'slides', fabric, 'ebb', 'effective bisection bandwidth',
                    'slides-' + fabric.replace(' ', '-').lower())
    fattree_document.figures(folder, lambda name, lines: gnuplot(os.path.join(plots, name), lines), block)
