# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""chance.py OSMROUTES [N [SEED [FIRST]]]

Random fabrics, engines and budgets of virtual lanes: N sets of tables (default 60, from number FIRST on), each
judged a second time from its dump alone. The dump is read here, every packet is sent through the tables hop by hop, and what comes
out must be what `osmroutes check` says of the same files and what `osmroutes route` has said: faults, credit
loops one way and with replies, routes longer than a breadth-first search, hops, edge forwarding index. Each is
then made wrong in one place, and judged twice again (mutants.py).
"""
import collections
import random
import sys

import mutants
from command import ask, at, generate
from dump import Dump
from netfile import SplitMix

N, SEED, FIRST = (int(word) for word in sys.argv[2:] + [60, 7, 0][len(sys.argv) - 2:])
ENGINES = ('sssp', 'dfsssp', 'p2sssp', 'dmodk', 'angara')


def words_of_fabric(rng):
    """What `osmroutes generate` is asked for: small, for the judge knows only brute force."""
    kind = rng.choice(('random', 'random', 'random', 'torus', 'mesh', 'hyperx', 'tree', 'kary', 'dragonfly',
                       'hypercube', 'kautz'))
    dims = 'x'.join(str(rng.randint(2, 4)) for _ in range(rng.randint(1, 2)))
    if kind == 'random':
        n = rng.randint(2, 12)
        return [kind, 'switches=%d' % n, 'links=%d' % rng.randint(n - 1, 2 * n), 'parallel=yes',
                'hosts=%d' % rng.randint(1, 2), 'seed=%d' % rng.randint(1, 10 ** 9)]
    if kind in ('torus', 'mesh', 'hyperx'):
        return [kind, 'dims=' + dims, 'hosts=%d' % rng.randint(1, 2)]
    if kind == 'tree':
        return [kind, 'm=%d,%d' % (rng.randint(2, 4), rng.randint(2, 4)), 'w=1,%d' % rng.randint(1, 3)]
    return [kind] + {'kary': ['k=2', 'n=%d' % rng.randint(2, 3)], 'dragonfly': ['a=2', 'h=1', 'p=1'],
                     'hypercube': ['n=%d' % rng.randint(1, 4)], 'kautz': ['b=2', 'n=2']}[kind]


def split_of(tables):
    """Bandwidth by the LIDs that programs use, part by part, on the bisections of osmroutes/split.h."""
    hosts = sorted((e for e in tables.ends if e.host), key=lambda e: (e.switch, e.port))
    n_lids, half, ways = max(len(e.lids) for e in hosts), len(hosts) // 2, {}
    order, draws, sums = SplitMix(1), SplitMix(2), collections.Counter()
    n = min(400, max(12, 40000 // len(hosts)))

    def way(a, b, part):
        key = a.switch, b.lids[part % len(b.lids)]
        if key not in ways:
            ways[key] = tables.way(a, b, part % len(b.lids))[:-1]
        return ways[key]

    def measure(name, flows):
        load = collections.Counter(c for flow in flows for c in sum(flow, []))
        for flow in flows:
            shares = [min([1] + [len(flow) / load[c] for c in part]) for part in flow]
            sums[name] += min(shares)
            sums['free'] += sum(shares) / len(shares) if name == 'all' else 0

    for _ in range(n):
        order.shuffle(hosts)
        pairs = list(zip(hosts[:half], hosts[half:]))
        for name, parts in (('first', 1), ('two', 2), ('all', n_lids)):
            measure(name, [[way(a, b, i) for i in range(parts)] for a, b in pairs])
        measure('one', [[way(a, b, draws.below(n_lids))] for a, b in pairs])
    return {'split': {'lids': n_lids, **{name: total / n / half for name, total in sums.items()}}}


def numbers(dump):
    """Routes from every switch to every LID, and the load of every channel by routes between hosts."""
    tables = dump.tables(8)
    verdict = tables.routes()
    efi, mean = tables.edge_forwarding_index()
    several = {}
    if sum(e.host for e in tables.ends) > 1 and len(tables.lids) > len(tables.ends):
        several = {'efi_all': tables.edge_forwarding_index(all_lids=True)[0], **split_of(tables)}
    return {'routes': verdict.n_routes, 'routes_longer': verdict.n_longer,
            'max_hops': verdict.max_hops, 'efi': efi, 'efi_mean': mean, **several}


def agree(what, mine, theirs):
    for key, value in mine.items():
        if isinstance(value, dict):
            agree(what + ', ' + key, value, theirs[key])
        elif abs(theirs[key] - value) > 2e-6:
            sys.exit('%s: %s is %s here, %s there' % (what, key, value, theirs[key]))


def one(i, rng, counts):
    words, engine, vls = words_of_fabric(rng), rng.choice(ENGINES), rng.randint(1, 8)
    if words[0] in ('tree', 'kary') and rng.random() < 0.5:
        engine = 'dmodk'
    lmc = rng.choice((0, 0, 1, 2))
    what = 'case %d: %s, %s, %d VLs, LMC %d' % (i, ' '.join(words), engine, vls, lmc)
    said = ask('route', '-e', engine, '--vls=%d' % vls, '--lmc=%d' % lmc, '--dump', at('dump'), '--ibdmchk', generate(*words))['results'][0]
    if said['status'] != 'ok':
        counts['refused'] += 1
        if not said['message']:
            sys.exit(what + ': refused without a sentence')
        return
    dump = Dump(at('dump'))

    def look(judge, report):
        mine = numbers(dump)
        agree(what + ', check', mine, report['verdict'])
        agree(what + ', route', mine, said)
        loops = judge.cyclic('one_way'), judge.cyclic('replies')
        for claim, loop in zip(('deadlock_free', 'reversible'), loops):
            if said['proven'][claim] and loop:
                sys.exit('%s: %s is claimed, and there is a loop' % (what, claim))
        if said['proven']['minimal'] != (mine['routes_longer'] == 0):
            sys.exit('%s: minimal is %s' % (what, said['proven']['minimal']))

    wrong = mutants.compare(dump, what, look)
    if wrong and said['proven']['reversible']:
        sys.exit(what + ': wrong tables')
    counts[engine] += 1
    mutant, mutate = dump.copy(), rng.choice(mutants.KINDS)
    try:
        if mutate.__name__.startswith('multicast'):
            mutant.multicast_tree(rng)
        mutate(mutant, rng)
    except (IndexError, ValueError):
        return	# too small a fabric for this mistake
    if mutants.compare(mutant, '%s, %s' % (what, mutate.__name__)):
        counts['mutants found wrong'] += 1
    counts['mutants'] += 1


counts = collections.Counter()
for i in range(FIRST, FIRST + N):
    one(i, random.Random('%d/%d' % (SEED, i)), counts)
print('%d fabrics: %s' % (N, ', '.join('%d %s' % (n, k) for k, n in sorted(counts.items()))))
if N >= 60 and any(not counts[e] for e in ENGINES):
    sys.exit('an engine was never tried')
