# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""LIDs, service levels and virtual lanes: LMC, VL budgets, SL2VL, partitions, QoS policies."""
import os
import re

from anysl import SLVL
from judge import QOS, Claims, different_sl2vl, expect, judge, one_sweep, scenario
from osmtest import LOG_DUMPS, LOG_PLAIN, Fabric, find_fabric, Opensm, running

BY_SL = '[dfsssp]\nany_sl = off\n'


def lmc(workdir, netfile, bits):
    """2^bits LIDs a port, all of them reached, safe, and spread over the ports there are."""
    options = dict(QOS, lmc=bits, lmc_esp0='TRUE', reassign_lids='TRUE')
    with running(workdir, netfile, 'dfsssp', options=options,
                 log_flags=LOG_DUMPS) as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
        expect(all(e.lmc == bits for e in tables.ends if e.host), 'the LMC is another')
    opensm.check_log()
    return tables


def fewest_ways(tables):
    """Of all (leaf, host elsewhere): fewest different first ports over the LIDs of the host."""
    leaves = {e.switch for e in tables.ends if e.host}
    return min(len({tables.switches[v].forward(lid) for lid in e.lids})
               for e in tables.ends if e.host for v in leaves if v != e.switch)


@scenario('lmc')
def several_lids(workdir):
    """One LID a port, fewer than spines, as many, and more; also where ports of one host are on two switches."""
    for bits in range(4):
        got = fewest_ways(lmc(workdir, 'tree-2', bits))
        want = min(1 << bits, 4)	# the tree has four spines
        expect(got == want, '%d LIDs a port use %d of 4 spines' % (1 << bits, got))
    for netfile, bits in (('random-12', 1), ('random-12', 3), ('dual-port', 2)):
        lmc(workdir, netfile, bits)


