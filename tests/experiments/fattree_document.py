# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tables and figures of the experiments in fattree.py, from the CSV files alone."""
from measure import Data

FILES = ['dmodk_figure2', 'dmodk_figure3', 'dmodk_ring', 'dmodk_theorem3', 'dmodk_table1',
         'dmodk_partial', 'dmodk_faults', 'dmodk_faults_large']


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows])


def _thousands(text):
    return '{:,}'.format(int(text)) if text.isdigit() else text


def _two(text):
    return '%.2f' % float(text)


def _percent(text):
    return '%.1f %%' % (100 * float(text))


def _figure2(folder):
    return table(['hosts', 'sequence', 'stages', 'messages in flight', 'orders', 'random',
                  'least .. most', 'in order'],
                 [[_thousands(r['hosts']), r['sequence'], r['stages'], r['in_flight'], r['orders'],
                   _percent(r['bandwidth']),
                   '%s .. %s' % (_percent(r['least']), _percent(r['most'])), _percent(r['ordered'])]
                  for r in Data.read(folder, 'dmodk_figure2').rows])


def _figure3(folder):
    return table(['hosts', 'collective', 'random', 'least .. most', 'in order'],
                 [[_thousands(r['hosts']), r['collective'], _two(r['hsd']),
                   '%s .. %s' % (_two(r['least']), _two(r['most'])), _two(r['ordered'])]
                  for r in Data.read(folder, 'dmodk_figure3').rows])


def _ring(folder):
    return table(['order', 'most flows on a link', 'of the hosts\' bandwidth', 'MB/s'],
                 [[r['order'], _two(r['hsd']), _percent(r['bandwidth']), r['mbps']]
                  for r in Data.read(folder, 'dmodk_ring').rows])


def _theorem3(folder):
    return table(['PGFT', 'hosts', 'stages by the tree', 'HSD', 'plain doubling, HSD',
                  'stages of MPI', 'HSD'],
                 [[r['tree'], _thousands(r['hosts']), r['stages'], _two(r['tree_hsd']),
                   _two(r['plain_hsd']), r['mpi_stages'], _two(r['mpi_hsd'])]
                  for r in Data.read(folder, 'dmodk_theorem3').rows])


def _table1(folder):
    return table(['collective', 'algorithm', 'sequence', 'used by', 'in order', 'random'],
                 [[r['collective'], r['algorithm'], r['sequence'], r['used_by'], _two(r['ordered']),
                   _two(r['random'])] for r in Data.read(folder, 'dmodk_table1').rows])


def _partial(folder):
    return table(['PGFT', 'hosts', 'ranks', 'left out', 'the rule is', 'jobs', 'in order', 'least .. most', 'worst link',
                  'random order'],
                 [[r['tree'], _thousands(r['hosts']), _thousands(r['ranks']), r['left_out'], r['rule'], r['jobs'],
                   _two(r['hsd']), '%s .. %s' % (_two(r['least']), _two(r['most'])), r['worst'], _two(r['random_order'])]
                  for r in Data.read(folder, 'dmodk_partial').rows])


def _faults(folder):
    """One line for each size and routing. Ratios to the bound are of single fabrics."""
    by = {}
    for name in ('dmodk_faults', 'dmodk_faults_large'):
        for r in Data.read(folder, name).rows:
            by.setdefault((r['hosts'], r['by'], r['routing']), []).append(r)
    ours = {(hosts, r['seed']): float(r['hsd']) for (hosts, _, routing), rows in by.items()
            if routing == 'dmodk' for r in rows}
    lines = []
    for (hosts, who, routing), rows in by.items():
        hsd = [float(r['hsd']) for r in rows]
        bounds = [float(r['bound']) for r in rows]
        same = [ours[hosts, r['seed']] for r in rows]
        lines.append([_thousands(hosts), ('stock ' if who == 'stock' else '') + routing,
                      str(len(rows)), '%.2f' % (sum(hsd) / len(hsd)), '%.2f' % max(hsd),
                      '%.2f' % (sum(bounds) / len(bounds)), '%.2f' % (sum(hsd) / sum(bounds)),
                      '%.2f' % max(h / b for h, b in zip(hsd, bounds)),
                      '%.2f' % (sum(same) / len(same)),
                      _thousands(str(sum(int(r['lost']) > 0 for r in rows)))])
    return table(['hosts', 'routing', 'seeds', 'mean', 'largest', 'bound', 'mean / bound',
                  'largest / its bound', 'dmodk, same seeds', 'seeds with lost pairs'], lines)


TABLES = {'dmodk-figure2': _figure2, 'dmodk-figure3': _figure3, 'dmodk-ring': _ring,
          'dmodk-theorem3': _theorem3, 'dmodk-table1': _table1, 'dmodk-partial': _partial,
          'dmodk-faults': _faults}


def figures(folder, draw, block):
    """draw(file name, gnuplot lines); block(name, rows): lines of a data block."""
    rows = Data.read(folder, 'dmodk_figure3').rows
    lines, curves = [], []
    for i, name in enumerate(dict.fromkeys(r['collective'] for r in rows)):
        lines += block('c%d' % i, [(r['hosts'], r['hsd'], r['least'], r['most'])
                                   for r in rows if r['collective'] == name])
        curves.append('$c%d using 1:2:3:4 with yerrorlines title "%s"' % (i, name))
    draw('dmodk-figure3.svg', lines + ['set xlabel "hosts"', 'set ylabel "hot spot degree"',
                                       'set yrange [0:]', 'plot ' + ', '.join(curves)])
    rows = Data.read(folder, 'dmodk_figure2').rows
    rows = [r for r in rows if r['in_flight'] != 'barrier' and r['hosts'] == rows[0]['hosts']]
    lines, curves = [], []
    for i, name in enumerate(dict.fromkeys(r['sequence'] for r in rows)):
        mine = [r for r in rows if r['sequence'] == name]
        lines += block('s%d' % i, [(r['in_flight'], r['bandwidth'], r['least'], r['most'],
                                    r['ordered']) for r in mine])
        curves.append('$s%d using 1:2:3:4 with yerrorlines title "%s, random"' % (i, name))
        curves.append('$s%d using 1:5 with linespoints title "%s, in order"' % (i, name))
    draw('dmodk-figure2.svg', lines + [
        'set xlabel "messages of a host in flight (to the right: shorter messages)"',
        'set ylabel "part of the hosts\' bandwidth"', 'set yrange [0:1.05]', 'set logscale x 2',
        'plot ' + ', '.join(curves)])
