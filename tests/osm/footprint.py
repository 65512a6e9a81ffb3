# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a life of opensm with osmroutes leaves behind: where it writes, who may read that, and what is in it.

strace tells every call that changes a file system or opens a door; OpenSM's own files are known by name. Under valgrind there is
no error in, and no block lost by, the plugin. Inside arenas it sees nothing (mmap): AddressSanitizer and endurance.memory look there.
"""
import glob
import os
import re
import shutil
import stat
import subprocess

from judge import expect, first, judge, scenario
from keys import Client, COMMAND, hosts_of
from osmtest import Fabric, find_fabric, Opensm, patience, PRELOAD, ROOT, Skip, wait_for
from traced import changes, judge_changes, last_line, need_strace, STRACE


OPENSMS = r'(guid2lid|guid2mkey|neighbors|opensm-sa\.dump|opensm-qos\.\w+|pkey_cache)(\.\w+)?$'

ROUTING = 0x40


def inside(folder, names):
    return re.escape(folder) + '/' + names + '$'


class Places:
    """One folder for everything that can be configured."""

    def __init__(self, workdir):
        self.of = {}
        for name in ('cache', 'metrics', 'sockets', 'dumps'):
            self.of[name] = os.path.join(os.path.abspath(workdir), name)
            os.makedirs(self.of[name])
        self.conf = 'metrics_dir = %(metrics)s\ncontrol_socket = %(sockets)s/keys.sock\n' % self.of

    def opensm(self, fabric, options=None, env=None, **kwargs):
        options = dict({'qos': 'TRUE', 'lmc': 1, 'dump_files_dir': self.of['dumps']}, **(options or {}))
        return Opensm(fabric, kwargs.pop('engine', 'dmodk'), plugin=True, options=options, plugin_conf=self.conf,
                      log_flags=kwargs.pop('log_flags', 0x43), env=dict({'OSM_CACHE_DIR': self.of['cache'], 'OSM_TMP_DIR': self.of['dumps']},
                                               **(env or {})), **kwargs)

    def ours(self, opensm):
        """Where the plugin, OpenSM, and ibsim's library may write."""
        guid = r'[0-9a-f]{16}'
        # Path SLs are dumped under the log flag ROUTING alone.
        sls, dumped = (r'\.opensm-path-sl\.dump\.new', '') if opensm.log_flags & ROUTING else (
            r'(?!)', r'(?!opensm-path-sl)')
        return [inside(self.of['cache'], r'\.?osmroutes-%s-\w+\.store(\.new)?' % guid),
                inside(self.of['cache'], r'\.?osmroutes-history-%s\.json(\.new)?' % guid),
                inside(self.of['metrics'], r'\.?osmroutes-%s\.(json|prom)(\.new)?' % guid),
                inside(self.of['sockets'], r'keys\.sock'), re.escape(self.of['sockets']) + '$',
                inside(self.of['dumps'], sls),
                # OpenSM's own.
                inside(self.of['cache'], OPENSMS), inside(self.of['dumps'], dumped + r'(opensm|osm|perf|sa)[\w.-]*'),
                re.escape(opensm.logfile) + '$', r'/dev/null$',
                r'/dev/console$',	# syslog()
                # Of libumad2sim.
                re.escape(opensm.dir) + r'(/sys-\d+(/.*)?)?$', r'@"osr-\d+-\d+:(ctl|in|out)\d+']


def live(fabric, opensm, places):
    """A sweep, keys, a lost cable, its return, another sweep."""
    opensm.wait_up(120)
    tables = judge(fabric, opensm, ours='dmodk')
    hosts = hosts_of(tables)[:4]
    path = os.path.join(places.of['sockets'], 'keys.sock')
    wait_for('the socket', lambda: os.path.exists(path), 30)
    with Client(path) as client:
        app = client.must(op='place', hosts=[h.guid for h in hosts], patterns=['0>1 1>2 2>3 3>0'],
                          name='a job', hold=False)['app']
        client.begin(app, 0)
        opensm.change(fabric.unlink(*tables.cables()[0][:2]), seconds=120)
        opensm.change(fabric.relink(*tables.cables()[0][:2]), seconds=120)
        wait_for('the store', lambda: glob.glob(os.path.join(places.of['cache'], 'osmroutes-*.store')), 30)
    return tables


def traced(trace, opensm):
    wait_for('strace to end', lambda: ' exit' in last_line(trace), 10)
    with open(trace, errors='replace') as file:
        return list(changes(file.read(), opensm.dir))


STEMS = ('cache', 'osmroutes-%016x-dmodk.store'), ('metrics', 'osmroutes-%016x.json'), ('metrics', 'osmroutes-%016x.prom')


