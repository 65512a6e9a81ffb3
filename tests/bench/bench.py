#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Stock engines and ours side by side: the rows of docs/results/benchmarks.md. See scripts/study bench. With --quick ours are routed
by the command, and those of stock engines are read from stock.csv; --update writes it."""
import argparse
import collections
import csv
import heapq
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', room) for room in ('osm', 'cli')]
import shapes  # noqa: E402
from netfile import Oracle  # noqa: E402
from osmtest import COMMAND, Fabric, Failure, Skip, need_tools, real_fabrics, warn  # noqa: E402
from timed import sweep  # noqa: E402

STOCK_ROWS = os.path.join(HERE, 'stock.csv')
KEYS = ['efi', 'ebb', 'lost', 'longer', 'lanes', 'any_sl']
BISECTIONS = 200
RATE = {None: 1, '4xSDR': 8, '4xDDR': 16, '4xQDR': 32, '4xFDR': 54, '4xEDR': 100, '4xHDR': 200, '4xNDR': 400}	# Gbit/s
SLOW_MS = 10000		# beyond this, one repetition says enough
NEAR = 1.01		# worse than a stock engine by more than this counts,
MOST = 1.10		# and by more than this, nothing that it buys explains it
LONGER = 1		# points of percent: the same of longer routes
NEAR_BOUND = 1.15	# EFI over what one next hop allows, on the trees of --quick

BASE = ['stock minhop', 'stock dfsssp', 'dfsssp']
TREE = BASE + ['stock ftree', 'dmodk']
GRID = ['stock torus-2QoS', 'angara']
BUDGETS = ['%s %d' % (name, n) for n in (1, 2, 4, 8) for name in ('stock nue', 'dfsssp')]
STOCK = ['stock ' + name for name in ('minhop', 'updn', 'dnup', 'ftree', 'dfsssp', 'lash', 'dor')]
ALL = STOCK + ['dfsssp', 'dmodk', 'osmroutes']
COMPARED = STOCK + ['dfsssp']

# (words of the generator, engines, least EFI that minimal routing can have, or 0)
FABRICS = {
    'tree1000': ('kary k=10 n=3', TREE, 990),
    'tree1944': ('tree m=18,18,6 w=1,18,6 p=1,1,3', TREE, 1926),
    'hyperx': ('hyperx dims=12x8 hosts=7', BASE, 588),
    'random64-1': ('random switches=64 links=128 hosts=16 seed=1', BASE, 16128),
    'random64-2': ('random switches=64 links=128 hosts=16 seed=2', BASE, 20736),
    'random64-3': ('random switches=64 links=128 hosts=16 seed=3', BASE, 16128),
    'random128-1': ('random switches=128 links=300 hosts=16 seed=1', BASE + BUDGETS, 64512),
    'random128-2': ('random switches=128 links=300 hosts=16 seed=2', BASE + BUDGETS, 38656),
    'random128-3': ('random switches=128 links=300 hosts=16 seed=3', BASE + BUDGETS, 66304),
    'dragonfly': ('dragonfly a=8 h=4 p=4', BASE + BUDGETS, 1059),
    'torus8x8x8': ('torus dims=8x8x8 hosts=2', BASE + BUDGETS + GRID, 2048),
    'torus6x6x6': ('torus dims=6x6x6 hosts=2', GRID, 648),
    'torus16x16': ('torus dims=16x16 hosts=1', GRID, 512),
    'torus4x2x2x2': ('torus dims=4x2x2x2 hosts=1', GRID[1:], 16),
    'torus5x4x3x2': ('torus dims=5x4x3x2 hosts=1', GRID[1:], 72),
    'mesh16x16': ('mesh dims=16x16 hosts=1', GRID, 1024),
    'mesh8x8x8': ('mesh dims=8x8x8 hosts=2', GRID, 4096),
    'tree11664': ('tree m=18,18,36 w=1,18,18', TREE, 11646),
}
LARGE = 'tree11664'
# Of CI. Trees after the first two, and the dragonfly, once took more lanes than stock, were far above
# the bound, or lost eBB; so did the two trees.
QUICK = [('random64-1', BASE), ('hyperx', BASE)] + [(name, COMPARED) for name in (
    'tree:1', 'tree:2', 'tree:9022', 'tree:10019', 'tree:10138', 'tree:11042', 'megafly:1',
    'megafly:2', 'dragonfly:30', 'twotrees:40004')]

# Nothing here is what the code was tuned on. With the fabrics from the field about 160.
UNSEEN = {'tree': '40001-40020', 'megafly': '40001-40006', 'slimfly': '0-3', 'jellyfish': '40001-40006',
          'hyperx': '40001-40006', 'dragonfly': '40001-40006', 'sparse': '40001-40008',
          'torus': '40001-40012', 'twotrees': '40001-40008', 'weird': '40001-40024',
          'small': '40001-40030'}


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('--quick', action='store_true',
                   help='twelve fabrics, once; exit status 1 if ours is worse than stock')
    p.add_argument('--update', action='store_true', help='of stock engines on these twelve: stock.csv is written anew')
    p.add_argument('--large', action='store_true',
                   help='also 11,664 hosts, which take stock dfsssp minutes and gigabytes')
    p.add_argument('--only', metavar='WORD', help='only fabrics whose name has this')
    p.add_argument('--real', action='store_true', help='fabrics from the field, by all engines')
    p.add_argument('--unseen', action='store_true',
                   help='about 160 fabrics of every kind, by seed and from the field')
    p.add_argument('--random', metavar='KIND:FIRST-LAST',
                   help='random fabrics by seed; kinds: ' + ', '.join(shapes.KINDS))
    p.add_argument('--repetitions', type=int, metavar='N', default=3, help='of each engine (3)')
    return p.parse_args()


# ---- what one next hop allows -------------------------------------------------------------------

def fill(rates, n, size):
    """The least load per rate of the busiest channel when n pieces of one size are put on channels."""
    heap = [(size / r, r) for r in rates]
    heapq.heapify(heap)
    for _ in range(n - 1):
        load, r = heap[0]
        heapq.heapreplace(heap, (load + size / r, r))
    return heap[0][0] if n else 0


def single(net):
    """What one next hop for each LID and switch allows at best, by what enters or leaves one switch of a shape.

    The end ports of switch u reach a LID of switch v together: hosts[u] routes on one channel into v, for
    each u and LID. The larger pieces alone, all taken as small as the smallest of them, must find room.
    """
    n = range(len(net.switches))
    hosts = [sum(s == v for _, s, _ in net.hosts) for v in n]
    fastest = max(RATE[r] for _, _, r in net.links)
    ways = [[] for _ in n]
    for a, b, r in net.links:
        ways[a].append(RATE[r] / fastest)
        ways[b].append(RATE[r] / fastest)
    best = 0
    for v in n:
        if hosts[v] and ways[v]:
            best = max(best, fill(ways[v], sum(hosts) - hosts[v], hosts[v]))
            for size in set(hosts[:v] + hosts[v + 1:]) - {0}:
                larger = sum(h >= size for h in hosts) - (hosts[v] >= size)
                best = max(best, fill(ways[v], hosts[v] * larger, size))
    return best


def scaled(netfile, lfts):
    """EFI of routes x fastest rate / rate of the channel, of these tables; None where all cables have one rate."""
    rates, switch = {}, None
    for line in open(netfile, errors='replace'):
        switch = m[1] if (m := re.match(r'\w+\s+\d+\s+"([^"]+)"', line)) else switch
        if m := re.match(r'\[(\d+)\].*\b(4x[A-Z]+)', line):
            rates[switch, int(m[1])] = RATE[m[2]]
    if len(set(rates.values())) < 2:
        return None
    tables, load = Oracle(netfile, lfts), collections.Counter()
    for a, b in itertools.permutations(tables.hosts, 2):
        load.update(tables.path(a, b)[1:-1])
    return round(max(n * max(rates.values()) / rates.get(c, max(rates.values())) for c, n in load.items()))


# ---- one fabric ---------------------------------------------------------------------------------

def torus_conf(path, words):
    """What torus-2QoS must be told: sizes, and the cables of the first switch. ibsim numbers switches
    as they come in the file, and the generator's last dimension varies fastest."""
    kind, lines, step = words.split()[0], [], 1
    dims = [int(n) for n in re.search(r'dims=(\S+)', words).group(1).split('x')]
    for axis, n in reversed(list(zip('xyz', dims))):
        lines.append('%sp_link 0x200000 0x%x\n' % (axis, 0x200000 + step))
        if kind == 'torus' and n == 4:	# as its manual asks
            lines.append('%sm_link 0x200000 0x%x\n' % (axis, 0x200000 + (n - 1) * step))
        step *= n
    with open(path, 'w') as file:
        sides = dims + [1] * (3 - len(dims))
        file.writelines(['%s %d %d %d\n' % (kind, *sides)] + lines)
    return path


