#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Faults, lost and late MADs, handovers and kills, under real opensm and ibsim: scripts/campaign.

A campaign is a row of lives (life.py), each on one fabric with one engine. Every step is a line of
JSON. A life is made again, alone, by its seed and number:

    scripts/campaign --seed 1 --faults 2000
    scripts/campaign --seed 1 --faults 2000 --only 17
"""
import argparse
import collections
import json
import os
import random
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), 'osm')]

import oracle					# noqa: E402
import osmtest					# noqa: E402
from judge import generate			# noqa: E402
from life import Life				# noqa: E402

# (weight, words of `osmroutes generate`, or a file of topologies/). Up to 64 switches.
SMALL = (
    (3, 'random switches=%d links=%d hosts=1'), (2, 'torus dims=4x4'), (1, 'torus dims=3x3x3'),
    (1, 'torus dims=8x8'), (2, 'hyperx dims=4x4 hosts=2'), (2, 'dragonfly a=4 h=1 p=1'),
    (1, 'dragonfly a=4 h=2 p=1'), (2, 'kary k=3 n=3'), (2, 'tree m=6,6 w=1,6'),
    (1, 'tree m=4,4,4 w=1,4,4 p=1,1,1'), (1, 'hypercube n=5'), (1, 'mesh dims=5x4'),
    (1, 'kautz b=2 n=4'), (1, 'tree-2'), (1, 'tree-3'), (1, 'parallel'), (1, 'mixed-speeds'))
SMALL_LMC = 8		# one in so many has two LIDs for every host

# From the field; the larger ones more seldom, for they take longest.
REAL = (('plafrim-2013', 6), ('tartu-2014', 5), ('psmn-x5-2020', 6), ('ufm-lab-2021', 1),
        ('ibutils/merge-2-ary-4-tree', 3), ('ibutils/clusters-SingleGazelle', 2),
        ('ibutils/clusters-PartialGazelle', 2), ('ibutils/4-ary-3-tree', 2), ('ibutils/IS1-16', 2),
        ('ibutils/12-ary-2-tree', 2), ('topograph-dgx-2025', 1), ('selene-storage-2021', 0.3))

LARGE = 'tree m=18,18,6 w=1,18,6 p=1,1,3'	# 1,944 hosts, 324 switches

ENGINES = ('dfsssp', 'sssp', 'dmodk,dfsssp', 'angara,dfsssp')
TREES = ('kary', 'tree', 'ibutils', 'parallel')
TORI = ('torus', 'mesh', 'ring', 'hypercube')


def pick(rng, rows):
    return rng.choices(rows, [weight for _, weight in rows])[0][0]


def engine_for(rng, fabric):
    """Every engine everywhere, those that know a shape more often where they find it."""
    if fabric.startswith(TREES) and rng.random() < 0.4:
        return 'dmodk,dfsssp'
    if fabric.startswith(TORI) and rng.random() < 0.5:
        return 'angara,dfsssp'
    return rng.choice(ENGINES)


def plan_small(rng):
    words = pick(rng, [(w, n) for n, w in SMALL])
    if words.startswith('random'):
        n = rng.randint(8, 64)
        words = words % (n, rng.randint(n, 2 * n)) + ' seed=%d' % rng.randint(1, 10 ** 6)
    lmc = ' --lmc=1' if ' ' in words and rng.random() * SMALL_LMC < 1 else ''
    return dict(fabric=words + lmc, per_life=30)


def plans(args):
    """One dict a life, until all faults are planned."""
    left = {'small': args.faults, 'real': args.real, 'large': args.large}
    i = 0
    for size in ('small', 'real', 'large'):
        while left[size] > 0:
            rng = random.Random('%d/%d' % (args.seed, i))
            if size == 'small':
                plan = plan_small(rng)
                if args.quick:
                    plan['per_life'] = 10
            elif size == 'real':
                plan = dict(fabric=pick(rng, REAL), per_life=12)
            else:
                plan = dict(fabric=LARGE, per_life=10)
            if args.fabric:
                plan['fabric'] = args.fabric
            engines = engine_for(rng, plan['fabric'])
            plan.update(life=i, size=size, faults=min(plan['per_life'], left[size]), rng=rng,
                        engines=args.engine or engines,
                        max_vls=args.max_vls or rng.choice((None, None, 8, 4, 2, 1)))
            left[size] -= plan['faults']
            yield plan
            i += 1


def net_of(plan, workdir):
    """The file: generated, of topologies/, or from the field."""
    words = plan['fabric'].split()
    if len(words) == 1:
        return osmtest.find_fabric(words[0])
    return generate(os.path.join(workdir, 'fabric.net'), *words)


class Campaign:
    def __init__(self, args, log):
        self.args, self.log = args, log
        self.kinds = collections.Counter()
        self.faults = collections.Counter()
        self.lives = collections.Counter()
        self.failed, self.retries, self.steps = [], 0, 0
        self.growth = []

    def note(self, plan, record):
        self.steps += 1
        self.kinds[record['kind']] += 1
        self.faults[plan['size']] += record['faults']
        self.retries += len(record.get('retries', ()))
        record = dict(life=plan['life'], **record)
        self.log.write(json.dumps(record) + '\n')
        self.log.flush()

    def run(self, plan):
        workdir = os.path.join(self.args.dir, 'life-%d' % plan['life'])
        shutil.rmtree(workdir, ignore_errors=True)
        os.makedirs(workdir)
        head = {k: plan[k] for k in ('life', 'size', 'fabric', 'engines', 'max_vls', 'faults')}
        self.log.write(json.dumps(dict(seed=self.args.seed, **head)) + '\n')
        begun = time.monotonic()
        life = None
        try:
            net = net_of(plan, workdir)
            life = Life(net, workdir, plan['engines'], plan['rng'],
                        lambda record: self.note(plan, record), plan['max_vls'],
                        plugin=not self.args.stock, sample=8 if plan['size'] == 'large' else None)
            life.live(plan['faults'])
        except osmtest.Skip as s:
            print('skipped life %d: %s' % (plan['life'], s), flush=True)
            return
        except osmtest.Failure as f:
            self.failed.append(plan['life'])
            self.log.write(json.dumps(dict(life=plan['life'], failed=str(f))) + '\n')
            print('FAILED life %d (%s, %s): %s; files in %s; again: %s' %
                  (plan['life'], plan['fabric'], plan['engines'], f, workdir, self.again(plan)),
                  flush=True)
            return
        finally:
            self.log.flush()
        self.lives[plan['size']] += 1
        if not self.args.keep:
            shutil.rmtree(workdir, ignore_errors=True)
        print('life %d: %s, %s, max_vls %s: %d steps, %d faults, %.0f s' %
              (plan['life'], plan['fabric'], plan['engines'], plan['max_vls'], life.n_steps,
               life.n_faults, time.monotonic() - begun), flush=True)

    def again(self, plan):
        a = self.args
        words = ['scripts/campaign', '--seed', str(a.seed), '--faults', str(a.faults), '--real',
                 str(a.real), '--large', str(a.large), '--only', str(plan['life'])]
        for name in ('engine', 'fabric', 'max_vls'):
            if getattr(a, name):
                words += ['--' + name.replace('_', '-'), "'%s'" % getattr(a, name)]
        return ' '.join(words)

    def summary(self):
        print('%d lives, %d steps: %s' % (sum(self.lives.values()) + len(self.failed), self.steps,
              ', '.join('%d %s' % (n, k) for k, n in sorted(self.kinds.items()))))
        print('%d faults and recoveries (%s), %d sweeps more than one were needed, %d lives failed' %
              (sum(self.faults.values()), ', '.join('%d %s' % (n, k) for k, n in self.faults.items()),
               self.retries, len(self.failed)))


def sweeps(args):
    """Memory of opensm after 10 heavy sweeps and after so many; every second one after a fault."""
    workdir = os.path.join(args.dir, 'sweeps')
    shutil.rmtree(workdir, ignore_errors=True)
    os.makedirs(workdir)
    net = net_of(dict(fabric=args.fabric or 'random switches=32 links=64 hosts=4 seed=1'), workdir)
    with osmtest.Fabric(net, workdir) as fabric:
        with osmtest.Opensm(fabric, args.engine or 'dfsssp', plugin=not args.stock,
                            options={'qos': 'TRUE'}) as opensm:
            opensm.wait_up(120)
            cable = [(s.name, p) for s in oracle.Tables(fabric.read_back('lft')).switches for p in s.next][5]
            rss = {}
            for i in range(1, args.sweeps + 1):
                if i % 2 == 0:
                    fabric.console((fabric.unlink if i % 4 else fabric.relink)(*cable))
                opensm.resweep(120)
                if i % 10 == 0:
                    with open('/proc/%d/statm' % opensm.process.pid) as file:
                        rss[i] = int(file.read().split()[1]) * os.sysconf('SC_PAGESIZE') // 1024
    for i in sorted(rss):
        if i in (10, 100, 200, 500) or i == max(rss):
            print('%5d sweeps: %d kB' % (i, rss[i]))
    return 0


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--seed', type=int, default=1)
    p.add_argument('--faults', type=int, default=1700, help='on fabrics up to 64 switches')
    p.add_argument('--real', type=int, default=250, help='on fabrics from the field')
    p.add_argument('--large', type=int, default=50, help='on a tree of 1,944 hosts')
    p.add_argument('--quick', action='store_true', help='30 faults on small fabrics')
    p.add_argument('--only', type=int, action='append', help='only the life of this number')
    p.add_argument('--from', type=int, default=0, dest='first', help='the first life')
    p.add_argument('--engine', help='instead of all engines: what routing_engine is set to')
    p.add_argument('--fabric', help='words of `osmroutes generate`, or a file, instead of all')
    p.add_argument('--max-vls', type=int)
    p.add_argument('--sweeps', type=int, help='instead of a campaign: memory after so many heavy sweeps')
    p.add_argument('--stock', action='store_true', help='without osmroutes, to compare')
    p.add_argument('--log', help='JSON lines go here (DIR/campaign.jsonl)')
    p.add_argument('--dir', default=os.path.join(osmtest.BUILD, 'osm-tests', 'campaign'))
    p.add_argument('--keep', action='store_true', help="keep the files of lives that passed")
    args = p.parse_args()
    args.dir = os.path.abspath(args.dir)
    if args.quick:
        args.faults, args.real, args.large = 30, 0, 0	# three lives
    return args


def main():
    args = parse()
    try:
        osmtest.need_tools()
    except osmtest.Skip as s:
        print('skipped:', s)
        return osmtest.SKIPPED
    os.makedirs(args.dir, exist_ok=True)
    if args.sweeps:
        return sweeps(args)
    with open(args.log or os.path.join(args.dir, 'campaign.jsonl'), 'a') as log:
        c = Campaign(args, log)
        for plan in plans(args):
            if plan['life'] >= args.first and (not args.only or plan['life'] in args.only):
                c.run(plan)
        c.summary()
    return 1 if c.failed else 0


sys.exit(main())
