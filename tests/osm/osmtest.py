# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Stock opensm under ibsim: start, disturb, read back, stop.

    with Fabric('ring.net', workdir) as fabric:
        with Opensm(fabric, engine='dfsssp', plugin=True) as opensm:
            opensm.wait_up()
            tables = fabric.read_back()

Every simulator has a socket name of its own, so tests run side by side; every process dies with
this one. Nothing here knows what a good routing is: that is oracle.py.
"""
import contextlib
import ctypes
import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import oracle
from oracle import Failure

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get('OSR_BUILD', os.path.join(ROOT, 'build')))
TOOLS = os.path.join(BUILD, 'tests', 'osm')
COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')
OPENSM = os.environ.get('OSR_OPENSM', shutil.which('opensm') or '/usr/sbin/opensm')

# The runtime of a sanitizer, if the plugin is built with one (scripts/check sanitize): opensm is not.
PRELOAD = os.environ.get('OSR_PRELOAD')



def preloaded(library):
    """Words before a command that preload one of our libraries, by its name: LD_PRELOAD takes no path with a blank in it."""
    return ['sh', '-c', 'LD_LIBRARY_PATH="%s:$LD_LIBRARY_PATH" LD_PRELOAD="$LD_PRELOAD:%s" exec "$0" "$@"' % (TOOLS, library)]


# OpenSM's log flags: errors and infos; with ROUTING it fills the hops and writes its dumps.
LOG_PLAIN = 0x03
LOG_DUMPS = 0x43

# What OpenSM itself knows; other names come from plugins.
STOCK_ENGINES = ('minhop', 'updn', 'dnup', 'file', 'ftree', 'lash', 'dor', 'torus-2QoS', 'nue', 'dfsssp',
                 'sssp')

SKIPPED = 77	# exit status CTest takes for "skipped"

_number = itertools.count()


class Skip(Exception):
    """Something this test needs is not there."""


def _die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class _Net:
    """What starting ibsim needs to know of a net file. nodes, switches, ports: it allocates what it is told; ids:
    {description: (its node ID, kind)}, as its console knows nodes; sm_host: a CA whose port 1 has a cable, since it
    gives clients that port, or None: then the first node of the file, a switch."""

    def __init__(self, path):
        self.nodes = self.switches = self.ports = 0
        self.ids, self.sm_host, here = {}, None, None
        with open(path, errors='replace') as file:
            for line in file:
                m = re.match(r'(Switch|Hca|Ca|Rt)\s+(\d+)\s+"([^"]+)"(?:.*?#\s*"([^"]*)")?', line, re.I)
                if m:
                    kind = 'switch' if m[1].lower() == 'switch' else 'ca'
                    self.nodes += 1
                    self.ports += int(m[2]) + 1
                    self.switches += kind == 'switch'
                    self.ids[m[4] or m[3]] = m[3], kind
                    here = m[3] if m[1].lower() in ('hca', 'ca') else None
                elif here and not self.sm_host and line.startswith('[1]'):
                    self.sm_host = here


def slowness():
    """How many times longer than on a machine at rest things take now: processes that want a processor, for each
    processor; with a sanitizer ten times that. Every limit and every pause of the tests is in seconds at rest."""
    with open('/proc/loadavg') as file:
        average, _, _, running = file.read().split()[:4]
    wanted = max(float(average), int(running.split('/')[0]))
    return max(1, wanted / os.cpu_count()) * (10 if PRELOAD else 1)


def patience(seconds):
    """For what takes a limit of its own: so many seconds at rest. Such limits end what hangs, so they are generous."""
    return 2 * seconds * slowness()


def pause(seconds):
    """Where there is nothing to wait for, because nothing must happen."""
    time.sleep(seconds * slowness())


class Limit:
    """So many seconds at rest, which pass more slowly while the machine is busy."""

    def __init__(self, seconds):
        self.left, self.before = seconds, time.monotonic()

    def over(self):
        now = time.monotonic()
        self.left -= (now - self.before) / slowness()
        self.before = now
        return self.left < 0


def wait_for(what, condition, seconds, alive=None):
    """Polls condition() until it is true; raises Failure after so many seconds at rest."""
    limit = Limit(seconds)
    while not (value := condition()):
        if alive:
            alive()
        if limit.over():
            raise Failure('waited %d s for %s' % (seconds, what))
        time.sleep(0.02)
    return value


def routed(log):
    """The sweeps of osmroutes in a log that have programmed tables, as JSON of log_details."""
    all_of = [json.loads(text) for text in re.findall(r'osmroutes: sweep: (\{.*\})', log)]
    return [sweep for sweep in all_of if sweep['outcome'] in ('routed', 'reused', 'keys')]


class Counter:
    """How often something stands in a file that grows; every byte is read once."""

    def __init__(self, path, pattern):
        self.path, self.pattern = path, re.compile(pattern)
        self.at = self.found = 0
        self.rest = ''

    def count(self):
        try:
            with open(self.path, errors='replace') as file:
                file.seek(self.at)
                new = file.read()
                self.at = file.tell()
        except FileNotFoundError:
            return 0
        text = self.rest + new
        end = 0
        for m in self.pattern.finditer(text):
            self.found += 1
            end = m.end()
        # What may be the beginning of one more.
        self.rest = text[max(end, len(text) - 64):]
        return self.found


class Served:
    """A program that answers every line on its standard input with one line."""

    def __init__(self, fabric, command, host=None):
        env = dict(fabric.env, SIM_HOST=fabric.node_id(host)) if host else fabric.env
        self.name = os.path.basename(command[0])
        self.n_asked = 0
        self.errors = open(os.path.join(fabric.dir, self.name + '.err'), 'a+')
        self.process = subprocess.Popen(['ibsim-run'] + command, env=env, text=True, bufsize=1 << 20,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors, cwd=fabric.dir,
                                        preexec_fn=_die_with_parent)

    def ask(self, lines):
        """The answers to these lines, in their order."""
        answers = []
        self.n_asked += len(lines)
        # No more at a time than a pipe holds in both directions.
        for i in range(0, len(lines), 16):
            part = lines[i:i + 16]
            try:
                self.process.stdin.write(''.join(l + '\n' for l in part))
                self.process.stdin.flush()
                answers += [self.process.stdout.readline() for _ in part]
            except BrokenPipeError:
                raise Failure('%s ended' % self.name)
            if not answers[-1]:
                raise Failure('%s ended' % self.name)
        return answers

    def close(self):
        """By the end of its input, so that it takes leave of ibsim, which has room for ten clients."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(patience(5))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.errors.close()


