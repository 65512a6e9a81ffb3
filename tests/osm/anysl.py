# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Virtual lanes by turn: what switches hold is free of credit loops for senders on any SL, and on SL 0 or
SL 1 for all pairs, as UCX and NCCL send; lanes by SL are not."""
import os
import signal

from judge import QOS, Claims, different_sl2vl, expect, first, generate, judge, scenario
from metrics import read_json
from options import ANY_SL, BY_SL, SPARSE, partitions, row
from osmtest import TOOLS, Fabric, held, Opensm, pause, running, wait_for


def on_one_sl(tables, sl):
    """VLs with credit loops if all packets, replies included, are on one SL."""
    rows = {source: bytes([sl]) * len(row) for source, row in tables.rows.items()}
    return tables.cycles(rows, replies=True)


def sweep(opensm, fabric):
    """The last one is judged, and any SL was proven."""
    tables = judge(fabric, opensm, ours='dfsssp')
    expect({'deadlock-free', 'replies deadlock-free', 'any SL', 'with multicast'} <= Claims(opensm.log).proven, 'any SL is not proven')
    return tables


def lanes_of(tables, sl=0):
    """VLs that switches put packets of this SL on, between switches."""
    return {s.table(i, o)[sl] for s in tables.switches for o in s.next
            for i in set(s.next) | set(s.hosts) if i != o}


def all_lanes(fabric, opensm, tables):
    claims = Claims(opensm.log)
    expect(lanes_of(sweep(opensm, fabric)) == set(range(8)), 'lanes in use: %s' % sorted(lanes_of(tables)))
    expect(claims.n_longer * 100 <= claims.n_routes, '%d of %d routes are longer' % (claims.n_longer, claims.n_routes))


def apart(fabric, opensm, tables):
    """In the switches each of the SLs of two partitions has VLs that the other never takes, and neither can deadlock."""
    vls = [lanes_of(tables, sl) for sl in (0, 3)]
    expect(all(vls) and not vls[0] & vls[1] and len(vls[0] | vls[1]) <= 4, 'VLs of SL 0 and SL 3: %s' % vls)
    expect(not on_one_sl(tables, 0) + on_one_sl(tables, 3), 'senders on SL 0 or SL 3: credit loops')


def loops(fabric, opensm, tables):
    expect(on_one_sl(tables, 0), 'lanes by SL have no loop for senders on SL 0: this tests nothing')


def unheard(fabric, opensm, tables):
    """As where PortInfo was lost: the tables are those that were routed."""
    tables = fabric.tables()
    tables.rows = {lid: bytes(len(tables.lids)) for lid in tables.host_lids}
    expect(Claims(opensm.log).n_vls > 1 and not on_one_sl(tables, 0), 'one lane, or credit loops on SL 0')


# Diameter 2 on two lanes, by default: no longer route, nor more load than any routing must have.
row('any-sl.fabrics', ('slimfly', 'q=5', 'p=4'), options={'max_op_vls': 2}, n_longer=0, efi=208, silent=['warning:'])
# The same fabric with lanes by SL: right for those who ask the SA, wrong for those who do not.
RANDOM = ('random', 'switches=48', 'links=110', 'seed=1')
row('any-sl.fabrics', RANDOM, conf=ANY_SL, options={'max_op_vls': 4}, n_vls=8, look=all_lanes, silent=['warning:'])
row('any-sl.fabrics', RANDOM, conf=BY_SL, look=loops,
    says=['programs that choose an SL themselves .UCX, NCCL. are not covered'])
_classes = partitions(0, 3)
_classes['options']['max_op_vls'] = 3
row('any-sl.fabrics', 'dragonfly-12', conf=ANY_SL, look=apart, **_classes)
# Ports that do not say how many lanes work.
row('any-sl.fabrics', SPARSE, conf=ANY_SL, sim={'OSR_SIM_LACKS': 'operational'}, judged=False, offline=None, look=unheard)


SLVL = 0x17		# the attribute
PORTS = 9		# of each switch of sparse()


def sparse(workdir):
    """A random graph that needs two lanes; all its switches have PORTS ports."""
    return generate(os.path.join(workdir, 'sparse.net'), *SPARSE)


def ups(switch):
    return sorted(set(switch.next) | set(switch.hosts))


def n_pairs(tables):
    return sum(len(ups(s)) * (len(ups(s)) + 1) for s in tables.switches)


@scenario('any-sl.mads')
def mads(workdir):
    """SL2VL MADs: one for each port pair, or at most a fifth of that with wildcards, and the same tables; none
    in a sweep that changes nothing; a few after a fault; no more than that when max_op_vls is lowered by SIGHUP."""
    netfile = sparse(workdir)
    sent, read, fewer = {}, {}, {}
    for name, ports in ('pairs', 0), ('wildcards', PORTS):
        with running(os.path.join(workdir, name), netfile, 'dfsssp',
                     options=dict(QOS, max_op_vls=3, use_optimized_slvl='TRUE'), plugin_conf=ANY_SL,
                     sim={'OSR_SIM_WILDCARDS': str(ports)}) as (fabric, opensm):
            n_hosts = 16	# their tables, one MAD each
            sent[name] = fabric.mads()[0][SLVL][1] - n_hosts
            tables = sweep(opensm, fabric)
            read[name] = [[s.table(i, o) for i in [0] + ups(s) for o in ups(s)] for s in tables.switches]
            opensm.resweep()
            opensm.resweep()
            fabric.mads()
            opensm.resweep()
            expect(fabric.mads()[0][SLVL][1] == 0, 'SL2VL tables sent in a sweep that changes nothing')
            opensm.change(fabric.unlink(*tables.cables()[5][:2]))
            expect(fabric.mads()[0][SLVL][1] < sent['pairs'] / 4, 'more than a quarter sent after one fault')
            sweep(opensm, fabric)
            # OpenSM takes VLs from the ports after it has sent SL2VL, but no table names one of those that go.
            fabric.mads()
            opensm.set_option('max_op_vls', '2')
            opensm.change()
            fewer[name] = fabric.mads()[0][SLVL][1]
            tables = sweep(opensm, fabric)
            problems = tables.sl2vl_problems(range(16))
            expect(not problems, '%s: %s' % (name, first(problems)))
            opensm.change()
            changed = different_sl2vl(tables, sweep(opensm, fabric))
            expect(not changed, '%s: the next sweep changes %s' % (name, first(changed)))
        opensm.check_log()
    expect(sent['pairs'] >= n_pairs(tables), '%d MADs for %d port pairs' % (sent['pairs'], n_pairs(tables)))
    expect(sent['wildcards'] * 5 < sent['pairs'] and fewer['wildcards'] * 2 < fewer['pairs'], 'MADs: %s, %s' % (sent, fewer))
    expect(read['pairs'] == read['wildcards'], 'wildcards have left other tables')


@scenario('any-sl.port-was-down')
def port_was_down(workdir):
    """Nobody asks a switch for the SL2VL tables of a port that is down, and OpenSM believes them to be all 0: when it
    comes up they are sent, whatever the switch was told before."""
    options = dict(QOS, max_op_vls=2)

    def of_port(fabric, cable):
        """{output port: table} of what comes in by the cable."""
        switch = next(s for s in fabric.tables().switches if s.name == cable[0])
        return {o: bytes(switch.table(cable[1], o)) for o in switch.next if o != cable[1]}

    with Fabric(sparse(workdir), workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, plugin_conf=ANY_SL, options=options) as opensm:
            opensm.wait_up()
            cables = [c[:2] for c in fabric.tables().cables()]
            cable = max(cables, key=lambda c: list(of_port(fabric, c).values()).count(bytes(16)))
            wanted = of_port(fabric, cable)
        expect(bytes(16) in wanted.values(), 'no table is all 0: %s' % wanted)
        with Opensm(fabric, 'minhop', options=dict(options, qos_sl2vl=','.join(['1'] * 16))) as stock:
            stock.wait_up()
        expect(set(of_port(fabric, cable).values()) == {b'\1' * 16}, 'what stock has set is not all 1')
        fabric.console(fabric.unlink(*cable))
        with Opensm(fabric, 'dfsssp', plugin=True, plugin_conf=ANY_SL + 'stable = no\n', options=options) as opensm:
            opensm.wait_up()
            opensm.hear(fabric.relink(*cable))
            held = of_port(fabric, cable)
            expect(held == wanted, 'held %s, not %s' % (held, wanted))
            sweep(opensm, fabric)
            opensm.check_log()


def halt_at(fabric, opensm, method, n, attribute='15'):
    """opensm stands still with its Nth request from now on that gets (1) or sets (2) PortInfo, or another attribute; what is returned
    waits for it."""
    halt = fabric.sim['OSR_SIM_HALT']
    with open(halt + '.new', 'w') as file:
        file.write('%d %s %d %d\n' % (method, attribute, n, opensm.process.pid))
    os.rename(halt + '.new', halt)

    def wait():
        wait_for('a halt', lambda: not os.path.exists(halt), 30, opensm._alive)
        pause(0.1)

    return wait


def sm_switch(tables):
    return next(i for i, s in enumerate(tables.switches) for node, _ in s.hosts.values() if node == tables.data['from'])


def two_neighbours(tables):
    """Not the switch of the SM, and without them the others hold together."""
    for a, s in enumerate(tables.switches):
        for b, _ in s.next.values():
            reached, todo = {sm_switch(tables)}, [sm_switch(tables)]
            while todo:
                new = {u for u, _ in tables.switches[todo.pop()].next.values()} - reached - {a, b}
                reached |= new
                todo += new
            if sm_switch(tables) not in (a, b) and len(reached) == len(tables.switches) - 2:
                return a, b


def around(tables, away):
    """The cables that make an island of these switches while they are down."""
    return [(tables.switches[a].name, p) for a in away for p, (u, _) in tables.switches[a].next.items() if u not in away]


def all_zero(tables, away):
    """A pair of ports of each switch of an island, (switch, in, out), where VL 0 is wanted on all SLs: out to another switch
    of the island, in from one if the switch is in the midst of it, else from a host."""
    for a in away:
        s = tables.switches[a]
        inner = [p for p, (u, _) in s.next.items() if u in away]
        into = inner if len(inner) == len(s.next) else s.hosts
        yield from [(a, i, o) for i in into for o in inner if i != o and not any(s.table(i, o))][:1]


@scenario('any-sl.island')
def island(workdir):
    """Switches are out of reach, where another SM writes a table in each. All their cables return before opensm looks, and
    it is asked for a sweep while it discovers them: so it discovers once more, and then nothing in its new objects says that
    their ports were ever away. Two neighbours, which both lose cables, and all switches but the SM's, most of which lose
    none. With and without an enhanced port 0."""
    for kind in [], ['--enhanced']:
        folder = os.path.join(workdir, 'island' + ''.join(kind))
        os.makedirs(folder, exist_ok=True)
        net = generate(os.path.join(folder, 'sparse.net'), *SPARSE, *kind)
        with running(folder, net, 'dfsssp', options=dict(QOS, max_op_vls=2),
                     plugin_conf='ask_switches = no\n' + ANY_SL + 'stable = no\n',
                     sim={'OSR_SIM_HALT': os.path.join(folder, 'halt')}) as (fabric, opensm):
            before = fabric.tables()
            everywhere = set(range(len(before.switches)))
            for away in two_neighbours(before), everywhere - {sm_switch(before)}:
                cut = around(before, away)
                spoilt = list(all_zero(before, away))
                edge = {name for name, _ in cut}
                expect(len(away) == 2 or any(before.switches[a].name not in edge for a, _, _ in spoilt), 'only the edge is spoilt')
                with held(opensm):
                    for a, i, o in spoilt:
                        fabric.run([os.path.join(TOOLS, 'osr-spoil'), before.switches[a].guid, 'sl2vl', str(i), str(o), '0', '1'])
                    fabric.console(*[fabric.unlink(*cable) for cable in cut])
                opensm.change()
                expect(len(fabric.tables().switches) == len(before.switches) - len(away), 'nothing was out of reach')
                with held(opensm):
                    fabric.console(*[fabric.relink(*cable) for cable in cut])
                    wait = halt_at(fabric, opensm, 1, 3)
                wait()
                opensm.process.send_signal(signal.SIGHUP)
                opensm.process.send_signal(signal.SIGCONT)
                opensm.wait_quiet()
                after = sweep(opensm, fabric)
                wrong = [(after.switches[a].name, i, o) for a, i, o in spoilt if any(after.switches[a].table(i, o))]
                expect(not wrong, '%s, %d switches: tables of another SM are left: %s' % (kind, len(away), wrong))
        opensm.check_own_log()


def restart(fabric, switch):
    """A switch loses its tables, and its cables go down and up; opensm must not run meanwhile."""
    ports = sorted(set(switch.next) | set(switch.hosts))
    fabric.run([os.path.join(TOOLS, 'osr-spoil'), switch.guid, 'reset'])
    fabric.console(*[fabric.unlink(switch.name, p) for p in ports], *[fabric.relink(switch.name, p) for p in ports])


@scenario('any-sl.restart-in-sweep')
def restart_in_sweep(workdir):
    """A switch restarts after a sweep has read its ports, and OpenSM then writes to one of them: this very sweep makes all
    of them active, so that no discovery finds one that is not. All tables have to come back, where OpenSM sends them and
    where osmroutes does, those to port 0 included."""
    for words, by_turn in (['torus', 'dims=3x3'], False), (['torus', 'dims=3x3', '--enhanced'], False), (['torus', 'dims=5x5'], True):
        folder = os.path.join(workdir, '-'.join(words))
        os.makedirs(folder, exist_ok=True)
        net = generate(os.path.join(folder, 'fabric.net'), *words)
        with running(folder, net, 'dfsssp', plugin_conf=ANY_SL,
                     sim={'OSR_SIM_HALT': os.path.join(folder, 'halt')}) as (fabric, opensm):
            opensm.change()
            before = fabric.tables()
            expect((len(lanes_of(before)) > 1) == by_turn, 'lanes: %s' % lanes_of(before))
            switch = before.switches[len(before.switches) // 2]
            for n in 1, 20:
                wait = halt_at(fabric, opensm, 2, n)
                opensm.process.send_signal(signal.SIGHUP)
                wait()
                restart(fabric, switch)
                opensm.process.send_signal(signal.SIGCONT)
                opensm.wait_quiet()
                opensm.change()
                wrong = different_sl2vl(before, fabric.tables())
                expect(not wrong, '%s, Set %d: %s' % (' '.join(words), n, first(wrong)))
            sweep(opensm, fabric)
        opensm.check_own_log()


@scenario('any-sl.restart-in-discovery')
def restart_in_discovery(workdir):
    """A switch beside the SM's restarts after a discovery has read some of its ports, or all, and before it has read its
    neighbours; the traps are lost. This discovery sees the marks of the neighbours and clears them, the next one that of the
    switch alone. All tables come back."""
    silent = os.path.join(os.path.abspath(workdir), 'silent')
    for kind in [], ['--enhanced']:
        folder, n_stale = os.path.join(workdir, 'torus' + ''.join(kind)), 0
        net = generate(os.path.join(folder, 'fabric.net'), 'torus', 'dims=3x3', *kind)
        with running(folder, net, 'dfsssp', sim={'OSR_SIM_HALT': os.path.join(folder, 'halt'), 'OSR_SIM_SILENT': silent}) as (fabric, opensm):
            before = fabric.tables()
            switch = before.switches[min(u for u, _ in before.switches[sm_switch(before)].next.values())]
            for n in 20, 23, 26, 29:
                opensm.change()	# which sees no mark
                wait = halt_at(fabric, opensm, 1, n)
                opensm.process.send_signal(signal.SIGHUP)
                wait()
                with open(silent, 'w') as file:
                    file.write('2 0\n')
                restart(fabric, switch)
                os.remove(silent)
                opensm.process.send_signal(signal.SIGCONT)
                opensm.wait_quiet()
                n_stale += bool(different_sl2vl(before, fabric.tables()))
                opensm.change()
                wrong = different_sl2vl(before, fabric.tables())
                expect(not wrong, '%s, PortInfo %d: %s' % (kind, n, first(wrong)))
            expect(n_stale, 'the discovery has seen all restarts')
            judge(fabric, opensm, ours='dfsssp')
        opensm.check_own_log()


@scenario('any-sl.unanswered')
def unanswered(workdir):
    """Cables die, and what switches answer to their new SL2VL tables is lost; they return, and of many tables all VL 0 is
    wanted again. OpenSM's copy must not say that they are so."""
    mute = os.path.join(workdir, 'mute')

    def held(fabric):
        """{(switch, in, out): table} of pairs of cables."""
        return {(s.name, i, o): bytes(s.table(i, o)) for s in fabric.tables().switches
                for i in s.next for o in s.next if i != o}

    with running(workdir, sparse(workdir), 'dfsssp', options=dict(QOS, max_op_vls=2),
                 plugin_conf=ANY_SL + 'stable = no\n',
                 sim={'OSR_SIM_MUTE': mute}) as (fabric, opensm):
        wanted = held(fabric)
        cables = [c[:2] for c in fabric.tables().cables()][::9]
        with open(mute, 'w') as file:
            file.write('17 100\n')
            file.flush()
            for cable in cables:
                fabric.console(fabric.unlink(*cable))
            wait_for('tables without an answer', lambda: 'OR19' in opensm.log, 60, opensm._alive)
        n = sum(wanted[pair] == bytes(16) != table for pair, table in held(fabric).items())
        expect(n >= 4, '%d tables are not all 0 any more' % n)
        for cable in cables:
            fabric.console(fabric.relink(*cable))
        os.remove(mute)
        opensm.wait_quiet(still=2)
        wrong = [pair for pair, table in held(fabric).items() if table != wanted[pair]]
        expect(not wrong, '%d tables that nobody wants: %s' % (len(wrong), wrong[:3]))


