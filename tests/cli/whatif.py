#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes whatif --link` against the same done by hand: the cable is struck out of the net file, what
is left is routed, and the paths before and after are followed (bandwidth.py). The engine is one that
routes anew each time.

    whatif.py COMMAND ROOT
"""
import json
import os
import re
import sys
import tempfile

from bandwidth import Oracle, run

ENGINE = 'p2sssp'


def strike_out(path, ends):
    """The net file without the cable that has these two ends."""
    node, lines = None, []
    for line in open(path):
        m = re.match(r'(?:Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"', line)
        node = m.group(1) if m else node
        m = re.match(r'\[(\d+)\]', line)
        if m and (node, int(m.group(1))) in ends:
            continue
        lines.append(line)
    return ''.join(lines)


def cables(path):
    """Both ends, by id, of every cable between switches."""
    node, found = None, set()
    for line in open(path):
        m = re.match(r'(Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"', line)
        if m:
            kind, node = m.groups()
        m = re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)
        if m and kind == 'Switch':
            found.add(frozenset([(node, int(m.group(1))), (m.group(2), int(m.group(3)))]))
    switches = set(re.findall(r'^Switch\s+\d+\s+"([^"]+)"', open(path).read(), re.M))
    return sorted(sorted(c) for c in found if all(end[0] in switches for end in c))


def tables(command, net, folder):
    run(command, 'route', net, '-e', ENGINE, '--vls=8', '--dump', folder)
    return Oracle(net, os.path.join(folder, 'opensm-lfts.dump'))


def by_hand(command, net, cable, before, workdir):
    broken = os.path.join(workdir, 'broken.net')
    with open(broken, 'w') as out:
        out.write(strike_out(net, cable))
    after = tables(command, broken, os.path.join(workdir, 'after'))
    gone = {tuple(end) for end in cable}
    pairs = [(a, b) for a in before.hosts for b in before.hosts if a != b]
    old = {p: before.path(*p) for p in pairs}
    return {'pairs_gone': 0, 'pairs_lost': 0,
            'pairs_cut': sum(any(step in gone for step in way) for way in old.values()),
            'pairs_path': sum(old[p] != after.path(*p) for p in pairs),
            'entries_changed': sum(before.tables[s][lid] != after.tables[s][lid]
                                   for s in before.tables for lid in before.tables[s])}


def main():
    command, root = sys.argv[1:]
    n = 0
    for name in ('torus-4x4', 'tree-2'):
        net = os.path.join(root, 'topologies', name + '.net')
        with tempfile.TemporaryDirectory() as workdir:
            before = tables(command, net, os.path.join(workdir, 'before'))
            for cable in cables(net)[::5]:
                link = '%s:%d' % cable[0]
                got = json.loads(run(command, 'whatif', net, '-e', ENGINE, '--link', link,
                                     '--json'))['cases'][0]
                for key, want in by_hand(command, net, cable, before, workdir).items():
                    if got[key] != want:
                        sys.exit('%s without %s: %s is %r, and by hand it is %r'
                                 % (name, link, key, got[key], want))
                n += 1
    print('%d cables: what breaks and what changes is what it is by hand' % n)


if __name__ == '__main__':
    main()
