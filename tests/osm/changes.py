# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Parts of a fabric go and return while opensm runs, some hosts being in one group. After every change: what the switches hold
is judged in full, the group's tree with it; old and new tables mixed can deadlock if the log says so; metrics files say what
the log says; the command makes the same tables of the same fabric, and says what a cable that is pulled would change. Then fabrics that are hardly one,
and many sweeps in one life of opensm: OSR_SWEEPS says how many; the test does
few, the long run is the same command with more. OSR_POOLS=own leaves every thread its own pool of malloc(), as in operation."""
import itertools
import os
import re
import shutil
from statistics import median

import oracle
from groups import join, members_of
from judge import Claims, command, compare, expect, first, generate, judge, QOS, scenario
from metrics import agree, both
from osmtest import Fabric, find_fabric, Opensm, routed, running, wait_for
from restart import kill
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


def live(workdir, net, faults, counts, engine='dfsssp', conf='', options=(), every=3, with_command=True, proven=(), compare=None):
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
life('fault.cluster', ('--mgmt', 'kary', 'k=4', 'n=2'), (each(7),))
life('fault.cluster', ('--mgmt', 'kary', 'k=4', 'n=2'), (each(7),), engine='dmodk', every=0)
life('fault.angara', ('torus', 'dims=6x6'), (each(31, 3),), engine='angara', compare=few_sls)
# Irregular ones from the field; a bundle loses a cable.
life('fault.real-fabric', 'plafrim-2013', (cables(3),), every=7)
# Its switches share names, by which the command cannot leave out one's cable.
life('fault.real-fabric', 'psmn-x5-2020', (cables(0),), every=7, with_command=False)


@scenario('fault.split')
def split(workdir):
    """avoid_throttled_links leaves two parts: each is routed, no path between them, both named in the log; where options say that
    osmroutes refuses, the next engine has the fabric. The metrics say what happened, why, and who routes now."""
    net = os.path.join(workdir, 'halves.net')
    with open(net, 'w') as file:
        file.write('Switch 4 "left"\n[1] "a"[1]\n[2] "b"[1]\n[3] "right"[3]\n\nSwitch 4 "right"\n[1] "c"[1]\n[2] "d"[1]\n[3] "left"[3]\n\n' +
                   ''.join('Ca 1 "%s"\n[1] "%s"[%d]\n\n' % ca for ca in (('a', 'left', 1), ('b', 'left', 2), ('c', 'right', 1), ('d', 'right', 2))))
    with Fabric(net, workdir) as fabric:
        # One end enabled for more than the other: the link runs at what both do not enable, which OpenSM calls throttled.
        fabric.run(['ibportstate', '-t', '10000', '-D', '0,1', '3', 'speed', '7'])
        for outcome, conf, why, who in (('routed', '', '', 'dfsssp'), ('failed', 'on_split = refuse\n', 'on_split', 'minhop'),
                                        ('refused', 'on_error = refuse\nnonsense = 1\n', 'nonsense', 'minhop')):
            directory = os.path.join(workdir, outcome)
            os.makedirs(directory)
            with Opensm(fabric, 'dfsssp,minhop', plugin=True, options=dict(QOS, avoid_throttled_links='TRUE'), name='by-' + outcome,
                        plugin_conf='metrics_dir = %s\n' % directory + conf) as opensm:
                opensm.wait_up()
                data, tables = both(directory), fabric.tables()
            expect((data['outcome'], data['routed_by'], opensm.engine_used()) == (outcome, who, who) and why in data['message'],
                   '%s: %s' % (outcome, data))
            expect(data['check']['passed'] == ('load' in data) == (not why), 'numbers of nothing: %s' % data)
            expect(not why or any(why in l for l in opensm.errors()), 'the refusal gives no reason')
            if not why:
                expect(data['fabric']['parts'] == 2 and data['routes']['unreachable'] > 0, 'parts')
                named = [l for l in opensm.errors() if 'split into 2 parts' in l]
                expect(named and 'left' in named[0] and 'right' in named[0], 'the log does not name both parts')
                for s, (lid, e) in itertools.product(tables.switches, tables.end_of.items()):
                    here = e.name in ('ab' if s.name == 'left' else 'cd') or e.name == s.name
                    expect((s.forward(lid) != oracle.NO_PATH) == here, '%s sends LID %d of %s to port %d' % (
                        s.name, lid, e.name, s.forward(lid)))


@scenario('fault.back-to-back')
def back_to_back(workdir):
    """Two CAs and a cable: no switch, no engine is called, and the SA names the path."""
    net = os.path.join(workdir, 'pair.net')
    with open(net, 'w') as file:
        file.write('Ca 1 "a"\n[1] "b"[1]\n\nCa 1 "b"\n[1] "a"[1]\n')
    with running(workdir, net, 'dfsssp') as (fabric, opensm):
        data = fabric.read_back()
        lids = sorted(p['lid'] for n in data['nodes'] for p in n['ports'])
        expect(len(lids) == 2 and all(lids), 'LIDs are %s' % lids)
        sls = fabric.path_sls(lids, lids)
        expect(all(set(row) <= set('0123456789abcdef') for row in sls.values()),
               'no path between the two CAs: %s' % sls)
    opensm.check_log()


SETTLED, LONG = 10, 1000	# sweeps after which memory counts, and from which on it may grow by a hundredth
# One pool for all threads. With one for each, which is free to keep what another lacks, stock OpenSM alone grows
# by so many kB in a thousand sweeps of 12 switches (89 measured).
OWN_POOLS = os.environ.get('OSR_POOLS') == 'own'
POOLS = {} if OWN_POOLS else {'MALLOC_ARENA_MAX': '1'}
POOLS_KB = 128 if OWN_POOLS else 0


@scenario('fault.unknown-tables')
def unknown_tables(workdir):
    """Nothing is said of the transition where a switch may hold other tables than the last ones: it has not answered for them; it
    comes back, as a part with cables that stayed active, and OpenSM has forgotten what it holds. After a restart all that is said
    depends on the switches."""
    mute, cache = os.path.join(workdir, 'mute'), {'OSM_CACHE_DIR': os.path.join(workdir, 'cache')}
    os.makedirs(cache['OSM_CACHE_DIR'])
    with Fabric(find_fabric('torus-4x4'), os.path.join(workdir, 'torus'), sim={'OSR_SIM_MUTE': mute}) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, env=cache, plugin_conf='hold_down_after = 0\n') as opensm:
            opensm.wait_up()
            whole = judge(fabric, opensm, ours='dfsssp')

            def change(*commands):
                """What is said of the transition to the tables that change most."""
                mark = len(opensm.log)
                opensm.change(*commands)
                sweeps = [s for s in routed(opensm.log[mark:]) if s['lft']['entries_changed']]
                return max(sweeps, key=lambda s: s['lft']['entries_changed'])['tables']['transition']

            cables = [c[:2] for c in whole.cables()]
            expect(change(fabric.unlink(*cables[0]))['answer'] != 'not checked', 'a cable: nothing is said')
            with open(mute, 'w') as file:
                file.write('19 100\n')
            fabric.console(fabric.unlink(*cables[9]))
            wait_for('tables without an answer', lambda: 'Errors during initialization' in opensm.log, 60, opensm._alive)
            os.remove(mute)
            said = change(fabric.unlink(*cables[20]))
            expect(said['answer'] == 'not checked' and said['why'], 'not answered: %s' % said)
            change(*[fabric.relink(*cables[i]) for i in (0, 9, 20)])
            # Two neighbours, far from the subnet manager, and all cables around them.
            sm = next(s for s in whole.switches for node, _ in s.hosts.values() if node == whole.data['from'])
            near = {sm.name} | {whole.switches[u].name for u, _ in sm.next.values()}
            pair = next({a, b} for a, _, b in whole.cables() if not {a, b} & near)
            around = [c[:2] for c in whole.cables() if len(pair & {c[0], c[2]}) == 1]
            opensm.change(*[fabric.unlink(*cable) for cable in around])
            said = change(*[fabric.relink(*cable) for cable in around])
            expect(said['answer'] == 'not checked' and any(name in said['why'] for name in pair), 'came back: %s' % said)
            opensm.resweep()
            kill(opensm)
            fabric.forget(opensm.process.pid)
        fabric.console(fabric.unlink(*cables[0]))
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, env=cache, name='after') as opensm:
            opensm.wait_up()
            opensm.wait_quiet()
            line = re.findall(r', transition ([^;]*)', opensm.log)
            expect(line and (line[0] == 'can deadlock' or 'if the switches still hold the stored tables' in line[0]), str(line))


@scenario('endurance.memory')
def memory(workdir):
    """Every sweep finds the fabric as it was, or a cable less, or one that has come back."""
    n_sweeps = int(os.environ.get('OSR_SWEEPS', 60))
    with running(workdir, 'random-12', 'dfsssp', env=POOLS) as (fabric, opensm):
        whole = judge(fabric, opensm, ours='dfsssp')
        cables = whole.cables()
        memory = []
        down = None
        for i in range(1, n_sweeps + 1):
            if i % 3 == 1:
                down = cables[i // 3 % len(cables)]
                fabric.console(fabric.unlink(*down[:2]))
            elif i % 3 == 2:
                fabric.console(fabric.relink(*down[:2]))
            opensm.resweep()
            with open('/proc/%d/status' % opensm.process.pid) as file:
                memory.append(int(re.search(r'RssAnon:\s+(\d+)', file.read()).group(1)))
        opensm.wait_quiet()
        expect(opensm.sweeps() > n_sweeps, 'too few sweeps')
        # Anonymous memory after each sweep goes up and down with what a fault needs, as work may not have ended, and with
        # the pools of malloc(); so medians over a tenth of the sweeps are compared, the first with the last.
        kb, limit = memory[SETTLED:], 1.01 if n_sweeps >= LONG else 1.05
        window = max(15, len(kb) // 10)
        early, late = median(kb[:window]), median(kb[-window:])
        print('%.0f kB, the median of the first %d of %d sweeps, %.0f over the last (%+.2f %%), %d to %d in all' %
              (early, window, len(kb), late, (late / early - 1) * 100, min(kb), max(kb)))
        expect(late <= early * limit + POOLS_KB, 'memory grew from %.0f to %.0f kB' % (early, late))
        after = judge(fabric, opensm, ours='dfsssp')
        # The fabric is whole on one lane; idle lanes that repairs took stay in use until the next full route.
        expect(i % 3 == 1 or (not whole.changed(after) and after.rows == whole.rows), 'the first tables have not come back')
    opensm.check_own_log()


# OpenSM's cache of unicast tables ----------------------------------------------------------------

CACHE = dict(QOS, use_ucast_cache='TRUE')
# Of dragonfly-12: no SL of before is lost when the first returns, or when the second dies.
CACHE_CABLES = [('g0-s0', 3), ('g0-s0', 4)]


def cached_tables(fabric, opensm):
    """Routes and credit loops without the sweep's log line: the engine may not have been asked.

    When a leaf goes, OpenSM's cache does not look at routes from spine to spine, which may have led
    through the leaf: LIDs of switches may be lost until the next routing. Then the log must say so,
    and hosts must not be concerned."""
    tables = fabric.tables()
    problems = tables.routes(tables.host_lids).problems
    expect(not problems, first(problems))
    whole = not tables.routes().problems
    expect(whole or any('OR10' in l for l in opensm.errors()), 'LIDs of switches are lost, and the log does not say so')
    rows = tables.ask_sls(fabric)
    lost = [ab for ab in tables.unanswered(rows) if whole or all(tables.end_of[lid].host for lid in ab)]
    expect(not lost, 'no path record for %d pairs, first: %s' % (len(lost), lost[:1]))
    loops = tables.cycles(rows, replies=True, scope='all' if whole else 'hosts')
    expect(not loops, 'credit loops on VLs %s' % loops)
    return tables


@scenario('fault.unicast-cache')
def unicast_cache(workdir):
    """use_ucast_cache: a leaf and a CA go and come back; OpenSM takes the tables from its cache without asking the engine, and
    what it took is checked. The metrics say so."""
    directory = os.path.join(workdir, 'metrics')
    os.makedirs(directory)
    with running(workdir, 'tree-2', 'dfsssp', options=CACHE, plugin_conf='metrics_dir = %s\n' % directory) as (fabric, opensm):
        before = judge(fabric, opensm, ours='dfsssp')
        for parts in [part[:2] for part in uplinks(before)], host(before):
            opensm.change(*[fabric.unlink(*part) for part in parts])
            gone = cached_tables(fabric, opensm)
            expect(len(gone.lids) < len(before.lids), 'nothing went down')
            opensm.change(*[fabric.relink(*part) for part in parts])
            back = cached_tables(fabric, opensm)
            expect(back.lids == before.lids, 'not everything came back')
        data = both(directory)
        # A trap may have caused one more such sweep.
        expect((data['outcome'], data['routed_by'], data['check']['passed']) == ('cached', 'dfsssp', True) and
               data['sweeps']['dfsssp']['cached'] == opensm.log.count('unicast cache checked') > 0, 'metrics: %s' % data)
        expect(back.bytes_of_tables() == before.bytes_of_tables(), 'the tables differ')
    opensm.check_log(expected=('OR10', 'ERR 5', 'ERR 3', 'ERR 1'))


@scenario('fault.unicast-cache-qos')
def unicast_cache_qos(workdir):
    """QoS is switched off and on again at run time. Tables on several lanes are nothing for a fabric whose
    SL2VL tables nobody keeps any more: OpenSM is made to route, although its cache would do."""
    with running(workdir, 'ring-5', 'dfsssp', options=CACHE) as (fabric, opensm):
        judge(fabric, opensm, ours='dfsssp')
        expect(Claims(opensm.log).n_vls > 1, 'one lane was enough: this shows nothing')
        opensm.set_option('qos', 'FALSE')
        opensm.change()
        wait_for('a sweep on one lane', lambda: Claims(opensm.log).budget == 1, 30)
        opensm.wait_quiet()
        expect(any('OR10' in l and 'QoS is off' in l for l in opensm.errors()), 'the cached tables were taken')
        judge(fabric, opensm, ours='dfsssp')
        opensm.set_option('qos', 'TRUE')
        opensm.change()
        cached_tables(fabric, opensm)
    opensm.check_log(expected=('OR10',))


def cycles_of_all(tables, many):
    """VLs with credit loops if packets have the SLs of any of these path records, and replies theirs."""
    deps = oracle.Dependencies(tables)
    for rows in many:
        masks = oracle.SlMasks(tables, rows, True, 'all')
        for k, (lid, nexts, ports, order) in enumerate(tables.trees()):
            deps.add_tree(nexts, ports, order, masks.towards(k, lid))
    return deps.cyclic_vls()


@scenario('fault.unicast-cache-sls')
def unicast_cache_sls(workdir):
    """SLs of before a full route are safe on its tables; then OpenSM takes tables from its cache, without the engine,
    for a CA that goes and comes back; then a cable dies. Through all of that they stay valid."""
    with Fabric(find_fabric('dragonfly-12'), workdir) as fabric:
        fabric.console(fabric.unlink(*CACHE_CABLES[0]))
        with Opensm(fabric, 'dfsssp', plugin=True, options=CACHE, plugin_conf='store = no\n[dfsssp]\nany_sl = off\n') as opensm:
            opensm.wait_up()
            rows = [judge(fabric, opensm, ours='dfsssp').rows]
            opensm.change(fabric.relink(*CACHE_CABLES[0]))
            tables = judge(fabric, opensm, ours='dfsssp')
            rows.append(tables.rows)
            made = [s for s in opensm.routed() if s['tables']['re_route'] == 'full']
            expect(made and not made[-1]['stable']['sls_lost'], 'SLs were lost: %s' % made)
            name, port = next((tables.switches[e.switch].name, e.port) for e in tables.ends
                              if e.host and e.name != fabric.env['SIM_HOST'])
            for change in (fabric.unlink, fabric.relink):
                opensm.change(change(name, port))
                back = cached_tables(fabric, opensm)
            expect('unicast cache checked' in opensm.log, 'nothing was taken from the unicast cache')
            expect(back.lids == tables.lids, 'not everything came back')
            expect(not cycles_of_all(back, rows), 'SLs of before can deadlock on tables of the cache')
            opensm.change(fabric.unlink(*CACHE_CABLES[1]))
            after = judge(fabric, opensm, ours='dfsssp')
            kept = [s for s in opensm.routed() if s['tables']['re_route'] == 'incremental']
            expect(kept and not kept[-1]['stable']['sls_lost'], 'SLs were lost: %s' % kept)
            expect(not cycles_of_all(after, rows + [after.rows]), 'SLs of before can deadlock after a repair')
        opensm.check_log(expected=('OR10', 'ERR 5', 'ERR 3', 'ERR 1'))
