# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What several LIDs a host give, and what they cost: the table of docs/admin.md, by the commit that is built.

    python3 tests/bench/lids.py build/src/cli/osmroutes [--unseen SEED]

For each fabric the effective bisection bandwidth of flows to first LIDs, to one LID at random, and split evenly over 2 and 4
LIDs, where the sender waits for the slowest part; which planes were chosen; and the CPU of routing with one LID a host, in ms, and
how many times as much four LIDs take, without the check and with it. Of five runs the shortest counts.

With --unseen random fabrics of nine families from this seed on, with LMC 1 to 3, beside the engines of a real opensm under ibsim:
fabrics whose first LIDs have the load of LMC 0; the largest load of all LIDs over 2^LMC times that, where all links are as fast;
the even split beside LMC 0 and beside the best stock engine, at least and in the middle; fabrics on which it is below stock by over
0.1 %; and the CPU over that of LMC 0 in the middle and at most, without the check and with it.
"""
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', room) for room in ('osm', 'cli')]
import shapes  # noqa: E402
from netfile import cables, strike_out  # noqa: E402

FABRICS = (
    ('tree, 2 levels, 288 hosts, full', 'tree m=16,18 w=1,16'),
    ('tree, 2 levels, 540 hosts, 3:1', 'tree m=30,18 w=1,10'),
    ('tree, 3 levels, 216 hosts, full', 'tree m=6,6,6 w=1,6,6'),
    ('tree, 3 levels, 1000 hosts, full', 'kary k=10 n=3'),
    ('tree, 3 levels, 300 hosts, 2:1', 'tree m=10,5,6 w=1,5,3'),
    ('the same, 12 cables missing', 'tree m=10,5,6 w=1,5,3', 12),
    ('HyperX 7 x 7, 196 hosts', 'hyperx dims=7x7 hosts=4'),
    ('torus 8 x 8, 128 hosts', 'torus dims=8x8 hosts=2'),
    ('dragonfly, 36 switches, 72 hosts', 'dragonfly a=4 h=2 p=2'),
    ('random, 56 switches, 224 hosts', 'random switches=56 links=168 hosts=4'),
)


def said(command, net, lmc, *more):
    words = [command, 'route', '--config=none', '--bisections=0', '-e', 'dfsssp', '--lmc=%d' % lmc, net, *more]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def split_of(command, net, lmc):
    return json.loads(said(command, net, lmc, '--json'))['results'][0]['split'], re.search(r'LIDs a port: ([a-z ]+);', said(command, net, lmc))[1]


def cpu_of(command, net, lmc):
    runs = [json.loads(said(command, net, lmc, '--json'))['results'][0] for _ in range(5)]
    return [min(run[phase]['cpu'] for run in runs) for phase in ('route_ms', 'check_ms')]


STOCK = ('minhop', 'updn', 'ftree', 'dfsssp')
FAMILIES = {'whole trees': (lambda seed: shapes.tree(seed, damage=0), 6), 'damaged trees': (lambda seed: shapes.tree(seed, damage=3), 10),
            'joined trees': (shapes.twotrees, 6), 'dragonfly+': (shapes.megafly, 4), 'HyperX': (shapes.hyperx, 4),
            'dragonfly': (shapes.dragonfly, 4), 'torus': (shapes.torus, 4), 'Jellyfish': (shapes.jellyfish, 4), 'sparse': (shapes.sparse, 4)}


def judged(command, net, lmc, *how):
    done = subprocess.run([command, 'route', '--config=none', '--bisections=0', '--json', '--lmc=%d' % lmc, net, *how],
                          capture_output=True, text=True)
    return json.loads(done.stdout)['results'][0] if done.stdout else {}


def stock_split(command, net, lmc, engine, workdir):
    from osmtest import Fabric
    from timed import sweep
    with Fabric(net, os.path.join(workdir, engine)) as fabric:
        swept = sweep(fabric, engine, None, {'lmc': str(lmc)})
        if swept.used != engine:
            return 0
        return judged(command, net, lmc, '--tables', swept.lfts)['split']['all']


def measure(command, net, lmc, workdir):
    """One fabric: whether first LIDs are those of LMC 0; the sum; the even split beside LMC 0 and stock; CPU."""
    one, many = judged(command, net, 0, '-e', 'dfsssp'), judged(command, net, lmc, '-e', 'dfsssp')
    stock = max(stock_split(command, net, lmc, engine, workdir) for engine in STOCK)
    cpu = [[min(judged(command, net, bits, '-e', 'dfsssp')[phase]['cpu'] for _ in range(3)) for phase in ('route_ms', 'check_ms')]
           for bits in (0, lmc)]
    alike = many['efi'] == many['efi_per_capacity']
    return (one['efi'] == many['efi'], many['efi_all'] / (many['efi'] << lmc) if alike else 0,
            many['split']['all'] / many['split']['first'], many['split']['all'] / stock if stock else 9,
            cpu[1][0] / cpu[0][0], sum(cpu[1]) / sum(cpu[0]))


def unseen(command, seed):
    print('| family | LMC | first LIDs | sum | beside LMC 0 | beside stock | below stock | CPU | with check |')
    print('|---|---|---|---|---|---|---|---|---|')
    for family, (make, n) in FAMILIES.items():
        for lmc in 1, 2, 3:
            rows = []
            for number in range(seed, seed + n):
                with tempfile.TemporaryDirectory() as folder:
                    rows.append(measure(command, make(number).write(os.path.join(folder, 'net')), lmc, folder))
            same, total, first, stock, cpu, checked = zip(*rows)
            print('| %s | %d | %d of %d | %.3f | %.3f, %.3f | %.3f, %.3f | %d | %.1f, %.1f | %.1f, %.1f |' % (
                family, lmc, sum(same), n, max(total), min(first),
                statistics.median(first), min(stock), statistics.median(stock), sum(x < 0.999 for x in stock),
                statistics.median(cpu), max(cpu), statistics.median(checked), max(checked)), flush=True)


def main():
    command = os.path.abspath(sys.argv[1])
    if sys.argv[2:3] == ['--unseen']:
        unseen(command, int(sys.argv[3]))
        return
    print('| fabric | first LID | one of 4 at random | split over 2 | over 4 | planes | ms | times | with check |')
    print('|---|---|---|---|---|---|---|---|---|')
    with tempfile.TemporaryDirectory() as folder:
        net = os.path.join(folder, 'net')
        for name, words, *missing in FABRICS:
            subprocess.run([command, 'generate', '-o', net, *words.split()], check=True, stdout=subprocess.DEVNULL)
            if missing:
                text = strike_out(net, {end for cable in random.Random(1).sample(cables(net), *missing) for end in cable})
                with open(net, 'w') as file:
                    file.write(text)
            split, chosen = split_of(command, net, 2)
            one, four = cpu_of(command, net, 0), cpu_of(command, net, 2)
            print('| %s | %.3f | %.3f | %.3f | %.3f | %s | %.1f | %.1f | %.1f |' % (
                name, split['first'], split['one'], split['two'], split['all'], chosen, one[0], four[0] / one[0], sum(four) / sum(one)))


main()