class Fabric:
    """A simulated fabric: an ibsim serving one net file."""

    def __init__(self, netfile, workdir, host=None, sim=None):
        """sim: settings of osr-sim.c, which counts MADs and refuses SL2VL tables."""
        self.netfile = os.path.abspath(netfile)
        self.net = _Net(netfile)
        self.ids = self.net.ids
        host = host or self.net.sm_host
        self.dir = os.path.abspath(workdir)
        os.makedirs(workdir, exist_ok=True)
        self.env = dict(os.environ, IBSIM_SOCKNAME='osr-%d-%d' % (os.getpid(), next(_number)))
        if host:
            self.env['SIM_HOST'] = host
        self.log = os.path.join(workdir, 'ibsim.log')
        self.counts = os.path.join(self.dir, 'mads')
        self.sim = dict(sim, OSR_SIM_COUNTS=self.counts, LD_PRELOAD='libosrsim.so', LD_LIBRARY_PATH=BUILD) \
            if sim is not None else {}

    def __enter__(self):
        net = self.net
        command = ['ibsim', '-s', '-L', '49151', '-N', str(net.nodes + 64), '-S', str(net.switches + 64),
                   '-P', str(net.ports + 256), self.netfile]
        self.process = subprocess.Popen(command, env=dict(self.env, **self.sim), stdin=subprocess.PIPE, text=True,
                                        stdout=open(self.log, 'w'), stderr=subprocess.STDOUT,
                                        preexec_fn=_die_with_parent)
        self.prompts = Counter(self.log, r'sim> ')
        try:
            wait_for('ibsim', lambda: 'simulator ready' in self._said(), 120, self._alive)
        except Failure as f:
            self.process.kill()
            raise Failure('%s; ibsim said: %s' % (f, self._said()[-300:]))
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()

    def _said(self):
        with open(self.log, errors='replace') as file:
            return file.read()

    def _alive(self):
        if self.process.poll() is not None:
            raise Failure('ibsim ended with status %d: %s' %
                          (self.process.returncode, self._said()[-300:]))

    def console(self, *commands):
        """Commands of ibsim's console, for instance Unlink "S-1"[3]; waits until they are done."""
        done = self.prompts.count() + len(commands)
        self.process.stdin.write(''.join(c + '\n' for c in commands))
        self.process.stdin.flush()
        wait_for('ibsim to do "%s"' % commands[0], lambda: self.prompts.count() >= done, 30,
                 self._alive)

    def forget(self, pid):
        """A client was killed: ibsim has to be told."""
        end = os.path.getsize(self.log)
        self.console('Attached')
        with open(self.log, errors='replace') as file:
            file.seek(end)
            said = file.read()
        m = re.search(r'Client (\d+): pid %d connected' % pid, said)
        if m:
            self.console('X ' + m.group(1))

    def node_id(self, name):
        return self.ids[name][0]

    def unlink(self, switch, port=None):
        """Console command: one cable, or everything at a switch, goes down."""
        return 'Unlink "%s"' % self.node_id(switch) + ('[%d]' % port if port else '')

    def relink(self, switch, port=None):
        return 'ReLink "%s"' % self.node_id(switch) + ('[%d]' % port if port else '')

    def run(self, command, timeout=60, stdin=None, ok=True, host=None):
        """Runs a program that finds this fabric on its InfiniBand port; returns its output. In the directory
        of this fabric, because ibsim's library makes a folder ./sys-PID where a program runs, and leaves it if
        that is killed."""
        env = dict(self.env, SIM_HOST=self.node_id(host)) if host else self.env
        try:
            done = subprocess.run(['ibsim-run'] + command, env=env, input=stdin, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=patience(timeout),
                                  cwd=self.dir, preexec_fn=_die_with_parent)
        except subprocess.TimeoutExpired:
            raise Failure('%s did not end within %d s' % (command[0], timeout))
        if ok and done.returncode:
            raise Failure('%s ended with status %d: %s' %
                          (' '.join(command)[:80], done.returncode, done.stderr[-400:]))
        return done.stdout

    def mads(self):
        """{attribute: (Gets, Sets)} since the last call, and the seconds from the first SL2VL Set to the last."""
        size = 256 * 16 + 16
        with open(self.counts, 'r+b') as file:
            data = file.read(size)
            file.seek(0)
            file.write(bytes(size))
        n = struct.unpack_from('512Q', data)
        first, last = struct.unpack_from('2d', data, 4096)
        return {a: n[2 * a:2 * a + 2] for a in range(256) if n[2 * a] or n[2 * a + 1]}, (last - first) / 1e3

    def read_back(self, *tables, timeout=60):
        """What the switches were programmed with (see osr-readback.c), as parsed JSON."""
        data = json.loads(self.run([os.path.join(TOOLS, 'osr-readback')] + list(tables), timeout))
        if data['n_failed']:
            raise Failure('%d requests to the simulated fabric failed' % data['n_failed'])
        return data

    def tables(self, *tables, timeout=60):
        """The same for the oracle."""
        return oracle.Tables(self.read_back(*tables, timeout=timeout))

    def path_sls(self, sources, dests, sl=None, pkey=None):
        """{source LID: 'one hex digit, - or ! per destination'} by real PathRecord queries."""
        command = [os.path.join(TOOLS, 'osr-sa'), 'paths']
        command += ['--sl=%d' % sl] if sl is not None else []
        command += ['--pkey=%d' % pkey] if pkey is not None else []
        columns = ' '.join(map(str, dests))
        out = self.run(command, stdin=''.join('%d: %s\n' % (s, columns) for s in sources),
                       timeout=240)
        return {int(slid): sls for slid, sls in (line.split() for line in out.splitlines())}


