# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Short campaigns of what seldom happens: parts that change identity, OpenSM's cache with keys and LMC, a third of all
MADs lost, memory that runs out, SIGTERM at any moment. OSR_SEED makes others of them, OSR_STEPS longer ones:

    OSR_SEED=7 OSR_STEPS=200 ctest --test-dir build -R 'osm.(rough|stop)' --timeout 3600
"""
import concurrent.futures
import os
import random
import re
import signal
import struct
import subprocess
import time

from anysl import ANY_SL, SLVL, sparse
from groups import BROADCAST
from judge import Claims, expect, first, generate, judge, QOS, scenario
from keys import Client
from osmtest import Fabric, Failure, find_fabric, held, Opensm, patience, PRELOAD, preloaded, running, Served, Skip, \
    TOOLS, wait_for
from restart import handover_sm, kill


STARVE = preloaded('osr-starve.so')
SEED = int(os.environ.get('OSR_SEED', 1))


def steps(few):
    return int(os.environ.get('OSR_STEPS', few))


def hosts_but_sm(fabric):
    """Node names in ibsim's console of all hosts but the one opensm sits on."""
    return [fabric.node_id(i) for i, (_, kind) in sorted(fabric.ids.items())
            if kind != 'switch' and i != fabric.env['SIM_HOST'] and fabric.node_id(i) != fabric.env['SIM_HOST']]


def switches_of(fabric):
    return [fabric.node_id(i) for i, (_, kind) in sorted(fabric.ids.items()) if kind == 'switch']


def settled(fabric, opensm, ours, tries=6):
    """After enough sweeps for OpenSM to give out LIDs anew, the tables are right."""
    for i in range(tries):
        opensm.change()
        try:
            return judge(fabric, opensm, ours=ours)
        except Failure:
            if i + 1 == tries:
                raise


def change_of_identity(rng, fabric, links):
    """Console commands: another GUID, LID or LMC, the LID of another, a rebooted switch, a cable in another port."""
    host, switch = rng.choice(hosts_but_sm(fabric)), rng.choice(switches_of(fabric))
    guid = rng.getrandbits(62) | 1
    a, b = rng.sample(links, 2)
    return rng.choice([
        ['Guid "%s" 0x%x' % (switch, guid)],
        ['Guid "%s" 0x%x' % (host, guid)],
        ['Guid "%s"[1] 0x%x' % (host, guid)],
        ['Baselid "%s"[1] %d' % (host, rng.randrange(1, 30))],
        ['Baselid "%s"[1] %d' % (host, rng.choice([0, 20000, 0xbffe, 0xbfff, 0xc000, 0xffff]))],
        ['Baselid "%s"[1] %d %d' % (host, rng.randrange(1, 200), rng.randrange(8))],
        ['Unlink "%s"' % switch, 'Guid "%s" 0x%x' % (switch, guid), 'ReLink "%s"' % switch],
        [fabric.unlink(*a[:2]), fabric.unlink(*b[:2]), fabric.relink(*a[:2]), fabric.relink(*b[:2])]])


@scenario('rough.identity')
def identity(workdir):
    """GUIDs, LIDs and LMCs change under a running opensm, two ports have one LID, switches reboot: opensm goes on, and
    once nothing changes any more its tables are right."""
    rng = random.Random(SEED)
    with running(workdir, 'random-12', 'dfsssp') as (fabric, opensm):
        links = fabric.tables().cables()
        for _ in range(steps(8)):
            for command in change_of_identity(rng, fabric, links):
                fabric.console(command)
            opensm.resweep()
        settled(fabric, opensm, 'dfsssp')


@scenario('rough.cache-keys')
def cache_and_keys(workdir):
    """use_ucast_cache, LMC 1 and routing keys together, cables that die and return: every LID arrives after each."""
    rng, path = random.Random(SEED), os.path.join(os.path.abspath(workdir), 'keys.sock')
    options = {'lmc': 1, 'use_ucast_cache': 'TRUE', 'qos': 'FALSE'}
    with running(workdir, 'tree-3', 'dmodk', options=options,
                 plugin_conf='control_socket = %s\n' % path) as (fabric, opensm):
        links, down = fabric.tables().cables(), []
        with Client(path) as client:
            for _ in range(steps(3)):
                if down and rng.random() < 0.5:
                    opensm.change(fabric.relink(*down.pop(rng.randrange(len(down)))[:2]))
                else:
                    down.append(rng.choice([l for l in links if l not in down]))
                    opensm.change(fabric.unlink(*down[-1][:2]))
                ranks = list(range(4))
                rng.shuffle(ranks)
                answer = client.ask(op='place', ranks=4, patterns=[' '.join('%d>%d' % p for p in enumerate(ranks) if p[0] != p[1])])
                if answer and answer.get('ok'):
                    client.send(op='request', app=answer['app'], key=0)
                opensm.wait_quiet()
                verdict = fabric.tables('lft').routes()
                expect(not verdict.problems, first(verdict.problems))


