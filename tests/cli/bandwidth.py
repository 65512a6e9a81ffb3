# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes route` against a slow program that shares nothing with it but the definitions of
src/traffic/survey.h: cables from the net file, tables from the dumps, packets followed one
by one. Every digit must be the same."""
from command import ask, at, generate, run, same, same_keys, topology
from netfile import Oracle

LFTS = 'opensm-lfts.dump'


def compare(net, engine, patterns, seed):
    run('route', net, '-e', engine, '--dump', at('dump'), '--save', at('saved'))
    # The engine's own tables, and the same read from two files.
    own, *read = ask('route', net, '-e', engine, '--tables', at('dump', LFTS), '--tables', at('saved'), '--bisections', patterns,
                     '--seed', seed)['results']
    for result in own, *read:
        same_keys('%s, %s' % (net, result['tables']), result, Oracle(net, at('dump', LFTS)).bisections(patterns, seed))
    for other in read:
        same_keys(net, other, {k: own[k] for k in ('efi', 'efi_mean', 'sigma', 'mean_hops', 'routes', 'routes_longer')})


# Several columns, each as it is alone, and how many paths differ ------------------------------------

SAME = ('efi', 'efi_mean', 'sigma', 'ebb', 'ebb_half_width', 'mean_hops', 'routes_longer',
        'host_routes_lost')


def differing(one, other):
    """Pairs of hosts with another path, that share, and entries."""
    pairs = [(a, b) for a in one.hosts for b in one.hosts if a != b]
    n = sum(one.path(a, b) != other.path(a, b) for a, b in pairs)
    return {'pairs_changed': n, 'pairs_changed_share': n / len(pairs),
            'entries_changed': sum(one.tables[s][lid] != other.tables[s][lid] for s in one.tables for lid in one.tables[s])}


def columns(net):
    oracle = {}
    for engine in ('sssp', 'dfsssp'):
        run('route', net, '-e', engine, '--dump', at(engine))
        oracle[engine] = Oracle(net, at(engine, LFTS))
    words = ['-e', 'sssp'], ['-e', 'dfsssp'], ['--tables', at('sssp', LFTS)]
    got, *alone = (ask('route', net, '--bisections=20', *more)['results'] for more in (sum(words, []), *words))
    for row, (one,) in zip(got, alone):
        same_keys('%s, %s' % (net, row['tables']), row, {k: one[k] for k in SAME})
    same('%s: the first tables differ from themselves' % net, 'pairs_changed' in got[0], False)
    for row, other in zip(got[1:], ('dfsssp', 'sssp')):
        same_keys('%s, %s' % (net, row['tables']), row, differing(oracle['sssp'], oracle[other]))


GENERATED = [
    ('kary', 'k=4', 'n=3'), ('torus', 'dims=4x4x2', 'hosts=3'), ('kautz', 'b=3', 'n=2', 'hosts=5'),
    ('random', 'switches=24', 'links=60', 'hosts=7', 'seed=3'), ('dragonfly', 'a=4', 'h=2', 'p=2'),
    ('tree', 'm=4,4', 'w=1,2', 'p=1,2'),
]
nets = [topology(n) for n in ('tree-2', 'ring-5', 'torus-4x4', 'parallel', 'dual-port', 'bare-switches', 'cluster-192')]
nets += [generate(*words, name='%d.net' % i) for i, words in enumerate(GENERATED)]
for i, net in enumerate(nets):
    for engine in ('sssp', 'dfsssp'):
        compare(net, engine, 1 + 7 * (i % 4), 1000 + i)
for name in ('torus-4x4', 'cluster-192', 'random-12'):
    columns(topology(name))
print('%d routings: the same bandwidths, to the last digit' % (2 * len(nets)))