@scenario('footprint.places')
def only_in_places(workdir):
    """Every file that is opened for writing, made, renamed or removed lies where the configuration says; no
    program is started, no socket of the net opened; and what is kept can be read by nobody else. Links that somebody laid there
    are replaced or refused, never followed; what they lead to stays as it was, and a stored file that is a link is not read."""
    need_strace()
    if PRELOAD:
        raise Skip('a sanitizer writes files of its own')
    places = Places(workdir)
    trace, victim = os.path.join(workdir, 'strace'), os.path.join(os.path.abspath(workdir), 'victim')
    with open(victim, 'w') as file:
        file.write('untouched\n')
    before = os.stat(victim)
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        plain = trace + '-plain'
        with places.opensm(fabric, wrapper=STRACE + ['-o', plain], log_flags=0x03, name='plain') as opensm:
            opensm.wait_up(120)
        judge_changes(traced(plain, opensm), places.ours(opensm))
        guid = int(fabric.run(['ibstat', '-p']).split()[0], 16)
        for folder, stem in STEMS:
            for name in stem % guid, '.%s.new' % (stem % guid):
                path = os.path.join(places.of[folder], name)
                if os.path.exists(path):
                    os.unlink(path)
                os.symlink(victim, path)
        with places.opensm(fabric, wrapper=STRACE + ['-o', trace]) as opensm:
            live(fabric, opensm, places)
            modes(places)
            for folder, stem in STEMS:
                path = os.path.join(places.of[folder], stem % guid)
                expect(stat.S_ISREG(os.lstat(path).st_mode), path + ' is still a link')
            said = [l for l in opensm.errors() if 'OR13' in l]
            expect(len(said) == 1 and 'osmroutes-' in said[0], 'a link was read as a store: %s' % said)
        found = traced(trace, opensm)
        left = [n for folder in places.of.values() for n in os.listdir(folder) if n.startswith('.')]
        expect(not left, 'hidden files are left: %s' % left)
        # A link in the place of the socket: nobody serves there, and what it leads to stays.
        socket = os.path.join(places.of['sockets'], 'keys.sock')
        expect(not os.path.lexists(socket), 'the socket is left')
        os.symlink(victim, socket)
        with places.opensm(fabric, name='link') as other:
            other.wait_up()
            expect('keys.sock exists and is not a socket' in other.log, 'a link in the place of the socket')
        expect(os.path.islink(socket), 'the link was removed')
    wrote = {os.path.basename(what) for call, what in found if call.startswith('rename')}
    expect(any(n.endswith('.store') for n in wrote) and any(n.endswith('.prom') for n in wrote) and
           any(c == 'bind' and 'keys.sock' in w for c, w in found),
           'strace has not seen what is known to be written: %s' % sorted(wrote))
    judge_changes(found, places.ours(opensm))
    after = os.stat(victim)
    with open(victim) as file:
        expect(file.read() == 'untouched\n' and before.st_mtime_ns == after.st_mtime_ns and before.st_mode == after.st_mode,
               'the file behind the links was changed')


def modes(places):
    """Tables and keys for the user of opensm alone, numbers for all that the umask lets; nobody else writes anything."""
    umask = os.umask(0o077)
    os.umask(umask)
    for folder, pattern, mode in (('cache', 'osmroutes-*', 0o600), ('sockets', '*', 0o600),
                                  ('metrics', 'osmroutes-*', 0o644 & ~umask)):
        names = glob.glob(os.path.join(places.of[folder], pattern))
        expect(names, 'nothing in ' + folder)
        for name in names:
            have = stat.S_IMODE(os.stat(name).st_mode)
            expect(have == mode, '%s has mode %o instead of %o' % (name, have, mode))


