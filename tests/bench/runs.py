# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One engine on one fabric: a fresh opensm -o under ibsim, timed by libosrtimer.so (osr-timer.c).

Stock engines and ours run in the same ibsim, in turns, so that whatever else the machine does
meets all of them. Tables are judged once per engine; they are the same in every repetition.
"""
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'osm'))
from osmtest import BUILD, LOG_DUMPS, LOG_PLAIN, Fabric, Failure, Opensm, routed  # noqa: E402

COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')
PAIRS = os.path.join(BUILD, 'tests', 'bench', 'osr-pairs')

SLOW_MS = 10000		# beyond this, one repetition says enough
# On a shared machine noise only ever adds: the median is that of the fastest BEST repetitions, and
# there are more of them until these agree.
BEST = 3
AGREE = 1.15		# slowest / fastest of the best
MORE = 4		# repetitions added at most
LONG_S = 60		# of waiting for one repetition, from which on there are no more than asked for


class Variant:
    """An engine and how it is set up. `ours`: lines of osmroutes.conf, None for a stock engine;
    `aside`: no target asks for its times."""

    def __init__(self, key, engine, ours=None, options=None, log_flags=LOG_PLAIN, aside=False):
        self.key, self.engine, self.ours = key, engine, ours
        self.options = options or {}
        self.log_flags = log_flags
        self.aside = aside


def _variants():
    one_way = '[dfsssp]\nreversible_sl = off\n'
    rows = [Variant('stock torus-2QoS', 'torus-2QoS'), Variant('angara', 'angara', ''),
            Variant('stock dfsssp', 'dfsssp'), Variant('stock sssp', 'sssp', aside=True),
            Variant('stock minhop', 'minhop'), Variant('stock ftree', 'ftree'),
            Variant('stock updn', 'updn'), Variant('stock lash', 'lash'),
            Variant('dmodk', 'dmodk', ''),
            Variant('dfsssp', 'dfsssp', ''), Variant('sssp', 'sssp', '', aside=True),
            Variant('dfsssp one-way', 'dfsssp', one_way, aside=True),
            Variant('dfsssp ROUTING', 'dfsssp', '', log_flags=LOG_DUMPS, aside=True)]
    for n in (1, 2, 4, 8):
        rows.append(Variant('stock nue %d' % n, 'nue', options={'nue_max_num_vls': n}))
        rows.append(Variant('dfsssp %d' % n, 'dfsssp', 'max_vls = %d\n' % n))
    return {v.key: v for v in rows}


VARIANTS = _variants()


class Outcome:
    """What was measured of one variant on one fabric."""

    def __init__(self):
        self.cpu, self.grown, self.sweep = [], [], []	# per repetition: ms, kB, ms
        self.waited = 0		# for the longest repetition, seconds
        self.served = None	# the engine that made the tables
        self.vls = self.one_way = self.used_vls = None	# needed; with one-way SLs; used
        self.phases = ''	# as the log of osmroutes says
        self.efi = None		# as the log of osmroutes says
        self.tables = None	# osr-pairs: of hosts
        self.ebb = None
        self.digests = set()
        self.said = ''		# why the engine failed

    @property
    def ok(self):
        return self.served is not None

    @property
    def ms(self):
        return statistics.median(sorted(self.cpu)[:BEST])

    @property
    def kb(self):
        return statistics.median(self.grown)

    @property
    def steady(self):
        best = sorted(self.cpu)[:BEST]
        return len(best) == BEST and best[-1] <= AGREE * best[0]

    def json(self):
        return dict(vars(self), digests=sorted(self.digests))


def generate(path, words):
    subprocess.run([COMMAND, 'generate', '-o', path] + words, check=True, timeout=120)
    return path


def torus_conf(path, words):
    """What torus-2QoS must be told: sizes, and the cables of the first switch. ibsim numbers switches
    as they come in the file, and the generator's last dimension varies fastest."""
    dims = [int(n) for n in words[1].partition('=')[2].split('x')]
    lines = ['%s %s' % (words[0], ' '.join(map(str, dims + [1] * (3 - len(dims)))))]
    for i, n in enumerate(dims):
        step = math.prod(dims[i + 1:])
        lines.append('%sp_link 0x200000 0x%x' % ('xyz'[i], 0x200000 + step))
        if words[0] == 'torus' and n == 4:	# as its manual asks
            lines.append('%sm_link 0x200000 0x%x' % ('xyz'[i], 0x200000 + (n - 1) * step))
    with open(path, 'w') as file:
        file.write('\n'.join(lines) + '\n')
    return path


