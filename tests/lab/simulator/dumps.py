# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Tables of `osmroutes route --dump` carry packets: what the command has proven never stops, what it has refuted does.

    dumps.py OSMROUTES PROJECT OSR-CREDITS
"""
import json
import os
import subprocess
import sys
import tempfile

import credits as simulator

COMMAND, PROJECT, BINARY = sys.argv[1:]
sys.path.append(os.path.join(PROJECT, 'tests', 'cli'))
from dump import Dump	# noqa: E402

FABRICS = (('torus', 'dims=5x5'), ('torus', 'dims=3x3x3'), ('mesh', 'dims=5x4'), ('hyperx', 'dims=4x4', 'hosts=2'), ('kautz', 'b=2', 'n=3'),
           ('dragonfly', 'a=4', 'h=1', 'p=2'), ('slimfly', 'q=5', 'p=3'), ('kary', 'k=3', 'n=3'),
           ('random', 'switches=12', 'links=20', 'hosts=2', 'seed=5'), ('random', 'switches=20', 'links=28', 'seed=6'))
# None: the default engine with its default options.
ENGINES = (None, 'osmroutes', 'p2sssp', 'angara', 'dmodk', 'sssp')
PACKETS = 40000


def carry(text, good, what, **options):
    """Stops or does not, as it was said; traffic that stops at last may take some seeds."""
    for seed in range(1 if good else 9):
        got = simulator.run(BINARY, [text], packets=PACKETS, buffer=1, seed=seed, **options)
        if got['lost'] or (good and got['stuck']):
            sys.exit('%s: %d packets lost, %d stuck' % (what, got['lost'], got['stuck']))
        if got['stuck']:
            return
    if not good:
        sys.exit('%s: refuted, and %d packets got through nine times' % (what, got['delivered']))


def main():
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for words in FABRICS:
            net, dump = os.path.join(folder, 'net'), os.path.join(folder, 'dump')
            subprocess.run([COMMAND, 'generate', '-o', net, *words], check=True, stdout=subprocess.DEVNULL)
            for engine in ENGINES:
                named = ['-e', engine] if engine else []
                done = subprocess.run([COMMAND, 'route', net, *named, '--dump', dump, '--ibdmchk', '--json'], capture_output=True,
                                      text=True)
                said = json.loads(done.stdout)['results'][0]
                if said['status'] != 'ok':
                    continue
                tables, what = Dump(dump).tables(15), '%s by %s' % (' '.join(words), engine or 'the default')
                text = simulator.text_of(tables, tables.rows)
                # Of the answers to all traffic: hosts alone may be free of what is refuted for switches and hosts.
                hosts = json.loads(subprocess.run([COMMAND, 'check', dump, '--json'], capture_output=True,
                                                  text=True).stdout)['verdict']['answers']
                good = hosts['one_way'] == 'proven'
                carry(text, good, what)
                counts[good] = counts.get(good, 0) + 1
                if hosts['any_sl'] == 'proven':
                    carry(text, True, what + ', on any SL', any_sl=True)
                    counts['any SL'] = counts.get('any SL', 0) + 1
    if min(counts.get(True, 0), counts.get(False, 0), counts.get('any SL', 0)) < 5:
        sys.exit('too few of a kind: %s' % counts)
    print('%d tables proven and carried, %d of them on any SL, %d refuted and stopped' % (
        counts[True], counts['any SL'], counts[False]))


if __name__ == '__main__':
    main()