DROP_IN = os.path.join(os.path.dirname(__file__), '../../share/opensm@.service.d/osmroutes-hardening.conf')
# What systemd would do with the drop-in, by means that need none: no capabilities, and /usr and /etc read only.
CONFINE = ['unshare', '--mount', 'sh', '-c', 'for d in /usr /etc; do mount --bind -o ro $d $d || exit 77; done; exec "$@"',
           'sh', 'setpriv', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all']


def system_calls(name):
    """Those of one of systemd's sets."""
    text = subprocess.run(['systemd-analyze', 'syscall-filter', name], check=True, capture_output=True, text=True).stdout
    words = [w for w in text.split('\n')[1:] if w.startswith(' ') and '#' not in w]
    return set().union(*(system_calls(w.strip()) if w.strip()[0] == '@' else {w.strip()} for w in words))


@scenario('footprint.hardened')
def hardened(workdir):
    """The shipped drop-in leaves what opensm with the plugin needs: a sweep, keys, a fault and a restart from stored
    tables without capabilities and with /usr and /etc read only, by the system calls that its filter lets through."""
    need_strace()
    if PRELOAD:
        raise Skip('a sanitizer does more')
    if subprocess.run(CONFINE + ['true'], stderr=subprocess.DEVNULL).returncode or not shutil.which('systemd-analyze'):
        raise Skip('needs root that may mount, setpriv and systemd-analyze')
    with open(DROP_IN) as file:
        filters = re.findall(r'^SystemCallFilter=(~?)(.*)', file.read(), re.M)
    allowed = set().union(*(system_calls(s) for no, sets in filters if not no for s in sets.split()))
    allowed -= set().union(*(system_calls(s) for no, sets in filters if no for s in sets.split()))
    places, calls = Places(workdir), set()
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        for name in ('first', 'again'):
            trace = os.path.join(workdir, 'strace-' + name)
            with places.opensm(fabric, name=name, wrapper=CONFINE + ['strace', '-D', '-f', '-qq', '-e', 'signal=none', '-o',
                                                                     trace]) as opensm:
                if name == 'first':
                    live(fabric, opensm, places)
                opensm.wait_up(120)
                with open('/proc/%d/status' % opensm.process.pid) as file:
                    status = file.read()
                expect('CapEff:\t0000000000000000' in status and 'NoNewPrivs:\t1' in status, 'not confined: ' + status)
                opensm.check_own_log()
            wait_for('strace to end', lambda: ' exit' in last_line(trace), 10)
            with open(trace, errors='replace') as file:
                text = file.read()
            calls |= set(re.findall(r'^\d+ +(\w+)\(', text, re.M))
            expect(not re.search(r'm(map|protect)\([^)]*PROT_WRITE\|PROT_EXEC', text), 'memory to write and to run')
            expect(set(re.findall(r'socket\((AF_\w+)', text)) <= {'AF_UNIX'}, 'a socket of another family')
    calls -= {'execve'}	# strace starts opensm
    expect(len(calls) > 30 and calls <= allowed, 'the filter stops %s' % sorted(calls - allowed))


# Nobody's secrets: environment, OpenSM's keys, and members of the protocol that we do not know.
ENV_MARK = 'env-mark-2f9c61'
CLIENT_MARK = 'client-mark-81d0e7'
KEYS = {'m_key': 0x5ec2e7a1b0c3d4e5, 'sm_key': 0x5ec2e7a2f1e2d3c4, 'sa_key': 0x5ec2e7a3a9b8c7d6}


def marks():
    """What must be nowhere, as bytes: text, and every number as it may be printed or lie in memory."""
    for mark in (ENV_MARK, CLIENT_MARK):
        yield mark, mark.encode()
    for name, key in KEYS.items():
        yield name, key.to_bytes(8, 'big')
        yield name, key.to_bytes(8, 'little')
        for text in ('%x' % key, '%X' % key, '%d' % key, '%d' % (key - (1 << 64)) if key >> 63 else ''):
            if text:
                yield name, text.encode()


def search(paths):
    found = []
    for path in paths:
        with open(path, 'rb') as file:
            data = file.read()
        found += ['%s in %s' % (name, path) for name, mark in marks() if mark in data]
    return found


def files_below(*folders):
    return [os.path.join(at, n) for folder in folders for at, _, names in os.walk(folder) for n in names
            if stat.S_ISREG(os.lstat(os.path.join(at, n)).st_mode)]


@scenario('footprint.secrets')
def no_secrets(workdir):
    """Marks in the environment, in OpenSM's keys and in requests of applications: none is in logs, dumps, stored
    tables, metrics, answers of the socket, or what the command makes of OpenSM's dumps."""
    places = Places(workdir)
    options = {name: '0x%016x' % key for name, key in KEYS.items()}
    env = {'OSR_SECRET': ENV_MARK, 'AWS_SECRET_ACCESS_KEY': ENV_MARK, 'SLURM_JWT': ENV_MARK}
    made = os.path.join(workdir, 'made')
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        with places.opensm(fabric, options=options, env=env) as opensm:
            opensm.wait_up(120)
            path = os.path.join(places.of['sockets'], 'keys.sock')
            wait_for('the socket', lambda: os.path.exists(path), 30)
            heard = talk(path)
            opensm.change()
        dumps = places.of['dumps']
        with open(os.path.join(opensm.dir, 'opensm.conf')) as file:
            conf = file.read()
        expect(all('%016x' % key in conf for key in KEYS.values()), 'no keys are planted')
        os.makedirs(made)
        run_command(COMMAND, dumps, made, dict(os.environ, **env))
    expect(CLIENT_MARK.encode() not in heard, 'the socket says what it was told by others')
    own = files_below(places.of['metrics'], made) + glob.glob(os.path.join(places.of['cache'], 'osmroutes-*'))
    expect(len(own) > 6, 'too little was written: %s' % own)
    dumped = files_below(dumps)
    expect(any(n.endswith('opensm-lfts.dump') for n in dumped), 'OpenSM dumped nothing: %s' % dumped)
    found = search(own + dumped)
    expect(not found, first(found))
    lines = [l for l in opensm.log.splitlines() if 'osmroutes' in l or ' OR' in l]
    found = [name for name, mark in marks() for l in lines if mark in l.encode(errors='replace')]
    expect(len(lines) > 5 and not found, 'the log tells %s' % found)
    # Does the search find anything at all?
    probe = os.path.join(workdir, 'probe')
    with open(probe, 'wb') as file:
        file.write(b'x' + KEYS['m_key'].to_bytes(8, 'little') + ENV_MARK.encode())
    expect(len(search([probe])) == 2, 'the search finds nothing')


def talk(path):
    """Requests with members nobody knows and with broken lines: all that was answered."""
    heard = b''
    with Client(path) as client:
        known = client.must(op='place', ranks=2, patterns=['0>1 1>0'], token=CLIENT_MARK, hold=False)
        heard += repr(known).encode()
        app = known['app']
        for request in ({'op': 'request', 'app': app, 'key': 0, 'token': CLIENT_MARK}, {'op': 'list'},
                        {'op': 'status', 'app': app}):
            heard += repr(client.ask(**request)).encode()
    with Client(path) as other:
        other.socket.sendall(b'{"op": "place", "token": "%s", broken\n' % CLIENT_MARK.encode())
        heard += repr(other.line()).encode()
    return heard


def run_command(command, dumps, made, env):
    """All that the command makes of OpenSM's dumps, into one folder."""
    net = os.path.join(dumps, 'opensm-subnet.lst')
    def run(name, *words):
        with open(os.path.join(made, name), 'w') as out:
            done = subprocess.run([command] + list(words), env=env, stdout=out, stderr=subprocess.STDOUT, timeout=patience(120))
        expect(done.returncode in (0, 1), '%s: status %d: %s' % (words, done.returncode, open(out.name).read()[-300:]))
    run('check', 'check', dumps, '--json')
    run('route', 'route', net, '-e', 'dfsssp', '--json', '--dump=' + os.path.join(made, 'tables'))
    run('route', 'route', net, '-e', 'dfsssp', '--json')
    run('page', 'report', net, '-e', 'dfsssp', '--html=' + os.path.join(made, 'page.html'))


MISTAKES = ('Invalid', 'uninitialised', 'lost', 'Mismatched', 'Source and dest')


@scenario('memory.life')
def life(workdir):
    """A life: a fault, its return, keys, metrics, stored tables; and a second one that starts from these."""
    if not shutil.which('valgrind'):
        raise Skip('valgrind is not installed')
    if PRELOAD:
        raise Skip('built with a sanitizer')
    places = Places(workdir)
    # Complaints with a line of the plugin's sources in their trace; OpenSM and ibsim's library have some of their own.
    sources = '|'.join(re.escape(os.path.basename(path)) for room in ('src', 'engines')
                       for path in glob.glob(os.path.join(ROOT, room, '**', '*.c'), recursive=True))
    ours = re.compile(r'\((?:%s):\d+\)|libosmroutes\S*\)' % sources)
    # The end of opensm has to be awaited: SIGTERM ends it as at the terminal.
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        for name in ('first', 'second'):
            report = os.path.join(workdir, 'valgrind-' + name)
            memcheck = ['valgrind', '--leak-check=full', '--show-leak-kinds=definite', '--num-callers=30',
                        '--keep-debuginfo=yes', '--fair-sched=yes', '--log-file=' + report]
            with places.opensm(fabric, options={'sweep_interval': 10}, wrapper=memcheck, name=name) as opensm:
                if name == 'first':
                    live(fabric, opensm, places)
                else:
                    opensm.wait_up(120)
                    judge(fabric, opensm, ours='dmodk')
                    expect('tables of the last run read' in opensm.log, 'the store was not read')
                    opensm.resweep(120)
            with open(report) as file:
                text = file.read()
            expect('LEAK SUMMARY' in text or 'no leaks are possible' in text, 'valgrind did not come to its end')
            bad = [b for b in text.split('== \n') if ours.search(b) and any(w in b for w in MISTAKES)]
            expect(not bad, 'valgrind: ' + (bad or [''])[0][:600])