@scenario('rough.lost-mads')
def lost_mads(workdir):
    """One switch loses a fifth of its MADs from the start; then those at both ends of a cable that dies; then all of them lose 30 %
    while cables come and go; then the SM's own loses all, a fabric without switches. Whatever the sweeps made of it, once none is
    lost any more the tables are right, and at last those of before; osmroutes complains of a switch that is cut off alone."""
    rng = random.Random(SEED)
    with Fabric(find_fabric('torus-4x4'), workdir) as fabric:
        def lose(switches, percent):
            fabric.console(*['Error "%s" %d' % (fabric.node_id(name), percent) for name in switches])

        lose(['s-1-1'], 20)
        with Opensm(fabric, 'dfsssp', plugin=True, options=dict(QOS, transaction_timeout=50)) as opensm:
            wait_for('a sweep', opensm.sweeps, 60)
            lose(['s-1-1'], 0)
            tables = settled(fabric, opensm, 'dfsssp')
            links, switches = tables.cables(), [s.name for s in tables.switches]
            name, port, other = links[7]
            lose([name, other], 30)
            sweeps = opensm.sweeps()
            fabric.console(fabric.unlink(name, port))
            wait_for('the sweep after the trap', lambda: opensm.sweeps() > sweeps, 60, opensm._alive)
            lose([name, other], 0)
            settled(fabric, opensm, 'dfsssp')
            # Sweeps follow each other within milliseconds, so both may lose the same answers: then these two lines are true.
            opensm.check_own_log(['OR05', 'OR19', 'OR24'])
            fabric.console(fabric.relink(name, port))
            before = settled(fabric, opensm, 'dfsssp')
            lose(switches, 30)
            for _ in range(steps(2)):
                cut = rng.choice(links)
                fabric.console(fabric.unlink(*cut[:2]))
                opensm.resweep()
                fabric.console(fabric.relink(*cut[:2]))
            lose(switches, 0)
            settled(fabric, opensm, 'dfsssp')
            errors = len(opensm.errors())
            lose([next(s.name for s in tables.switches for node, _ in s.hosts.values() if node == tables.data['from'])], 100)
            opensm.resweep()
            lose(switches, 0)
            after = settled(fabric, opensm, 'dfsssp')
            expect(before.bytes_of_tables(False) == after.bytes_of_tables(False), 'the tables differ')
            expect(not [l for l in opensm.errors()[errors:] if 'osmroutes' in l], 'osmroutes complains of a fabric without switches')


@scenario('rough.storm')
def storm(workdir):
    """Two hosts ask for path records as fast as they are answered, others join and leave the broadcast group, while cables come and go and
    one SIGHUP follows the other; then all is right. Data races are for scripts/check sanitize thread."""
    rng, sa = random.Random(SEED), os.path.join(TOOLS, 'osr-sa')
    with running(workdir, 'random-12', 'dfsssp', options=dict(QOS, routing_threads_num=2),
                 plugin_conf='metrics_dir = %s\n' % os.path.abspath(workdir)) as (fabric, opensm):
        tables = fabric.tables()
        links = tables.cables()
        hosts = [i for i, (_, kind) in sorted(fabric.ids.items()) if fabric.node_id(i) in hosts_but_sm(fabric)]
        lids = [str(e.lid) for e in tables.ends if e.host]
        over = time.monotonic() + steps(4)

        def ask(host):
            served, asked = Served(fabric, [sa, 'paths'], host), 0
            while time.monotonic() < over:
                asked += len(served.ask(['%s: %s' % (lid, ' '.join(lids)) for lid in lids]))
            served.close()
            return asked

        pool = concurrent.futures.ThreadPoolExecutor()
        asking = [pool.submit(ask, host) for host in hosts[:2]]
        n = joined = 0
        while not all(client.done() for client in asking):
            cut = rng.choice(links)
            fabric.console(fabric.unlink(*cut[:2]))
            for _ in range(5):
                opensm.process.send_signal(signal.SIGHUP)
                said = fabric.run([sa, rng.choice(['join', 'leave']), BROADCAST], host=rng.choice(hosts[2:]), ok=False)
                joined += 'mlid' in said
            fabric.console(fabric.relink(*cut[:2]))
            n += 1
        expect(n > 1 and joined and all(client.result() for client in asking), 'no storm')
        settled(fabric, opensm, 'dfsssp')


