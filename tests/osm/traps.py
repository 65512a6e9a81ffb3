# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""From a trap to tables without a discovery: what is done, what is left to OpenSM, and that both are right."""
import contextlib
import os
import re

from judge import QOS, Claims, check_loops, expect, first, judge, scenario
from osmtest import Fabric, Opensm, find_fabric, held, wait_for

LFT = 0x19	# the attribute
DONE = r'osmroutes: trap: (\d+) cables? down \(.*\): (\d+) LFT blocks sent'
LEFT = r'osmroutes: trap: \w+ waits for the normal sweep: (.*)'


def lines(opensm, pattern):
    return re.findall(pattern, opensm.log)


def gate_of(fabric):
    """While this file is there discoveries wait, for a look at what is in the switches then."""
    return os.path.join(fabric.dir, 'gate')


def clocked(fabric, engine, options=None, **kwargs):
    env = {'OSR_CLOCK_GATE': gate_of(fabric)}
    return Opensm(fabric, engine, plugin=True, env=env,
                  options=dict(QOS, event_plugin_name='osmroutes osrprobe', **(options or {})), **kwargs)


def every_cable(workdir, netfile, engine, step):
    """One cable in so many after the other, among them those that the SM's own directed paths run over: new tables are sent,
    right and free of credit loops before OpenSM has discovered anything, and the discovery changes none. Blocks are sent that
    differ, each once but for MADs that are lost."""
    sent = said = 0
    with Fabric(find_fabric(netfile), workdir, sim={}) as fabric:
        with clocked(fabric, engine) as opensm:
            opensm.wait_up()
            whole = judge(fabric, opensm, ours=engine.replace('osmroutes-', ''))
            for name, port, _ in whole.cables()[::step]:
                done, sweeps = len(lines(opensm, DONE)), opensm.sweeps()
                open(gate_of(fabric), 'w').close()
                fabric.mads()
                fabric.console(fabric.unlink(name, port))
                wait_for('tables after the trap', lambda: len(lines(opensm, DONE)) > done, 20, opensm._alive)
                sent += fabric.mads()[0][LFT][1]
                said += int(lines(opensm, DONE)[-1][1])
                tables = fabric.tables()
                verdict = tables.routes()
                expect(not verdict.problems, 'before the discovery: ' + first(verdict.problems))
                check_loops(fabric, tables, {'deadlock-free', 'replies deadlock-free'})
                expect(opensm.sweeps() == sweeps, 'the discovery was over before all was seen')
                os.unlink(gate_of(fabric))
                wait_for('the sweep after a trap', lambda: opensm.sweeps() > sweeps, 60, opensm._alive)
                opensm.wait_quiet()
                expect(Claims(opensm.log).changed == 0, 'the discovery changed %d entries' %
                       Claims(opensm.log).changed)
                judge(fabric, opensm, ours=engine.replace('osmroutes-', ''))
                left = len(lines(opensm, LEFT))
                opensm.hear(fabric.relink(name, port))
                expect(len(lines(opensm, LEFT)) > left, 'a new link was not left to the discovery')
                judge(fabric, opensm, ours=engine.replace('osmroutes-', ''))
        opensm.check_own_log()
    expect(said <= sent <= said * 1.1 + 1, '%d LFT blocks sent, and %d said' % (sent, said))


for _name, *_case in (('torus', 'torus-4x4', 'dfsssp', 9), ('tree', 'tree-3', 'dfsssp', 7), ('dmodk', 'tree-2', 'osmroutes-dmodk', 5),
                      ('random', 'random-12', 'osmroutes-p2sssp', 7)):
    scenario('trap.' + _name)(lambda workdir, case=_case: every_cable(workdir, *case))


def beside_the_sm(tables):
    """A switch next to that of the SM, and two of its other cables."""
    at = next(i for i, s in enumerate(tables.switches) for node, _ in s.hosts.values() if node == tables.data['from'])
    switch = tables.switches[next(iter(tables.switches[at].next.values()))[0]]
    return switch, *sorted(port for port, (far, _) in switch.next.items() if far != at)[:2]


