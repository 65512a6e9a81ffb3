# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One routing of one fabric, measured: ours by `osmroutes route`, stock engines by a fresh
opensm -o under ibsim, whose tables `osmroutes route --tables` then judges like ours."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import studies

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'osm'))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'cli'))
from netfile import Oracle, read_net  # noqa: E402,F401 - tables, followed host by host
from osmtest import BUILD, COMMAND, Fabric, Failure  # noqa: E402
from timed import have_opensm, sweep  # noqa: E402

PATTERNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..', 'share', 'examples', 'traffic-patterns')
JOBS = os.path.join(BUILD, 'tests', 'lab', 'experiments', 'osr-jobs')
FLOW = os.path.join(BUILD, 'tests', 'lab', 'experiments', 'osr-flow')

STOCK = ['minhop', 'updn', 'ftree', 'lash', 'dor', 'sssp', 'dfsssp']


def sm_first(text):
    """The first host moves to the top of the net file: the subnet manager sits there in ibsim, and
    `osmroutes` gives LIDs as if it sat on the first node. So both have the same LIDs."""
    blocks = text.split('\n\n')
    at = next(i for i, block in enumerate(blocks) if re.search('^Ca', block, re.M))
    return '\n\n'.join([blocks.pop(at)] + blocks)


class Workshop:
    """A temporary directory with fabrics in it."""

    def __init__(self, kept=None):
        self.dir = tempfile.mkdtemp(prefix='osr-experiments-')
        self.kept = kept	# folder of CSV files whose rows of stock engines are still good

    def kept_rows(self, name):
        """Rows of an earlier run, if there was one."""
        return studies.read(self.kept, name) if self.kept else []

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def generate(self, *words):
        path = self.path('fabric.net')
        subprocess.run([COMMAND, 'generate'] + list(words) + ['-o', path], check=True)
        return self.edit(path, sm_first)

    def degrade(self, net, *words):
        """A broken copy; where generate() puts its own, so `net` must lie elsewhere."""
        path = self.path('fabric.net')
        subprocess.run([COMMAND, 'whatif', net, '--write', path] + list(words), check=True,
                       stderr=subprocess.DEVNULL)
        return self.edit(path, sm_first)

    def build(self, net):
        """A system of 24-port chips."""
        return self.edit(net.write(self.path('fabric.net'), n_ports=24), sm_first)

    def edit(self, path, change):
        """The changed text of a file, where generate() put it."""
        with open(path) as file:
            text = change(file.read())
        path = self.path('fabric.net')
        with open(path, 'w') as file:
            file.write(text)
        return path

    def _run(self, words, limit=1):
        """What a program prints. 1: tables that the checker refuses; what is measured may do with them."""
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
        if done.returncode > limit:
            raise Failure('%s: %s' % (' '.join(map(str, words)), done.stderr))
        return done

    def route(self, net, *words):
        return json.loads(self._run([COMMAND, 'route', net, '--json', *words]).stdout)

    def _listed(self, hosts):
        path = self.path('hosts')
        with open(path, 'w') as file:
            file.write('\n'.join(hosts) + '\n')
        return path

    @staticmethod
    def _engine(engine, multicast=True, options=()):
        return ['-e', engine] + ([] if multicast else ['--multicast=no']) + ['-o%s=%s' % o for o in dict(options).items()]

    def ours(self, net, engine, patterns=0, vls=15, seed=1, multicast=True, **options):
        """The figures of `osmroutes route`; only 'status' and 'message' if the engine refuses."""
        return self.route(net, '--vls', vls, '--bisections', patterns, '--seed', seed,
                          *self._engine(engine, multicast, options))['results'][0]

    def patterns(self, net, by, patterns, hosts, runs=1, ranking='both'):
        """Hot spots of patterns on these hosts, by name: {pattern: {ranking: row}}. by: an engine, or {'tables': file}."""
        files = {self.pattern(p, len(hosts)): p for p in patterns}
        words = self._engine(by) if isinstance(by, str) else ['--tables', by['tables']]
        got = {}
        for row in self.route(net, '--bisections=0', '--runs=%d' % (0 if ranking == 'ordered' else runs), '--hosts',
                              self._listed(hosts), *words, *('--traffic=' + path for path in files))['patterns']:
            got.setdefault(files[row['pattern']], {})[row['ranking']] = row
        return got

    def pattern(self, name, ranks):
        """A traffic file of this pattern."""
        path = self.path('%s-%d.traffic' % (re.sub(r'\W', '-', name), ranks))
        if not os.path.exists(path):
            with open(path, 'w') as file:
                subprocess.run([PATTERNS, name, str(ranks)], check=True, stdout=file)
        return path

    def order(self, net):
        """The hosts of a fat tree as `osmroutes order` has them."""
        return self._run([COMMAND, 'order', net], 0).stdout.split()

    def job_rule(self, net, hosts):
        """Does `osmroutes order` say that no two hosts' flows of a shift on these meet?"""
        done = self._run([COMMAND, 'order', '--hosts=' + self._listed(hosts), net], 0)
        if done.stdout.split() != hosts:
            raise Failure('order --hosts gives another order')
        return 'no two hosts' in done.stderr

    def flow(self, net, engine, hosts, seed, pattern, stages, in_flight, rates):
        """The part of the hosts' bandwidth that a sequence reaches, see osr-flow.c."""
        return float(self._run([FLOW, 'stages', net, engine, self._listed(hosts), seed, self.pattern(pattern, len(hosts)), stages,
                                in_flight, *rates], 0).stdout.split()[0])

    def dump(self, net, engine, **options):
        """An opensm-lfts.dump of our tables."""
        self.route(net, '--bisections=0', '--dump', self.path('dump'), *self._engine(engine, options=options))
        return os.path.join(self.path('dump'), 'opensm-lfts.dump')

    def stock(self, net, engines, look, seconds=900, **options):
        """{engine: look(its Sweep)} of those stock engines that route this fabric, all in one ibsim."""
        results = {}
        if not have_opensm():
            return results
        with Fabric(net, self.path('ibsim')) as fabric:
            for engine in engines:
                try:
                    done = sweep(fabric, engine, None, options, seconds)
                except Failure as failure:
                    print('    stock %s: %s' % (engine, str(failure)[:200]), file=sys.stderr)
                    continue
                found = look(done) if done.used == engine else None
                if found:
                    results[engine] = found
        return results

    def judged(self, net, done, patterns):
        """What is measured of the tables of a stock engine; None where pairs have no path."""
        got = self.route(net, '--tables', done.lfts, '--bisections', patterns, '--seed', 1)['results'][0]
        if got.get('pairs_no_path', 1):
            print('    stock %s: %s' % (done.used, got['message']), file=sys.stderr)
            return None
        return dict(got, route_ms=done.cpu)


class Data:
    """Rows of one table. Numbers keep as many digits as anybody needs to read."""

    def __init__(self, name, columns):
        self.name, self.columns, self.rows = name, columns, []

    def add(self, *values):
        if len(values) != len(self.columns):
            raise ValueError('%s has %d columns' % (self.name, len(self.columns)))
        self.rows.append(dict(zip(self.columns, map(_text, values))))

    def write(self, folder):
        studies.write(folder, self.name, [self.columns] + [[row[c] for c in self.columns] for row in self.rows])


def _text(value):
    if value is None:
        return ''
    return '%.5g' % value if isinstance(value, float) else str(value)
