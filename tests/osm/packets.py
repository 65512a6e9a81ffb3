#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What tables of OpenSM's engines and of osmroutes carry: docs/results/data/packets.csv, the table and the figure of
docs/results/packets.md.

    packets.py [--packets=N] [DIR]   measures all
    packets.py --document            the table and the figure again, from the CSV file
    packets.py --check               does the table show what the CSV file says, and is a row of osmroutes the same today?
"""
import os
import shutil
import sys

import carried
from judge import generate
from osmtest import BUILD, ROOT, SKIPPED, Skip, find_fabric, need_tools

sys.path.insert(0, os.path.join(ROOT, 'tests', 'experiments'))	# it has a measure.py, too
import document		# noqa: E402
from fattree_document import table		# noqa: E402
from measure import Data		# noqa: E402

RESULTS = os.path.join(ROOT, 'docs', 'results')
FABRICS = (('torus 4x4', None), ('dragonfly', ('dragonfly', 'a=4', 'h=1', 'p=2')),
           ('Slim Fly', ('slimfly', 'q=5', 'p=2')), ('random', ('random', 'switches=24', 'links=60', 'hosts=3', 'seed=1')),
           ('fat tree', ('kary', 'k=4', 'n=3')))
ENGINES = (('minhop', False), ('updn', False), ('lash', False), ('dfsssp', False), ('dfsssp', True), ('osmroutes', True))
SEEDS = 10


def row(netfile, workdir, engine, ours, packets):
    """The columns of the CSV file from `answer` on; what was not run is None."""
    # updn finds roots in trees alone: the first switch.
    options = {'root_guid_file': os.path.join(workdir, 'roots')} if engine == 'updn' else {}
    tables = carried.routed_by(netfile, workdir, engine, ours, **options)
    with open(os.path.join(workdir, 'roots'), 'w') as file:
        file.write(tables.switches[0].guid + '\n')
    text, answer = carried.simulator.text_of(tables, tables.rows), tables.answers['one_way']
    if tables.engine and tables.engine.split()[0] != engine:
        return ('refused the fabric',) + 7 * (None,)
    runs = [carried.carry(text, packets=packets, buffer=1, seed=seed) for seed in range(1 if answer == 'proven' else SEEDS)]
    delivered = sorted(got['delivered'] for got in runs)[len(runs) // 2]
    counts = delivered, sum(bool(got['stuck']) for got in runs), len(runs), sum(got['lost'] for got in runs)
    any_sl = tables.answers['any_sl'] == 'proven' or None

    def said(key, run, **options):
        got = run and carried.carry(text, **options)
        return got and ('stopped' if got['stuck'] else got[key])
    return (answer, *counts, said('delivered', any_sl, packets=packets, buffer=1, any_sl=True),
            said('throughput', True, packets=packets // 5, buffer=8),
            said('throughput', any_sl, packets=packets // 5, buffer=8, any_sl=True))


def measure(workdir, packets, fabrics=FABRICS, engines=ENGINES):
    os.makedirs(workdir, exist_ok=True)
    data = Data('packets', ['fabric', 'engine', 'answer', 'delivered', 'stopped', 'runs', 'lost', 'delivered_any_sl', 'throughput',
                            'throughput_any_sl'])
    for name, kind in fabrics:
        netfile = generate(os.path.join(workdir, name.replace(' ', '-') + '.net'), *kind) if kind else find_fabric('torus-4x4')
        for engine, ours in engines:
            data.add(name, 'osmroutes ' * ours + engine, *row(netfile, workdir, engine, ours, packets))
            print(', '.join(data.rows[-1].values()), flush=True)
    return data


def packets_table(folder):
    def number(text, form):
        return '-' if not text else text if text == 'stopped' else form.format(float(text))
    return table(['fabric', 'engine', 'between hosts', 'delivered', 'stopped', 'lost', 'on any SL', 'throughput', 'on any SL'],
                 [[r['fabric'], r['engine'], r['answer'], number(r['delivered'], '{:,.0f}'),
                   '%s of %s' % (r['stopped'], r['runs']) if r['runs'] else '-', r['lost'] or '-',
                   number(r['delivered_any_sl'], '{:,.0f}'), number(r['throughput'], '{:.3f}'),
                   number(r['throughput_any_sl'], '{:.3f}')] for r in Data.read(folder, 'packets').rows])


def figure(folder, plots):
    """A bar for each engine; pale: refuted; none, but a cross: stopped. A square where SLs are drawn at random."""
    if not shutil.which('gnuplot'):
        print('no gnuplot: no figure')
        return
    rows = Data.read(folder, 'packets').rows
    fabrics, engines = (list(dict.fromkeys(r[key] for r in rows)) for key in ('fabric', 'engine'))
    lines, bars = [], []
    for i, engine in enumerate(engines):
        bars.append([])
        for r in rows:
            if r['engine'] == engine:
                x = fabrics.index(r['fabric']) + (i + 0.5) / (len(engines) + 1.5) - 0.4
                stopped, proven = r['throughput'] == 'stopped', r['answer'] == 'proven'
                bars[i].append(('%.4f' % x, r['throughput'] if proven else '', '' if proven or stopped else r['throughput'],
                                '0.012' if stopped else '', r['throughput_any_sl']))
        lines += document.block('e%d' % i, bars[i])
    bar = '$e%d using 1:%d with boxes linetype %d fillstyle solid %g title "%s"'
    curves = [bar % (i, 2, i + 1, 0.8, engine) for i, engine in enumerate(engines)]
    curves += [bar % (i, 3, i + 1, 0.2, '') for i in range(len(engines))]
    for column, point, title in (4, 2, 'stopped'), (5, 4, 'on any SL'):
        curves += ['$e%d using 1:%d with points pointtype %d pointsize 0.5 linecolor "black" title "%s"' %
                   (i, column, point, '' if i else title) for i in range(len(engines))]
    lines += ['set boxwidth %.4f' % (1 / (len(engines) + 1.5)), 'set yrange [0:1]', 'set xrange [-0.5:%d.5]' % (len(fabrics) - 1),
              'set xtics (%s)' % ', '.join('"%s" %d' % (name, i) for i, name in enumerate(fabrics)), 'unset grid',
              'set grid ytics', 'set ylabel "received by a host, of the rate of a link"', 'plot ' + ', '.join(curves)]
    document.gnuplot(os.path.join(plots, 'packets.svg'), lines)


def main():
    words = [w for w in sys.argv[1:] if not w.startswith('--')]
    packets = next((int(w.split('=')[1]) for w in sys.argv[1:] if w.startswith('--packets=')), 1000000)
    workdir = words[0] if words else os.path.join(BUILD, 'osm-tests', 'packets')
    data, page, makers = os.path.join(RESULTS, 'data'), os.path.join(RESULTS, 'packets.md'), {'packets': packets_table}
    if '--check' in sys.argv:
        if not document.is_current(page, data, makers):
            sys.exit('docs/results/packets.md shows other numbers than docs/results/data: run tests/osm/packets.py --document')
        need_tools()
        again = measure(workdir, packets, FABRICS[:1], ENGINES[-2:-1]).rows[0]
        sys.exit(0 if again in Data.read(data, 'packets').rows else 'packets.csv has no such row: run tests/osm/packets.py')
    if '--document' not in sys.argv:
        need_tools()
        measure(workdir, packets).write(data)
    figure(data, os.path.join(RESULTS, 'figures'))
    document.update(page, data, makers)


if __name__ == '__main__':
    try:
        main()
    except Skip as skip:
        print('skipped: %s' % skip)
        sys.exit(SKIPPED)
