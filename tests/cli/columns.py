# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Several columns of `osmroutes route`: each as it is alone, tables of an engine as they are read from two kinds of files, and
how many paths differ, counted a second time."""
from command import ask, at, run, same, same_keys, topology
from netfile import Oracle

LFTS = 'opensm-lfts.dump'
SAME = ('efi', 'efi_mean', 'sigma', 'ebb', 'ebb_half_width', 'mean_hops', 'routes', 'routes_longer', 'host_routes_lost')


def differing(one, other):
    """Pairs of hosts with another path, that share, and entries."""
    pairs = [(a, b) for a in one.hosts for b in one.hosts if a != b]
    n = sum(one.path(a, b) != other.path(a, b) for a, b in pairs)
    return {'pairs_changed': n, 'pairs_changed_share': n / len(pairs),
            'entries_changed': sum(one.tables[s][lid] != other.tables[s][lid] for s in one.tables for lid in one.tables[s])}


def columns(net):
    oracle = {}
    for engine in ('sssp', 'dfsssp'):
        run('route', net, '-e', engine, '--dump', at(engine), '--save', at(engine + '.saved'))
        oracle[engine] = Oracle(net, at(engine, LFTS))
    words = ['-e', 'sssp'], ['-e', 'dfsssp'], ['--tables', at('sssp', LFTS)], ['--tables', at('sssp.saved')]
    got, *alone = (ask('route', net, '--bisections=20', *more)['results'] for more in (sum(words, []), *words))
    for row, (one,) in zip(got, alone):
        same_keys('%s, %s' % (net, row['tables']), row, {k: one[k] for k in SAME})
    for row in got[2:]:
        same_keys('%s, %s' % (net, row['tables']), row, {k: got[0][k] for k in SAME})
    same('%s: the first tables differ from themselves' % net, 'pairs_changed' in got[0], False)
    for row, other in zip(got[1:], ('dfsssp', 'sssp', 'sssp')):
        same_keys('%s, %s' % (net, row['tables']), row, differing(oracle['sssp'], oracle[other]))


for name in ('torus-4x4', 'cluster-192', 'random-12'):
    columns(topology(name))
