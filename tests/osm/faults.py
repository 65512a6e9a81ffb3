# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables and switches go and come back while opensm runs; fabrics that are hardly one."""
import os

import oracle
from judge import QOS, expect, judge, scenario
from metrics import both
from osmtest import Fabric, find_fabric, Opensm, running, wait_for


@scenario('fault.lost-mads')
def lost_mads(workdir):
    """One switch loses a fifth of its MADs: whatever the sweeps made of it, once it answers again
    the tables are right."""
    with Fabric(find_fabric('torus-4x4'), workdir) as fabric:
        fabric.console('Error "s-1-1" 20')
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS) as opensm:
            wait_for('a sweep', opensm.sweeps, 60)
            fabric.console('Error "s-1-1" 0')
            opensm.resweep()
            opensm.resweep()
            opensm.wait_quiet()
            judge(fabric, opensm, ours='dfsssp')
        # Which MADs are lost depends on OpenSM's version; where the switch's ports are among them it is cut off, rightly.
        expect(not [l for l in opensm.errors(('OR05',)) if 'osmroutes' in l],
               'osmroutes complains about lost MADs')


@scenario('fault.no-switch')
def no_switch(workdir):
    """The SM's switch does not answer: a fabric without switches is no reason for an error of ours,
    once it answers all is as before."""
    net = halves_net(workdir)
    with running(workdir, net, 'dfsssp') as (fabric, opensm):
        before = judge(fabric, opensm, ours='dfsssp')
        leaf = 'left' if fabric.env['SIM_HOST'] in 'ab' else 'right'
        fabric.console('Error "%s" 100' % leaf)
        opensm.resweep()
        fabric.console('Error "%s" 0' % leaf)
        opensm.resweep()
        opensm.wait_quiet()
        after = judge(fabric, opensm, ours='dfsssp')
        expect(before.bytes_of_tables() == after.bytes_of_tables(), 'the tables differ')
    opensm.check_own_log()


def halves_net(workdir):
    """Two switches with two hosts each, and one cable between them."""
    net = os.path.join(workdir, 'halves.net')
    with open(net, 'w') as file:
        file.write('Switch 4 "left"\n[1] "a"[1]\n[2] "b"[1]\n[3] "right"[3]\n\n'
                   'Switch 4 "right"\n[1] "c"[1]\n[2] "d"[1]\n[3] "left"[3]\n\n' +
                   ''.join('Ca 1 "%s"\n[1] "%s"[%d]\n\n' % (h, s, p) for h, s, p in
                           (('a', 'left', 1), ('b', 'left', 2), ('c', 'right', 1),
                            ('d', 'right', 2))))
    return net


@scenario('fault.split')
def split(workdir):
    """avoid_throttled_links leaves two parts: each is routed, no path between them, both named in the log; where options say that
    osmroutes refuses, the next engine has the fabric. The metrics say what happened, why, and who routes now."""
    with Fabric(halves_net(workdir), workdir) as fabric:
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
                parts_are_routed(opensm, tables)


def parts_are_routed(opensm, tables):
    named = [l for l in opensm.errors() if 'split into 2 parts' in l]
    expect(named and 'left' in named[0] and 'right' in named[0], 'the log does not name both parts')
    for s in tables.switches:
        for lid, e in tables.end_of.items():
            here = e.name in ('ab' if s.name == 'left' else 'cd') or e.name == s.name
            port = s.forward(lid)
            expect((port != oracle.NO_PATH) == here, '%s sends LID %d of %s to port %d' % (s.name, lid, e.name, port))


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
