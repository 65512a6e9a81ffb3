# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""commands.py OSMROUTES PROJECT BUILD: every command that a page shows is run. commands.py --clean PROJECT
prints those that change a system; scripts/package runs them in a clean Debian, in this order.

A command is an indented line that begins with a program's name. Each has one of these modes:
  run      as it stands, page by page in one directory, with the fabrics of topologies/; programs that need a
           fabric get a simulated one
  clean    in the clean Debian of package.install
  test     a long script: the CTest test that runs it on something small must be there
  ctest    scripts/test and ctest: its options must choose tests that are there
  cmake    configure and install run elsewhere; what a build gives is what all tests run on
  program  a long campaign of a test program, which must be there
  keys     osmroutes key, at a simulated subnet manager
  conf     osmroutes conf; /etc/opensm/opensm.conf is the example that is shipped, and must be good
  other    needs an OpenSM or a compiler that is not here: its syntax is looked at
A line that looks like a command and has no mode is a mistake.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = re.compile(r'^(?:sudo )?(?:[A-Z_]+=\S+ )*((?:\./)?scripts/[\w-]+|osmroutes|opensm|ibsim(?:-run)?|ibnetdiscover|'
                     r'ibdmchk|cmake|ctest|cpack|apt(?:-get)?|dpkg|rpm|cp|mv|rm|mkdir|sed|grep|cat|tail|systemctl|'
                     r'journalctl|ldconfig|git|tar|man|jq|python3|build[\w-]*/\S+)\s')
CLEAN = re.compile(r'^(?:apt-get|cp|rm|systemctl|sed -i|mkdir|grep osmroutes /var/log)\b')
CLEAN_PAGE = 'docs/admin.md'
SCRIPT = r'(?:[A-Z_]+=\S+ )*(?:\./)?scripts/'
# The first pattern that a command matches says its mode, and what that is told: nothing stands for the command.
MODES = [(SCRIPT + script + r'\b', 'test', test) for script, test in (
    ('demo', 'osm.script.demo'), ('study bench', 'bench.quick'), ('study figures', 'bench.figures'),
    ('study experiments', 'experiments.sample'), ('study campaign', 'osm.script.campaign'), ('study load', 'osm.script.load'),
    ('package', 'package.install'), ('check mutate', 'mutate.known'), ('check analyse', 'analyse'),
    ('new-engine', 'engines.new-engine'), ('prove', 'proof'))] + [
        (SCRIPT + r'test(?![\w-])(.*)', 'ctest', r'\1'), (SCRIPT + '(build-for|fuzz)', 'other', r'scripts/\1'),
        (SCRIPT + 'check sanitize', 'other', 'tests/checks/sanitize'),
        (r'(?:build/src/cli/)?osmroutes .*--live', 'test', 'osm.live.check'),
        (r'(?:[A-Z_]+=\S+ )+(build/\S+)', 'program', r'\1'), (r'python3 (tests/\S+\.py)', 'program', r'\1'),
        (r'ctest (?:--test-dir \S+)?(.*)', 'ctest', r'\1'), (r'(?:sudo )?cmake ', 'cmake', ''), (CLEAN.pattern, 'clean', ''),
        ('build/tests/lab/experiments/osr-flow ', 'run', ''), (r'osmroutes conf .*/etc/opensm/opensm\.conf', 'conf', ''),
        ('osmroutes (?:un)?drain ', 'test', 'osm.drain.cable'), ('osmroutes (?:key |status)', 'keys', ''),
        (r'(?:osmroutes|ibnetdiscover|ibdmchk|cpack|cat|grep|build/src/cli/osmroutes)(?: |$)', 'run', '')]
# Generated blocks and synopses are no commands.
SYNOPSIS = re.compile(r'\[(?:OPTION|-|--)|\.\.\.|\bNAME=VALUE\b|\bDIR/|\bFILE\b|\bAPP\b')
errors = []
counts = {}


def read(project, page):
    with open(os.path.join(project, page), encoding='utf-8') as file:
        return file.read()


def commands_of(text):
    """Commands of a page, with continued lines joined and comments gone."""
    text = re.sub(r'^```.*?^```', '', text, flags=re.M | re.S)
    lines = [m.group(1) for m in re.finditer(r'^ {4}(?:\$ )?(\S.*)$', text, re.M)]
    found = []
    joined = ''
    for line in lines:
        line = joined + re.sub(r'\s{2,}(?:#\s|[a-z].*[,;:]).*$| # .*$', '', line).strip()
        joined = ''
        if PROGRAM.match(line + ' ') and line.endswith(('\\', '|')):
            joined = line.rstrip('\\') + ' '
        elif PROGRAM.match(line + ' ') and not SYNOPSIS.search(line):
            found.append(line)
    return found


def pages(project):
    found = ['README.md'] + sorted('docs/' + os.path.basename(p)
                                   for p in glob.glob(os.path.join(project, 'docs/*.md')))
    return found + ['topologies/README.md']


