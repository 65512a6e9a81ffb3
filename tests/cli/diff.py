# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes diff` before and after a cable died, against the same counted by hand from the dumps: entries, paths,
and whether packets that meet old entries on some switches and new ones on others can wait for each other in a
circle. Every packet between hosts is followed through every mixture, on its old SL and on its new one."""
import json

from command import at, run, same, same_keys, topology
from dump import Dump, is_cyclic
from netfile import Oracle, cables, strike_out

NONE = 255


class Side(Oracle):
    """One fabric with its tables and SLs. Names of switches are the same before and after."""

    def __init__(self, net, name, engine, vls):
        self.folder = folder = at(name)
        run('route', net, '-e', engine, '--vls=%d' % vls, '--dump', folder, '--ibdmchk')
        super().__init__(net, at(name, 'opensm-lfts.dump'))
        dump = Dump(folder)
        lid_of = {guid: lid for lid, (_, _, guid) in dump.ends.items()}
        self.sls = {(lid_of[guid], lid): sl for (guid, lid), sl in dump.sl.items()}
        self.sl2vl = {(dump.name_of[guid], i, o): table for (guid, i, o), table in dump.sl2vl.items()
                      if guid in dump.n_ports}

    def next(self, switch, port):
        """The switch behind a port, or None."""
        peer = self.cables.get((switch, port))
        return peer[0] if peer and self.kinds[peer[0]] == 'Switch' else None


def waits(fabric, tables, sl2vls, sls, hosts):
    """Dependencies of (channel, VL) for packets between hosts, each switch having one of the tables, and for each
    pair of ports one of the SL2VL tables."""
    after = {}
    for to in hosts:
        lid = fabric.lids[to]
        for sl in range(16):
            todo = [(None, *h) for h in hosts if h != to and
                    any(s.get((fabric.lids[h], lid)) == sl for s in sls)]
            seen = set(todo)
            while todo:
                last, switch, came = todo.pop()
                for port in {t[switch].get(lid, NONE) for t in tables}:
                    if fabric.next(switch, port) is None:
                        continue
                    for vl in {t[switch, came, port][sl] for t in sl2vls if (switch, came, port) in t}:
                        channel = (switch, port, vl)
                        after.setdefault(channel, set())
                        if last:
                            after[last].add(channel)
                        there = (channel, *fabric.cables[switch, port])
                        if there not in seen:
                            seen.add(there)
                            todo.append(there)
    return after


def answer(graph):
    return 'refuted' if is_cyclic([(a, b) for a in graph for b in graph[a]]) else 'proven'


def by_hand(old, new):
    left = {s: {lid: port if (s, port) in new.cables or (s, port) not in old.cables else NONE
                for lid, port in table.items()} for s, table in old.tables.items()}
    pairs = [(a, b) for a in new.hosts for b in new.hosts if a != b]
    lids = set().union(*new.tables.values())
    changed = [(s, lid) for s in new.tables for lid in lids
               if left[s].get(lid, NONE) != new.tables[s].get(lid, NONE)]

    def arrives(tables, a, b):
        switch, seen = a[0], set()
        while switch and switch not in seen:
            seen.add(switch)
            port = tables[switch].get(new.lids[b], NONE)
            if (switch, port) == b:
                return True
            switch = new.next(switch, port)
        return False

    def moved(a, b):
        """Pairs without a path before and after have no other one."""
        switch, lid = a[0], new.lids[b]
        while switch and (arrives(left, a, b) or arrives(new.tables, a, b)):
            port = new.tables[switch].get(lid, NONE)
            if left[switch].get(lid, NONE) != port:
                return True
            switch = new.next(switch, port)
        return False

    return {'cables_gone': 1, 'cables_come': 0, 'switches_gone': 0, 'lids_gone': 0,
            'entries_changed': len(changed),
            'pairs': len(pairs), 'pairs_path': sum(moved(a, b) for a, b in pairs),
            'pairs_sl': sum(new.lids[b] in new.tables[a[0]] and old.sls.get((new.lids[a], new.lids[b])) !=
                            new.sls.get((new.lids[a], new.lids[b])) for a, b in pairs),
            'deadlock_free': {
                'old': answer(waits(old, [old.tables], [old.sl2vl], [old.sls], old.hosts)),
                'new': answer(waits(new, [new.tables], [new.sl2vl], [new.sls], new.hosts)),
                'between': answer(waits(new, [left, new.tables], [old.sl2vl, new.sl2vl],
                                                [old.sls, new.sls], new.hosts))}}


seen = set()
for name, engine, other, vls in (('torus-4x4', 'dfsssp', 'dfsssp', 2), ('ring-5', 'sssp', 'sssp', 1), ('random-12', 'dfsssp', 'p2sssp', 4),
                                 ('dragonfly-12', 'p2sssp', 'dfsssp', 8), ('tree-2', 'dmodk', 'dfsssp', 1)):
    net = topology(name)
    old = Side(net, 'old', engine, vls)
    for cable in cables(net)[::9]:
        with open(at('broken.net'), 'w') as out:
            out.write(strike_out(net, cable))
        new = Side(at('broken.net'), 'new', other, vls)
        done = run('diff', '--json', '--one-way', '--only-hosts', old.folder, new.folder)
        got = json.loads(done.stdout)['diff']
        what = '%s without %s' % (name, cable)
        same(what, done.returncode, int('refuted' in (got['deadlock_free']['between'], got['verdict']['new'])))
        same_keys(what, got, by_hand(old, new))
        seen.add(tuple(sorted(got['deadlock_free'].items())))
same('all cases are alike', len(seen) < 3, False)
print('diff counts what is counted by hand; %d different verdicts' % len(seen))
