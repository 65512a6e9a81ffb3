# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What an unprivileged user, a damaged tree, a file system that hangs or a forged file can do to opensm."""
import os
import random
import re
import resource
import signal
import socket
import time

from judge import expect, generate, scenario
from keys import Client, contention, cpu_of, hosts_of, keyed, pattern, shift
from osmtest import TOOLS, patience, pause, preloaded, running, slowness, wait_for


def small_tree(workdir):
    return generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=3,3', 'w=1,3')


def switch_of(tables, name):
    return next(s for s in tables.switches if s.name == name)


PRELOAD_HANG = preloaded('osr-hang.so')


@scenario('keys.rebooted-switch')
def rebooted_switch(workdir):
    """A switch has rebooted: empty tables, the same cables and LIDs. A key is requested while the sweep that finds it
    takes more than a minute. After that sweep the switch has its tables again, by reading them back."""
    minute = os.path.join(workdir, 'minute')
    with keyed(workdir, small_tree(workdir), 1, options={'transaction_timeout': 200},
               wrapper=PRELOAD_HANG, env={'OSR_MINUTE': minute}) as (fabric, opensm):
        opensm.change()
        with Client(os.path.join(workdir, 'keys.sock')) as client:
            client.socket.settimeout(patience(120))
            app = client.must(op='place', ranks=9, patterns=[pattern(shift(9, 1)), pattern(shift(9, 4))])
            client.begin(app['app'], 0)
            client.must(op='done', app=app['app'], key=0)
            opensm.wait_quiet()
            name = next(n for n, (_, kind) in reversed(fabric.ids.items()) if kind == 'switch')
            switch = switch_of(fabric.tables('lft'), name)
            opensm.process.send_signal(signal.SIGSTOP)
            pause(0.2)
            lids = [lid for lid in range(1, len(switch.lft)) if switch.lft[lid] not in (0, 255)]
            for lid in lids:
                fabric.run([os.path.join(TOOLS, 'osr-spoil'), switch.guid, 'lft', str(lid), '255'])
            expect(len(lids) > 8, 'the switch had %d entries' % len(lids))
            fabric.console(fabric.unlink(name), fabric.relink(name))
            fabric.process.send_signal(signal.SIGSTOP)
            mark, before = opensm.sweeps(), len(opensm.log)
            opensm.process.send_signal(signal.SIGCONT)
            pause(2)
            said = client.must(op='request', app=app['app'], key=1)
            expect(said['state'] == 'waiting', 'a request during the sweep: %s' % said)
            pause(1.5)
            open(minute, 'w').close()
            pause(2)
            expect(os.path.getsize(minute), 'nobody looked at the clock')
            fabric.process.send_signal(signal.SIGCONT)
            client.until(120, event='key', app=app['app'], key=1, state='active')
            wait_for('the sweep', lambda: opensm.sweeps() > mark, 60)
            opensm.wait_quiet()
            # Otherwise nothing was tried.
            expect(opensm.routed(before)[0]['outcome'] == 'keys', 'the sweep did not take the key along')
            tables = fabric.tables('lft')
            now = switch_of(tables, name)
            lost = [lid for lid in lids if now.lft[lid] == 255]
            expect(not lost, '%d of %d entries of the rebooted switch are missing' %
                   (len(lost), len(lids)))
            expect(not tables.routes().problems, 'routes: %s' % tables.routes().problems[:1])
            ends = {int(e.guid, 16): e for e in hosts_of(tables)}
            hosts = [ends[int(guid, 16)] for guid in app['hosts']]
            expect(contention(tables, hosts, shift(9, 4), 1) <= 1, 'the key has contention')


@scenario('keys.descriptors')
def descriptors(workdir):
    """opensm has no descriptor left while clients knock: the thread of the control socket waits, sweeps go on, and once
    there are descriptors the next client is served."""
    path = os.path.join(workdir, 'keys.sock')
    with keyed(workdir, small_tree(workdir), 1) as (fabric, opensm):
        opensm.wait_quiet()
        pid = opensm.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        least = max(map(int, os.listdir('/proc/%d/fd' % pid))) + 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (least, before[1]))
        knocking = [socket.socket(socket.AF_UNIX) for _ in range(8)]
        for one in knocking:
            one.connect(path)
        used = cpu_of(pid)
        time.sleep(3)
        used = cpu_of(pid) - used
        expect(used < 0.15, '%.2f s of CPU in 3 s at rest' % used)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        opensm.resweep()
        for one in knocking:
            one.close()
        with Client(path) as client:
            client.must(op='status')
    opensm.check_own_log()


