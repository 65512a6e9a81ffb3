# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables and switches go and come back while opensm runs; fabrics that are hardly one."""
import os

import oracle
from judge import QOS, expect, judge, scenario
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
    """avoid_throttled_links leaves two parts: each is routed, no path between them, both named in
    the log; on_split = refuse leaves the fabric to the next engine."""
    options = dict(QOS, avoid_throttled_links='TRUE')
    for word in ('route', 'refuse'):
        with Fabric(halves_net(workdir), workdir) as fabric:
            # One end enabled for more than the other: the link runs at what both do not enable,
            # which OpenSM calls throttled.
            fabric.run(['ibportstate', '-t', '10000', '-D', '0,1', '3', 'speed', '7'])
            with Opensm(fabric, 'dfsssp,minhop', plugin=True, options=options, once=True,
                        plugin_conf='on_split = %s\n' % word, name=word) as opensm:
                opensm.wait_end()
            tables = fabric.tables()
        if word == 'route':
            parts_are_routed(opensm, tables)
        else:
            expect(opensm.engine_used() == 'minhop', 'on_split = refuse did not refuse')
            expect(any('on_split' in l for l in opensm.errors()), 'the refusal gives no reason')


def parts_are_routed(opensm, tables):
    expect(opensm.engine_used() == 'dfsssp', 'the split fabric was not routed by dfsssp')
    named = [l for l in opensm.errors() if 'split into 2 parts' in l]
    expect(named and 'left' in named[0] and 'right' in named[0], 'the log does not name both parts')
    for s, own in zip(tables.switches, ('ab', 'cd')) if tables.switches[0].name == 'left' else \
            zip(tables.switches, ('cd', 'ab')):
        for lid, e in tables.end_of.items():
            here = e.name in own or e.name == s.name
            port = s.forward(lid)
            expect((port != oracle.NO_PATH) == here,
                   '%s sends LID %d of %s to port %d' % (s.name, lid, e.name, port))


@scenario('fault.one-switch')
def one_switch(workdir):
    net = os.path.join(workdir, 'one.net')
    with open(net, 'w') as file:
        file.write('Switch 8 "s"\n[1] "a"[1]\n[5] "b"[1]\n[8] "c"[1]\n\n' + ''.join(
            'Ca 1 "%s"\n[1] "s"[%d]\n\n' % hp for hp in (('a', 1), ('b', 5), ('c', 8))))
    for engine in ('dfsssp', 'sssp'):
        with running(workdir, net, engine, name=engine) as (fabric, opensm):
            tables = judge(fabric, opensm, ours=engine)
            expect(len(tables.lids) == 4, '%d LIDs instead of 4' % len(tables.lids))
        opensm.check_log()


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