def ended(opensm, live, begin=None):
    """None if opensm ended as it was told to after live(), else what became of it."""
    try:
        with opensm:
            if begin:
                begin()
            opensm.wait_up(20)
            live()
    except Failure as f:
        if opensm.process.poll() is None:
            opensm.process.kill()
            opensm.process.wait()
            return 'hangs: %s' % f
        return opensm.process.returncode
    return None


def ask_all(path, *questions):
    """The socket may be gone, and answers may be refusals."""
    try:
        with Client(path) as client:
            client.socket.settimeout(patience(3))
            for question in questions:
                client.ask(**question)
    except (OSError, ValueError, Failure):
        pass


def short_life(workdir, name, wrapper, env=None):
    """Up, a key, a fault."""
    folder = os.path.join(os.path.abspath(workdir), name)
    os.makedirs(folder)
    path, conf = os.path.join(folder, 'keys.sock'), 'metrics_dir = %s\n' % folder
    with Fabric(find_fabric('tree-2'), folder) as fabric:
        opensm = Opensm(fabric, 'dmodk', plugin=True, plugin_conf=conf + 'control_socket = %s\n' % path,
                        options={'lmc': 1}, wrapper=wrapper, env=env)
        switch = switches_of(fabric)[-1]

        def live():
            ask_all(path, dict(op='place', ranks=4, patterns=['0>1 1>2 2>3 3>0']), dict(op='request', app=1, key=0))
            opensm.change('Unlink "%s"[1]' % switch, seconds=20)
            opensm.change('ReLink "%s"[1]' % switch, seconds=20)

        return ended(opensm, live)


def life_with_lanes(workdir, name, wrapper, env=None):
    """Lanes by turn: SL2VL tables sent and read back, a cable drained and put back, one that flaps, two rounds."""
    folder = os.path.join(os.path.abspath(workdir), name)
    os.makedirs(folder)
    path = os.path.join(folder, 'keys.sock')
    net = generate(os.path.join(folder, 'sparse.net'), 'random', 'switches=16', 'links=36', 'seed=2')
    with Fabric(net, folder) as fabric:
        opensm = Opensm(fabric, 'dfsssp', plugin=True, options=dict(QOS, max_op_vls=2), wrapper=wrapper, env=env,
                        plugin_conf='control_socket = %s\nhold_down_after = 2\n[dfsssp]\nany_sl = on\n' % path)

        def live():
            (name, port, _), cut = fabric.tables().cables()[3:5]
            part = '%s:%d' % (name, port)
            ask_all(path, dict(op='drain', what=part), dict(op='drained'))
            opensm.resweep(20)
            for _ in range(2):
                opensm.change(fabric.unlink(*cut[:2]), seconds=20)
                opensm.change(fabric.relink(*cut[:2]), seconds=20)
            ask_all(path, dict(op='undrain', what=part))
            opensm.resweep(20)

        return ended(opensm, live)


def counted(path):
    """Allocations so far."""
    with open(path, 'rb') as file:
        return struct.unpack('l', file.read())[0]


def fail_some(workdir, life, spans=None):
    """One allocation fails in each life: of all, or of the spans that the whole life has noted."""
    if PRELOAD:
        raise Skip('a sanitizer allocates otherwise')
    path = os.path.join(os.path.abspath(workdir), 'count')
    became = life(workdir, 'whole', STARVE, {'OSR_STARVE_COUNT': path})
    expect(became is None, 'without a failure: %s' % became)
    n = counted(path)
    expect(n > 100, 'only %d allocations were seen' % n)
    numbers = [at for span in spans for at in range(*span)] if spans else range(n)
    rng = random.Random(SEED)
    for at in sorted(rng.sample(numbers, min(len(numbers), steps(2)))):
        became = life(workdir, 'at-%d' % at, STARVE, {'OSR_STARVE': str(at)})
        expect(became is None, 'allocation %d of %d: %s' % (at, n, became))


@scenario('rough.allocations')
def allocations(workdir):
    """One allocation of the plugin fails, in a living opensm, another one in each life: it comes up, and ends in peace."""
    fail_some(workdir, short_life)


@scenario('rough.allocations-lanes')
def allocations_lanes(workdir):
    """The same with SL2VL tables, drained cables, and links that are held down."""
    fail_some(workdir, life_with_lanes)


