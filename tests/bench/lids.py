# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What several LIDs a host give, and what they cost: the table of docs/admin.md, by the commit that is built.

    python3 tests/bench/lids.py build/src/cli/osmroutes

For each fabric the effective bisection bandwidth of flows to first LIDs, to one LID at random, and split evenly over 2 and 4
LIDs, where the sender waits for the slowest part; which planes were chosen; and the CPU of routing with one LID a host, in ms, and
how many times as much four LIDs take, without the check and with it. Of five runs the shortest counts.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
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


def main():
    command = os.path.abspath(sys.argv[1])
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
