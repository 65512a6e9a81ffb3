# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""From a trap to tables without a discovery: what is done, what is left to OpenSM, and that both are right."""
import os
import re

from judge import QOS, Claims, check_loops, expect, first, judge, scenario
from osmtest import Fabric, Opensm, find_fabric, wait_for

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
    right and free of credit loops before OpenSM has discovered anything, and the discovery changes none."""
    with Fabric(find_fabric(netfile), workdir) as fabric:
        with clocked(fabric, engine) as opensm:
            opensm.wait_up()
            whole = judge(fabric, opensm, ours=engine.replace('osmroutes-', ''))
            for name, port, _ in whole.cables()[::step]:
                done, sweeps = len(lines(opensm, DONE)), opensm.sweeps()
                open(gate_of(fabric), 'w').close()
                fabric.console(fabric.unlink(name, port))
                wait_for('tables after the trap', lambda: len(lines(opensm, DONE)) > done, 20, opensm._alive)
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


for _name, *_case in (('torus', 'torus-4x4', 'dfsssp', 9), ('tree', 'tree-3', 'dfsssp', 7), ('dmodk', 'tree-2', 'osmroutes-dmodk', 5),
                      ('random', 'random-12', 'osmroutes-p2sssp', 7)):
    scenario('trap.' + _name)(lambda workdir, case=_case: every_cable(workdir, *case))


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