def life_of_standby(workdir, name, wrapper, env, spans):
    """The master is killed; the standby routes; a cable dies and
    returns. Notes in spans, if it is empty, from which allocation to which it took over, and sent in two rounds."""
    count = env.get('OSR_STARVE_COUNT')
    marks = []

    with Fabric(find_fabric('tree-3'), os.path.join(os.path.abspath(workdir), name)) as fabric:
        with handover_sm(fabric, fabric.env['SIM_HOST'], 'first') as master:
            master.wait_up()
            (switch, port, _) = fabric.tables().cables()[0]
            standby = handover_sm(fabric, hosts_but_sm(fabric)[-1], 'second', wrapper=wrapper, env=env)

            def begin():
                wait_for('standby', lambda: 'STANDBY' in standby.log, 60, standby._alive)
                marks.append(counted(count) if count else 0)
                with held(standby):
                    kill(master)
                    fabric.forget(master.process.pid)

            def live():
                standby.wait_quiet(20)
                marks.append(counted(count) if count else 0)
                standby.resweep(20)
                for change in (fabric.unlink, fabric.relink):
                    marks.append(counted(count) if count else 0)
                    standby.change(change(switch, port), seconds=20)
                    marks.append(counted(count) if count else 0)

            became = ended(standby, live, begin)
        if became is None and not spans:
            expect('second round of tables' in standby.log, 'the standby sends nothing in two rounds')
            spans += zip(marks[::2], marks[1::2])
    return became if 'SUBNET UP' in standby.log else 'never up'


@scenario('rough.allocations-handover')
def allocations_handover(workdir):
    """The same while a standby takes over, and in changes that are sent in two rounds."""
    spans = []

    def life(*args):
        # ibsim may lose the standby's last question, for which OpenSM then waits for ever.
        for _ in range(5):
            became = life_of_standby(*args, spans)
            if became != 'never up':
                break
        return became

    fail_some(workdir, life, spans)


@scenario('rough.limits')
def limits(workdir):
    """Limits of address space. OpenSM does not look at every address that it asked for; if opensm dies of that, it was
    not in the plugin, nor in what the plugin called."""
    if PRELOAD:
        raise Skip('a sanitizer takes terabytes of addresses')
    rng, bad, trace = random.Random(SEED), [], os.path.join(os.path.abspath(workdir), 'died')
    for mb in sorted(rng.sample(range(60, 400, 4), min(85, steps(2)))):
        became = short_life(workdir, 'mb-%d' % mb, ['prlimit', '--as=%d' % (mb << 20)] + STARVE, {'OSR_STARVE_DIED': trace})
        where = ''
        if os.path.exists(trace):
            with open(trace) as file:
                where = file.read()
            os.remove(trace)
        if isinstance(became, str) or became == -signal.SIGABRT or 'libosmroutes' in where:
            bad.append('%d MB: %s %s' % (mb, became, where))
    expect(not bad, '; '.join(bad))


def limit_memory(process, kb):
    """So many kB of address space more than it has; None: no limit."""
    with open('/proc/%d/status' % process.pid) as file:
        has = int(re.search(r'VmSize:\s+(\d+)', file.read())[1])
    subprocess.run(['prlimit', '--pid', str(process.pid), '--as=%s:' % ('unlimited' if kb is None else (has + kb) << 10)], check=True)


@scenario('rough.no-memory')
def no_memory(workdir):
    """Sweeps of a fabric that has not changed, on lanes that minhop would deadlock without, without memory: its tables stay."""
    if PRELOAD:
        raise Skip('a sanitizer takes terabytes of addresses')
    net, short = generate(os.path.join(workdir, 'torus.net'), 'torus', 'dims=6x6', 'hosts=2'), 0
    with running(workdir, net, 'dfsssp') as (fabric, opensm):
        opensm.wait_quiet()
        before = judge(fabric, opensm, ours='dfsssp')
        expect(Claims(opensm.log).n_vls > 1, 'one lane')
        for kb in 0, 0, 128, 512, 1024, 2048:
            limit_memory(opensm.process, kb)
            for _ in range(2):
                mark = len(opensm.log)
                opensm.resweep()
                opensm.wait_quiet()
                said = [line for line in opensm.log[mark:].splitlines() if 'OR04' in line]
                short += len(said)
                expect(opensm.engine_used() == 'dfsssp' and all('its checked tables stay' in line for line in said), '%d kB: %s' % (kb, said))
            limit_memory(opensm.process, None)
            expect(fabric.tables().bytes_of_tables() == before.bytes_of_tables(), '%d kB: other tables' % kb)
        expect(short > 3, 'there was memory enough for all but %d' % short)
        expect(not re.search(r'\d{12} kB', opensm.log), 'a number of kB that nobody has')
        opensm.resweep()
        judge(fabric, opensm, ours='dfsssp')


