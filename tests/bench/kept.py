#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Single dead cables after which lanes by turn are kept without a full route, on fabrics that no search was tuned on.

    kept.py BUILD [--update=PAGE]

Default engine, any_sl = auto, multicast; fabrics that have lanes by SL are left out.
"""
import json
import os
import subprocess
import sys
import tempfile

CABLES = 20
LANES = ((2, []), (4, []), (4, ['-c', '2']))
KINDS = [('random, 40 switches, 60 links', 'random switches=40 links=60 hosts=2 degree=4 seed=%d', range(101, 109)),
         ('random, 64 switches, 96 links', 'random switches=64 links=96 seed=%d', range(101, 107)),
         ('random, 64 switches, 128 links', 'random switches=64 links=128 seed=%d', range(101, 107)),
         ('random, 128 switches, 300 links', 'random switches=128 links=300 seed=%d', range(101, 104)),
         ('Kautz, b=2 n=5 and b=3 n=4', 'kautz %s', ('b=2 n=5', 'b=3 n=4')),
         ('Slim Fly, q=5 and q=7', 'slimfly q=%d', (5, 7)),
         ('dragonfly, a=4 h=2 and a=6 h=3', 'dragonfly %s', ('a=4 h=2 p=2', 'a=6 h=3 p=1')),
         ('torus, 6x6, 5x5x5 and 6x6x6', 'torus dims=%s', ('6x6', '5x5x5', '6x6x6'))]


def count(build, words, vls, more):
    with tempfile.NamedTemporaryFile(suffix='.net') as net:
        subprocess.run([os.path.join(build, 'src/cli/osmroutes'), 'generate', '-o', net.name] + words.split(), check=True)
        run = subprocess.run([os.path.join(build, 'tests/bench/osr-faults'), '-k', '-n', str(CABLES), '-s', '9', '-o',
                              'max_vls=%d' % vls] + more + [net.name], capture_output=True, text=True, check=True)
    result = json.loads(run.stdout)
    return (result['kept'], CABLES) if result['any_sl'] else (0, 0)


def main():
    build = sys.argv[1]
    lines = ['| fabric | 2 VLs | 4 VLs | 4 VLs, two classes of SLs |', '|---|---|---|---|']
    for name, words, values in KINDS:
        sums = [[sum(n) for n in zip(*(count(build, words % v, vls, more) for v in values))] for vls, more in LANES]
        lines.append('| %s | %s |' % (name, ' | '.join('%d of %d' % tuple(s) for s in sums)))
        print(lines[-1], flush=True)
    for page in (a.split('=', 1)[1] for a in sys.argv[2:] if a.startswith('--update=')):
        with open(page) as file:
            before, mark, rest = file.read().partition('<!-- begin kept -->\n')
        with open(page, 'w') as file:
            file.write(before + mark + '\n'.join(lines) + '\n<!-- end kept -->' + rest.partition('<!-- end kept -->')[2])


if __name__ == '__main__':
    main()