@scenario('vl.max-op-vls')
def max_op_vls(workdir):
    """Two operational VLs from the first sweep on: OpenSM masks SL2VL with what it read before."""
    options = dict(QOS, max_op_vls=2)
    with Fabric(find_fabric('ring-5'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=options, once=True, name='once') as opensm:
            opensm.wait_end()
        claims = Claims(opensm.log)
        expect(claims.budget == 2 and claims.n_vls == 2, 'VLs %d of %d' % (claims.n_vls, claims.budget))
        expect('max_op_vls' in opensm.log, 'the log does not say what limits the VLs')
        opensm.check_log()
        vls = {p['op_vls'] for n in fabric.read_back()['nodes'] for p in n['ports']
               if p['port'] and p['state'] == 4}
        expect(vls == {2}, 'operational VLs are %s' % vls)
    with running(workdir, 'ring-5', 'dfsssp', options=options, name='first') as (fabric, opensm):
        judge(fabric, opensm, ours='dfsssp')
        opensm.resweep()
        judge(fabric, opensm, ours='dfsssp')
    opensm.check_log()


@scenario('vl.fewer')
def fewer(workdir):
    """max_op_vls is lowered by SIGHUP: OpenSM takes the VLs from the ports after it has sent SL2VL, but no table
    names one of those that go, not even until the next sweep; as little is sent as with OpenSM's optimised MADs."""
    sent = {}
    for name, ports in ('pairs', 0), ('wildcards', 5):
        options = dict(QOS, use_optimized_slvl='TRUE' if ports else 'FALSE')
        with Fabric(find_fabric('torus-4x4'), os.path.join(workdir, name),
                    sim={'OSR_SIM_WILDCARDS': str(ports)}) as fabric:
            with Opensm(fabric, 'dfsssp', plugin=True, options=options) as opensm:
                opensm.wait_up()
                opensm.resweep()
                opensm.wait_quiet()
                fabric.mads()
                opensm.set_option('max_op_vls', '2')
                opensm.resweep()
                opensm.wait_quiet()
                sent[name] = fabric.mads()[0][SLVL][1]
                tables = judge(fabric, opensm, ours='dfsssp')
                problems = tables.sl2vl_problems(range(16))
                expect(not problems, '%s: %s' % (name, problems[:2]))
                opensm.resweep()
                opensm.wait_quiet()
                changed = different_sl2vl(tables, judge(fabric, opensm, ours='dfsssp'))
                expect(not changed, '%s: the next sweep changes %s' % (name, changed[:2]))
            opensm.check_log()
    expect(sent['wildcards'] * 2 < sent['pairs'], 'MADs: %s' % sent)


@scenario('vl.one')
def one_vl(workdir):
    """max_op_vls 1: the ring on one VL, over longer paths, safe with any SL."""
    with running(workdir, 'ring-5', 'dfsssp', options=dict(QOS, max_op_vls=1)) as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
        expect(not tables.cycles(None), 'credit loops on one VL')
    claims = Claims(opensm.log)
    expect(claims.n_vls == 1 and claims.n_longer > 0, 'VLs %d, %d longer routes' %
           (claims.n_vls, claims.n_longer))
    opensm.check_log()


@scenario('vl.sl2vl-options')
def sl2vl_options(workdir):
    """Tables of the administrator that would close loops are replaced, and the log says so."""
    folded = '0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0'
    for kind in ('qos', 'qos_swe', 'qos_ca'):
        _, log = one_sweep(workdir, 'ring-5', 'dfsssp', ours='dfsssp', name=kind,
                           options=dict(QOS, **{kind + '_sl2vl': folded}))
        expect('SL2VL tables are set by osmroutes' in log, kind + ': no word about SL2VL')


@scenario('vl.sl2vl-drop')
def sl2vl_drop(workdir):
    """SLs that the administrator's tables drop (VL15)."""
    one_sweep(workdir, 'ring-5', 'dfsssp', ours='dfsssp',
              options=dict(QOS, qos_sl2vl='0,15,15,15,15,15,15,15,15,15,15,15,15,15,15,15'))


@scenario('vl.dropped')
def dropped(workdir):
    """Any SL is safe on one lane; what is claimed of those that never arrive is not that they may be used."""
    os.makedirs(workdir, exist_ok=True)
    config = os.path.join(workdir, 'partitions.conf')
    with open(config, 'w') as file:
        file.write('Default=0x7fff, ipoib, sl=0 : ALL=full ;\nstorage=0x8001, sl=3 : ALL=full ;\n')
    drop = {'qos_sl2vl': '0,0,0,15,15,0,15,15,15,15,15,15,15,15,15,15', 'partition_config_file': config}
    for name, options, word in (('default', QOS, 'any SL'), ('drop', dict(QOS, **drop), 'SLs 0-2 5'),
                                ('off', {'qos': 'FALSE'}, 'SLs 0-7')):
        with running(os.path.join(workdir, name), 'tree-2', 'dfsssp',
                     options=options) as (fabric, opensm):
            log = opensm.log
        said = re.search(r'proven: reachable, deadlock-free, replies, (.*?), multicast', log)
        expect(said and said[1] == word, '%s: %s' % (name, said and said[1]))
        expect(('warning: packets on SL 3 of a partition' in log) == (name == 'drop'), name + ': the warning')


@scenario('vl.arbitration')
def arbitration(workdir):
    """Every used VL gets a weight, also if the options leave some out."""
    _, log = one_sweep(workdir, 'ring-5', 'dfsssp', ours='dfsssp',
                       options=dict(QOS, qos_vlarb_low='0:4', qos_vlarb_high='0:4'))
    expect('no weight' in log, 'no word about the VLs without a weight')


@scenario('sl.stable')
def stable(workdir):
    """Two queries for one pair always get one SL."""
    with running(workdir, 'ring-5', 'dfsssp', plugin_conf=BY_SL) as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
        expect(tables.rows == tables.ask_sls(fabric), 'a second query got another SL')
        opensm.resweep()
        expect(tables.rows == tables.ask_sls(fabric), 'a new sweep gave other SLs')


@scenario('sl.smsl')
def smsl(workdir):
    """MasterSMSL: what a port sends to the SM goes on the SL of that path."""
    with Fabric(find_fabric('cluster-192'), workdir) as fabric:
        # ibsim forgets MasterSMSL: what OpenSM sends is read in its log, under the DEBUG flag.
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=BY_SL,
                    log_flags=LOG_PLAIN | 0x08) as opensm:
            opensm.wait_up(120)
            tables = judge(fabric, opensm, ours='dfsssp')
            told = {int(guid, 16): int(sl) for sl, guid in re.findall(
                r'Setting SMSL to (\d+) on (?:port 0 )?GUID (0x[0-9a-f]+)', opensm.log)}
            sm = [p['lid'] for n in tables.data['nodes'] if n['guid'] == tables.data['from']
                  for p in n['ports'] if p['lid']][0]
            column = tables.lids.index(sm)
            for e in tables.ends:
                if e.lid != sm:
                    want = tables.rows[e.lid][column]
                    got = told.get(int(e.guid, 16), 0)
                    expect(got == want, '%s is told SMSL %d, its path to the SM has SL %d' %
                           (e.name, got, want))
            expect(set(told.values()) - {0}, 'every SMSL is 0: nothing was tested')


def ask_each_sl(fabric, tables, pkey=None):
    """{(source, destination): SLs the SA grants when asked for} between hosts on other switches."""
    hosts = tables.host_lids
    granted = {}
    for sl in range(16):
        for slid, row in fabric.path_sls(hosts, hosts, sl=sl, pkey=pkey).items():
            for dlid, answer in zip(hosts, row):
                if tables.end_of[slid].switch != tables.end_of[dlid].switch and answer not in '-!':
                    expect(int(answer, 16) == sl, 'asked for SL %d, got %s' % (sl, answer))
                    granted.setdefault((slid, dlid), set()).add(sl)
    return granted