class Bench:
    """Measures variants on one fabric."""

    def __init__(self, netfile, workdir, patterns, words=()):
        self.netfile, self.dir, self.patterns, self.words = netfile, workdir, patterns, words
        self.outcomes = {}

    def run(self, keys, repetitions, say):
        fabric = Fabric(self.netfile, self.dir)
        # ibsim's first node, where the readers of the files expect it when they give LIDs.
        fabric.env.pop('SIM_HOST', None)
        with fabric:
            for number in range(repetitions + MORE):
                for key in keys:
                    if self._wanted(key, number, repetitions):
                        self._sweep(fabric, VARIANTS[key])
                        say(key, self.outcomes[key])
        return self.outcomes

    def _wanted(self, key, number, repetitions):
        outcome = self.outcomes.get(key)
        if not outcome:
            return True
        if max(outcome.cpu) > SLOW_MS:
            return False
        if outcome.waited > LONG_S:
            return number < repetitions and not VARIANTS[key].aside
        if VARIANTS[key].aside or repetitions == 1:
            return number < repetitions
        return number < repetitions or not outcome.steady

    def _sweep(self, fabric, variant):
        first = variant.key not in self.outcomes
        outcome = self.outcomes.setdefault(variant.key, Outcome())
        name = variant.key.replace(' ', '-')
        out, lfts = (os.path.join(self.dir, name + end) for end in ('.timer', '.lfts'))
        if os.path.exists(out):
            os.remove(out)
        env = {'OSR_TIMER_OUT': out}
        if first:
            env['OSR_TIMER_LFTS'] = lfts
        ours = variant.ours is not None
        options = {'qos': 'TRUE', 'max_wire_smps': 32,
                   'event_plugin_name': 'osmroutes osrtimer' if ours else 'osrtimer'}
        options.update(variant.options)
        if variant.engine == 'torus-2QoS':
            options['torus_config'] = torus_conf(os.path.join(self.dir, 'torus-2QoS.conf'), self.words)
        with Opensm(fabric, variant.engine, plugin=ours, plugin_conf=variant.ours, options=options,
                    log_flags=variant.log_flags, once=True, name=name, env=env) as opensm:
            start = time.monotonic()
            opensm.wait_end(3600)
            outcome.waited = max(outcome.waited, time.monotonic() - start)
        self._take(variant, outcome, _first_line(out), opensm.log)
        if first and outcome.ok:
            self._judge(outcome, lfts)
            os.remove(lfts)

    def _take(self, variant, outcome, line, log):
        entry = next((e for e in line['engines'] if e['name'] == variant.engine), None)
        if not entry:
            raise Failure('%s was not called' % variant.key)
        if entry['threads']:
            raise Failure('%s left %d threads behind, whose time is not measured' %
                          (variant.key, entry['threads']))
        outcome.cpu.append(entry['cpu_ms'] + line['events_ms'] + _stored_ms(variant, entry, log))
        outcome.grown.append(entry['grown_kb'])
        outcome.sweep.append(line['sweep_ms'])
        if not entry['served']:
            outcome.said = 'fails, %s serves' % (line['used'] or 'nobody')
            return
        outcome.served = line['used']
        _read_log(outcome, variant, log)

    def _judge(self, outcome, lfts):
        outcome.tables = json.loads(subprocess.run([PAIRS, self.netfile, lfts], check=True,
                                                   stdout=subprocess.PIPE).stdout)
        if outcome.efi not in (None, outcome.tables['efi']):
            raise Failure('the log says EFI %d, the tables %d' %
                          (outcome.efi, outcome.tables['efi']))
        if not self.patterns:
            return
        done = subprocess.run([COMMAND, 'route', '--json', '--bisections', str(self.patterns),
                               '--tables', lfts, self.netfile], stdout=subprocess.PIPE)
        result = json.loads(done.stdout)['results'][0]
        if 'ebb' in result:
            outcome.ebb = result['ebb']