def budget(name):
    """The number of lanes at the end of a name, if there is one."""
    return name.partition(' ')[2].rpartition(' ')[2] if name[-1].isdigit() else ''


class Bench:
    """Rows of one fabric: {engine: figures}; those of an engine that refuses it have only `fails`."""

    def __init__(self, name, netfile, words, least):
        self.name, self.netfile, self.words, self.least = name, netfile, words, least
        self.rows = {}

    def run(self, engines, repetitions, workdir):
        fabric = Fabric(self.netfile, os.path.join(workdir, 'osm'))
        # ibsim's first node, where the readers of the files expect it when they give LIDs.
        fabric.env.pop('SIM_HOST', None)
        with fabric:
            sweeps = {name: [] for name in engines}
            # In turns, so that whatever else the machine does meets all of them.
            for _ in range(repetitions):
                for name in engines:
                    if not sweeps[name] or (sweeps[name][0].cpu or 0) < SLOW_MS:
                        sweeps[name].append(self.sweep(fabric, name, first=not sweeps[name]))
        for name, found in sweeps.items():
            row = self.rows[name]
            if found[0].cpu is not None:
                row.update((k, statistics.median(getattr(s, k) for s in found)) for k in ('cpu', 'sent', 'kb'))
            if len({s.said.get('digest') for s in found if s.said}) > 1:
                raise Failure('%s: two repetitions, two routings' % name)

    def sweep(self, fabric, name, first):
        """A number after the name of an engine is its budget of lanes."""
        ours = not name.startswith('stock')
        engine = name.replace('stock ', '').split()[0]
        options = {'nue_max_num_vls': budget(name)} if engine == 'nue' else {}
        if engine == 'torus-2QoS':
            options['torus_config'] = torus_conf(os.path.join(fabric.dir, 'torus-2QoS.conf'), self.words)
        conf = ('max_vls = %s\n' % budget(name) if budget(name) else '') if ours else None
        found = sweep(fabric, engine, conf, options, seconds=3600)
        if first:
            self.rows[name] = self.judge(name, engine, found)
        return found

    def judge(self, name, engine, found):
        """The tables as they stand in OpenSM, by a command that does not know whose they are."""
        if found.used != engine:
            return {'fails': 'fails, %s serves' % (found.used or 'none')}
        lanes = int(budget(name)) if engine == 'nue' else found.lanes or 1
        said = found.said
        return self.follow(name, found.lfts, lanes, said and said['load']['efi'], said and 'any_sl' in said['check']['proven'])

    def follow(self, name, lfts, lanes, efi=None, any_sl=None):
        """efi, any_sl: what the engine says; without any_sl: would these tables be safe on one lane, and so on any SL?"""
        done = subprocess.run([COMMAND, 'route', '--json', '--tables', lfts, '--bisections=%d' % BISECTIONS, self.netfile],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        told = json.loads(done.stdout)['results'][0]
        if efi is not None and efi != told['efi']:
            raise Failure('%s: it says EFI %d, the tables %d' % (name, efi, told['efi']))
        return {'efi': scaled(self.netfile, lfts) or told['efi'], 'ebb': told['ebb'], 'lost': told['host_routes_lost'],
                'longer': 100 * told['routes_longer'] / max(told['routes'], 1), 'lanes': lanes,
                'any_sl': told['with_switches']['any_sl'] == 'proven' if any_sl is None else any_sl}

    def beside_stock(self, workdir):
        """Ours by the command, which makes the tables of the plugin; stock as it was."""
        dump = os.path.join(workdir, 'dump')
        done = subprocess.run([COMMAND, 'route', '-e', 'dfsssp', '--config=none', '--json', '--bisections=0', '--dump', dump,
                               self.netfile], check=True, stdout=subprocess.PIPE)
        said = json.loads(done.stdout)['results'][0]
        with open(STOCK_ROWS, newline='') as file:
            for row in csv.DictReader(file):
                if row.pop('fabric') == self.name:
                    name = row.pop('engine')
                    self.rows[name] = {k: float(v) for k, v in row.items()} if row['efi'] else {'fails': 'fails'}
        self.rows['dfsssp'] = self.follow('dfsssp', os.path.join(dump, 'opensm-lfts.dump'), said['layers'], said['efi'],
                                          said['proven']['any_sl'])

    def worse(self):
        """Sentences: what ours loses, and in what it is worse than a stock engine."""
        said = []
        stocks = {name: row for name, row in self.rows.items() if name.startswith('stock')}
        for name, mine in self.rows.items():
            if name in stocks:
                continue
            if 'fails' in mine or mine['lost']:
                said.append('%s: %s' % (name, mine.get('fails') or 'pairs without a path'))
                continue
            for stock, other in stocks.items():
                # A budget of lanes is compared with the same one.
                if 'fails' not in other and not other['lost'] and budget(name) == budget(stock):
                    said += ['%s: worse than %s: %s' % (name, stock, what)
                             for what in self.compare(mine, stock, other)]
        mine = self.rows.get('dfsssp', {})
        if self.name.startswith('tree:') and mine.get('efi', 0) > NEAR_BOUND * self.least:
            said.append('dfsssp: EFI %d, and one next hop allows %.0f' % (mine['efi'], self.least))
        return ['%s: %s' % (self.name, s) for s in said]

    @staticmethod
    def compare(mine, stock, other):
        """In what ours is worse, and what the tables have in return."""
        # Lanes of stock hold for the SLs of its path records alone, and only these two have some.
        safe = other['any_sl'] or stock in ('stock dfsssp', 'stock lash')
        bought = ' and '.join(word for word, better in (
            ('any SL', mine['any_sl'] and not other['any_sl']), ('no deadlock', not safe),
            ('lanes', safe and mine['lanes'] < other['lanes']),
            ('EFI', mine['efi'] * NEAR < other['efi']),
            ('eBB', mine['ebb'] > other['ebb'] * NEAR)) if better)
        gain = bought and ', for ' + bought
        for key, ratio in (('efi', mine['efi'] / max(other['efi'], 1)),
                           ('ebb', other['ebb'] / max(mine['ebb'], 1e-9))):
            if ratio > NEAR:
                yield '%s %.4g, not %.4g%s' % (key, mine[key], other[key],
                                               gain if ratio <= MOST else '')
        if mine['longer'] > other['longer'] + LONGER:
            yield '%.2g %% longer%s' % (mine['longer'], gain)
        if safe and not mine['any_sl'] and mine['lanes'] > other['lanes']:
            yield '%d lanes, not %d%s' % (mine['lanes'], other['lanes'], gain)
        if other['any_sl'] and not mine['any_sl']:
            yield 'not any SL'

    def lines(self):
        for name, r in self.rows.items():
            cost = ['%.3g' % n if n < 999 else '{:,.0f}'.format(n) for n in (r['cpu'], r['sent'], r['kb'] / 1e3)] if 'cpu' in r else ['-'] * 3
            if 'fails' in r:
                figures = [r['fails']] + ['-'] * 4
            else:
                figures = ['%d' % r['lanes'], '{:,.0f}'.format(r['efi']),
                           '%.2f' % (r['efi'] / self.least) if self.least else '-',
                           '%.3f' % r['ebb'], '%.2g %%' % r['longer']]
                figures[-1] += ', %d lost' % r['lost'] if r['lost'] else ''
            yield '| %s |' % ' | '.join(map(str, [self.name, name] + cost + figures))


# ---- all of them --------------------------------------------------------------------------------

def chosen(args):
    """[(name, engines)]; random ones are KIND:SEED, those from the field paths."""
    if args.quick or args.update:
        return QUICK
    found = [(name, FABRICS[name][1]) for name in FABRICS if args.large or name != LARGE]
    kinds = UNSEEN if args.unseen else dict([args.random.split(':')]) if args.random else {}
    if kinds or args.real:
        found = []
    for kind, seeds in kinds.items():
        first, _, last = seeds.partition('-')
        found += [('%s:%d' % (kind, seed), COMPARED + ['osmroutes'])
                  for seed in range(int(first), int(last or first) + 1)]
    if args.real or args.unseen:
        found += [(os.path.join(folder, name), ALL)
                 for folder, _, files in os.walk(real_fabrics() or '/nonexistent')
                 for name in sorted(files) if name.endswith(('.topo', '.net'))]
    return [f for f in found if not args.only or args.only in f[0]]


def bench(name, workdir):
    path = os.path.join(workdir, 'fabric.net')
    if os.path.isfile(name):
        # Descriptions may come twice: every node is called by its ID.
        with open(path, 'w', encoding='utf-8') as made:
            made.write(re.sub(r'(?m)^(\w+\s+\d+\s+"([^"]+)"\s*#\s*)"[^"]*"', r'\1"\2"', open(name, errors='replace').read()))
        return Bench(os.path.splitext(os.path.basename(name))[0], path, '', 0)
    if ':' in name:
        kind, _, seed = name.partition(':')
        net = shapes.KINDS[kind](int(seed))
        return Bench(name, net.write(path), '', single(net))
    words, _, least = FABRICS[name]
    subprocess.run([COMMAND, 'generate', '-o', path] + words.split(), check=True, timeout=120)
    return Bench(name, path, words, least)


def main():
    args, workdir, worse, stock = arguments(), tempfile.mkdtemp(prefix='osr-bench-'), [], []
    try:
        if not args.quick:
            need_tools()
        print('| fabric | engine | CPU, ms | with sending | memory, MB | VLs | EFI | over the least | eBB | longer |')
        print('|---' * 10 + '|')
        for name, engines in chosen(args):
            row = bench(name, workdir)
            try:
                if args.quick:
                    row.beside_stock(workdir)
                else:
                    row.run(engines, 1 if args.update else args.repetitions, workdir)
            except Failure as f:
                warn('%s: %s' % (name, f))
                worse.append(name)
                continue
            print('\n'.join(row.lines()), flush=True)
            worse += row.worse()
            stock += [[row.name, e] + [repr(float(r[k])) if k in r else '' for k in KEYS] for e, r in row.rows.items() if 'stock' in e]
        if args.update:
            with open(STOCK_ROWS, 'w', newline='') as file:
                csv.writer(file, lineterminator='\n').writerows([['fabric', 'engine'] + KEYS] + stock)
        bare = [w for w in worse if ', for ' not in w]
        warn('\n'.join(worse + ['%d times worse than a stock engine, or failed; %d times for nothing' %
                                (len(worse), len(bare))]))
        return 1 if args.quick and bare else 0
    except Skip as s:
        warn('skipped: %s' % s)
        return 77
    finally:
        shutil.rmtree(workdir, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
