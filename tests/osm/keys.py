# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Routing keys: applications ask at the control socket, the switches get routes for them."""
import collections
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from judge import expect, generate, judge, scenario
from osmtest import COMMAND, ROOT, Fabric, find_fabric, held, Limit, Opensm, patience, Skip, \
    slowness, wait_for

LOG_DEBUG = 0x0f	# "Writing FT block" is logged at DEBUG, "HEAVY SWEEP COMPLETE" at VERBOSE

HEAVY = 'HEAVY SWEEP COMPLETE'


class Client:
    """One connection, by the protocol of docs/routing-keys.md and nothing of the project's code."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(patience(30))
        self.socket.connect(path)
        self.rest = b''
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def line(self):
        while b'\n' not in self.rest:
            more = self.socket.recv(1 << 16)
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b'\n')
        return json.loads(line)

    def send(self, **what):
        self.socket.sendall(json.dumps(what).encode() + b'\n')

    def answer(self):
        while (said := self.line()) is not None and 'ok' not in said:
            self.events.append(said)
        return said

    def ask(self, **what):
        self.send(**what)
        return self.answer()

    def must(self, **what):
        said = self.ask(**what)
        expect(said and said['ok'], '%s: %s' % (what.get('op'), said))
        return said

    def refused(self, *words, **what):
        said = self.ask(**what)
        expect(said and not said['ok'] and all(w in said['error'] for w in words),
               '%s: expected a refusal with %s, got %s' % (what, words, said))

    def until(self, seconds=30, **wanted):
        """The event with these members; those before it are forgotten."""
        limit = Limit(seconds)
        while True:
            for i, e in enumerate(self.events):
                if all(e.get(k) == v for k, v in wanted.items()):
                    self.events = self.events[i + 1:]
                    return e
            expect(not limit.over(), 'no event %s within %d s' % (wanted, seconds))
            self.socket.settimeout(0.2)
            try:
                said = self.line()
            except socket.timeout:
                continue
            finally:
                self.socket.settimeout(patience(30))
            expect(said is not None, 'the connection was closed')
            self.events.append(said)

    def begin(self, app, key):
        """A phase begins: until the switches have its routes."""
        said = self.must(op='request', app=app, key=key)
        if said['state'] == 'waiting':
            self.until(event='key', app=app, key=key, state='active')


def pattern(pairs):
    return ' '.join('%d>%d' % p for p in pairs)


def shift(n, by):
    return [(i, (i + by) % n) for i in range(n)]


def with_keys(fabric, workdir, lmc=2, name='opensm', conf='', mode='0600', **kwargs):
    options = dict(kwargs.pop('options', {}), lmc=lmc, qos='FALSE')
    return Opensm(fabric, kwargs.pop('engine', 'dmodk'), plugin=True, name=name, options=options,
                  plugin_conf='control_socket = %s\ncontrol_mode = %s\n%s' % (
                      os.path.join(workdir, 'keys.sock'), mode, conf), **kwargs)


@contextlib.contextmanager
def keyed(workdir, netfile, *words, seconds=60, sim=None, **more):
    """(fabric, opensm) with the first sweep over; words, more: of with_keys()."""
    with Fabric(netfile, workdir, sim=sim) as fabric:
        with with_keys(fabric, workdir, *words, **more) as opensm:
            opensm.wait_up(seconds)
            yield fabric, opensm


def hosts_of(tables):
    """End ports of CAs that have neighbours, by name."""
    return sorted((e for e in tables.ends if e.host), key=lambda e: (e.switch, e.port))


def lft_by_offset(tables):
    """{offset: {(switch, LID): port}} of host LIDs."""
    found = {}
    for e in tables.ends:
        for lid in e.lids:
            found.setdefault(lid - e.lid if e.host else 0, {}).update(
                {(s.guid, lid): s.forward(lid) for s in tables.switches})
    return found


def contention(tables, hosts, pairs, offset):
    """Most flows of these pairs on one cable between switches, by following the switches' tables."""
    count = collections.Counter()
    for a, b in pairs:
        way = tables.way(hosts[a], hosts[b], offset)
        expect(way, 'LID %d leads nowhere' % (hosts[b].lid + offset))
        count.update(way[:-1])
    return max(count.values(), default=0)


