# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables and switches go and come back while opensm runs; fabrics that are hardly one."""
import itertools
import os

import oracle
from changes import host, uplinks
from judge import QOS, Claims, expect, first, judge, scenario
from metrics import both
from osmtest import Fabric, find_fabric, Opensm, running, wait_for

CACHE = dict(QOS, use_ucast_cache='TRUE')
# Of dragonfly-12: no SL of before is lost when the first returns, or when the second dies.
CACHE_CABLES = [('g0-s0', 3), ('g0-s0', 4)]


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
