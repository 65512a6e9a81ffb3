# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The experiments. Each takes a Workshop and returns its Data.

Routings, by the names they have in the data:
    P-SSSP      engine p2sssp, step=dest heuristic=none: as published
    P2-SSSP     engine p2sssp, heuristic=none: as published, but joined into trees
    sssp        engine sssp as it is by default: with rip-up and re-route
    dfsssp      engine dfsssp as it is by default
"""
import itertools
import math
import random

import fabrics
import fattree
from measure import STOCK, Data, Failure, Oracle

P_SSSP = ('p2sssp', {'step': 'dest', 'heuristic': 'none'})
P2_SSSP = ('p2sssp', {'heuristic': 'none'})
PUBLISHED = {'P-SSSP': P_SSSP, 'P2-SSSP': P2_SSSP}
OURS = dict(PUBLISHED, sssp=('sssp', {}), dfsssp=('dfsssp', {}))

# Ways to the layers. All but the last start from the paths as published; requests only, without multicast, as the paper.
PAPER = {'step': 'dest'}
LAYERS = {way: ('p2sssp', dict(PAPER, heuristic=way))
          for way in ('weakest', 'first', 'heaviest', 'online', 'order')}
LAYERS['default'] = ('dfsssp', {'reversible_sl': 'off', 'detours': 'no'})


def _layer_counts(workshop, nets, ways):
    """{way: [layers or None if 15 do not suffice]} over an iterable of nets."""
    counts = {way: [] for way in ways}
    for net in nets:
        for way in ways:
            engine, options = LAYERS[way]
            got = workshop.ours(net, engine, multicast=False, **options)
            counts[way].append(got.get('layers_one_way'))
    return counts


def _spread(values):
    """min, mean, max, how many are missing, and each, which sample.py measures again. The mean is of those that are
    there."""
    there = [v for v in values if v is not None]
    mean = sum(there) / len(there) if there else None
    return (min(there, default=None), mean, max(there, default=None), len(values) - len(there),
            ' '.join('-' if v is None else str(v) for v in values))


SEEDS = 100
FIGURE9 = [150, 175, 200, 250, 300, 400, 500, 600, 800, 1000]


def figure9(workshop):
    """VLs of random fabrics, 128 switches, 16 hosts each, by number of links (Domke, fig. 9). Given after each number, so
    that a run that is stopped has those."""
    ways = ['weakest', 'online', 'order', 'default']
    data = Data('figure9', ['links', 'way', 'fabrics', 'min', 'mean', 'max', 'over_8', 'each'])
    for n in FIGURE9:
        nets = (workshop.generate('random', 'switches=128', 'links=%d' % n, 'hosts=16', 'degree=16', 'seed=%d' % s)
                for s in range(1, SEEDS + 1))
        counts = _layer_counts(workshop, nets, ways)
        for way in ways:
            data.add(n, way, SEEDS, *_spread(counts[way]))
        yield data


LASH_SEEDS = 12


def figure9_lash(workshop):
    """Lanes that stock lash needs on the first 12 of these fabrics (Domke, fig. 9). It routes switches: one host each."""
    data = Data('figure9_lash', ['links', 'fabrics', 'min', 'mean', 'max', 'over_8', 'each'])
    for n in FIGURE9:
        got = []
        for seed in range(1, LASH_SEEDS + 1):
            net = workshop.generate('random', 'switches=128', 'links=%d' % n, 'hosts=1', 'degree=16', 'seed=%d' % seed)
            got.append(workshop.stock(net, ['lash'], lambda done: done.lanes, 300).get('lash'))
        data.add(n, len(got), *_spread(got))
    return [data]


def section4(workshop):
    """VLs by heuristic: 64 switches, 1,024 hosts, 128 links, 100 seeds (Domke, section IV)."""
    data = Data('section4', ['way', 'fabrics', 'min', 'mean', 'max', 'over_8', 'each'])
    nets = (workshop.generate('random', 'switches=64', 'links=128', 'hosts=16', 'seed=%d' % s)
            for s in range(1, SEEDS + 1))
    counts = _layer_counts(workshop, nets, LAYERS)
    for way in LAYERS:
        data.add(way, SEEDS, *_spread(counts[way]))
    return [data]


COMPARED = ['fabric', 'hosts', 'routing', 'by', 'efi', 'efi_mean', 'ebb', 'half_width', 'layers',
            'route_ms']


def _compare(workshop, data, fabric, hosts, net, stock, patterns, routings=OURS, vls=8):
    for name, (engine, options) in routings.items():
        got = workshop.ours(net, engine, patterns, vls, **options)
        if got.get('efi'):	# whatever the verdict: sssp and the published ones can deadlock
            layers = got['layers_one_way'] or None	# 0: the engine looked for none
            data.add(fabric, hosts, name, 'ours', got['efi'], got['efi_mean'], got['ebb'],
                     got['ebb_half_width'], layers, got['route_ms']['cpu'])
    kept = [r for r in workshop.kept_rows(data.name) if (r['fabric'], r['hosts'], r['by']) == (fabric, str(hosts), 'stock')]
    data.rows += kept
    measured = {} if kept else workshop.stock(net, stock, lambda done: workshop.judged(net, done, patterns))
    for name, got in measured.items():
        # No EFI where the checker refuses the tables: stock ftree's lack routes between switches.
        data.add(fabric, hosts, name, 'stock', got.get('efi'), got.get('efi_mean'), got['ebb'],
                 got['ebb_half_width'], None, got['route_ms'])


def table1(workshop):
    """eBB and CPU on the XGFTs, Kautz graphs and k-ary n-trees of table I (Domke, fig. 5, 6, 7)."""
    data = Data('table1', COMPARED)
    for hosts, xgft, kautz, kary in fabrics.TABLE_I:
        words = {'XGFT': fabrics.xgft(hosts, *xgft), 'Kautz': fabrics.kautz(hosts, *kautz),
                 'k-ary n-tree': fabrics.kary(hosts, *kary)}
        for family in words:
            net = workshop.generate(*words[family])
            net = workshop.edit(net, lambda text: fabrics.keep_hosts(text, hosts))
            # The larger ones take stock engines minutes.
            stock = STOCK if hosts <= 1024 else ['minhop', 'sssp', 'dfsssp'] if hosts <= 2048 else ['minhop']
            _compare(workshop, data, family, hosts, net, stock, 1000)
    return [data]


SYSTEMS = {'Odin': (128, fabrics.odin()),
           'Deimos, chain': (724, fabrics.deimos(fabrics.DEIMOS_CHAIN)),
           'Deimos, triangle': (724, fabrics.deimos(fabrics.DEIMOS_TRIANGLE))}


def systems(workshop):
    """Deimos and Odin, rebuilt from their descriptions (Domke, fig. 4, 8; the slides)."""
    data = Data('systems', COMPARED)
    for name, (hosts, net) in SYSTEMS.items():
        _compare(workshop, data, name, hosts, workshop.build(net), STOCK, 5000)
    return [data]


# Section VI measured on Deimos; here the same communication as flows on the rebuilt one. Programs, ranks, patterns.
APPLICATIONS = [
    ('Netgauge: random bisections', 512, 'bisect'),
    ('BenchIT, FT: all-to-all', 128, 'cps-shift'), ('BenchIT, FT: all-to-all', 512, 'cps-shift:100'),
    ('BT, SP: neighbours on a square', 121, 'neighbor2d'), ('BT, SP: neighbours on a square', 484, 'neighbor2d'),
    ('allreduce: recursive doubling', 128, 'cps-doubling'), ('allreduce: recursive doubling', 512, 'cps-doubling'),
]
APPLICATION_ENGINES = ['minhop', 'lash', 'sssp', 'dfsssp']


def applications(workshop):
    """Communication of the programs of section VI (Domke) as flows on the rebuilt Deimos, ranks on random nodes."""
    data = Data('applications', ['fabric', 'program', 'ranks', 'routing', 'by', 'time', 'bandwidth'])
    for name in ('Deimos, chain', 'Deimos, triangle'):
        system = SYSTEMS[name][1]
        net, names = workshop.build(system), [host for host, _, _ in system.hosts]

        def measure(by):
            rows = []
            for program, ranks, pattern in APPLICATIONS:
                nodes = random.Random(ranks).sample(names, ranks)
                row = workshop.patterns(net, by, [pattern], nodes, 25)[pattern]['random']
                rows.append((program, ranks, row['hsd_sum'], row['bandwidth']))
            return rows
        results = {('ours', engine): measure(engine) for engine in ('sssp', 'dfsssp')}
        stock = workshop.stock(net, APPLICATION_ENGINES, lambda done: measure({'tables': done.lfts}), 300)
        results.update({('stock', engine): rows for engine, rows in stock.items()})
        for (by, engine), rows in results.items():
            for program, ranks, time, bandwidth in rows:
                data.add(name, program, ranks, engine, by, time, bandwidth)
    return [data]


ONLINE = {
    'random, 256 switches, 800 links': ['random', 'switches=256', 'links=800', 'hosts=16'],
    'Kautz(6, 3)': fabrics.kautz(4096, 6, 3),
    'dragonfly a=8 h=4 p=16': ['dragonfly', 'a=8', 'h=4', 'p=16', 'g=32'],
}


ONLINE_WAYS = ['online', 'weakest', 'order']


def online(workshop):
    """Online against offline at 4,096 nodes: CPU, memory, layers (Domke, section IV)."""
    columns = ['fabric', 'way', 'layers', 'layers_ms', 'memory_kb', 'over_sssp_kb']
    data = Data('online', columns)
    for fabric, words in ONLINE.items():
        net = workshop.generate(*words)
        if fabric.startswith('Kautz'):
            net = workshop.edit(net, lambda text: fabrics.keep_hosts(text, 4096))
        engine, options = P_SSSP
        base = workshop.ours(net, engine, multicast=False, **options)['memory_kb']
        for way in ONLINE_WAYS:
            engine, options = LAYERS[way]
            got = workshop.ours(net, engine, multicast=False, **options)
            if got['status'] == 'ok':
                data.add(fabric, way, got['layers_one_way'], got['layers_ms'], got['memory_kb'],
                         got['memory_kb'] - base)
            else:
                data.add(fabric, way, 'over 15', None, None, None)
    return [data]


def _slide_fabrics():
    """(series, hosts, words); switches of 24 ports, all of them filled with hosts or cables."""
    for k, n in ((4, 2), (8, 2), (12, 2), (4, 3), (6, 3), (8, 3), (10, 3), (12, 3)):
        yield '%d-level fat tree' % n, k ** n, ['kary', 'k=%d' % k, 'n=%d' % n]
    for side in (4, 6, 8, 10, 12):
        yield '2D torus', side ** 2 * 20, ['torus', 'dims=%dx%d' % (side, side), 'hosts=20']
    for side in (3, 4, 5, 6):
        yield '3D torus', side ** 3 * 18, ['torus', 'dims=%dx%dx%d' % ((side,) * 3), 'hosts=18']
    for n in (3, 4, 5, 6, 7):
        yield 'hypercube', 2 ** n * (24 - n), ['hypercube', 'n=%d' % n, 'hosts=%d' % (24 - n)]
    for switches in (16, 32, 64, 128, 256):
        yield 'random', switches * 12, ['random', 'switches=%d' % switches, 'hosts=12', 'degree=12',
                                        'links=%d' % (switches * 6 - switches // 8)]


def slides(workshop):
    """P-SSSP against P2-SSSP: fat trees, tori, hypercubes, random; 5,000 matchings (the slides)."""
    data = Data('slides', COMPARED)
    routings = dict(PUBLISHED, sssp=OURS['sssp'])
    for series, hosts, words in _slide_fabrics():
        net = workshop.generate(*words)
        _compare(workshop, data, series, hosts, net, ['minhop'] if hosts <= 1500 else [], 5000, routings)
    return [data]


LOWER_EFI = {
    'random, 16 switches, 4 hosts each': ['random', 'switches=16', 'links=32', 'hosts=4'],
    'random, 24 switches, 6 hosts each': ['random', 'switches=24', 'links=60', 'hosts=6'],
}
LOWER_EFI_SEEDS = 200


def lower_efi(workshop):
    """Lower edge forwarding index, lower bandwidth: how often (the slides)."""
    data = Data('lower_efi', ['fabric', 'pairs', 'efi_differs', 'ebb_agrees', 'ebb_contradicts', 'each'])
    for fabric, words in LOWER_EFI.items():
        each = []
        for seed in range(1, LOWER_EFI_SEEDS + 1):
            net = workshop.generate(*words, 'seed=%d' % seed)
            each.append(_contradictions([workshop.ours(net, engine, 5000, **options)
                                         for engine, options in (*PUBLISHED.values(), OURS['sssp'])]))
        data.add(fabric, *map(sum, zip(*each)), ' '.join('%d%d%d' % tuple(counts[1:]) for counts in each))
    return [data]


def _contradictions(got):
    """Pairs of routings of one fabric: all, of other EFI, and whose bandwidth agrees or contradicts: intervals are apart."""
    counts = [0, 0, 0, 0]
    for a, b in itertools.combinations(got, 2):
        low, high = (a, b) if a['efi'] <= b['efi'] else (b, a)
        apart = math.hypot(low['ebb_half_width'], high['ebb_half_width'])
        counts[0] += 1
        counts[1] += low['efi'] != high['efi']
        counts[2] += low['efi'] != high['efi'] and low['ebb'] > high['ebb'] + apart
        counts[3] += low['efi'] != high['efi'] and high['ebb'] > low['ebb'] + apart
    return counts


def sharing(workshop):
    """How many destinations and sources share a channel of a 3-level tree, P-SSSP and P2-SSSP."""
    data = Data('sharing', ['routing', 'channels', 'number', 'routes', 'destinations', 'sources'])
    net = workshop.generate('kary', 'k=6', 'n=3')
    for name, (engine, options) in PUBLISHED.items():
        tables = Oracle(net, workshop.dump(net, engine, **options))
        users, kinds = {}, {}
        for pair in itertools.permutations(tables.hosts, 2):
            for channel in tables.path(*pair)[1:-1]:
                users.setdefault(channel, []).append(pair)
        for channel, pairs in users.items():
            ends = (channel[0], tables.cables[channel][0])
            kinds.setdefault(' to '.join(e.split('-')[0] for e in ends), []).append(
                (len(pairs), len({b for _, b in pairs}), len({a for a, _ in pairs})))
        for kind, group in kinds.items():
            data.add(name, kind, len(group), *(sum(column) / len(group) for column in zip(*group)))
    return [data]


# Table 3 of the D-Mod-K paper: the tuple as printed, the one that was built here, end ports left out
# (a block of neighbours), shift, recursive doubling. None: a misprint that is none of its kind.
TABLE3 = [
    ('2;12,12;1,12;1,2', ('12,12', '1,6', '1,2'), 0, 3.75, 2.9),
    ('2;16,16;1,16;1,2', ('18,18', '1,9', '1,2'), 0, 4.32, 3.25),
    ('3;12,12,12;1,12,12;1,1,2', ('12,12,12', '1,12,12', '1,1,2'), 0, 5.24, 4.26),
    ('3;12,12,12;1,12,12;1,1,2', ('12,12,12', '1,12,6', '1,1,2'), 0, 5.24, 4.26),
    ('3;18,18,6;1,18,6;1,1,3', ('18,18,6', '1,18,6', '1,1,3'), 0, 5.41, 4.26),
    ('2;12,12;1,12;1,2', ('12,12', '1,6', '1,2'), 24, 3.50, 2.8),
    ('2;16,16;1,16;1,2', ('18,18', '1,9', '1,2'), 36, 4.28, 3.7),
    ('3;12,12,12;1,12,12;1,1,2', ('12,12,12', '1,12,6', '1,1,2'), 144, 1.98, 4.47),
    ('3;18,18,6;1,18,6;1,1,3', ('18,18,6', '1,18,6', '1,1,3'), 648, 5.22, 4.06),
]


def _apart(got, paper):
    return '%+.1f %%' % (100 * (got - paper) / paper)


def table3(workshop):
    """Hot spot degree of shift and recursive doubling on random orders (table 3, D-Mod-K)."""
    data = Data('table3', ['printed', 'built', 'hosts', 'sequence', 'paper', 'random', 'least',
                           'most', 'apart', 'ordered'])
    for printed, (m, w, p), left_out, shift, doubling in TABLE3:
        net = workshop.generate('tree', 'm=' + m, 'w=' + w, 'p=' + p)
        hosts = workshop.order(net)[left_out:]
        wanted = {'cps-shift': shift, 'cps-doubling-tree:' + m: doubling}
        got = workshop.patterns(net, 'dmodk', list(wanted), hosts, 25)
        for name, paper in wanted.items():
            if got[name]['ordered']['max_congestion'] != 1:
                raise Failure('%s of %s: two flows on one link' % (name, printed))
            row = got[name]['random']
            data.add(printed, '%d;%s;%s;%s' % (m.count(',') + 1, m, w, p), len(hosts),
                     'shift' if name == 'cps-shift' else 'recursive doubling', paper, row['hsd'],
                     row['hsd_min'], row['hsd_max'], _apart(row['hsd'], paper),
                     got[name]['ordered']['hsd'])
    return [data]


ALL = {
    'section4': section4, 'figure9': figure9, 'figure9-lash': figure9_lash, 'table1': table1, 'systems': systems,
    'online': online, 'slides': slides, 'lower-efi': lower_efi, 'sharing': sharing,
    'table3': table3, 'applications': applications, **fattree.ALL,
}
