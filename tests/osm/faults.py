# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables and switches go and come back while opensm runs; fabrics that are hardly one."""
import os

import oracle
from judge import QOS, expect, judge, scenario
from osmtest import Fabric, find_fabric, Opensm, running, wait_for


def down_and_up(workdir, netfile, parts, lost=0, engine='dfsssp', compare=None):
    """Judges before, during and after; afterwards the tables must be those of before.

    parts: what goes, (switch, port) or (switch,), of the tables; lost: so many switches go;
    compare: a function of the tables before and during.
    """
    with running(workdir, netfile, engine) as (fabric, opensm):
        before = judge(fabric, opensm, ours=engine)
        parts = parts(before)
        opensm.change(*[fabric.unlink(*part[:2]) for part in parts])
        during = judge(fabric, opensm, ours=engine)
        expect(len(before.channels()) > len(during.channels()), 'nothing went down')
        expect(len(before.switches) - len(during.switches) == lost,
               '%d switches went, expected %d' %
               (len(before.switches) - len(during.switches), lost))
        if compare:
            compare(before, during)
        opensm.change(*[fabric.relink(*part[:2]) for part in parts])
        after = judge(fabric, opensm, ours=engine)
        expect(len(before.channels()) == len(after.channels()), 'not everything came back')
        expect(before.bytes_of_tables(False) == after.bytes_of_tables(False),
               'the same fabric is routed otherwise after a fault')
    # MADs that were under way over a cable that went are lost: OpenSM complains, we must not.
    opensm.check_own_log()
    return before, after


def entries(tables):
    """{(switch GUID, LID): GUID of the next switch}, of LIDs that are not on the switch itself."""
    return {(s.guid, lid): tables.switches[s.next[s.forward(lid)][0]].guid for s in tables.switches
            for lid in tables.lids if s.forward(lid) in s.next}


def few_move(before, during):
    """Hardly an entry changes but those that led to what is gone."""
    was, now = entries(before), entries(during)
    there = {s.guid for s in during.switches}
    kept = [k for k in now if k in was and was[k] in there]
    moved = sum(was[k] != now[k] for k in kept)
    expect(kept and moved * 20 <= len(kept), '%d of %d entries changed that led elsewhere' %
           (moved, len(kept)))


def uplinks(tables):
    """Of a leaf with its hosts; the SM's own leaf is another one."""
    return [l for l in tables.cables() if 'leaf-3' in (l[0], l[2])]


# fault.NAME: fabric, what goes, how many switches with it, engine, what is compared.
CASES = {
    'link': ('torus-4x4', lambda t: t.cables()[:1]),
    # Every seventh cable of a tree with a CA on every switch.
    'many-links': ('cluster-192', lambda t: t.cables()[::7]),
    'dmodk-links': ('cluster-192', lambda t: t.cables()[::7], 0, 'dmodk'),
    'spine': ('tree-2', lambda t: [('spine-0',)], 1),
    # The spine of the lowest GUID: on one lane with and without it.
    'dmodk-spine': ('tree-2', lambda t: [('spine-0',)], 1, 'dmodk', few_move),
    # The engine that chooses: its tables are repaired, and come back.
    'choice': ('tree-2', lambda t: [('spine-0',)], 1, 'osmroutes'),
    'leaf': ('tree-2', uplinks, 1),
    # A bundle of an irregular fabric from the field loses a cable.
    'real-fabric': ('plafrim-2013', lambda t: t.cables()[3:4])}
for _name, _case in CASES.items():
    scenario('fault.' + _name)(lambda workdir, case=_case: down_and_up(workdir, *case))


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


@scenario('fault.cable-between-parts')
def split_by_cable(workdir):
    """The only cable between two halves goes: what is behind it is gone, and comes back."""
    down_and_up(workdir, halves_net(workdir), lambda t: [('left', 3)], lost=1)


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


@scenario('fault.unicast-cache')
def unicast_cache(workdir):
    """use_ucast_cache: a leaf and a CA go and come back; the engine routes all the same, and the tables are checked."""
    with running(workdir, 'tree-2', 'dfsssp', options=dict(QOS, use_ucast_cache='TRUE')) as (fabric, opensm):
        before = judge(fabric, opensm, ours='dfsssp')
        uplinks = [l[:2] for l in before.cables() if 'leaf-3' in (l[0], l[2])]
        host = 'leaf-2', min(p for s in before.switches if s.name == 'leaf-2' for p in s.hosts)
        for parts in uplinks, [host]:
            for change in fabric.unlink, fabric.relink:
                sweeps = len(opensm.routed())
                opensm.change(*[change(*part) for part in parts])
                tables = judge(fabric, opensm, ours='dfsssp')
                expect(len(opensm.routed()) > sweeps, 'OpenSM took tables from its cache')
        expect(tables.lids == before.lids, 'not everything came back')
    opensm.check_own_log()
