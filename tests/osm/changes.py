# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Parts of a fabric go and return while opensm runs, all hosts being in one group. After every change: what the switches hold
is judged in full, the group's tree with it; old and new tables mixed can deadlock if the log says so; metrics files say what
the log says; the command makes the same tables of the same fabric, and says what a cable that is pulled would change."""
import os
import re
import shutil

from groups import join, members_of
from judge import QOS, Claims, expect, first, generate, judge, scenario
from metrics import agree
from offline import command, compare
from osmtest import find_fabric, running
from transition import mixed

LIVES = {}	# test -> its lives


def life(test, net, *faults, **more):
    """One more life of a test. faults: (what goes, a function of the tables, and how many switches with it); more: of live()."""
    if test not in LIVES:
        LIVES[test] = []
        scenario(test)(lambda workdir: walk(workdir, test))
    LIVES[test].append((net, faults, more))


def walk(workdir, test):
    """{(were tables kept, are old and new ones free of loops): how often}"""
    counts = {}
    for n, (net, faults, more) in enumerate(LIVES[test]):
        live(os.path.join(workdir, str(n)), net, faults, counts, **more)
    return counts


class Watch:
    """What is looked at after each change. gone: parts that are away, (switch, port) or (switch,)."""

    def __init__(self, fabric, opensm, engine, counts, with_command, proven):
        self.fabric, self.opensm, self.engine, self.counts, self.proven = fabric, opensm, engine, counts, set(proven)
        self.digests, self.single = [], True
        self.net = os.path.join(fabric.dir, 'whole.lst') if with_command else None
        self.tables, self.group, self.start, self.n = None, None, 0, 0

    def join(self, names):
        self.names, groups = names, {join(self.fabric, name) for name in names}
        expect(len(groups) == 1, 'members of one group were told %s' % groups)
        self.group, = groups
        self.opensm.wait_quiet()

    def look(self, gone=()):
        before, log = self.tables, self.opensm.log[self.start:]
        self.tables = judge(self.fabric, self.opensm, ours=self.engine)
        self.start, claims = len(self.opensm.log), Claims(self.opensm.log)
        data = agree(os.path.join(self.fabric.dir, 'metrics'), self.opensm.log)
        expect((data['routed_by'], data['fabric']['channels']) == (self.engine, len(self.tables.channels())),
               'routed by %s, %s' % (data['routed_by'], data['fabric']))
        self.digests.append(claims.digest)
        expect(self.proven <= claims.proven, 'proven: %s' % ', '.join(sorted(claims.proven)))
        if self.group:
            # Those that were away would have to join again.
            self.names = [name for name in self.names if name in {e.name for e in self.tables.ends}]
            problems = self.tables.multicast_problems(self.group[0], members_of(self.tables, self.names))
            expect(not problems, first(problems))
            expect('with multicast' in claims.proven or self.engine == 'sssp', 'multicast is not part of the proof')
        # Of several cables OpenSM may hear one by one, and what it routed between is not known here.
        self.single = self.single and len(gone) < 2 and all(len(part) == 2 for part in gone)
        if before and self.single and len(self.tables.ends) < 80 and self.engine != 'sssp':
            mixed(before, self.tables, log, self.counts)
        if self.single and self.net:
            self.ask_command(gone)
        return self.tables

    def ask_command(self, gone):
        """From OpenSM's own picture of the fabric, with its LIDs."""
        saved = [os.path.join(self.fabric.dir, 'saved-%d' % n) for n in (self.n, self.n + 1)]
        if not self.n:
            shutil.copy(self.opensm.dump('opensm-subnet.lst'), self.net)
        self.n += 1
        with open(self.net) as file:
            lines = [line for line in file if not any(end in gone or end[:1] in gone for end in (
                (name, int(port, 16)) for name, port in re.findall(r'\{([^{}]+)\} LID:\w+ PN:(\w+)', line)))]
        now = self.net + '.now'
        with open(now, 'w') as file:
            file.writelines(lines)
        what = '%s without %s' % (self.net, gone)
        compare(what, self.opensm, now, '--save', saved[1], *(['--previous', saved[0]] if self.n > 1 else []))
        if gone:
            case = command(self.opensm, 'whatif', self.net, '--link', '%s:%d' % gone[0])['cases'][0]
            expect(case['digest'] == Claims(self.opensm.log).digest, what + ': whatif says ' + case['digest'])


def live(workdir, net, faults, counts, engine='dfsssp', conf='', options=(), every=1, with_command=True, proven=(), compare=None):
    """every: so many hosts one is in the group, 0: none. compare: a function of the tables before, during and after."""
    net = net if isinstance(net, str) else generate(os.path.join(workdir, 'fabric.net'), *net)
    os.makedirs(os.path.join(workdir, 'metrics'))
    with running(workdir, find_fabric(net), engine, options=dict(QOS, **dict(options)),
                 plugin_conf='metrics_dir = ../metrics\n' + conf) as (fabric, opensm):
        opensm.wait_quiet()
        watch = Watch(fabric, opensm, engine, counts, with_command, proven)
        before = watch.look()
        if every:
            watch.join(sorted({e.name for e in before.ends if e.host})[::every])
            before = watch.look()
        for parts, *lost in faults:
            parts = [part[:2] for part in parts(before)]
            routed = len(opensm.routed())
            opensm.change(*[fabric.unlink(*part) for part in parts])
            during = watch.look(parts)
            expect(len(before.channels()) > len(during.channels()) or len(before.ends) > len(during.ends), 'nothing went down')
            expect([len(before.switches) - len(during.switches)] == (lost or [0]), 'other switches went than %s' % lost)
            opensm.change(*[fabric.relink(*part) for part in parts])
            after = watch.look()
            expect(len(opensm.routed()) > routed + 1, 'nobody routed')
            expect(len(before.channels()) == len(after.channels()) and before.lids == after.lids, 'not everything came back')
            expect(before.bytes_of_tables(False) == after.bytes_of_tables(False), 'the same fabric is routed otherwise after a fault')
            expect(watch.digests[-3] == watch.digests[-1] != watch.digests[-2], 'digests: %s' % watch.digests)
            if compare:
                compare(before, during, after)
    # MADs that were under way over a cable that went are lost: OpenSM complains, we must not.
    opensm.check_own_log()


