#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Did a repair become twice as dear, or something half as fast? For a dead cable: entries over the least any routing
could change, and blocks; with --times also CPU times of osr-faults over that of breadth-first searches, each the fastest
of three processes. Each against what it was when LIMITS was written. Where one is worse, three more processes are asked.
speed.py FAULTS OSMROUTES is the test bench.repairs; --times is for a machine at rest; --show prints LIMITS anew."""
import json
import os
import subprocess
import sys
import tempfile

PROCESSES = 3
SLACK = 1.6		# a twofold loss is noticed; on a busy machine the fastest of three differ by a tenth

FABRICS = {'tree': ['tree', 'm=16,32', 'w=1,8'], 'dragonfly': ['dragonfly', 'a=8', 'h=4', 'p=4'],
           'random': ['random', 'switches=64', 'links=192', 'hosts=4']}
# (fabric, engine): whole sweep, re-route and check after a cable, both over the searches; entries, blocks.
LIMITS = {
    ('tree', 'dfsssp'): [1.7, 1.22, 1.0, 61.2],
    ('tree', 'dmodk'): [1.2, 2.7, 1.0, 61.2],
    ('dragonfly', 'dfsssp'): [12.7, 20, 1.71, 255.2],
    ('random', 'dfsssp'): [58, 36, 1.05, 44.0],
}


def measure(faults, net, engine):
    run = subprocess.run([faults, '-e', engine, '-n', '5', '-r', '1', net], capture_output=True, text=True, check=True)
    got = json.loads(run.stdout)
    return (got['whole_ms'], got['route_ms'] + got['check_ms'], got['changed'] / max(got['bound'], 1), got['blocks'],
            got['loop_ms'])


def fastest(faults, net, engine, so_far):
    """As a row of LIMITS. Each time's fastest by itself: what else the machine does only adds to them."""
    so_far += [measure(faults, net, engine) for _ in range(PROCESSES if '--times' in sys.argv else 1)]
    sweep, repair, entries, blocks, loop = map(min, zip(*so_far))
    return [round(value, 2) for value in (sweep / loop, repair / loop, entries, blocks)]


def main():
    faults, command = sys.argv[1:3]
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for (fabric, engine), limits in LIMITS.items():
            net = os.path.join(directory, fabric + '.net')
            subprocess.run([command, 'generate', '-o', net] + FABRICS[fabric], check=True)
            so_far = []
            for _ in range(2):
                got = fastest(faults, net, engine, so_far)
                bad = [name for name, g, l in zip(('sweep', 'repair', 'entries', 'blocks'), got, limits)
                       if g > SLACK * l and (name in ('entries', 'blocks') or '--times' in sys.argv)]
                if not bad or '--show' in sys.argv:
                    break
            print('    (%r, %r): %s,' % (fabric, engine, got))
            if bad and '--show' not in sys.argv:
                print('%s: %s worse than %s by %.1f' % (fabric, ' '.join(bad), limits, SLACK))
                failed = 1
    sys.exit(failed)


main()