@scenario('sl.asked-for')
def asked_for(workdir):
    """An application that asks for an SL gets it where it is the routing's, and is refused (ERR
    1F2A) where it is another: a path on the wrong SL could close a loop."""
    with running(workdir, 'ring-5', 'dfsssp', plugin_conf=BY_SL) as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
        for (a, b), sls in ask_each_sl(fabric, tables).items():
            ours = tables.rows[a][tables.lids.index(b)]
            expect(sls == {ours}, 'LID %d to %d: SL %d routes, %s granted' % (a, b, ours, sls))
    expect(any('1F2A' in l for l in opensm.errors()), 'no refusal in the log')
    opensm.check_log(expected=('1F2A', '1F1'))


def partitions(workdir, sl):
    path = os.path.join(workdir, 'partitions.conf')
    with open(path, 'w') as file:
        file.write('Default=0x7fff, ipoib, sl=%d : ALL=full ;\n' % sl)
    return path


@scenario('sl.partition')
def partition(workdir):
    """The SL of a partition is a hint: granted where any SL is safe (dfsssp on a tree) or none is promised to
    be (sssp), overruled where the routing depends on it."""
    config = partitions(workdir, 3)
    for engine, netfile, granted in (('sssp', 'ring-5', True), ('dfsssp', 'ring-5', False),
                                     ('dfsssp', 'tree-2', True)):
        with running(workdir, netfile, engine, options=dict(QOS, partition_config_file=config),
                     name=engine, plugin_conf=BY_SL) as (fabric, opensm):
            tables = judge(fabric, opensm, ours=engine)
            rows = tables.ask_sls(fabric)
            used = {sl for row in rows.values() for sl in row}
            expect(255 not in used, 'the SA refuses paths inside a partition with an SL')
            expect((used == {3}) == granted, '%s on %s: SLs %s in a partition with SL 3' %
                   (engine, netfile, sorted(used)))
            any_sl = engine != 'sssp' and 'any SL' in Claims(opensm.log).proven
            expect(any_sl == (netfile == 'tree-2'), 'the log line does not tell which it is')


@scenario('sl.spread')
def spread(workdir):
    """spread_sls: on one lane path records take turns with the SLs of all VLs, the same in both directions, unless a
    partition has an SL of its own, or the routing depends on the SL. A request for another SL than 0 is granted."""
    for name, netfile, more, conf in (('tree', 'tree-2', {}, ''), ('ring', 'ring-5', {}, BY_SL),
                                      ('partition', 'tree-2', {'partition_config_file': partitions(workdir, 3)}, '')):
        with running(workdir, netfile, 'dfsssp', options=dict(QOS, **more), name=name,
                     plugin_conf='spread_sls = yes\n' + conf) as (fabric, opensm):
            tables = judge(fabric, opensm, ours='dfsssp')
            rows = tables.ask_sls(fabric)
            used = {rows[a][tables.lids.index(b)] for a in tables.host_lids for b in tables.host_lids if a != b}
            if name == 'tree':
                n_vls = int(re.search(r'of (\d+) VLs', opensm.log).group(1))
                expect(n_vls > 1 and used == set(range(n_vls)), 'SLs %s on %d VLs' % (sorted(used), n_vls))
                expect(all(rows[a][tables.lids.index(b)] == rows[b][tables.lids.index(a)]
                           for a in tables.host_lids for b in tables.host_lids if a != b), 'replies on another SL')
                expect(all(set(range(1, 16)) <= sls for sls in ask_each_sl(fabric, tables).values()),
                       'an SL that was asked for is refused')
            elif name == 'partition':
                expect(used == {3}, 'SLs %s in a partition with SL 3' % sorted(used))
            else:
                for (a, b), sls in ask_each_sl(fabric, tables).items():
                    expect(sls == {rows[a][tables.lids.index(b)]}, 'LID %d to %d: SLs %s granted' % (a, b, sls))
                opensm.check_log(expected=('1F2A', '1F1'))


@scenario('sl.qos-policy')
def qos_policy(workdir):
    """The same with a QoS level of qos-policy.conf."""
    policy = os.path.join(workdir, 'qos-policy.conf')
    with open(policy, 'w') as file:
        file.write('qos-levels\n    qos-level\n        name: DEFAULT\n        sl: 5\n'
                   '    end-qos-level\nend-qos-levels\n')
    for engine in ('sssp', 'dfsssp'):
        with running(workdir, 'ring-5', engine, options=dict(QOS, qos_policy_file=policy),
                     name=engine, plugin_conf=BY_SL) as (fabric, opensm):
            tables = judge(fabric, opensm, ours=engine)
            used = {sl for row in tables.ask_sls(fabric).values() for sl in row}
            expect(255 not in used, 'the SA refuses paths under a QoS policy')
            if engine == 'sssp':
                expect(used == {5}, 'SLs %s under a QoS policy with SL 5' % sorted(used))