@contextlib.contextmanager
def held(opensm):
    """What this opensm has asked is answered, and it asks no more until the end: so another SM can die. OpenSM waits for
    ever for an answer that died with the one it asked: a kernel gives up on it and says so, ibsim does not."""
    opensm.process.send_signal(signal.SIGSTOP)
    try:
        pause(0.5)
        yield
    finally:
        opensm.process.send_signal(signal.SIGCONT)


class Opensm:
    """One opensm process. `options` go into its configuration file as they are."""

    def __init__(self, fabric, engine='dfsssp', plugin=False, options=None, plugin_conf=None,
                 log_flags=LOG_PLAIN, once=False, name='opensm', wrapper=(), env=None):
        self.fabric = fabric
        self.once = once
        self.engine = engine.replace(',', ' ').split()[0]
        self.dir = os.path.join(fabric.dir, name)
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir, exist_ok=True)
        self.logfile = os.path.join(self.dir, 'opensm.log')
        self.ended = Counter(self.logfile, r'SUBNET UP|Errors during initialization')
        self.log_flags = log_flags
        self.wrapper = list(wrapper)
        self.process = None
        conf = {'routing_engine': engine, 'sweep_interval': 0, 'dump_files_dir': self.dir, 'qos': 'FALSE',
                'pid_file': '(null)'}
        # Its own 200 ms are for switches, which have no other processes beside them. Not more than needed: while OpenSM waits
        # for a switch that is cut off, the next fault of a test comes.
        if slowness() > 2:
            conf['transaction_timeout'] = min(2000, int(100 * slowness()))
        # OpenSM's own 4 MADs at once are a change of threads for each; on large fabrics 32 take half the CPU.
        if len(fabric.ids) > 100:
            conf['max_wire_smps'] = 32
        if plugin:
            conf['event_plugin_name'] = 'osmroutes'
            # An own file always, so that one of this machine is never read.
            with open(os.path.join(self.dir, 'osmroutes.conf'), 'w') as file:
                # Tests let the same cable fail again and again within seconds.
                # What a sweep came to is read as JSON, not as people read it.
                text, calm = plugin_conf or '', ''
                if 'log_details' not in text:
                    calm += 'log_details = yes\n'
                if 'hold_down' not in text:
                    calm += 'hold_down_after = 0\n'
                file.write(calm + text if re.search(r'(?m)^\[\w+\]', text) else text + calm)
            # Relative to where it is started: there may be blanks in the path of the build.
            conf['event_plugin_options'] = 'osmroutes.config=osmroutes.conf'
        conf.update(options or {})
        # By default OpenSM leaves its lines in a buffer. The plugin flushes what it says and what a sweep has said.
        if 'osmroutes' not in (conf.get('event_plugin_name') or ''):
            conf.setdefault('force_log_flush', 'TRUE')
        self.conf = os.path.join(self.dir, 'opensm.conf')
        with open(self.conf, 'w') as file:
            file.writelines('%s %s\n' % item for item in conf.items() if item[1] is not None)
        self.env = dict(fabric.env, OSM_TMP_DIR=self.dir, OSM_CACHE_DIR=self.dir,
                        LD_LIBRARY_PATH=BUILD + ':' + os.environ.get('LD_LIBRARY_PATH', ''))
        self.env.update(env or {})

    def __enter__(self):
        # ibsim-run itself cannot add to LD_PRELOAD.
        preload = ['sh', '-c', 'LD_PRELOAD="$LD_PRELOAD:$OSR_PRELOAD" exec "$0" "$@"'] if PRELOAD else []
        # A shell with a sanitizer's runtime in it dies.
        command = self.wrapper + preload + [OPENSM, '-F', self.conf, '-f', self.logfile, '-D', '0x%02x' % self.log_flags]
        command += ['-o'] if self.once else []
        self.output = open(os.path.join(self.dir, 'output'), 'w')
        self.process = subprocess.Popen(['ibsim-run'] + command, env=self.env,
                                        stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, cwd=self.dir,
                                        preexec_fn=_die_with_parent)
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None and kind:
            # What it waits for may never come.
            self.process.kill()
            self.process.wait()
        elif self.process.poll() is None:
            self.stop()

    @property
    def log(self):
        try:
            with open(self.logfile, errors='replace') as file:
                return file.read()
        except FileNotFoundError:
            return ''

    def _alive(self):
        if self.process.poll() is not None:
            raise Failure('opensm ended with status %d: %s' %
                          (self.process.returncode, self.log[-400:]))

    def sweeps(self):
        return self.ended.count()

    def routed(self, start=0):
        """What the log, from some byte on, says of each sweep that routed: JSON of log_details."""
        return routed(self.log[start:])

    def wait_up(self, seconds=60):
        """Until the first sweep is over and the subnet is up."""
        wait_for('SUBNET UP', lambda: 'SUBNET UP' in self.log, seconds, self._alive)
        # Before 3.3.23.
        if self.engine not in STOCK_ENGINES and 'takes no engines from plugins' in self.log:
            raise Skip('this OpenSM takes no engine %s from a plugin' % self.engine)

    def wait_end(self, seconds=60):
        """For once=True: until opensm ends by itself."""
        try:
            status = self.process.wait(patience(seconds))
        except subprocess.TimeoutExpired:
            raise Failure('opensm -o did not end within %d s' % seconds)
        if status:
            raise Failure('opensm -o ended with status %d: %s' % (status, self.log[-400:]))

    def resweep(self, seconds=60):
        """Forces a heavy sweep and waits until it is over."""
        before = self.sweeps()
        self.process.send_signal(signal.SIGHUP)
        wait_for('the sweep after SIGHUP', lambda: self.sweeps() > before, seconds, self._alive)

    def wait_quiet(self, seconds=60, still=0.5):
        """Until the log has not grown for a while: traps may cause several sweeps in a row."""
        limit, size = Limit(seconds), -1
        quiet = Limit(still)
        while not quiet.over():
            self._alive()
            now = os.path.getsize(self.logfile)
            if now != size:
                size, quiet = now, Limit(still)
            if limit.over():
                raise Failure('opensm does not come to rest')
            time.sleep(0.02)

    def set_option(self, name, value):
        """In the configuration file, which opensm reads again at the next SIGHUP."""
        with open(self.conf) as file:
            lines = [l for l in file if l.split(' ', 1)[0] != name]
        with open(self.conf, 'w') as file:
            file.writelines(lines + ['%s %s\n' % (name, value)])

    def change(self, *commands, seconds=60):
        """Console commands to ibsim, one heavy sweep, and rest."""
        for command in commands:
            self.fabric.console(command)
        self.resweep(seconds)
        self.wait_quiet(seconds)

    def hear(self, *commands):
        """Console commands to ibsim, the sweep that their traps cause, and rest."""
        sweeps = self.sweeps()
        self.fabric.console(*commands)
        wait_for('the sweep after a trap', lambda: self.sweeps() > sweeps, 60, self._alive)
        self.wait_quiet()

    def stop(self):
        """SIGTERM, as an administrator would; a crash or a hang is a failure."""
        self.process.terminate()
        try:
            status = self.process.wait(patience(15))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = 'hang'
        if status:
            raise Failure('opensm ended with status %s after SIGTERM: %s' %
                          (status, self.log[-400:]))

    def errors(self, expected=()):
        """Error lines of the log, but for those that contain an expected text."""
        lines = [l for l in self.log.splitlines() if re.search(r'\bERR\b', l)]
        return [l for l in lines if not any(e in l for e in expected)]

    def check_log(self, expected=()):
        bad = self.errors(expected)
        if bad:
            raise Failure('%d unexpected error lines in the log, first: %s' % (len(bad), bad[0]))

    def check_own_log(self, expected=()):
        """Of the error lines only those of the plugin count."""
        bad = [l for l in self.errors(expected) if 'osmroutes' in l]
        if bad:
            raise Failure('%d error lines of osmroutes in the log, first: %s' % (len(bad), bad[0]))

    def engine_used(self):
        """The engine of the last sweep, as OpenSM says it."""
        found = re.findall(r': (\S+) tables configured on all switches', self.log)
        return found[-1] if found else None

    def dump(self, name):
        return os.path.join(self.dir, name)


