#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The table of docs/results/packets.md: what tables of OpenSM's engines and of osmroutes carry.

    packets.py [--packets=N] [DIR]
"""
import os
import sys

import carried
from judge import generate
from osmtest import BUILD, find_fabric, need_tools

FABRICS = (('torus 4x4', None), ('dragonfly', ('dragonfly', 'a=4', 'h=1', 'p=2')),
           ('Slim Fly', ('slimfly', 'q=5', 'p=2')), ('random', ('random', 'switches=24', 'links=60', 'hosts=3', 'seed=1')),
           ('fat tree', ('kary', 'k=4', 'n=3')))
ENGINES = (('minhop', False), ('updn', False), ('lash', False), ('dfsssp', False), ('dfsssp', True), ('osmroutes', True))
SEEDS = 10


def row(name, netfile, workdir, engine, ours, packets):
    # updn finds roots in trees alone: the first switch.
    options = {'root_guid_file': os.path.join(workdir, 'roots')} if engine == 'updn' else {}
    tables = carried.routed_by(netfile, workdir, engine, ours, **options)
    with open(os.path.join(workdir, 'roots'), 'w') as file:
        file.write(tables.switches[0].guid + '\n')
    text, answer = carried.simulator.text_of(tables, tables.rows), tables.answers['one_way']
    if tables.engine and tables.engine.split()[0] != engine:
        return '| %s | %s%s | refused the fabric | | | | |' % (name, 'osmroutes ' * ours, engine)
    runs = [carried.carry(text, packets=packets, buffer=1, seed=seed) for seed in range(1 if answer == 'proven' else SEEDS)]
    stopped = [got for got in runs if got['stuck']]
    delivered = sorted(got['delivered'] for got in runs)[len(runs) // 2]
    lost = sum(got['lost'] for got in runs)
    any_sl = '-'
    if tables.answers['any_sl'] == 'proven':
        got = carried.carry(text, packets=packets, buffer=1, any_sl=True)
        any_sl = 'stopped' if got['stuck'] else '{:,}'.format(got['delivered'])
    full = [carried.carry(text, packets=packets // 5, buffer=8, any_sl=any_sl != '-' and i) for i in (False, True)]
    return '| %s | %s%s | %s | %s | %d of %d | %d | %s | %s |' % (
        name, 'osmroutes ' * ours, engine, answer, '{:,}'.format(delivered), len(stopped), len(runs), lost, any_sl,
        ' | '.join('-' if i and any_sl == '-' else 'stopped' if got['stuck'] else '%.3f' % got['throughput']
                   for i, got in enumerate(full)))


def main():
    words = [w for w in sys.argv[1:] if not w.startswith('--')]
    packets = next((int(w.split('=')[1]) for w in sys.argv[1:] if w.startswith('--packets=')), 1000000)
    workdir = words[0] if words else os.path.join(BUILD, 'osm-tests', 'packets')
    os.makedirs(workdir, exist_ok=True)
    need_tools()
    print('| fabric | engine | between hosts | delivered | stopped | lost | on any SL | throughput | on any SL |\n' + '|---' * 9 + '|')
    for name, kind in FABRICS:
        netfile = generate(os.path.join(workdir, name.replace(' ', '-') + '.net'), *kind) if kind else find_fabric('torus-4x4')
        for engine, ours in ENGINES:
            print(row(name, netfile, workdir, engine, ours, packets), flush=True)


if __name__ == '__main__':
    main()
