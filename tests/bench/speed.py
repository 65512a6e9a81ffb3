#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Did something become half as fast, or a repair twice as dear? CPU times of osr-faults over that of breadth-first
searches in the same process, each the fastest of three, and entries over the least any routing could change, and blocks,
for a dead cable; each against what it was when LIMITS was written, tried again before it fails.
speed.py FAULTS OSMROUTES; --show prints LIMITS anew."""
import json
import os
import subprocess
import sys
import tempfile

TRIES = 3
SLACK = 1.6		# a twofold loss is noticed, 1.5 times is noise

FABRICS = {'tree': ['tree', 'm=16,32', 'w=1,8'], 'dragonfly': ['dragonfly', 'a=8', 'h=4', 'p=4'],
           'random': ['random', 'switches=64', 'links=192', 'hosts=4']}
# (fabric, engine): whole sweep, re-route and check after a cable, both over the searches; entries, blocks.
LIMITS = {
    ('tree', 'dfsssp'): [1.95, 1.4, 1.0, 61.2],
    ('tree', 'dmodk'): [1.2, 2.3, 1.14, 67.2],
    ('dragonfly', 'dfsssp'): [31, 30.8, 1.57, 275.8],
    ('random', 'dfsssp'): [103, 37, 1.16, 48.2],
}


def measure(faults, net, engine):
    run = subprocess.run([faults, '-e', engine, '-n', '5', '-r', '1', net], capture_output=True, text=True, check=True)
    got = json.loads(run.stdout)
    return (got['whole_ms'] / got['loop_ms'], (got['route_ms'] + got['check_ms']) / got['loop_ms'],
            got['changed'] / max(got['bound'], 1), got['blocks'])


def main():
    faults, command = sys.argv[1:3]
    failed = 0
    with tempfile.TemporaryDirectory() as directory:
        for (fabric, engine), limits in LIMITS.items():
            net = os.path.join(directory, fabric + '.net')
            subprocess.run([command, 'generate', '-o', net] + FABRICS[fabric], check=True)
            for _ in range(TRIES):
                got = [round(value, 2) for value in measure(faults, net, engine)]
                bad = [name for name, g, l in zip(('sweep', 'repair', 'entries', 'blocks'), got, limits) if g > SLACK * l]
                if not bad or '--show' in sys.argv:
                    break
            print('    (%r, %r): %s,' % (fabric, engine, got))
            if bad and '--show' not in sys.argv:
                print('%s: %s worse than %s by %.1f' % (fabric, ' '.join(bad), limits, SLACK))
                failed = 1
    sys.exit(failed)


main()
