# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Switches that do not take what they are sent: LFTs, multicast tables, SL2VL tables, VL arbitration. Until they do, nothing is said
to be proven: in the log, by `osmroutes status`, in both files of metrics_dir."""
import os
import re
import signal
import subprocess

from anysl import halt_at
from drain import ask
from groups import join
from judge import Claims, expect, generate, judge, scenario
from keys import Client, keyed, pattern, shift
from metrics import read_json, read_prom
from osmtest import COMMAND, QOS, Fabric, Opensm, find_fabric, osmroutes, pause, running, wait_for

TREE, TORUS = ('tree', 'm=3,3', 'w=1,3'), ('torus', 'dims=3x4')
NODE_INFO, SWITCH_INFO, LFT, MFT, SL2VL, VLARB = '11', '12', '19', '1b', '17', '18'	# attributes
WORDS = {SWITCH_INFO: ('lft_blocks', 'LinearFDBTop'), LFT: ('lft_blocks', 'LFT blocks 0'), MFT: ('mft_blocks', 'multicast blocks 0'),
         SL2VL: ('sl2vl_tables', 'SL2VL tables, first input port'), VLARB: ('vlarb_blocks', 'VL arbitration blocks, first of port')}
QUICK = dict(QOS, transaction_timeout=50, transaction_retries=1)


def files(directory, condition):
    """Both of metrics_dir, once the condition holds of the JSON and both say how many nodes refuse."""
    def agree():
        names = os.listdir(directory)
        if not [n for n in names if n.endswith('.prom') and n[0] != '.']:
            return False
        data, prom = read_json(directory), read_prom(directory, False)
        return condition(data) and prom[('refused_nodes',)] == data['refused']['nodes'] and (data, prom)

    return wait_for('the files of metrics_dir', agree, 20)


def refuses(workdir, words, attribute, how, hops):
    """From the first sweep on, by switches so many hops away; then they take everything."""
    folder = os.path.join(workdir, '-'.join([words[0], attribute, how]))
    os.makedirs(folder)
    rules, sock = os.path.join(folder, 'rules'), os.path.join(folder, 's')
    with open(rules, 'w') as file:
        file.write('%s %s %d\n' % (attribute, how, hops))
    net = generate(os.path.join(folder, 'fabric.net'), *words)
    group, what = WORDS[attribute]
    with Fabric(net, folder, sim={'OSR_SIM_TABLES': rules}) as fabric, \
            Opensm(fabric, 'dfsssp', plugin=True, options=QUICK,
                   plugin_conf='metrics_dir = %s\ncontrol_socket = %s\n' % (folder, sock)) as opensm:
        wait_for('a sweep', opensm.sweeps, 60, opensm._alive)
        if attribute == MFT:	# tables without a member are empty
            tables = fabric.tables('lft')
            for name in sorted(e.name for e in tables.ends if e.host)[::4]:
                join(fabric, name)
            opensm.change()
        wait_for('an error', lambda: 'ERR OR19' in opensm.log, 60, opensm._alive)
        data, prom = files(folder, lambda d: d['refused'][group])
        far = [s.name for s in fabric.tables('lft').switches]
        line = [l for l in opensm.errors() if 'OR19' in l][-1]
        where = '%s, %s' % (' '.join(words), line)
        expect(what in line and 'sent: %d (' % data['refused']['nodes'] in line, where)
        expect(any(name + ': ' in line for name in far), where)
        expect(data['refused']['nodes'] > 0 and not data['check']['proven'], '%s: %s' % (where, data['check']))
        expect(not any(value for key, value in prom.items() if key[0] == 'proven'), '%s: %s' % (where, prom))
        said = osmroutes('status', '--socket=' + sock)
        expect(said['code'] == 1 and said['status']['check']['text'].startswith('nothing'), said)
        expect(not [w for w in opensm.log.splitlines()[-4:] if 'proven: reachable' in w], 'claims in the log: ' + where)
        # Of the tables in use, and of those that the next sweep makes: two sentences.
        mark = len(opensm.log)
        opensm.resweep()
        said = osmroutes('status', '--socket=' + sock)['status']
        expect(said['check']['text'] == 'nothing: nodes that do not hold the tables they were sent: %d (OR19)' % said['refused']['nodes'], said)
        expect(re.findall(r' VLs; proven: (.*?);', opensm.log[mark:])[-1] ==
               'nothing: nodes that did not take the tables of the two sweeps before: %d (OR19)' % data['refused']['nodes'], where)
        # They take everything: claims come back, and are true.
        os.remove(rules)
        mark = len(opensm.log)
        opensm.change()
        wait_for('the claims', lambda: 'all nodes hold the tables they were sent; proven: reachable' in opensm.log[mark:], 20, opensm._alive)
        files(folder, lambda d: not d['refused']['nodes'] and 'deadlock_free' in d['check']['proven'])
        opensm.change()
        said = osmroutes('status', '--socket=' + sock)
        expect(said['code'] == 0 and 'deadlock-free' in said['status']['check']['text'], said)
        judge(fabric, opensm, ours='dfsssp')
        expect('deadlock-free' in Claims(opensm.log).proven, 'the claims do not come back')


@scenario('refused.lft')
def lft(workdir):
    """By the spines of a tree, and by all switches of a torus: a bad status, an answer with the old table, none."""
    for how in 'status', 'kept', 'lost':
        refuses(workdir, TREE, LFT, how, 2)
    refuses(workdir, TORUS, LFT, 'status', 0)
    # Above LinearFDBTop, which SwitchInfo sets, a switch forwards nothing.
    refuses(workdir, TREE, SWITCH_INFO, 'kept', 2)


@scenario('refused.mft')
def mft(workdir):
    for how in 'status', 'kept', 'lost':
        refuses(workdir, TREE, MFT, how, 2)
    refuses(workdir, TORUS, MFT, 'kept', 3)


@scenario('refused.sl2vl')
def sl2vl(workdir):
    """Also on a tree, whose one lane needs none: what is sent and refused is said."""
    refuses(workdir, TREE, SL2VL, 'status', 2)
    refuses(workdir, TORUS, SL2VL, 'kept', 2)


@scenario('refused.vlarb')
def vlarb(workdir):
    refuses(workdir, TREE, VLARB, 'status', 2)
    refuses(workdir, TORUS, VLARB, 'status', 0)


@scenario('refused.others')
def others(workdir):
    """Some switches lose the answers of one sweep and others those of the next: no switch twice, so no error. The second sweep is the
    one that the plugin requests; before it begins, another cable goes down, so that it has tables for the others. A switch that
    refuses in two sweeps in a row is an error, also where others are lost besides."""
    rules, silent = os.path.join(workdir, 'rules'), os.path.join(workdir, 'silent')
    with open(silent, 'w') as file:
        file.write('2 0\n')	# no traps: a change is seen by the next discovery

    def lose(*hops):
        with open(rules, 'w') as file:
            file.writelines('%s lost %d\n' % (LFT, n) for n in hops)

    sim = {'OSR_SIM_TABLES': rules, 'OSR_SIM_HALT': os.path.join(workdir, 'halt'), 'OSR_SIM_SILENT': silent}
    with Fabric(find_fabric('torus-4x4'), workdir, sim=sim) as fabric, \
            Opensm(fabric, 'dfsssp', plugin=True, options=QUICK) as opensm:
        opensm.wait_up()
        whole = fabric.tables('lft')
        join(fabric, sorted(e.name for e in whole.ends if e.host)[0])
        opensm.wait_quiet()
        cables = [c[:2] for c in whole.cables()]
        for first, second, errors in ((2, ), (3, ), 0), ((2, 3), (2, 3), 1):
            mark = len(opensm.log)
            lose(*first)
            wait = halt_at(fabric, opensm, 1, 1, MFT)	# after a sweep its multicast tables are read back
            fabric.console(fabric.unlink(*cables.pop(0)))
            opensm.process.send_signal(signal.SIGHUP)
            wait()
            wait = halt_at(fabric, opensm, 1, 1, NODE_INFO)	# the next discovery
            opensm.process.send_signal(signal.SIGCONT)
            wait()
            lose(*second)
            wait = halt_at(fabric, opensm, 1, 1, MFT)
            fabric.console(fabric.unlink(*cables.pop(9)))
            opensm.process.send_signal(signal.SIGCONT)
            wait()
            os.remove(rules)
            opensm.process.send_signal(signal.SIGCONT)
            wait_for('the claims', lambda: 'all nodes hold the tables they were sent; proven: reachable' in opensm.log[mark:], 60, opensm._alive)
            opensm.wait_quiet()
            said = [l for l in opensm.log[mark:].splitlines() if 'do not hold the tables they were sent' in l]
            expect(len(said) >= 2 and sum('ERR OR19' in l for l in said) == errors, '%s: %s' % (second, said))
        judge(fabric, opensm, ours='dfsssp')


@scenario('refused.asked')
def asked(workdir):
    """What waits for tables waits until the switches have them: a drained cable is not out, and a key is not active."""
    rules, sock = os.path.join(workdir, 'rules'), os.path.join(workdir, 'keys.sock')
    net = generate(os.path.join(workdir, 'tree.net'), *TREE)
    with keyed(workdir, net, 1, sim={'OSR_SIM_TABLES': rules}) as (fabric, opensm):
        with Client(sock) as client:
            app = client.must(op='place', ranks=9, patterns=[pattern(shift(9, 1))])['app']
            with open(rules, 'w') as file:
                file.write('%s status 0\n' % LFT)
            client.must(op='request', app=app, key=0)
            wait_for('an error', lambda: 'ERR OR19' in opensm.log, 60, opensm._alive)
            pause(0.5)
            state = client.must(op='status')['apps'][0]['keys'][0]['state']
            expect(state == 'waiting', 'the key is %s' % state)
            said = ask(fabric, 'drain', 'leaf-0:4', '--wait=2000', good=False)
            expect('no new tables yet' in said, said)
            os.remove(rules)
            client.until(60, event='key', app=app, key=0, state='active')
            wait_for('the cable to be out', lambda: [part['state'] for part in ask(fabric, 'drain')] == ['out'], 60, opensm._alive)


@scenario('refused.lies')
def lies(workdir):
    """A switch with the GUID of another one, and one that is wrong about its ports: OpenSM's fabric is not the one that there
    is, and a line names cables that it does not understand."""
    for words, lie in (TREE, 'guid:4:3'), (TREE, 'port:4:1'), (TORUS, 'port:5:1'):
        folder = os.path.join(workdir, words[0] + lie.replace(':', '-'))
        os.makedirs(folder)
        net = generate(os.path.join(folder, 'fabric.net'), *words)
        for said in None, lie:
            with Fabric(net, folder, sim={'OSR_SIM_LIE': said} if said else {}) as fabric, \
                    Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf='metrics_dir = %s\n' % folder) as opensm:
                wait_for('a sweep', lambda: 'UP' in opensm.log, 60, opensm._alive)
                opensm.resweep()
                n = read_json(folder)['fabric']['ports_unknown']
                expect(('ERR OR24' in opensm.log) == bool(said) == (n > 0), '%s: %d unknown ports' % (said, n))


@scenario('refused.mute')
def mute(workdir):
    """Hosts that do not answer, one after the other: in the first sweep that is no error of a host, in the second it is. OpenSM
    sweeps again by itself when a host has gone."""
    net = generate(os.path.join(workdir, 'tree.net'), *TREE)
    with running(workdir, net, 'dfsssp', options=dict(QUICK, transaction_timeout=100)) as (fabric, opensm):
        tables = fabric.tables()
        host = {name: '%s port %d' % (s.name, port) for s in tables.switches for port, (guid, _) in s.hosts.items()
                for name in [tables.nodes[guid]['name']] if guid != tables.data['from']}
        pair = sorted(host)[:2]

        def sweep(*names):
            mark = len(opensm.log)
            fabric.console(*['Error "%s" %d' % (fabric.node_id(name), 100 if name in names else 0) for name in pair])
            opensm.resweep()
            opensm.wait_quiet()
            return re.findall(r'(ERR OR24: |)dfsssp: ports of switches that are up and not used.*?: (\d+) \((.*?)\)', opensm.log[mark:])

        for name in pair:
            said = sweep(name) + sweep(name)
            expect(said[0] == ('', '1', host[name]), '%s is mute once: %s' % (name, said))
            expect(said[-1] == ('ERR OR24: ', '1', host[name]), '%s is mute twice: %s' % (name, said))
        expect(sweep() == [] and not fabric.tables().routes().problems, 'it does not end')


@scenario('refused.no-lid')
def no_lid(workdir):
    """More hosts than LIDs: with LMC 7 a host takes 128. Those that have none are counted and named, in the log, by status, in the
    files."""
    sock = os.path.join(workdir, 's')
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=20,20', 'w=1,2')
    with Fabric(net, workdir) as fabric, \
            Opensm(fabric, 'dmodk', plugin=True, options={'lmc': 7}, plugin_conf='metrics_dir = %s\ncontrol_socket = %s\n' % (
                workdir, sock)) as opensm:
        wait_for('tables', lambda: ' hosts on ' in opensm.log and 'configured on all switches' in opensm.log, 120, opensm._alive)
        hosts = 400
        routed = int(re.findall(r'dmodk: (\d+) hosts on', opensm.log)[0])
        lacking = int(re.findall(r'ERR OR23: dmodk: end ports without a LID: (\d+) \(', opensm.log)[0])
        expect(routed < hosts and routed + lacking >= hosts, '%d hosts routed, %d without a LID' % (routed, lacking))
        data, _ = files(workdir, lambda d: d['fabric']['end_ports_without_lid'])
        said = osmroutes('status', '--socket=' + sock)
        expect(data['fabric']['end_ports_without_lid'] == said['status']['fabric']['end_ports_without_lid'] == lacking, said)
        expect(any('OR23' in w['text'] for w in said['warnings']), said)
    # The command says how many LIDs the fabric needs: each host 2^LMC, each switch one.
    for words, lmc, n_hosts, n_switches in (('m=20,20', 'w=1,2'), 7, 400, 22), (('m=18,18,36', 'w=1,18,18'), 2, 11664, 1620):
        done = subprocess.run([COMMAND, 'generate', '--lmc=%d' % lmc, '-o', net, 'tree', *words], capture_output=True, text=True)
        need = (n_hosts << lmc) + n_switches
        expect(done.returncode and 'the fabric needs %d of 49151' % need in done.stderr, done.stderr)
        expect(('skips some before blocks of %d' % (1 << lmc) in done.stderr) == (need < 49151), done.stderr)