def _stored_ms(variant, entry, log):
    """CPU of the thread that stores our tables; opensm waits for it before it ends."""
    if variant.ours is None or not entry['served'] or 'store = no' in variant.ours:
        return 0
    times = re.findall(r'osmroutes: \S+: tables stored in .*: \d+ bytes, ([\d.]+) ms of CPU', log)
    if not times:
        raise Failure('%s: the log does not say that its tables were stored' % variant.key)
    return sum(map(float, times))


def _first_line(path):
    with open(path) as file:
        return json.loads(file.readline())


def _read_log(outcome, variant, log):
    if variant.ours is None:
        found = re.findall(r'Virtual Lanes needed: (\d+)', log)
        if found:
            outcome.vls = outcome.one_way = int(found[-1])
        if variant.engine == 'nue':
            outcome.vls = outcome.one_way = variant.options['nue_max_num_vls']
        return
    sweeps = routed(log)
    if not sweeps:
        raise Failure('the log has no JSON of osmroutes about its sweep')
    last = sweeps[-1]
    ms, vls = last['ms'], last['vls']
    outcome.phases = '%.1f ms (%s)' % (ms['total'], ', '.join('%s %.1f' % (name, ms[name]) for name in (
        'snapshot', 'route', 'paths', 'layers', 'check', 'publish')))
    outcome.used_vls = vls['used']
    if vls['needed']:
        outcome.vls, outcome.one_way = vls['needed'], vls['needed_one_way']
    outcome.efi = last['load']['efi']
    outcome.digests.add(last['digest'])
    if len(outcome.digests) > 1:
        raise Failure('%s: two repetitions, two routings' % variant.key)


def by_budget(netfile, budgets, patterns):
    """{budget: figures of `osmroutes route`} for dfsssp; figures of no routing are its message."""
    rows = {}
    for n in budgets:
        done = subprocess.run([COMMAND, 'route', '--json', '-e', 'dfsssp', '--vls', str(n),
                               '--bisections', str(patterns), netfile], stdout=subprocess.PIPE)
        rows[n] = json.loads(done.stdout)['results'][0]
    return rows


def offline(netfile, repetitions):
    """The command on a fabric too large for the simulator: [its JSON], one per repetition."""
    results = []
    for _ in range(repetitions):
        done = subprocess.run([COMMAND, 'route', '--json', '-e', 'dfsssp', '--bisections=0', netfile],
                              stdout=subprocess.PIPE)
        data = json.loads(done.stdout)
        results.append(dict(data['results'][0], read=data['read_ms'],
                            size={k: data[k] for k in ('switches', 'terminals', 'lids')}))
    return results


def after_fault(netfile, broken, fault, repetitions):
    """dmodk on a tree with something gone: ms of CPU of the fastest repetition, recognition included."""
    subprocess.run([COMMAND, 'whatif', netfile, '--write', broken, fault], check=True,
                   stderr=subprocess.DEVNULL)
    best = None
    for _ in range(repetitions):
        done = subprocess.run([COMMAND, 'route', '--json', '-e', 'dmodk', '--bisections=0', broken],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        row = json.loads(done.stdout)['results'][0]
        if row['status'] != 'ok':
            raise Failure('dmodk after %s: %s' % (fault, row['message']))
        ms = row['route_ms']['cpu']
        best = ms if best is None else min(best, ms)
    return best
