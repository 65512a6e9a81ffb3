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

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'osm'))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cli'))
from bandwidth import Oracle  # noqa: E402,F401 - tables, followed host by host
from osmtest import BUILD, Fabric, Failure  # noqa: E402
from timed import COMMAND, have_opensm, sweep  # noqa: E402

PATTERNS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'share', 'examples', 'traffic-patterns')
FLOW = os.path.join(BUILD, 'tests', 'experiments', 'osr-flow')

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

    def kept_stock(self, name, fabric, hosts):
        """Rows of stock engines that an earlier run has left."""
        return [r for r in Data.kept(self.kept, name)
                if (r['fabric'], r['hosts'], r['by']) == (fabric, str(hosts), 'stock')]

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

    def write(self, text):
        path = self.path('fabric.net')
        with open(path, 'w') as file:
            file.write(text)
        return path

    def edit(self, path, change):
        """The changed text of a file, where generate() put it."""
        with open(path) as file:
            text = file.read()
        return self.write(change(text))

    def _analyze(self, net, words):
        done = subprocess.run([COMMAND, 'route', net, '--json'] + words, capture_output=True,
                              text=True)
        if done.returncode > 1:
            raise Failure('osmroutes route %s: %s' % (' '.join(words), done.stderr))
        return json.loads(done.stdout)['results'][0]

    def ours(self, net, engine, patterns=0, vls=15, seed=1, multicast=True, **options):
        """The figures of `osmroutes route`; only 'status' and 'message' if the engine refuses."""
        words = ['-e', engine, '--vls', str(vls), '--bisections', str(patterns), '--seed', str(seed)]
        words += [] if multicast else ['--multicast=no']
        for name, value in options.items():
            words += ['-o', '%s=%s' % (name, value)]
        return self._analyze(net, words)

    def patterns(self, net, engine, patterns, hosts, runs=1, ranking='both', tables=None):
        """Hot spots of patterns on these hosts, by name: {pattern: {ranking: row}}. By the tables
        of a file, or else of an engine."""
        listed = self.path('hosts')
        with open(listed, 'w') as file:
            file.write('\n'.join(hosts) + '\n')
        words = [COMMAND, 'route', net, '--json', '--bisections=0',
                 '--runs=%d' % (0 if ranking == 'ordered' else runs), '--hosts', listed]
        words += ['--tables', tables] if tables else ['-e', engine]
        files = {self.pattern(p, len(hosts)): p for p in patterns}
        words += ['--traffic=' + path for path in files]
        got = {}
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode > 1:	# 1: tables that the checker refuses; hosts may do with them
            raise Failure('%s: %s' % (' '.join(words), done.stderr))
        for row in json.loads(done.stdout)['patterns']:
            got.setdefault(files[row['pattern']], {})[row['ranking']] = row
        return got

    def traffic(self, net, words, pattern, hosts, runs):
        """Bandwidth and hot spots of one pattern, its ranks in random orders on these hosts."""
        listed = self.path('hosts')
        with open(listed, 'w') as file:
            file.write('\n'.join(hosts) + '\n')
        done = subprocess.run([COMMAND, 'route', net, '--json', '--bisections=0',
                               '--runs=%d' % runs, '--hosts', listed, '--traffic=' + self.pattern(pattern, len(hosts))] + words,
                              capture_output=True, text=True)
        if done.returncode > 1:
            raise Failure('route --traffic of %s: %s' % (pattern, done.stderr))
        return next(row for row in json.loads(done.stdout)['patterns'] if row['ranking'] == 'random')

    def pattern(self, name, ranks):
        """A traffic file of this pattern."""
        path = self.path('%s-%d.traffic' % (re.sub(r'\W', '-', name), ranks))
        if not os.path.exists(path):
            with open(path, 'w') as file:
                subprocess.run([PATTERNS, name, str(ranks)], check=True, stdout=file)
        return path

    def order(self, net):
        """The hosts of a fat tree as `osmroutes order` has them."""
        done = subprocess.run([COMMAND, 'order', net], check=True, capture_output=True, text=True)
        return done.stdout.split()

    def job_rule(self, net, hosts):
        """Does `osmroutes order` say that no two hosts' flows of a shift on these meet?"""
        listed = self.path('job')
        with open(listed, 'w') as file:
            file.write('\n'.join(hosts) + '\n')
        done = subprocess.run([COMMAND, 'order', '--hosts=' + listed, net], check=True, capture_output=True, text=True)
        if done.stdout.split() != hosts:
            raise Failure('order --hosts gives another order')
        return 'no two hosts' in done.stderr

    def flow(self, net, engine, hosts, seed, pattern, stages, in_flight, rates):
        """The part of the hosts' bandwidth that a sequence reaches, see osr-flow.c."""
        listed = self.path('hosts')
        with open(listed, 'w') as file:
            file.write('\n'.join(hosts) + '\n')
        words = [net, engine, listed, seed, self.pattern(pattern, len(hosts)), stages, in_flight] + list(rates)
        done = subprocess.run([FLOW, 'stages'] + [str(w) for w in words], check=True, capture_output=True,
                              text=True)
        return float(done.stdout.split()[0])

    def dump(self, net, engine, multicast=True, **options):
        """An opensm-lfts.dump of our tables."""
        words = [COMMAND, 'route', net, '-e', engine, '--dump', self.path('dump')]
        words += [] if multicast else ['--multicast=no']
        for name, value in options.items():
            words += ['-o', '%s=%s' % (name, value)]
        done = subprocess.run(words, stdout=subprocess.DEVNULL)
        if done.returncode > 1:	# 1: what sssp makes can deadlock
            raise Failure(' '.join(words))
        return os.path.join(self.path('dump'), 'opensm-lfts.dump')

    def stock(self, net, engines, patterns=0, seconds=900, seed=1):
        """{engine: figures} of those stock engines that route this fabric, all in one ibsim."""
        results = {}
        if not have_opensm():
            return results
        with Fabric(net, self.path('ibsim')) as fabric:
            for engine in engines:
                got = self._stock_one(fabric, net, engine, patterns, seconds, seed)
                if got:
                    results[engine] = got
        return results

    def _sweep(self, fabric, engine, seconds, options):
        """Of a stock engine; None if it refuses the fabric."""
        try:
            found = sweep(fabric, engine, None, options, seconds)
        except Failure as failure:
            print('    stock %s: %s' % (engine, str(failure)[:200]), file=sys.stderr)
            return None
        return found if found.used == engine else None

    def _stock_one(self, fabric, net, engine, patterns, seconds, seed):
        done = self._sweep(fabric, engine, seconds, {})
        if not done:
            return None
        got = self._analyze(net, ['--tables', done.lfts, '--bisections', str(patterns), '--seed', str(seed)])
        if got.get('pairs_no_path', 1):
            print('    stock %s: %s' % (engine, got['message']), file=sys.stderr)
            return None
        got['route_ms'] = done.cpu
        return got

    def stock_lanes(self, net, engines, look=None, seconds=300):
        """{engine: (lanes that it says it needs, look(its tables))} of those that route this fabric."""
        results = {}
        if not have_opensm():
            return results
        with Fabric(net, self.path('ibsim')) as fabric:
            for engine in engines:
                done = self._sweep(fabric, engine, seconds, {})
                if done:
                    results[engine] = done.lanes, look(done.lfts) if look else None
        return results

    def stock_shifts(self, net, engines, hosts, pattern, seconds=900, **options):
        """{engine: hot spots of a shift on these hosts} of those that route this fabric."""
        results = {}
        if not have_opensm():
            return results
        with Fabric(net, self.path('ibsim')) as fabric:
            for engine in engines:
                done = self._sweep(fabric, engine, seconds, options)
                if done:
                    got = self.patterns(net, None, [pattern], hosts, ranking='ordered',
                                        tables=done.lfts)
                    results[engine] = got[pattern]['ordered']
        return results


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

    @classmethod
    def kept(cls, folder, name):
        """Rows of an earlier run, if there was one."""
        return cls.read(folder, name).rows if folder else []

    @classmethod
    def read(cls, folder, name):
        rows = studies.read(folder, name)
        data = cls(name, list(rows[0]) if rows else [])
        data.rows = rows
        return data


def _text(value):
    if value is None:
        return ''
    return '%.5g' % value if isinstance(value, float) else str(value)