@contextlib.contextmanager
def waiting(fabric, opensm, reason):
    """What is done within is left to the discovery, for this reason, and no table is sent before that. OpenSM knows of every port
    what it knew."""
    done, left, sweeps = len(lines(opensm, DONE)), len(lines(opensm, LEFT)), opensm.sweeps()
    open(gate_of(fabric), 'w').close()
    yield
    wait_for('a look at the switch', lambda: len(lines(opensm, DONE)) > done or len(lines(opensm, LEFT)) > left, 20, opensm._alive)
    with open(os.path.join(opensm.dir, 'output')) as file:
        stateless = wait_for('the probe', lambda: re.findall(r'without a physical state: (\d+)', file.read()), 20, opensm._alive)
    expect(len(lines(opensm, DONE)) == done, 'routed without a discovery, though a port %s' % reason)
    expect(reason in lines(opensm, LEFT)[-1], 'not said why: %s' % lines(opensm, LEFT)[-1])
    expect(int(stateless[-1]) == 0, '%s ports have lost their physical state' % stateless[-1])
    os.unlink(gate_of(fabric))
    wait_for('the sweep after a trap', lambda: opensm.sweeps() > sweeps, 60, opensm._alive)
    opensm.wait_quiet()


@scenario('trap.unanswered')
def unanswered(workdir):
    """A port of the switch that has sent a trap does not answer: nothing is known of it, and nothing is forgotten."""
    silent = os.path.join(os.path.abspath(workdir), 'silent')
    with Fabric(find_fabric('torus-4x4'), workdir, sim={'OSR_SIM_SILENT': silent}) as fabric:
        with clocked(fabric, 'dfsssp') as opensm:
            opensm.wait_up()
            switch, dead, other = beside_the_sm(judge(fabric, opensm, ours='dfsssp'))
            with waiting(fabric, opensm, 'port %d did not answer' % other):
                with open(silent, 'w') as file:
                    file.write('15 %x\n' % other)
                fabric.console(fabric.unlink(switch.name, dead))
                wait_for('a look', lambda: lines(opensm, LEFT) or lines(opensm, DONE), 20, opensm._alive)
                os.remove(silent)
            opensm.change()
            judge(fabric, opensm, ours='dfsssp')
        opensm.check_own_log()


@scenario('trap.changed')
def changed(workdir):
    """A cable of a switch dies, and another one is not what it was: it has fewer lanes now, can have fewer, or is slower. Only a
    discovery makes tables for that."""
    for kind in 'vls', 'width', 'cap':
        code = os.path.join(os.path.abspath(workdir), 'code-' + kind)
        with Fabric(find_fabric('torus-4x4'), os.path.join(workdir, kind), sim={'OSR_SIM_VLS': code}) as fabric:
            with clocked(fabric, 'dfsssp') as opensm:
                opensm.wait_up()
                tables = judge(fabric, opensm, ours='dfsssp')
                switch, dead, other = beside_the_sm(tables)
                lid = next(e.lid for e in tables.ends if not e.host and tables.switches[e.switch] is switch)
                with waiting(fabric, opensm, 'has a link that changed'), held(opensm):
                    fabric.console(fabric.unlink(switch.name, dead))
                    if kind == 'cap':
                        with open(code, 'w') as file:
                            file.write('3')
                    else:
                        fabric.run(['ibportstate', '-t', '10000', str(lid), str(other), kind, {'vls': '2', 'width': '1'}[kind]])
                judge(fabric, opensm, ours='dfsssp')
            opensm.check_own_log()


@scenario('trap.left')
def left(workdir):
    """What is not proven goes the way it always went: a host, a switch, a part cut off, options that forbid it."""
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        with clocked(fabric, 'dfsssp') as opensm:
            opensm.wait_up()
            whole = judge(fabric, opensm, ours='dfsssp')
            leaf = next(s for s in whole.switches if s.name == 'leaf-2')
            for down, up in ((fabric.unlink('leaf-2', min(leaf.hosts)), fabric.relink('leaf-2', min(leaf.hosts))),
                             (fabric.unlink('spine-0'), fabric.relink('spine-0')),
                             (fabric.unlink('leaf-2'), fabric.relink('leaf-2'))):
                for command in (down, up):
                    opensm.hear(command)
                    opensm.change()
                    judge(fabric, opensm, ours='dfsssp')
            said = lines(opensm, LEFT)
            expect(any('lost an end port' in l for l in said) and any('new link' in l for l in said),
                   'not said why: %s' % said)
        opensm.check_own_log()
        for conf, options in ('ask_switches = no\n', {}), ('', {'use_ucast_cache': 'TRUE'}):
            with clocked(fabric, 'dfsssp', options=options, plugin_conf=conf, name='off') as opensm:
                opensm.wait_up()
                opensm.hear(fabric.unlink('leaf-1', 1 + max(leaf.hosts)))
                expect('trap:' not in opensm.log, 'asked although it must not: %s %s' % (conf, options))
                fabric.console(fabric.relink('leaf-1', 1 + max(leaf.hosts)))
                opensm.resweep()
