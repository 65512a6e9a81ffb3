# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Two subnet managers: the one that hands the fabric over says so at once, takes no orders and keeps none. Two of two fabrics on
one host, with one configuration: each has files and a socket of its own, and they are told apart."""
import json
import os
import re
import subprocess
import time
from contextlib import ExitStack

from drain import ask, uses
from judge import expect, generate, judge, scenario
from keys import Client, pattern, shift
from metrics import read_prom
from osmtest import COMMAND, Fabric, Failure, Opensm, held, osmroutes, patience, wait_for
from restart import kill
from traps import DONE


class Manager:
    """An opensm on a host, with a socket and metrics of its own."""

    def __init__(self, fabric, workdir, name, host, priority, env=None, conf='', **options):
        self.dir = os.path.join(workdir, name)
        os.makedirs(self.dir, exist_ok=True)
        self.socket = os.path.join(self.dir, 'keys.sock')
        self.opensm = Opensm(fabric, 'dfsssp', plugin=True, name=name + '-sm',
                             options={**options, 'sm_priority': priority, 'sminfo_polling_timeout': 500, 'polling_retry_number': 2,
                                      'sweep_interval': 2, 'qos': 'TRUE'},
                             plugin_conf='control_socket = %s\nmetrics_dir = %s\n%s' % (self.socket, self.dir, conf),
                             env={'SIM_HOST': fabric.node_id(host), **(env or {})})

    def status(self):
        return osmroutes('status', '--socket=' + self.socket)

    def is_master(self):
        """Before its first sweep is over it has no status."""
        if 'SUBNET UP' not in self.opensm.log:
            return False
        said = self.status()
        return said['code'] == 0 and said['state'] == 'MASTER'

    def files(self):
        stem = os.path.join(self.dir, next(n[:-5] for n in os.listdir(self.dir) if n.endswith('.json') and n[0] != '.'))
        with open(stem + '.json', encoding='utf-8') as file:
            return json.load(file), read_prom(self.dir, False)


def is_on_standby(manager, fabric):
    """It says so everywhere, and refuses at once."""
    said = manager.status()
    expect(said['code'] == 1 and said['state'] == 'STANDBY' and not said['status']['ours'], said)
    expect('check' not in said['status'] and 'load' not in said['status'], 'it tells of tables: %s' % said)
    for command in ('drain', 'leaf-0:3'), ('undrain', 'leaf-0:3'):
        began = time.monotonic()
        refusal = ask_at(manager, *command)
        expect('is STANDBY, not the master' in refusal and time.monotonic() - began < 5, refusal)
    with Client(manager.socket) as client:
        said = client.ask(op='place', ranks=2, patterns=['0>1'])
        expect(not said['ok'] and 'STANDBY' in said['error'], said)

    def told():
        data, prom = manager.files()
        return data['state'] == 'STANDBY' and prom[('master',)] == 0 and (data, prom)

    data, prom = wait_for('the files', told, 10)
    expect('check' not in data and not data['ours'] and not any(key[0] in ('proven', 'check_passed') for key in prom), prom)
    parts = osmroutes('drain', '--socket=' + manager.socket)['parts']
    expect(not parts, 'it keeps %s' % parts)


def ask_at(manager, *words, good=False):
    class Where:
        dir = manager.dir
    return ask(Where, *words, good=good)


class Stuck(Failure):
    """Both wait for an answer that died with the client of ibsim that it was for, as without osmroutes."""


def unstuck(test):
    """Once more from the beginning, where a handover is stuck."""
    def tries(workdir):
        for n in range(8):
            try:
                return test(os.path.join(workdir, str(n)))
            except Stuck as s:
                stuck = s
        raise stuck
    return tries


def wait_change(what, condition, manager):
    try:
        wait_for(what, condition, 20, manager.opensm._alive)
    except Failure as f:
        raise Stuck(str(f))


def wait_handover(low):
    wait_change('a handover', lambda: 'Entering STANDBY state' in low.opensm.log, low)


@scenario('standby.handover')
@unstuck
def handover(workdir):
    """A master meets one of higher priority, and takes over when that has gone."""
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=2,2', 'w=1,2')
    with Fabric(net, workdir) as fabric:
        low = Manager(fabric, workdir, 'low', 'h3', 1)
        with low.opensm:
            wait_for('a master', low.is_master, 60, low.opensm._alive)
            high = Manager(fabric, workdir, 'high', 'h0', 14)
            with high.opensm:
                wait_handover(low)
                is_on_standby(low, fabric)
                wait_change('a new master', high.is_master, high)
                expect(high.files()[1][('master',)] == 1, 'the new master is none')
                judge(fabric, high.opensm, ours='dfsssp')
                is_on_standby(low, fabric)
                with held(low.opensm):
                    high.opensm.stop()
            wait_change('the old master', low.is_master, low)
            low.opensm.wait_quiet()
            expect(not osmroutes('drain', '--socket=' + low.socket)['parts'], 'what was refused is done after all')
            wait_for('the files', lambda: low.files()[1][('master',)] == 1, 10)
            judge(fabric, low.opensm, ours='dfsssp')


@scenario('standby.forgets')
@unstuck
def forgets(workdir):
    """What was asked of a master and is in no table yet when it hands over: a cable to drain, and a key. Who waits is told, and
    when it is the master again neither comes back."""
    rules = os.path.join(workdir, 'rules')
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=2,2', 'w=1,2')
    with Fabric(net, workdir, sim={'OSR_SIM_TABLES': rules}) as fabric:
        low, high = (Manager(fabric, workdir, *who, lmc=1) for who in (('low', 'h3', 1), ('high', 'h0', 14)))
        with low.opensm:
            wait_for('a master', low.is_master, 60, low.opensm._alive)
            with Client(low.socket) as client:
                app = client.must(op='place', ranks=4, patterns=[pattern(shift(4, 1))])['app']
                with open(rules, 'w') as file:
                    file.write('19 status 0\n')
                client.must(op='request', app=app, key=0)
                drain = subprocess.Popen([COMMAND, 'drain', 'leaf-0:3', '--wait=120000', '--socket=' + low.socket],
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                wait_for('the request', lambda: osmroutes('drain', '--socket=' + low.socket)['parts'], 30)
                with high.opensm:
                    wait_handover(low)
                    said = drain.communicate(timeout=patience(30))[0]
                    expect(drain.returncode == 1 and 'another subnet manager is the master' in said, said)
                    is_on_standby(low, fabric)
                    expect(client.must(op='status')['apps'][0]['keys'][0]['state'] == 'withdrawn', 'the key is kept')
                    os.remove(rules)
                    wait_change('a new master', high.is_master, high)
                    with held(low.opensm):
                        high.opensm.stop()
                wait_change('the old master', low.is_master, low)
                low.opensm.wait_quiet()
                expect(not osmroutes('drain', '--socket=' + low.socket)['parts'], 'the cable is drained after all')


def wait_master(manager):
    """Its first tables, which it makes alone."""
    wait_for('a master', manager.is_master, 60, manager.opensm._alive)
    manager.opensm.wait_quiet()


def wait_taken_over(manager):
    wait_change('a new master', manager.is_master, manager)
    manager.opensm.wait_quiet()


def crash(opensm):
    kill(opensm)
    opensm.fabric.forget(opensm.process.pid)


class Moment:
    """A sweep of `opensm` waits in its midst while the file is there, and says so: between its two rounds of tables, or where a trap
    has brought new tables and OpenSM has discovered nothing yet."""

    def __init__(self, workdir, kind):
        self.kind, self.file = kind, os.path.join(os.path.abspath(workdir), kind)
        self.plugins = {'rounds': 'osrprobe osmroutes', 'trap': 'osmroutes osrprobe'}[kind]
        self.env = {{'rounds': 'OSR_CLOCK_HOLD', 'trap': 'OSR_CLOCK_GATE'}[kind]: self.file}
        self.conf = {'rounds': 'ask_switches = no\n', 'trap': ''}[kind]	# without which a trap brings no tables

    def bring_about(self, opensm, command):
        open(self.file, 'w').close()
        opensm.fabric.console(command)
        wait_for('the midst of a sweep', lambda: self.has_come(opensm), 30, opensm._alive)

    def has_come(self, opensm):
        with open(os.path.join(opensm.dir, 'output')) as file:
            held = 'osrprobe: held' in file.read()
        return held if self.kind == 'rounds' else re.search(DONE, opensm.log)


def in_midst(workdir, kind):
    """A cable dies, and in the midst of the sweep that follows the master crashes. The other one makes whole tables of what it finds.
    With the cable back its tables are, byte for byte, those that either has made before."""
    moment = Moment(workdir, kind)
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=2,2', 'w=1,2')
    with Fabric(net, workdir) as fabric:
        low, high = (Manager(fabric, workdir, *who, env=moment.env, conf=moment.conf, event_plugin_name=moment.plugins)
                     for who in (('low', 'h3', 1), ('high', 'h0', 14)))
        with low.opensm, ExitStack() as stack:
            # So that the standby has old tables in mind.
            wait_master(low)
            stack.enter_context(high.opensm)
            wait_handover(low)
            wait_taken_over(high)
            whole = judge(fabric, high.opensm, ours='dfsssp')
            name, port, _ = whole.cables()[0]
            second = high.opensm.log.count('second round of tables')
            moment.bring_about(high.opensm, fabric.unlink(name, port))
            expect((high.opensm.log.count('second round of tables') > second) == (kind == 'trap'), 'the second round is over')
            expect(fabric.tables().bytes_of_tables() != whole.bytes_of_tables(), 'nothing of the new tables is in the switches')
            start = len(low.opensm.log)
            with held(low.opensm):
                crash(high.opensm)
                os.unlink(moment.file)
            wait_taken_over(low)
            said = low.opensm.routed(start)[0]['tables']['transition']
            expect(said['answer'] == 'not checked' and 'another engine or subnet manager' in said['why'], str(said))
            judge(fabric, low.opensm, ours='dfsssp')
            low.opensm.hear(fabric.relink(name, port))
            expect(judge(fabric, low.opensm, ours='dfsssp').bytes_of_tables() == whole.bytes_of_tables(),
                   'the first tables have not come back')


for _kind in 'rounds', 'trap':
    scenario('standby.crash-' + _kind)(unstuck(lambda workdir, kind=_kind: in_midst(workdir, kind)))


@scenario('standby.drained-and-keys')
@unstuck
def drained_and_keys(workdir):
    """A master whose tables leave a cable out and have entries of a key hands over. The new one has neither: its tables are, byte for
    byte, those that the first one made at its start. When that is the master again the cable is out again, and the key is not."""
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=3,3', 'w=1,3')
    with Fabric(net, workdir) as fabric:
        low, high = (Manager(fabric, workdir, *who, lmc=1) for who in (('low', 'h3', 1), ('high', 'h0', 14)))
        with low.opensm:
            wait_master(low)
            whole = judge(fabric, low.opensm, ours='dfsssp')
            with Client(low.socket) as client:
                ask_at(low, 'drain', 'leaf-0:4', good=True)
                without = fabric.tables()
                expect(uses(whole, 'leaf-0', 4) > uses(without, 'leaf-0', 4) == 0, 'nothing is drained')
                app = client.must(op='place', ranks=9, patterns=[pattern(shift(9, 4))])['app']
                if client.must(op='request', app=app, key=0)['state'] == 'waiting':
                    client.until(event='key', app=app, key=0, state='active')
                low.opensm.wait_quiet()
                expect(fabric.tables().bytes_of_tables() != without.bytes_of_tables(), 'the key has no entries')
                with high.opensm:
                    wait_handover(low)
                    wait_taken_over(high)
                    expect(judge(fabric, high.opensm, ours='dfsssp').bytes_of_tables() == whole.bytes_of_tables(),
                           'the new master has other tables than the old one at its start')
                    expect(client.must(op='status')['apps'][0]['keys'][0]['state'] == 'withdrawn', 'the key is kept')
                    with held(low.opensm):
                        high.opensm.stop()
                wait_taken_over(low)
                parts = osmroutes('drain', '--socket=' + low.socket)['parts']
                expect([(p['port'], p['state']) for p in parts] == [(4, 'out')], 'it has forgotten what is drained: %s' % parts)
                expect(fabric.tables().bytes_of_tables() == without.bytes_of_tables(), 'the tables without the cable have not come back')


def command(folder, *words, code=0):
    """`osmroutes` as it is on a machine whose sockets are in this folder; its JSON, or the sentence of a refusal."""
    said = subprocess.run([COMMAND, *words, '--json'], capture_output=True, text=True, timeout=patience(90),
                          env=dict(os.environ, OSMROUTES_KEYS=folder))
    expect(said.returncode == code, '%s: exit code %d: %s%s' % (words, said.returncode, said.stdout, said.stderr))
    return json.loads(said.stdout) if said.stdout.strip() else said.stderr


@scenario('standby.instances')
def instances(workdir):
    """Debian's way: an opensm for each port, all with one opensm.conf, cache directory and directory of metrics. Both fabrics have
    switches of the same names. With one socket for both the second opensm says what to write."""
    workdir = os.path.abspath(workdir)
    places = {name: os.path.join(workdir, name) for name in ('cache', 'metrics', 'sockets')}
    for path in places.values():
        os.makedirs(path)
    sockets = places['sockets']
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=2,2', 'w=1,2')
    with ExitStack() as stack:
        fabrics = [stack.enter_context(Fabric(net, os.path.join(workdir, host), host)) for host in ('h0', 'h3')]
        guids = [f.run(['ibstat', '-p']).split()[0] for f in fabrics]

        def start(fabric, name):
            opensm = Opensm(fabric, 'dfsssp', plugin=True, env={'OSM_CACHE_DIR': places['cache']}, name=name[:5],
                            plugin_conf='metrics_dir = %s\ncontrol_socket = %s\n' % (places['metrics'], os.path.join(sockets, name)))
            stack.enter_context(opensm).wait_up()
            return opensm

        # One, with the path of old: its socket is found by its name, and without one.
        opensm = start(fabrics[0], 'keys.sock')
        path = os.path.join(sockets, 'keys.sock')
        expect(command(sockets, 'status')['sm_port'] == command(sockets, 'status', '--socket=' + path)['sm_port'] == guids[0], guids)
        second = start(fabrics[1], 'keys.sock')
        expect([l for l in second.errors() if 'OR15' in l and '%g in control_socket' in l], 'it does not say what to write')
        expect(command(sockets, 'status')['sm_port'] == guids[0], 'the second serves the socket of the first')
        for one in opensm, second:
            one.stop()
        expect(os.listdir(sockets) == [], 'a socket is left')

        both = [start(fabric, 'keys-%g.sock') for fabric in fabrics]
        paths = [os.path.join(sockets, 'keys-%s.sock' % guid[2:]) for guid in guids]
        said = command(sockets, 'status')
        expect([(i['sm_port'], i['socket'], i['state'], i['ours']) for i in said['instances']] ==
               [(guid, path, 'MASTER', True) for guid, path in sorted(zip(guids, paths))], str(said))
        expect('status' not in said, 'one of the two is shown as if there were no other')
        refusal = command(sockets, 'drain', 'leaf-0:3', code=2)
        expect('choose one' in refusal and all(path in refusal for path in paths), refusal)
        expect(command(sockets, 'drain', 'leaf-0:3', '--socket=' + paths[1])['parts'], 'nothing is drained')
        expect([len(command(sockets, 'drain', '--socket=' + path)['parts']) for path in paths] == [0, 1], 'the wrong fabric drains')
        for fabric, opensm in zip(fabrics, both):
            opensm.wait_quiet()
            opensm.check_own_log()
            expect(len(fabric.tables().routes().problems) == 0, 'LIDs are not reached')
        # Where one has gone without a word the other is the only one.
        both[0].process.kill()
        both[0].process.wait()
        expect(command(sockets, 'status')['sm_port'] == guids[1], 'the other one is not found')
        expect(os.path.exists(paths[0]), 'the socket was to be left behind')
    kept = {name: sorted(os.listdir(places[name])) for name in ('cache', 'metrics')}
    for guid in guids:
        for name in kept:
            expect([f for f in kept[name] if f.startswith('osmroutes-' + guid[2:])], '%s: %s' % (guid, kept[name]))
    expect('osmroutes-drained-%s.json' % guids[1][2:] in kept['cache'], kept)
