#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes route` says of each of several tables what it says of them alone, and how many paths differ, which is
counted a second time by following them (bandwidth.py).

    compare.py COMMAND ROOT
"""
import json
import os
import sys
import tempfile

from bandwidth import Oracle, run

SAME = ('efi', 'efi_mean', 'sigma', 'ebb', 'ebb_half_width', 'mean_hops', 'routes_longer',
        'host_routes_lost')


def differing(one, other):
    pairs = [(a, b) for a in one.hosts for b in one.hosts if a != b]
    return sum(one.path(a, b) != other.path(a, b) for a, b in pairs), len(pairs)


def entries(one, other):
    return sum(one.tables[s][lid] != other.tables[s][lid]
               for s in one.tables for lid in one.tables[s])


def main():
    command, root = sys.argv[1:]
    n = 0
    for name in ('torus-4x4', 'cluster-192', 'random-12'):
        net = os.path.join(root, 'topologies', name + '.net')
        with tempfile.TemporaryDirectory() as workdir:
            oracle, dumps = {}, {}
            for engine in ('sssp', 'dfsssp'):
                folder = os.path.join(workdir, engine)
                run(command, 'route', net, '-e', engine, '--dump', folder)
                dumps[engine] = os.path.join(folder, 'opensm-lfts.dump')
                oracle[engine] = Oracle(net, dumps[engine])
            columns = ['-e', 'sssp'], ['-e', 'dfsssp'], ['--tables', dumps['sssp']]
            words = [net, '--json', '--bisections=20']
            got = json.loads(run(command, 'route', *words, *sum(columns, [])))['results']
            single = [json.loads(run(command, 'route', *words, *column))['results'][0] for column in columns]
        for a, b in zip(got, single):
            for key in SAME:
                if a[key] != b[key]:
                    sys.exit('%s, %s: %s is %r, and alone %r'
                             % (name, a['tables'], key, a[key], b[key]))
        if 'pairs_changed' in got[0]:
            sys.exit('%s: the first tables differ from themselves' % name)
        changed, pairs = differing(oracle['sssp'], oracle['dfsssp'])
        wanted = [(changed, changed / pairs, entries(oracle['sssp'], oracle['dfsssp'])), (0, 0, 0)]
        for row, want in zip(got[1:], wanted):
            said = tuple(row[k] for k in ('pairs_changed', 'pairs_changed_share', 'entries_changed'))
            if said != want:
                sys.exit('%s, %s: %r differ, and the oracle says %r' % (name, row['tables'], said, want))
            n += 1
    print('%d comparisons: the same paths differ' % n)


if __name__ == '__main__':
    main()