def no_loops(tables):
    """All routes of all LIDs together, on one lane, with replies."""
    verdict = tables.routes()
    expect(not verdict.problems, 'routes: %s' % verdict.problems[:1])
    expect(not tables.cycles(None, replies=True), 'credit loops')


def keys_sweeps(text):
    return len(re.findall(r'\(base as before\)', text))


@scenario('keys.two-applications')
def two_applications(workdir):
    """LMC 1 to 3, two applications at once: their keys are free of contention in the switches, no other
    LID offset has changed, no discovery took place, and no block was sent that had not changed."""
    for lmc, offsets in ((1, 1), (2, 2), (3, 2)):
        with keyed(workdir, tree_64(workdir), lmc, name='lmc-%d' % lmc,
                   log_flags=LOG_DEBUG) as (fabric, opensm):
            opensm.wait_quiet()
            before = fabric.tables()
            two_on(fabric, opensm, workdir, before, offsets)
        opensm.check_log()


def two_on(fabric, opensm, workdir, before, n_offsets):
    hosts = shuffled(hosts_of(before))
    groups = hosts[0::2], hosts[1::2]
    started = len(opensm.log)
    with Client(os.path.join(workdir, 'keys.sock')) as a, \
            Client(os.path.join(workdir, 'keys.sock')) as b:
        apps = []
        for client, own in ((a, groups[0]), (b, groups[1])):
            n = len(own)
            phases = [shift(n, 1), shift(n, n // 2)]
            apps.append((client, own, phases, client.must(
                op='place', name='test', hosts=[e.guid for e in own], offsets=n_offsets,
                patterns=[pattern(p) for p in phases])))
        opensm.wait_quiet()
        expect('SWEEP' not in opensm.log[started:] and 'REROUTE' not in opensm.log[started:],
               'placing has made a sweep')
        mark = len(opensm.log)
        for client, _, _, app in apps:
            client.begin(app['app'], 0)
        after = fabric.tables()
        log = opensm.log[mark:]
        expect(1 <= keys_sweeps(log) <= 2, '%d sweeps for two requests' % keys_sweeps(log))
        expect('REROUTE COMPLETE' in log, 'the log does not tell of sweeps')
        for sign in (HEAVY, 'LIGHT SWEEP'):
            expect(sign not in log, 'there was a discovery: %s' % sign)
        used = set()
        for _, own, phases, app in apps:
            offset = app['keys'][0]['offset']
            used.add(offset)
            got = contention(after, own, phases[0], offset)
            expect(got <= 1, 'contention %d within an application' % got)
        same_but(before, after, used)
        # OpenSM says at DEBUG which blocks it writes: none but those that differ, all of those.
        sent = {('0x%x' % int(s, 16), int(b)) for b, s in re.findall(r'Writing FT block (\d+) to switch (0x[0-9a-f]+)', log)}
        differ = {('0x%x' % int(s, 16), b) for s, b in before.blocks_changed(after)}
        expect(differ and differ <= sent, 'blocks that differ were not sent')
        # Two requests may be two sweeps, the second of which takes back what the first has changed.
        expect(len(sent - differ) <= len(differ) // 4, '%d blocks sent that do not differ, of %d' % (len(sent - differ), len(sent)))
        no_loops(after)
        # The first LIDs of some application have contention, its key has less: otherwise the test says nothing.
        base = max(contention(after, own, phases[0], 0) for _, own, phases, _ in apps)
        keys = max(contention(after, own, phases[0], app['keys'][0]['offset']) for _, own, phases, app in apps)
        expect(base > keys, 'contention %d with the base routing, %d with keys' % (base, keys))
        for client, _, _, app in apps:
            client.must(op='done', app=app['app'], key=0)
            client.must(op='withdraw', app=app['app'])
    wait_for('the base routing', lambda: same(before, fabric), 30)


def same(before, fabric):
    return before.bytes_of_tables() == fabric.tables().bytes_of_tables()


def same_but(before, after, offsets):
    old, new = lft_by_offset(before), lft_by_offset(after)
    changed = {o for o in old if old[o] != new[o]}
    expect(changed and changed <= offsets, 'offsets %s changed, keys have %s' % (changed, offsets))


# Failures ------------------------------------------------------------------------------------------

def tree_64(workdir):
    """64 hosts on three levels, as many cables up as down."""
    return generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=4,4,4', 'w=1,4,4')


def shuffled(hosts, seed=1):
    order = list(hosts)
    random.Random(seed).shuffle(order)
    return order


def place_all(client, hosts, offsets=1, **more):
    """One application on these hosts: a permutation, and the same backwards."""
    n = len(hosts)
    phases = [shift(n, 5), shift(n, n - 5)]
    return phases, client.must(op='place', hosts=[e.guid for e in hosts], offsets=offsets,
                               patterns=[pattern(p) for p in phases], **more)


def by_name(tables):
    return {e.name: e for e in hosts_of(tables)}


@scenario('keys.link-failure')
def link_failure(workdir):
    """A cable of a key goes: its routes are made anew around it, the application hears of it, and the base is
    that of an opensm that has never had a key. The cable comes back."""
    with Fabric(tree_64(workdir), workdir) as fabric:
        with with_keys(fabric, workdir) as opensm:
            opensm.wait_up()
            whole = fabric.tables()
            hosts = shuffled(hosts_of(whole))
            with Client(os.path.join(workdir, 'keys.sock')) as client:
                phases, app = place_all(client, hosts)
                client.begin(app['app'], 0)
                offset = app['offsets'][0]
                keyed = fabric.tables()
                expect(contention(whole, hosts, phases[0], 0) > 1, 'the base has no contention')
                expect(contention(keyed, hosts, phases[0], offset) == 1, 'contention of the key')
                (v, port), *_ = keyed.way(hosts[0], hosts[5], offset)
                cable = keyed.switches[v].name, port
                opensm.change(fabric.unlink(*cable))
                told = client.until(event='notice', app=app['app'])
                expect('new routes' in told['text'], 'the notice: %s' % told)
                # The sweep that found it had the base; the routes come with one for keys.
                client.until(event='key', app=app['app'], key=0, state='active')
                status = client.must(op='status')['apps'][0]
                expect(status['keys'][0]['state'] == 'active', 'after a lost cable: %s' % status)
                opensm.wait_quiet()
                names = by_name(fabric.tables())
                broken = fabric.tables()
                now = [names[e.name] for e in hosts]
                got = contention(broken, now, phases[0], offset)
                expect(got <= status['keys'][0]['contention'] <= 2, 'contention %d' % got)
                no_loops(broken)
                opensm.change(fabric.relink(*cable))
                judge(fabric, opensm, ours='dmodk')
                client.must(op='done', app=app['app'], key=0)
                client.begin(app['app'], 1)
                again = fabric.tables()
                expect(contention(again, [by_name(again)[e.name] for e in hosts], phases[1],
                                  offset) == 1, 'contention on the mended tree')
        opensm.check_own_log()
        with Opensm(fabric, 'dmodk', plugin=True, name='without', options={'lmc': 2, 'qos': 'FALSE'}
                    ) as plain:
            plain.wait_up()
            base = fabric.tables()
    same_but(base, again, {offset})


@scenario('keys.lost-host')
def lost_host(workdir):
    """A host goes and comes back while OpenSM uses its unicast cache: the key of the others stays active, and the
    tables from the cache, with its entries in them, pass the check."""
    with keyed(workdir, tree_64(workdir), options={'use_ucast_cache': 'TRUE'}) as (fabric, opensm):
        opensm.wait_quiet()
        whole = fabric.tables('lft')
        hosts = shuffled(hosts_of(whole))
        lost = whole.switches[hosts[3].switch].name, hosts[3].port
        with Client(os.path.join(workdir, 'keys.sock')) as client:
            phases, app = place_all(client, hosts)
            client.begin(app['app'], 0)
            for command, gone in ((fabric.unlink, 1), (fabric.relink, 0)):
                opensm.change(command(*lost))
                opensm.wait_quiet()
                said = client.must(op='status')['apps'][0]
                expect(said['ranks_gone'] == gone and said['keys'][0]['state'] == 'active', said)
                tables = fabric.tables('lft')
                expect(not tables.routes().problems, 'routes with %d hosts gone' % gone)
        now = by_name(tables)
        expect(contention(tables, [now[e.name] for e in hosts], phases[0], app['offsets'][0]) == 1,
               'contention after the host has come back')
    expect('unicast cache checked' in opensm.log, 'the cache was not used')
    opensm.check_own_log()


@scenario('keys.restart')
def restart(workdir):
    """OpenSM stops and starts: the tables are those of before any key, applications have gone, and the number of one of
    before the restart names nothing."""
    path = os.path.join(workdir, 'keys.sock')
    cache = os.path.join(workdir, 'cache')
    os.makedirs(cache)
    env = {'OSM_CACHE_DIR': cache}
    with Fabric(tree_64(workdir), workdir) as fabric:
        with with_keys(fabric, workdir, name='first', env=env) as opensm:
            opensm.wait_up()
            before = fabric.tables()
            hosts = shuffled(hosts_of(before))
            with Client(path) as client:
                _, app = place_all(client, hosts, offsets=2, name='kept')
                _, held = place_all(client, hosts[:8], hold=True, name='held')
                client.begin(app['app'], 1)
            wait_for('the held application to go', lambda: len(apps_of(path)) == 1, 10)
            opensm.wait_quiet()
        opensm.check_log()
        time.sleep(1)
        with with_keys(fabric, workdir, name='second', env=env) as opensm:
            opensm.wait_up()
            opensm.wait_quiet()
            tables = fabric.tables()
            no_loops(tables)
            expect(tables.bytes_of_tables() == before.bytes_of_tables(), 'other tables after a restart')
            expect(not apps_of(path), 'after a restart: %s' % apps_of(path))
            with Client(path) as client:
                _, other = place_all(client, hosts, name='other')
            opensm.wait_quiet()
            expect(other['app'] > held['app'] > app['app'], 'numbers: %s' % [a['app'] for a in (app, held, other)])
        opensm.check_own_log()


def apps_of(path):
    with Client(path) as client:
        return client.must(op='status')['apps']


# Those who mean no good --------------------------------------------------------------------------------

def as_nobody(function, *words):
    """Runs function(*words) as user 65534 in a process of its own; its sentence, if it has one."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            function(*words)
        except BaseException as e:	# whatever it is, the test is to say it
            os.write(write, repr(e).encode()[:2000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


def cpu_of(process):
    with open('/proc/%d/stat' % process) as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def bad_input(client, hosts, app):
    n = len(hosts)
    guids = [e.guid for e in hosts]
    client.refused('no host', op='place', hosts=['0xdead', '0xbeef'], patterns=['0>1'])
    client.refused('no end port is called "nowhere"', op='place', hosts=['nowhere', guids[0]], patterns=['0>1'])
    client.refused('ranks 0 and %d' % n, op='place', hosts=guids, patterns=['0>%d' % n])
    client.refused('two ranks', op='place', hosts=guids, patterns=['0>1 zero>one'])
    client.refused('"patterns"', op='place', hosts=guids, patterns=[])
    client.refused('expected a text', op='place', hosts=guids, patterns=[{'no': 1}])
    client.refused('LID offset', op='place', hosts=guids, patterns=['0>1'] * 4, offsets=4)
    client.refused('keys 0 to 1', op='request', app=app, key=7)
    client.refused('no application', op='request', app=4711, key=0)
    client.refused('not in use', op='done', app=app, key=1)
    client.refused('whole number', op='request', app=-1, key=0)
    client.refused('"op"', op='destroy')
    client.refused('"op"', nothing='at all')
    for text in (b'\n', b'{\n', b'[]\n', b'null\n', b'\xff\xfe\n', b'{"op":"status","op":"place"}\n',
                 b'[' * 5000 + b'\n', b'{"op": "place", "hosts": {"a": 1}, "patterns": ["0>1"]}\n'):
        client.socket.sendall(text)
        said = client.answer()
        expect(said and not said['ok'], '%r was taken: %s' % (text[:40], said))
    client.must(op='request', app=app, key=0)
    client.refused('in use already', op='request', app=app, key=0)
    client.refused('LID offset', op='request', app=app, key=1)
    client.must(op='done', app=app, key=0)


def stranger(path, app, guids):
    """As somebody else: root's application is not there, and there is an end to what one may have."""
    with Client(path) as client:
        for op in ('request', 'done', 'withdraw', 'attach'):
            client.refused('no application', op=op, app=app, key=0)
        expect(client.must(op='status')['apps'] == [], 'a stranger sees applications')
        client.refused('cannot place', op='place', hosts=guids, patterns=['0>1'], owner=0)
        own = client.must(op='place', hosts=guids[:2], patterns=['0>1'])
        expect(own['owner'] == 65534, 'the owner is %s' % own)
        client.begin(own['app'], 0)
        client.must(op='place', hosts=guids[2:4], patterns=['0>1'])
        client.refused('no more', op='place', hosts=guids[4:6], patterns=['0>1'])
        client.must(op='withdraw', app=own['app'])
    clients = []
    for _ in range(40):
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        clients.append(one)
    last = clients[-1]
    last.settimeout(patience(10))
    expect(b'too many' in last.recv(4096), '40 connections of one user')


def flood(path, seconds):
    """Many connections, all talking at once and none reading; half lines, and lines without an end."""
    end = time.monotonic() + seconds
    clients = []
    for i in range(12):
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        one.setblocking(False)
        clients.append(one)
    lines = [b'{"op":"status"}\n' * 200, b'{"op":"place","hosts":["x","y"],"patterns":["0>1"]}\n' * 50,
             b'x' * 65536, b'\n' * 5000]
    n = 0
    while time.monotonic() < end:
        for i, one in enumerate(clients):
            try:
                n += one.send(lines[i % len(lines)])
            except BlockingIOError:
                pass
            except OSError:
                clients[i] = socket.socket(socket.AF_UNIX)
                clients[i].connect(path)
                clients[i].setblocking(False)
        time.sleep(0.001)
    for one in clients[::2]:
        one.close()	# in the middle of whatever it was saying
    expect(n > 1 << 20, 'the flood was %d bytes' % n)


@scenario('keys.hostile')
def hostile(workdir):
    """Nonsense, floods, half and endless lines, dead clients, strangers: clear answers, an opensm that goes on
    sweeping and answering, and in the end the tables of the beginning."""
    if os.geteuid():
        raise Skip('only root can become somebody else')
    directory = tempfile.mkdtemp(prefix='osr-keys-')	# others must be able to reach it
    os.chmod(directory, 0o755)
    path = os.path.join(directory, 'keys.sock')
    try:
        with Fabric(tree_64(workdir), workdir) as fabric:
            with with_keys(fabric, directory, mode='0666', conf='user_apps = 2\n') as opensm:
                opensm.wait_up()
                before = fabric.tables()
                hosts = hosts_of(before)
                with Client(path) as client:
                    _, app = place_all(client, hosts)
                    bad_input(client, hosts, app['app'])
                    # LMC 2: three offsets; a host that has all three is refused.
                    guids = [e.guid for e in hosts]
                    apps = [client.must(op='place', hosts=guids, patterns=['0>1'])['app'] for _ in range(2)]
                    client.refused('taken by other applications', op='place', hosts=guids, patterns=['0>1'])
                    for other in apps:
                        client.must(op='withdraw', app=other)
                    said = as_nobody(stranger, path, app['app'], guids)
                    expect(not said, said)
                    endless(path)
                    under_flood(fabric, opensm, client, path, app['app'])
                    client.must(op='withdraw', app=app['app'])
                    for left in client.must(op='status')['apps']:
                        client.must(op='withdraw', app=left['app'])
                wait_for('the base routing', lambda: same(before, fabric), 30)
            opensm.check_log()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def endless(path):
    with Client(path) as client:
        try:
            for _ in range(40):
                client.socket.sendall(b'y' * 65536)
        except OSError:
            pass	# it has hung up already
        try:
            said = client.line()
        except ConnectionResetError:
            said = None
        expect(said is None or 'too long' in said['error'], 'a line without an end: %s' % said)


def under_flood(fabric, opensm, client, path, app):
    """Meanwhile: keys, sweeps and path queries, and not much of the processor."""
    seconds = 4 * slowness()
    read, write = os.pipe()
    flooder = os.fork()
    if not flooder:
        os.write(write, as_nobody(flood, path, seconds).encode()[:2000])
        os._exit(0)
    os.close(write)
    # The process that ibsim-run has become.
    used, begin = cpu_of(opensm.process.pid), time.monotonic()
    time.sleep(1)
    client.begin(app, 0)
    client.must(op='done', app=app, key=0)
    tables = fabric.tables()
    rows = fabric.path_sls([hosts_of(tables)[0].lid], tables.host_lids)
    expect('!' not in ''.join(rows.values()), 'path queries fail under a flood')
    opensm.resweep(20)
    while os.waitpid(flooder, os.WNOHANG)[0] == 0:
        time.sleep(0.05)
    share = (cpu_of(opensm.process.pid) - used) / (time.monotonic() - begin)
    with os.fdopen(read) as file:
        said = file.read()
    expect(not said, 'the flood: ' + said)
    print('share of a processor under the flood, sweeps included: %.2f' % share)
    expect(share < 0.7, 'a flood takes %.2f of a processor' % share)


@scenario('keys.standby')
def standby(workdir):
    """An SM that is not master gives no keys; when it has become master it does."""
    quick = {'sminfo_polling_timeout': 500, 'polling_retry_number': 2}
    with Fabric(find_fabric('tree-3'), workdir) as fabric:
        with with_keys(fabric, workdir, name='master', options=dict(quick, sm_priority=9)) as master:
            master.wait_up()
            tables = fabric.tables()
            hosts = hosts_of(tables)
            other = os.path.join(workdir, 'other')
            os.makedirs(other)
            fabric.env = dict(fabric.env, SIM_HOST=fabric.node_id(hosts[-1].name))
            with with_keys(fabric, other, name='standby', options=dict(quick, sm_priority=1)) as second:
                wait_for('the standby SM', lambda: 'ENTERING STANDBY STATE' in second.log or
                         'Entering STANDBY' in second.log, 30)
                with Client(os.path.join(other, 'keys.sock')) as client:
                    client.refused('is STANDBY', op='place', hosts=[hosts[0].guid, hosts[1].guid],
                                   patterns=['0>1'])
                    with held(second):
                        master.stop()
                    wait_for('the other SM', lambda: 'SUBNET UP' in second.log, 60)
                    app = client.must(op='place', hosts=[e.guid for e in hosts],
                                      patterns=[pattern(shift(len(hosts), 3))])
                    client.begin(app['app'], 0)


@scenario('keys.not-applicable')
def not_applicable(workdir):
    """Fabrics and options without keys: one sentence, and the routing as ever."""
    for net, engine, lmc, word in (('torus-4x4', 'dfsssp', 2, 'no keys on this fabric'),
                                   ('tree-3', 'dmodk', 0, 'LID offset'),
                                   ('tree-3', 'minhop', 2, 'no fabric')):
        with keyed(workdir, find_fabric(net), lmc, engine=engine, name=net + engine) as (fabric,
                   opensm):
            hosts = hosts_of(fabric.tables())
            with Client(os.path.join(workdir, 'keys.sock')) as client:
                client.refused(word, op='place', hosts=[hosts[0].guid, hosts[-1].guid],
                               patterns=['0>1'])
        opensm.check_log()
    with Fabric(find_fabric('tree-3'), workdir) as fabric:
        for name, conf, word in (('mode', 'control_mode = rw-\n', 'octal'),
                                 ('file', 'control_socket = %s\n' % fabric.netfile, 'is not a socket')):
            with with_keys(fabric, workdir, name=name, conf=conf) as opensm:
                opensm.wait_up()
            expect([l for l in opensm.errors() if 'OR15' in l and word in l], 'no line about ' + word)


# The command, and Slurm ----------------------------------------------------------------------------

@scenario('keys.slurm')
def slurm(workdir):
    """The shipped prolog: a job that asks for keys has them in its environment, and none after its end."""
    path = os.path.join(workdir, 'keys.sock')
    tools = os.path.join(workdir, 'bin')
    os.makedirs(tools)
    os.symlink(COMMAND, os.path.join(tools, 'osmroutes'))
    with open(os.path.join(tools, 'scontrol'), 'w') as file:	# all that the script wants of Slurm
        file.write('#!/bin/sh\necho "$3" | tr , "\\n"\n')
    os.chmod(os.path.join(tools, 'scontrol'), 0o755)

    def run(context, comment='osmroutes:cps-ring'):
        env = dict(os.environ, PATH=tools + ':' + os.environ['PATH'], OSMROUTES_KEYS=path,
                   OSMROUTES_JOBS=os.path.join(workdir, 'jobs'),
                   OSMROUTES_PATTERNS=os.path.join(ROOT, 'share', 'examples', 'traffic-patterns'), SLURM_JOB_ID='7', SLURM_JOB_UID='65534',
                   SLURM_JOB_NODELIST='h0,h3,h5,h6', SLURM_JOB_COMMENT=comment,
                   SLURM_SCRIPT_CONTEXT=context)
        done = subprocess.run([os.path.join(ROOT, 'share', 'examples', 'slurm-prolog')], env=env,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=patience(30))
        expect(done.returncode == 0, done.stderr)
        return done.stdout

    with keyed(workdir, find_fabric('tree-3')) as (fabric, opensm):
        run('prolog_slurmctld', comment='nothing')
        expect(run('prolog_task', comment='nothing') == '' and not apps_of(path), 'a job that wants no keys')
        run('prolog_slurmctld')
        app = apps_of(path)[0]
        expect(run('prolog_task') == 'export OSMROUTES_APP=%d\nexport UCX_IB_LID_PATH_BITS=1\n' % app['app'],
               'the environment of a task: %s' % run('prolog_task'))
        expect(app['owner'] == 65534 and app['name'] == 'job 7' and app['ranks'] == 4, app)
        # The prolog alone has put the key into the switches.
        expect(app['keys'][0]['state'] == 'active', 'after the prolog: %s' % app)
        ends = by_name(fabric.tables())
        own = [ends[name] for name in ('h0', 'h3', 'h5', 'h6')]
        tables = fabric.tables()
        expect(lft_by_offset(tables)[1] != lft_by_offset(tables)[0] and
               contention(tables, own, shift(4, 1), 1) == 1, 'the switches after the prolog')
        for words in (['done', str(app['app']), '0'], ['request', str(app['app']), '0'], ['status', str(app['app']), '--json']):
            done = subprocess.run([COMMAND, 'key', '--socket=' + path] + words, text=True,
                                  stdout=subprocess.PIPE, timeout=patience(30))
            expect(done.returncode == 0, '%s ended with %d' % (words, done.returncode))
        expect(json.loads(done.stdout)['keys'][0]['contention'] == 1, done.stdout)
        run('epilog_slurmctld')
        expect(not apps_of(path), 'the application outlives its job')
        # One key for the whole job.
        run('prolog_slurmctld', comment='osmroutes')
        app = apps_of(path)[0]
        env = dict(re.findall('export (.*)=(.*)', run('prolog_task', comment='osmroutes')))
        bits = app['offsets'][0]
        expect((int(env['OSMROUTES_APP']), int(env['UCX_IB_LID_PATH_BITS'])) == (app['app'], bits), 'a job: %s' % env)
        with open(env['SLURM_HOSTFILE']) as file:
            ranks = file.read().split()
        with open(env['OSMROUTES_RANKFILE']) as file:
            expect(file.read() == ''.join('rank %d=%s slot=0\n' % r for r in enumerate(ranks)), 'ranks: %s' % ranks)
        tables = fabric.tables()
        own = [by_name(tables)[name] for name in ranks]
        expect(sorted(ranks) == ['h0', 'h3', 'h5', 'h6'] and
               max(contention(tables, own, shift(4, by), bits) for by in (1, 2, 3)) <= 1, 'the key of a job')
        run('epilog_slurmctld', comment='osmroutes')
        expect(not apps_of(path) and not os.listdir(os.path.join(workdir, 'jobs')), 'the end of a job')
        opensm.wait_quiet()
    opensm.check_log()


@scenario('keys.batch')
def batch(workdir):
    """Eight requests at once are fewer sweeps than eight; requests during a sweep with discovery wait for it."""
    with keyed(workdir, tree_64(workdir)) as (fabric, opensm):
        hosts = shuffled(hosts_of(fabric.tables()))
        groups = [hosts[i::8] for i in range(8)]
        clients = [Client(os.path.join(workdir, 'keys.sock')) for _ in groups]
        apps = [place_all(c, own)[1]['app'] for c, own in zip(clients, groups)]
        opensm.wait_quiet()
        mark = len(opensm.log)
        for key, resweep in ((0, False), (1, True)):
            if resweep:
                opensm.process.send_signal(signal.SIGHUP)
            for c, app in zip(clients, apps):
                c.send(op='request', app=app, key=key)
            for c, app in zip(clients, apps):
                said = c.answer()
                expect(said['ok'], said)
                if said['state'] == 'waiting':
                    c.until(event='key', app=app, key=key, state='active')
            for c, app in zip(clients, apps):
                c.must(op='done', app=app, key=key)
        n = keys_sweeps(opensm.log[mark:])
        expect(1 <= n < 12, '%d sweeps for 16 requests' % n)
        opensm.wait_quiet()
        tables = fabric.tables()
        for i, own in enumerate(groups):
            expect(contention(tables, own, shift(8, 3), 1) <= 1, 'contention of application %d' % i)
        no_loops(tables)
        for c in clients:
            c.socket.close()
    opensm.check_log()
