#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What tables of OpenSM's engines and of osmroutes carry: docs/results/data/packets.csv and its figure.

    packets.py [--packets=N] [DIR]   measures all; then tests/lab/experiments/document.py
    packets.py --figure              draws the figure again, from the CSV file
    packets.py --check               is a row of osmroutes the same today?
"""
import os
import subprocess
import sys

import carried
from osmtest import BUILD, ROOT, SKIPPED, Skip, find_fabric, generate, need_tools

sys.path.insert(0, os.path.join(ROOT, 'tests', 'lab', 'experiments'))	# it has a measure.py, too
import studies		# noqa: E402
from document import DATA		# noqa: E402
from measure import Data		# noqa: E402

FABRICS = (('torus 4x4', None), ('dragonfly', ('dragonfly', 'a=4', 'h=1', 'p=2')),
           ('Slim Fly', ('slimfly', 'q=5', 'p=2')), ('random', ('random', 'switches=24', 'links=60', 'hosts=3', 'seed=1')),
           ('fat tree', ('kary', 'k=4', 'n=3')))
ENGINES = (('minhop', False), ('updn', False), ('lash', False), ('dfsssp', False), ('dfsssp', True), ('osmroutes', True))
SEEDS = 10
FIGURES = os.path.join(ROOT, 'docs', 'results', 'figures')


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


def figure():
    """Bars of throughput, a group for each fabric, by gnuplot; where tables stopped there is none."""
    rows = studies.read(DATA, 'packets')
    fabrics, engines = (list(dict.fromkeys(r[key] for r in rows)) for key in ('fabric', 'engine'))
    value = {(r['fabric'], r['engine']): r['throughput'].replace('stopped', '?') for r in rows}
    table = ['"%s" %s' % (name, ' '.join(value[name, engine] for engine in engines)) for name in fabrics]
    bars = ', '.join('$t using %d:xtic(1) title "%s"' % (i + 2, engine) for i, engine in enumerate(engines))
    script = ['set terminal svg size 800,400 font "sans,11"', 'set datafile missing "?"', 'set style fill solid 0.8',
              'set style data histogram', 'set style histogram clustered gap 1', 'set yrange [0:1]', 'set grid ytics',
              'set key outside', 'set ylabel "received by a host, share of the rate of a link"', '$t << END', *table, 'END',
              'plot ' + bars]
    os.makedirs(FIGURES, exist_ok=True)
    with open(os.path.join(FIGURES, 'packets.svg'), 'w') as file:
        subprocess.run(['gnuplot'], input='\n'.join(script), text=True, check=True, stdout=file)


def main():
    words = [w for w in sys.argv[1:] if not w.startswith('--')]
    packets = next((int(w.split('=')[1]) for w in sys.argv[1:] if w.startswith('--packets=')), 1000000)
    workdir = words[0] if words else os.path.join(BUILD, 'osm-tests', 'packets')
    if '--figure' in sys.argv:
        return figure()
    need_tools()
    if '--check' in sys.argv:
        again = measure(workdir, packets, FABRICS[:1], ENGINES[-2:-1]).rows[0]
        sys.exit(0 if again in studies.read(DATA, 'packets') else
                 'packets.csv has no such row: run tests/osm/packets.py')
    measure(workdir, packets).write(DATA)
    figure()


if __name__ == '__main__':
    try:
        main()
    except Skip as skip:
        print('skipped: %s' % skip)
        sys.exit(SKIPPED)