def end(opensm):
    """Seconds from SIGTERM until opensm has closed its plugins and its SM. What follows is ibsim's library, which in its
    exit handler joins a thread that may wait for ever, or crashes, if an answer is still under way."""
    started = time.monotonic()
    opensm.process.terminate()
    wait_for('the end of opensm', lambda: 'Exiting SM' in opensm.log, 15)
    seconds = time.monotonic() - started
    try:
        opensm.process.wait(2)
    except subprocess.TimeoutExpired:
        opensm.process.kill()
        opensm.process.wait()
    opensm.fabric.forget(opensm.process.pid)
    return seconds


@scenario('stop.unanswered')
def unanswered(workdir):
    """A cable dies, and for a moment switches do not answer to their new SL2VL tables: SIGTERM comes while the plugin
    waits for them, before it lets OpenSM's QoS manager send."""
    with Fabric(sparse(workdir), workdir, sim={}) as fabric:
        for i in 5, 7:
            with Opensm(fabric, 'dfsssp', plugin=True, options=dict(QOS, max_op_vls=2), plugin_conf=ANY_SL) as opensm:
                opensm.wait_up()
                opensm.wait_quiet()
                cable = fabric.tables().cables()[i]
                fabric.mads()
                fabric.console(fabric.unlink(*cable[:2]))
                give_up = time.monotonic() + 30
                while not fabric.mads()[0].get(SLVL, (0, 0))[1]:	# no pause: all of it takes 20 ms
                    expect(time.monotonic() < give_up, 'no SL2VL tables are sent')
                fabric.process.send_signal(signal.SIGSTOP)
                opensm.process.terminate()
                time.sleep(0.3)
                fabric.process.send_signal(signal.SIGCONT)
                end(opensm)
                fabric.console(fabric.relink(*cable[:2]))


class Moments:
    """Lives of opensm that end a few ms after something has happened. Keys want a tree, lanes by turn another fabric."""

    def __init__(self, workdir, rng, kind, ours=True):
        self.dir, self.rng, self.kind = os.path.join(workdir, kind), rng, kind
        self.engine = 'dmodk' if kind == 'key' else 'dfsssp'
        self.net = find_fabric('tree-2') if kind == 'key' else sparse(self.dir)
        self.ours, self.slowest = ours, 0

    def happens(self, fabric, path, opensm, cable):
        if self.kind == 'sweep':
            opensm.process.send_signal(signal.SIGHUP)
        elif self.kind == 'trap':	# without waiting for ibsim to have done it
            fabric.process.stdin.write(fabric.unlink(*cable) + '\n')
            fabric.process.stdin.flush()
        else:
            with Client(path) as client:
                if self.kind == 'key':
                    app = client.must(op='place', ranks=4, patterns=['0>1 1>2 2>3 3>0'])['app']
                    client.send(op='request', app=app, key=0)
                else:
                    client.send(op='drain', what='%s:%d' % cable)

    def live(self, n):
        """The slowest end of n lives, in seconds."""
        with Fabric(self.net, self.dir) as fabric:
            path, cables = os.path.join(fabric.dir, 'keys.sock'), None
            for _ in range(n):
                with Opensm(fabric, self.engine, plugin=self.ours, options=dict(QOS, max_op_vls=2, lmc=1),
                            plugin_conf='control_socket = %s\n' % path + ANY_SL) as opensm:
                    opensm.wait_up()
                    opensm.wait_quiet(still=0.2)
                    cables = cables or [c[:2] for c in fabric.tables('lft').cables()]
                    cable = self.rng.choice(cables)
                    self.happens(fabric, path, opensm, cable)
                    time.sleep(self.rng.choice((0.003, 0.02, 0.1, 1)) * self.rng.random())
                    self.slowest = max(self.slowest, end(opensm))
                    fabric.console(fabric.relink(*cable))
        return self.slowest


@scenario('stop.moments')
def moments(workdir):
    """SIGTERM at random moments of a trap, a sweep, a key request, a drain."""
    rng = random.Random(SEED)
    for kind in 'trap', 'sweep', 'key', 'drain':
        print('SIGTERM after a %s: the slowest end took %.2f s' % (kind, Moments(workdir, rng, kind).live(steps(2))))
