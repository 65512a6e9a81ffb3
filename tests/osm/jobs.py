# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Routing keys of jobs: a real slurmctld with the shipped prolog, and an MPI program that knows nothing of keys."""
import os
import pwd
import random
import re
import shutil
import socket
import subprocess
import tempfile

from judge import expect, scenario
from keys import COMMAND, apps_of, by_name, Client, contention, keyed, pattern, shift, tree_64, \
    with_keys
from osmtest import ROOT, TOOLS, _die_with_parent, Fabric, patience, Skip, wait_for

RING = shift(8, 1)
ALL = [(a, b) for a in range(8) for b in range(8) if a != b]


def spread_hosts(tables):
    """Eight hosts of different leaves, whose ring has contention with the base routing."""
    names = by_name(tables)
    for seed in range(200):
        own = random.Random(seed).sample(sorted(names), 8)
        if contention(tables, [names[n] for n in own], RING, 0) > 1:
            return own
    raise AssertionError('no eight hosts with contention')


def in_switches(fabric, own, pairs, offset):
    """Contention by the switches' tables, with the base LIDs and at the offset."""
    tables = fabric.tables()
    ends = [by_name(tables)[n] for n in own]
    return contention(tables, ends, pairs, 0), contention(tables, ends, pairs, offset)


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(('127.0.0.1', 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    """munged, slurmctld, and a slurmd for each node, all on this machine."""

    def __init__(self, directory, nodes, path, user):
        self.dir, self.nodes, self.processes, self.user = directory, nodes, [], user
        tools = os.path.join(directory, 'bin')
        for name in ('bin', 'state', 'jobs', 'munge'):
            os.makedirs(os.path.join(directory, name))
        for name in ('state', 'jobs'):
            shutil.chown(os.path.join(directory, name), user)
        os.symlink(COMMAND, os.path.join(tools, 'osmroutes'))
        # slurmctld gives its prolog next to no environment.
        self.prolog = os.path.join(directory, 'prolog')
        with open(self.prolog, 'w') as file:
            file.write('#!/bin/sh\nexport PATH=%s:/usr/bin:/bin OSMROUTES_KEYS=%s OSMROUTES_JOBS=%s SLURM_CONF=%s OSMROUTES_PATTERNS=%s\n'
                       'exec %s\n' % (tools, path, os.path.join(directory, 'jobs'),
                                      os.path.join(directory, 'slurm.conf'),
                                      os.path.join(ROOT, 'share', 'examples', 'traffic-patterns'),
                                      os.path.join(ROOT, 'share', 'examples', 'slurm-prolog')))
        os.chmod(self.prolog, 0o755)
        self.env = dict(os.environ, SLURM_CONF=os.path.join(directory, 'slurm.conf'))
        self.write_conf()

    def write_conf(self):
        here = os.uname().nodename.split('.')[0]
        ports = free_ports(len(self.nodes) + 1)
        conf = ['ClusterName=test', 'SlurmctldHost=%s(127.0.0.1)' % here, 'SlurmUser=' + self.user,
                'AuthType=auth/munge', 'AuthInfo=socket=%s/munge/sock' % self.dir,
                'SlurmctldPort=%d' % ports.pop(), 'StateSaveLocation=%s/state' % self.dir,
                'SlurmdSpoolDir=%s/spool-%%n' % self.dir, 'SlurmctldPidFile=%s/state/ctld.pid' % self.dir,
                'SlurmdPidFile=%s/%%n.pid' % self.dir, 'SlurmctldLogFile=%s/state/ctld.log' % self.dir,
                'SlurmdLogFile=%s/%%n.log' % self.dir, 'ProctrackType=proctrack/linuxproc',
                'TaskPlugin=task/none', 'SelectType=select/linear', 'ReturnToService=2', 'MpiDefault=none',
                'SlurmdParameters=config_overrides'] + \
            ['%s=%s' % (name, self.prolog) for name in ('PrologSlurmctld', 'EpilogSlurmctld', 'TaskProlog')] + \
            ['NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=1' % (n, here, p)
             for n, p in zip(self.nodes, ports)] + \
            ['PartitionName=all Nodes=%s Default=YES State=UP' % ','.join(self.nodes)]
        with open(os.path.join(self.dir, 'slurm.conf'), 'w') as file:
            file.write('\n'.join(conf) + '\n')
        # Version 1 is not looked for before a plugin needs it, and none does: there may be no cgroups in a container.
        with open(os.path.join(self.dir, 'cgroup.conf'), 'w') as file:
            file.write('CgroupPlugin=cgroup/v1\n')

    def start(self, *command):
        out = open(os.path.join(self.dir, os.path.basename(command[0]) + '.out'), 'a')
        # At its end slurmd sends SIGTERM to its process group.
        self.processes.append(subprocess.Popen(command, env=self.env, stdout=out, stderr=out, cwd=self.dir,
                                               start_new_session=True, preexec_fn=_die_with_parent))

    def __enter__(self):
        munge = os.path.join(self.dir, 'munge')
        with open(os.path.join(munge, 'key'), 'wb') as file:
            file.write(os.urandom(128))
        os.chmod(os.path.join(munge, 'key'), 0o600)
        self.start('munged', '--foreground', '--force', '--key-file=%s/key' % munge, '--socket=%s/sock' % munge,
                   '--pid-file=%s/pid' % munge, '--log-file=%s/log' % munge, '--seed-file=%s/seed' % munge)
        wait_for('munged', lambda: os.path.exists(os.path.join(munge, 'sock')), 10)
        conf = os.path.join(self.dir, 'slurm.conf')
        self.start('slurmctld', '-D', '-f', conf)
        for node in self.nodes:
            os.makedirs(os.path.join(self.dir, 'spool-' + node))
            self.start('slurmd', '-D', '-N', node, '-f', conf)
        wait_for('the nodes', lambda: len(re.findall(r'idle', self.ask('sinfo', '-hN', '-o', '%n %t'))) ==
                 len(self.nodes), 30)
        return self

    def __exit__(self, *exc):
        # A slurmstepd that can tell its end to nobody stays for minutes.
        self.ask('scancel', '--partition=all')
        wait_for('the end of all jobs', lambda: not self.ask('squeue', '-h'), 30)
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(patience(10))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def ask(self, *command):
        return subprocess.run(command, env=self.env, cwd=self.dir, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=patience(30)).stdout


def slurm_job(workdir, user, conf):
    """A job of a real Slurm that asks for keys by its comment: when it runs, the switches have its key, put there by the
    prolog alone; its tasks have the path bits; at its end the key is gone. One that asks for nonsense says so."""
    for tool in ('munged', 'slurmctld', 'slurmd', 'sbatch', 'scontrol'):
        if not shutil.which(tool):
            raise Skip('%s is not installed' % tool)
    if os.geteuid():
        raise Skip('slurmd has to be root')
    short = tempfile.mkdtemp(prefix='osr-slurm-')	# paths of sockets are short
    os.chmod(short, 0o755)
    path = os.path.join(short, 'keys.sock')

    def batch(slurm, pattern_name, out, *lines):
        script = os.path.join(short, 'job.sh')
        with open(script, 'w') as file:
            file.write('\n'.join(('#!/bin/sh',) + lines) + '\n')
        os.chmod(script, 0o755)
        said = slurm.ask('sbatch', '-N8', '--comment=osmroutes:' + pattern_name, '-o', os.path.join(short, out), script)
        expect('Submitted' in said, said)

    def output(name):
        with open(os.path.join(short, name)) as file:
            return file.read()

    try:
        with Fabric(tree_64(workdir), workdir) as fabric:
            with with_keys(fabric, short, conf=conf) as opensm:
                opensm.wait_up()
                own = spread_hosts(fabric.tables())
                with Slurm(short, own, path, user) as slurm:
                    running, go = os.path.join(short, 'running'), os.path.join(short, 'go')
                    batch(slurm, 'alltoall', 'out', 'srun -N8 -n8 sh -c \'echo "$SLURM_PROCID $SLURMD_NODENAME '
                          'app=$OSMROUTES_APP bits=$UCX_IB_LID_PATH_BITS"\'',
                          'touch %s' % running, 'while [ ! -e %s ]; do sleep 0.1; done' % go)
                    wait_for('the job', lambda: os.path.exists(running), 60)
                    tasks = sorted(output('out').split('\n')[:-1])
                    app = apps_of(path)[0]
                    expect([t.split()[2:] for t in tasks] == [['app=%d' % app['app'], 'bits=1']] * 8,
                           'the environment of the tasks: %s' % tasks)
                    expect(app['keys'][0]['state'] == 'active', 'the key of a running job: %s' % app)
                    by_rank = [t.split()[1] for t in tasks]
                    # Slurm sorts ranks by node, and a sorted ring has no contention that a key could lower.
                    base, key = in_switches(fabric, by_rank, ALL, app['offsets'][0])
                    expect(key == app['keys'][0]['contention'] < base,
                           'contention %d by the key, %d without' % (key, base))
                    open(go, 'w').close()
                    wait_for('the end of the key', lambda: not apps_of(path), 30)
                    over = os.path.join(short, 'over')
                    batch(slurm, 'nonsense', 'without', 'srun -N8 -n8 true', 'touch ' + over)
                    wait_for('the job without keys', lambda: os.path.exists(over), 60)
                    said = [l for l in output('without').splitlines() if 'runs without routing keys' in l]
                    expect(len(said) == 1 and 'nonsense' in said[0], 'of a job without keys: %s' % output('without'))
            opensm.check_log()
    finally:
        shutil.rmtree(short, ignore_errors=True)


@scenario('keys.slurm-daemons')
def slurm_daemons(workdir):
    """Where Slurm runs as root."""
    slurm_job(workdir, 'root', '')


@scenario('keys.slurm-user')
def slurm_user(workdir):
    """And as the user that Debian's package makes for it: control_agent lets the prolog in, and no one else."""
    try:
        pwd.getpwnam('slurm')
    except KeyError:
        raise Skip('there is no user slurm')
    slurm_job(workdir, 'slurm', 'control_agent = slurm\n')


def mpi_phases(workdir, path, phases, **env):
    """Runs an MPI program that knows nothing of keys, with the example osrkeys-mpi.c preloaded, under Open MPI by shared memory
    and TCP; yields each of these phases while the program is in it."""
    library, program = os.path.join(TOOLS, 'libosrkeys-mpi.so'), os.path.join(TOOLS, 'osr-mpi')
    env = dict(os.environ, OSMROUTES_KEYS=path, LD_PRELOAD=library, OMPI_ALLOW_RUN_AS_ROOT='1',
               OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', **env)
    run = subprocess.Popen(
        ['mpirun', '--oversubscribe', '-n', '4', '--mca', 'btl', 'self,vader,tcp', '--mca', 'pml', 'ob1',
         '--mca', 'plm_rsh_agent', 'false', program, workdir], env=env, cwd=workdir,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=_die_with_parent)
    for phase, what in enumerate(phases):
        mark = os.path.join(workdir, 'phase-%d' % phase)
        wait_for('phase %d' % phase, lambda: os.path.exists(mark), 30,
                 lambda: expect(run.poll() is None, 'the program ended: %s' %
                                (run.stdout.read() if run.poll() is not None else '')))
        yield phase, what
        os.unlink(mark)
    expect(run.wait(patience(30)) == 0, 'the program: %s' % run.stdout.read())


def need_mpi():
    if not os.path.exists(os.path.join(TOOLS, 'libosrkeys-mpi.so')) or not shutil.which('mpirun'):
        raise Skip('there is no MPI')


@scenario('keys.mpi')
def mpi(workdir):
    """Each phase of the program has its key in the switches, and after its end no key is in use."""
    need_mpi()
    phases = [ALL, RING]
    with keyed(workdir, tree_64(workdir)) as (fabric, opensm):
        own = spread_hosts(fabric.tables())
        path = os.path.join(workdir, 'keys.sock')
        traffic = [pattern(p) for p in phases]
        with Client(path) as client:
            app = client.must(op='place', hosts=own, patterns=traffic)
            opensm.wait_quiet()
            for phase, key in mpi_phases(workdir, path, (0, 1, 0, None), OSMROUTES_APP=str(app['app']),
                                         OSMROUTES_PHASES='MPI_Alltoall=0 MPI_Allreduce=1'):
                states = [k['state'] for k in client.must(op='status')['apps'][0]['keys']]
                expect(states == ['active' if k == key else 'prepared' for k in (0, 1)],
                       'phase %d: %s' % (phase, states))
                if key is not None:
                    base, got = in_switches(fabric, own, phases[key], 1)
                    said = client.must(op='status')['apps'][0]['keys'][key]['contention']
                    expect(got == said < base, 'phase %d: contention %d, by its key %d, without it %d' %
                           (phase, got, said, base))
    opensm.check_log()


@scenario('jobs.mpi')
def mpi_job(workdir):
    """The program has one key from its beginning to its end, at the offset that it uses: every shift of its ranks is free of
    contention in the switches in every phase."""
    need_mpi()
    with keyed(workdir, tree_64(workdir), 1) as (fabric, opensm):
        opensm.wait_quiet()
        ends, path = by_name(fabric.tables()), os.path.join(workdir, 'keys.sock')
        own = sorted(spread_hosts(fabric.tables()), key=lambda n: ends[n].switch)	# switches of a sub-tree are numbered in a row
        for _ in mpi_phases(workdir, path, (0, 1, 2, 3), OSMROUTES_JOB=' '.join(own), UCX_IB_LID_PATH_BITS='1'):
            key = apps_of(path)[0]['keys'][0]
            expect(key['state'] == 'active' and key['offset'] == 1, 'during the program: %s' % key)
            worst = max(in_switches(fabric, own, shift(8, by), 1)[1] for by in range(1, 8))
            expect(worst == key['contention'] == 1, 'contention %d of a job: %s' % (worst, key))
        expect(not apps_of(path), 'the key outlives the program')
    opensm.check_log()