def refused(workdir, how, ports):
    sim = {'OSR_SIM_REFUSE': how, 'OSR_SIM_WILDCARDS': str(ports)}
    name = '%s-%d' % (how.replace(':', '-'), ports)
    with Fabric(sparse(workdir), os.path.join(workdir, name), sim=sim) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, plugin_conf='metrics_dir = %s\n' % fabric.dir + ANY_SL,
                    options=dict(QOS, max_op_vls=2, use_optimized_slvl='TRUE')) as opensm:
            opensm.wait_up()
            tables = fabric.tables()
            # What the next sweep does not confirm either.
            wait_for('an error', lambda: 'OR19' in opensm.log, 30, opensm._alive)
            opensm.wait_quiet()
            metric = read_json(fabric.dir)['refused']['sl2vl_tables']
        return tables, [l for l in opensm.errors() if 'OR19' in l], metric


@scenario('any-sl.refused')
def refused_tables(workdir):
    """Whatever a switch does with a table that it does not take: one error line names it and the ports."""
    for how in 'status', 'kept':
        tables, lines, metric = refused(workdir, how + ':2:3', 0)
        # ibsim's tables are SL = VL before anybody sends others.
        bad = [s for s in tables.switches if {2, 3} <= set(ups(s)) and len(set(s.table(2, 3)[:2])) > 1]
        expect(bad and metric == len(bad), '%s: metric %s, %d switches' % (how, metric, len(bad)))
        expect(len(lines) == 1 and 'input port 2 output port 3' in lines[0] and bad[0].name in lines[0],
               '%s: %s' % (how, lines))
    for how, ports in ('lie', 0), ('status', PORTS):
        tables, lines, metric = refused(workdir, how + ':-1:-1', ports)
        expect(len(lines) == 1 and metric == n_pairs(tables),
               '%s: %s of %d pairs: %s' % (how, metric, n_pairs(tables), lines))
