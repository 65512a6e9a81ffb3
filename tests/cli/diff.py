# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes diff` before and after a cable died, against the same counted by hand from the dumps: entries, paths,
and whether packets that meet old entries on some switches and new ones on others can wait for each other in a
circle. Every packet between hosts is followed through every mixture, on its old SL and on its new one."""
import itertools
import json

from command import at, run, same, same_keys, topology
from dump import Dump
from netfile import cables, strike_out
from oracle import NO_PATH	# dump has found it
from transition import Mixture


def routed(net, name, engine, vls):
    run('route', net, '-e', engine, '--vls=%d' % vls, '--dump', at(name), '--ibdmchk')
    return Dump(at(name)).tables(vls)


def answer(old, new, pairs):
    mixture, columns = Mixture(old, new), [{lid: k for k, lid in enumerate(t.lids)} for t in (old, new)]
    for a, b in pairs:
        for sl in {t.rows[a.lid][column[b.lid]] for t, column in zip((old, new), columns)} - {255}:
            mixture.send(new.switches[a.switch].guid, a.port, b.lid, sl, new.switches[b.switch].guid)
    return 'refuted' if mixture.is_cyclic() else 'proven'


def by_hand(old, new):
    mixture, was = Mixture(old, new), {s.guid: s for s in old.switches}

    def left(s, lid):
        """What leads into the cable that is gone leads nowhere."""
        port = was[s.guid].forward(lid)
        return NO_PATH if port in was[s.guid].next and not mixture.is_old_cable(s.guid, port) else port

    def differs(s, lid):
        return left(s, lid) != s.forward(lid)

    def moved(a, b):
        """Pairs without a path before and after have no other one."""
        passed = new.way(a, b)
        return any(differs(new.switches[v], b.lid) for v, _ in passed) if passed else bool(new.way(a, b, forward=left))

    pairs, sls = list(itertools.permutations([e for e in new.ends if e.host], 2)), [
        {(a, b): sl for a, row in t.rows.items() for b, sl in zip(t.lids, row)} for t in (old, new)]
    return {'pairs': len(pairs),
            'entries_changed': sum(differs(s, lid) for s in new.switches for lid in new.lids),
            'pairs_path': sum(moved(a, b) for a, b in pairs),
            'pairs_sl': sum(new.switches[a.switch].forward(b.lid) != NO_PATH and sls[0][a.lid, b.lid] != sls[1][a.lid, b.lid]
                            for a, b in pairs),
            'deadlock_free': {'old': answer(old, old, pairs), 'new': answer(new, new, pairs), 'between': answer(old, new, pairs)}}


seen = set()
for name, engine, other, vls in (('torus-4x4', 'dfsssp', 'dfsssp', 2), ('ring-5', 'sssp', 'sssp', 1), ('random-12', 'dfsssp', 'p2sssp', 4),
                                 ('dragonfly-12', 'p2sssp', 'dfsssp', 8), ('tree-2', 'dmodk', 'dfsssp', 1)):
    net = topology(name)
    old = routed(net, 'old', engine, vls)
    for cable in cables(net)[::9]:
        with open(at('broken.net'), 'w') as out:
            out.write(strike_out(net, cable))
        new = routed(at('broken.net'), 'new', other, vls)
        if name == 'ring-5':	# a pair that loses its path
            dump = Dump(at('new'))
            dump.lft[next(key for key in dump.lft if key[1] == new.ends[-1].lid)] = NO_PATH
            dump.write(at('new'))
            new = dump.tables(vls)
        done = run('diff', '--json', '--one-way', at('old'), at('new'))
        got = json.loads(done.stdout)['diff']
        what = '%s without %s' % (name, cable)
        found = json.loads(done.stdout)
        same(what, (found['nodes'], [c['kind'] for c in found['cables']]), ([], ['missing']))
        same(what, done.returncode, int('refuted' in (got['deadlock_free']['between'], got['verdict']['new'])))
        # What is left of lost routes is not held against the least load of whole ones.
        same(what, ['new' in got['load'], got['load'].get('old', 0) >= 1], [got['verdict']['new'] != 'refuted' or name != 'ring-5', True])
        same_keys(what, got, by_hand(old, new))
        seen.add(tuple(sorted(got['deadlock_free'].items())))
# Equal entries, with another tree for multicast: what differs is named, and proven where nothing does.
run('generate', 'tree', 'm=4,4,2', 'w=1,3,2', '-o', at('tree.net'))
run('whatif', at('tree.net'), '--links=2', '--seed=1', '--write', at('broken.net'))
run('route', at('broken.net'), '--save', at('broken'))
run('route', at('tree.net'), '--previous', at('broken'), '--save', at('repaired'))
run('route', at('tree.net'), '--save', at('fresh'))
for other, parents in (('repaired', True), ('fresh', False)):
    got = json.loads(run('diff', '--json', '--fabric', at('tree.net'), at('fresh'), at(other)).stdout)['diff']
    same(other, (got['entries_changed'], got['parents_changed'] > 0, got['deadlock_free']['between']),
         (0, parents, 'refuted' if parents else 'proven'))
same('all cases are alike', len(seen) < 3, False)
print('diff counts what is counted by hand; %d different verdicts' % len(seen))