LINE = 1990000		# bytes of a request
SIDE = int(os.environ.get('OSR_SIDE', '6'))	# of the tree of keys.hold: its cube are the hosts
MOST = 50		# ms of CPU under OpenSM's lock


def some_pairs(n, seed):
    """As many pairs as fit in a line."""
    rng = random.Random(seed)
    pairs = ((rng.randrange(n), rng.randrange(n)) for _ in range(LINE // 8))
    return pattern(p for p in pairs if p[0] != p[1])[:LINE].rsplit(' ', 1)[0]


def take_all(path, n):
    """[(client, number of its application)]: keys until no more are taken."""
    clients, where = [], {'ranks': n}
    while True:
        client = Client(path)
        client.socket.settimeout(600)
        app = client.ask(op='place', patterns=[some_pairs(n, len(clients))], **where)
        if not app['ok']:
            return clients
        where = {'hosts': app['hosts']}
        client.begin(app['app'], 0)
        clients.append((client, app['app']))


@scenario('keys.hold')
def hold(workdir):
    """One user has the largest keys that are taken, on all hosts and all LID offsets, and they are in use; then a
    cable dies, and a switch. Sweeps hold OpenSM's lock for these keys for MOST ms of CPU at most. Then opensm is
    ended while it makes the keys again."""
    sides = ','.join([str(SIDE)] * 3)
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=' + sides, 'w=1,%d,%d' % (SIDE, SIDE))
    with keyed(workdir, net, seconds=600, options={'max_wire_smps': 32}) as (fabric, opensm):
        opensm.wait_quiet(600)
        top = [n for n, (_, kind) in fabric.ids.items() if kind == 'switch'][-1]
        clients = take_all(os.path.join(workdir, 'keys.sock'), SIDE ** 3)
        expect(clients, 'no key was taken')
        for command in fabric.unlink(top, 1), fabric.unlink(top):
            opensm.change(command, seconds=600)
            for client, _ in clients:
                wait_for('the key', lambda: client.must(op='status')['apps'][0]['keys'][0]['state'] == 'active', 600)
        opensm.change(fabric.relink(top), seconds=600)
        laid = re.findall(r'and checked in ([\d.]+) ms, ([\d.]+) ms of CPU', opensm.log)
        opensm.stop()
    cpu = max(float(ms) for _, ms in laid)
    print('%d keys; under the lock %s ms, %.1f ms of CPU' % (len(clients), max(laid)[0], cpu))
    expect(cpu <= MOST, 'keys of one user have held the lock for %.1f ms of CPU' % cpu)


# Files ---------------------------------------------------------------------------------------------

@scenario('files.metrics-hang')
def metrics_hang(workdir):
    """metrics_dir is on a file system that does not answer: sweeps, path queries and the end of opensm do not wait for
    it, the log says it once; when it answers again the files are those of the last sweep."""
    where, gate = os.path.join(workdir, 'metrics'), os.path.join(workdir, 'gate')
    os.makedirs(where)
    with running(workdir, 'ring-5', 'dfsssp', options=None,
                 plugin_conf='metrics_dir = %s\n' % where, wrapper=PRELOAD_HANG,
                 env={'OSR_HANG': gate, 'OSR_HANG_IN': where}) as (fabric, opensm):
        wait_for('the first files', lambda: len(os.listdir(where)) == 2, 10)
        old = os.stat(os.path.join(where, os.listdir(where)[0])).st_mtime_ns
        open(gate, 'w').close()
        opensm.resweep(20)
        pause(2.1)
        for _ in range(2):
            opensm.resweep(20)
        lids = fabric.tables('lft').host_lids
        expect('!' not in ''.join(fabric.path_sls(lids[:1], lids).values()), 'path queries fail')
        said = [l for l in opensm.errors() if 'OR12' in l]
        expect(len(said) == 1 and 'of an earlier sweep' in said[0], 'the log: %s' % said)
        os.unlink(gate)
        wait_for('newer files', lambda: os.stat(os.path.join(where, sorted(
            n for n in os.listdir(where) if n[0] != '.')[0])).st_mtime_ns > old, 10)
        open(gate, 'w').close()
        opensm.resweep(20)
        begin = time.monotonic()
        opensm.stop()
        expect(time.monotonic() - begin < 8 * slowness(), 'opensm ended after %.1f s' % (time.monotonic() - begin))