QOS = {'qos': 'TRUE'}


@contextlib.contextmanager
def running(workdir, netfile, engine='dfsssp', plugin=True, options=QOS, seconds=60, host=None,
            sim=None, **more):
    """(fabric, opensm) with the first sweep over; more: of Opensm."""
    with Fabric(find_fabric(netfile), workdir, host, sim) as fabric:
        with Opensm(fabric, engine, plugin, options, **more) as opensm:
            opensm.wait_up(seconds)
            yield fabric, opensm


def real_fabrics():
    """The directory of fabrics from the field, beside the project; None where it is absent."""
    path = os.environ.get('OSR_FABRICS', os.path.join(os.path.dirname(ROOT), 'shared', 'topologies'))
    return path if os.path.isdir(path) else None


def find_fabric(name):
    """A net file by its name: of the project's topologies/, or one from the field."""
    for path in (name, os.path.join(ROOT, 'topologies', name + '.net')):
        if os.path.isfile(path):
            return path
    field = real_fabrics()
    if not field:
        raise Skip('no directory of real fabrics beside the project (OSR_FABRICS may name one)')
    for path in (os.path.join(field, name + '.topo'), os.path.join(field, name + '.net')):
        if os.path.isfile(path):
            return path
    raise Skip('%s has no %s' % (field, name))


def osmroutes(*words, codes=(0, 1), seconds=120, **more):
    """JSON of the command; 'code': its exit status."""
    done = subprocess.run([COMMAND, *words, '--json'], capture_output=True, text=True, timeout=patience(seconds), **more)
    if done.returncode not in codes:
        raise Failure('osmroutes %s: exit code %d: %s' % (' '.join(words), done.returncode, done.stderr[-600:]))
    return dict(json.loads(done.stdout), code=done.returncode)


def generate(path, *words):
    """A fabric of the project's generator."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    subprocess.run([COMMAND, 'generate', '-o', path, *words], check=True, timeout=patience(60))
    return path


def need_tools():
    for tool in ('ibsim', 'ibsim-run'):
        if not shutil.which(tool):
            raise Skip('%s is not installed' % tool)
    if not os.path.exists(OPENSM):
        raise Skip('opensm is not installed')
    if not os.path.exists(os.path.join(TOOLS, 'osr-readback')):
        raise Failure('%s holds no built project; OSR_BUILD names the build directory' % BUILD)


def warn(text):
    print(text, file=sys.stderr, flush=True)