def cables(*which):
    return lambda tables: [tables.cables()[i] for i in which]


def each(step, n=None):
    return lambda tables: tables.cables()[step // 2::step][:n]


def spine(tables):
    return [('spine-0',)]


def uplinks(tables):
    """Of a leaf with its hosts; the SM's own leaf is another one."""
    return [l for l in tables.cables() if 'leaf-3' in (l[0], l[2])]


def host(tables):
    leaf = next(s for s in tables.switches if s.name == 'leaf-2')
    return [('leaf-2', min(leaf.hosts))]


def few_move(before, during, after):
    """Hardly an entry changes but those that led to what is gone."""
    was, now = ({(s.guid, lid): t.switches[s.next[s.forward(lid)][0]].guid for s in t.switches for lid in t.lids
                 if s.forward(lid) in s.next} for t in (before, during))
    kept = [k for k in now if k in was and was[k] in during.index]
    moved = sum(was[k] != now[k] for k in kept)
    expect(kept and moved * 20 <= len(kept), '%d of %d entries changed that led elsewhere' % (moved, len(kept)))


def few_sls(before, during, after):
    """Nearly all service levels stay what they were, and all comes back."""
    for then, most in (during, 10), (after, 0):
        pairs = [(sl, then.rows[a][then.lids.index(b)]) for a, row in before.rows.items() if a in then.rows
                 for b, sl in zip(before.lids, row) if b in then.end_of]
        other = sum(a != b for a, b in pairs)
        expect(pairs and other * 100 <= most * len(pairs), '%d of %d pairs have another SL' % (other, len(pairs)))


@scenario('fault.repairs')
def repairs(workdir):
    """Repaired tables, of which some may be mixed with those of before and some may not."""
    counts = walk(workdir, 'repairs')
    expect(counts.get((True, True)) and counts.get((True, False)), 'not both answers: %s' % counts)


LIVES['repairs'] = [('torus-4x4', ((cables(0),), (cables(9),)), {}), ('ring-5', ((cables(1),),), {}),
                    ('tree-2', ((cables(0),), (spine, 1), (uplinks, 1)), {})]


@scenario('fault.full')
def full(workdir):
    """Full routes: by an engine that is told not to keep its tables, and by others."""
    counts = walk(workdir, 'full')
    expect(sum(counts.get((False, free), 0) for free in (True, False)) > 4, 'too few full routes: %s' % counts)


LIVES['full'] = [('random-12', ((cables(0),),), {'conf': '[dfsssp]\nstable = no\n'}), ('ring-5', ((cables(2),),), {'engine': 'p2sssp'}),
                 ('ring-5', ((cables(2),),), {'engine': 'sssp'}),
                 ('torus-4x4', ((cables(2),),), {'engine': 'angara'}), ('tree-2', ((cables(2),),), {'engine': 'dmodk'})]

life('fault.options', 'tree-3', (cables(0),), every=0)
life('fault.options', 'torus-4x4', (cables(0),), options={'qos': 'FALSE'})
life('fault.options', 'random-12', (cables(3),), conf='max_vls = 3\n[dfsssp]\nrebalance = 101\n')
life('fault.options', 'random-12', (cables(0),), options={'max_op_vls': 2, 'disable_multicast': 'TRUE'}, every=0)
life('fault.options', 'tree-2', (uplinks, 1), (host,))
# The engine that chooses; the spine of the lowest GUID: on one lane with and without it.
life('fault.spine', 'tree-2', (spine, 1), engine='osmroutes')
life('fault.spine', 'tree-2', (spine, 1), engine='dmodk', compare=few_move)
life('fault.spine', ('mesh', 'dims=2x1', 'hosts=2'), (cables(0), 1), with_command=False)
life('fault.any-sl', ('random', 'switches=24', 'links=60', 'seed=3'), (cables(0),), conf='[dfsssp]\nany_sl = on\n',
     proven=['deadlock-free', 'replies deadlock-free', 'any SL', 'with multicast'])
life('fault.rates', 'mixed-speeds', (cables(0),))
# A tree with a CA on every switch.
life('fault.cluster', 'cluster-192', (each(7),), every=9)
life('fault.cluster', 'cluster-192', (each(7),), engine='dmodk', every=0)
life('fault.angara', ('torus', 'dims=6x6'), (each(31, 3),), engine='angara', compare=few_sls)
# Irregular ones from the field; a bundle loses a cable.
life('fault.real-fabric', 'plafrim-2013', (cables(3),), every=7)
# Its switches share names, by which the command cannot leave out one's cable.
life('fault.real-fabric', 'psmn-x5-2020', (cables(0),), every=7, with_command=False)