class Runner:
    def __init__(self, osmroutes, project, build):
        self.project, self.build = project, build
        self.osmroutes = os.path.abspath(osmroutes)
        self.dir = tempfile.mkdtemp()
        self.fabric = None
        self.opensm = []
        self.tests = self.said(['ctest', '--test-dir', build, '-N'])
        self.clean = [c for c in commands_of(read(project, CLEAN_PAGE)) if CLEAN.match(c)]

    @staticmethod
    def said(words):
        return subprocess.run(words, capture_output=True, text=True).stdout

    def shell(self, command, where, env=None):
        return subprocess.run(['bash', '-c', 'set -o pipefail; ' + command], cwd=where, text=True,
                              capture_output=True, env=dict(os.environ, **(env or {})), timeout=120)

    def simulated(self):
        """Environment of programs that want a fabric; None if there can be none."""
        if not shutil.which('ibsim') or not shutil.which('ibnetdiscover'):
            return None
        if not self.fabric:
            sys.path.insert(0, os.path.join(self.project, 'tests/osm'))
            os.environ['OSR_BUILD'] = self.build
            import osmtest
            self.fabric = osmtest.Fabric(osmtest.find_fabric('cluster-192'), os.path.join(self.dir, 'sim'))
            self.fabric.__enter__()
        return self.fabric.env

    def keys(self, where):
        """Environment in which applications get routing keys; None if there can be none."""
        if self.simulated() is None or not shutil.which('opensm'):
            return None
        if not self.opensm:
            import osmtest
            tree = osmtest.Fabric(osmtest.find_fabric('tree-3'), os.path.join(self.dir, 'tree'))
            path = os.path.join(self.dir, 'keys.sock')
            self.opensm = [tree, osmtest.Opensm(tree, 'dmodk', plugin=True, options={'lmc': 2},
                                                plugin_conf='control_socket = %s\n' % path)]
            for process in self.opensm:
                process.__enter__()
            self.opensm[1].wait_up()
            self.keys_env = {'OSMROUTES_KEYS': path}
        with open(os.path.join(where, 'hosts'), 'w') as file:
            file.writelines('h%d\n' % i for i in range(8))
        with open(os.path.join(where, 'ring'), 'w') as file:
            subprocess.run([os.path.join(self.project, 'share', 'examples', 'traffic-patterns'), 'cps-ring', '8'], check=True, stdout=file)
        return self.keys_env

    def run_mode(self, mode, what, where):
        """What went wrong, or ''."""
        if mode == 'test':
            return '' if re.search(r': %s$' % re.escape(what), self.tests, re.M) else 'no test ' + what
        if mode == 'ctest':
            run = self.shell('ctest --test-dir %s -N %s' % (self.build, what), where)
            return '' if re.search(r'Total Tests: [1-9]', run.stdout) else 'chooses no test'
        if mode == 'clean':
            return '' if what in self.clean else 'is not in %s, so no clean Debian runs it' % CLEAN_PAGE
        if mode == 'program':
            return '' if os.access(os.path.join(where, what), os.R_OK if what.endswith('.py') else os.X_OK) else 'there is no such program'
        if mode == 'other':
            run = self.shell('bash -n ' + what, self.project)
            return run.stderr
        env = {}
        if mode == 'conf':
            what = what.replace('/etc/opensm/opensm.conf', os.path.join(self.project, 'share/opensm.conf'))
        if mode == 'cmake':
            for part in re.split(r' && ', what):
                part = part.replace('sudo ', '')
                if part.startswith('cmake --install'):
                    part = part.replace(' build', ' ' + self.build)
                    env = {'DESTDIR': os.path.join(where, 'installed')}
                elif part.startswith('cmake --build'):
                    continue
                else:
                    part = re.sub(r' -B (\S+)', r' -B %s/configured-\1 -S %s' % (where, self.project), part)
                run = self.shell(part, where, env)
                if run.returncode:
                    return run.stderr[-300:]
            return ''
        if mode == 'keys':
            env = self.keys(where)
            if env is None:
                return ''
        if what.startswith('ibnetdiscover'):
            env = self.simulated()
            if env is None:
                shutil.copy(os.path.join(self.project, 'topologies/cluster-192.net'),
                            os.path.join(where, 'fabric.topo'))
                return ''
            what = 'ibsim-run ' + what
        run = self.shell(what, where, dict(env, PATH=self.bin + ':' + os.environ['PATH']))
        placed = re.search(r'^OSMROUTES_APP=\d+', run.stdout or '', re.M)
        if placed:
            self.keys_env.update([placed[0].split('=')])
        return '' if run.returncode == 0 else 'ended with %d: %s' % (run.returncode, run.stderr.strip()[-300:])

    def page(self, page):
        where = os.path.join(self.dir, page.replace('/', '-'))
        os.makedirs(where)
        for folder in ('topologies', 'docs', 'scripts', 'tests'):
            os.symlink(os.path.join(self.project, folder), os.path.join(where, folder))
        os.symlink(self.build, os.path.join(where, 'build'))
        for command in commands_of(read(self.project, page)):
            mode, what = next(((mode, m.expand(what) or command) for pattern, mode, what in MODES
                               for m in [re.match(pattern, command)] if m), (None, None))
            counts[mode] = counts.get(mode, 0) + 1
            wrong = self.run_mode(mode, what, where) if mode else 'nobody knows how to run it'
            if wrong:
                errors.append('%s: "%s": %s' % (page, command, wrong))

    def all(self):
        self.bin = os.path.join(self.dir, 'bin')
        os.makedirs(self.bin)
        os.symlink(self.osmroutes, os.path.join(self.bin, 'osmroutes'))
        try:
            for page in pages(self.project):
                self.page(page)
        finally:
            for process in reversed(self.opensm):
                process.__exit__(None, None, None)
            if self.fabric:
                self.fabric.__exit__()
            shutil.rmtree(self.dir)


def main():
    if sys.argv[1] == '--clean':
        for command in commands_of(read(sys.argv[2], CLEAN_PAGE)):
            if CLEAN.match(command):
                print(command)
        return 0
    runner = Runner(*sys.argv[1:4])
    runner.all()
    for error in errors:
        print(error)
    print('%s; %d mistakes' % (', '.join('%d by mode %s' % (n, m) for m, n in counts.items()), len(errors)))
    return 1 if errors or len(runner.clean) < 5 or counts.get('run', 0) < 10 else 0


sys.exit(main())
