#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Faults, lost and late MADs, handovers and kills, under real opensm and ibsim: scripts/study campaign.

A campaign is a row of lives (life.py), each on one fabric with one engine. Every step is a line of
JSON. A life is made again, alone, by its seed and number:

    scripts/study campaign --seed 1 --faults 2000
    scripts/study campaign --seed 1 --faults 2000 --only 17
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import time

import script		# noqa: F401  (finds the modules of tests/osm)
import osmtest
import tally
from life import Life

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
    enhanced = ' --enhanced' if ' ' in words and rng.random() < 0.5 else ''
    return dict(fabric=words + lmc + enhanced, per_life=30)


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
                        max_vls=rng.choice((None, None, 8, 4, 2, 1)))
            left[size] -= plan['faults']
            yield plan
            i += 1


def net_of(plan, workdir):
    """The file: generated, of topologies/, or from the field."""
    words = plan['fabric'].split()
    if len(words) == 1:
        return osmtest.find_fabric(words[0])
    return osmtest.generate(os.path.join(workdir, 'fabric.net'), *words)


def built():
    """What is under test: commit, plugin, OpenSM."""
    git = ['git', '-C', osmtest.ROOT]
    commit = subprocess.run(git + ['rev-parse', '--short=12', 'HEAD'], capture_output=True, text=True).stdout.strip()
    changed = subprocess.run(git + ['status', '--porcelain'], capture_output=True, text=True).stdout.strip()
    with open(os.path.join(osmtest.BUILD, 'libosmroutes.so'), 'rb') as file:
        plugin = hashlib.sha256(file.read()).hexdigest()[:12]
    said = subprocess.run([osmtest.OPENSM, '--version'], capture_output=True, text=True).stdout
    version = next((line for line in said.split('\n') if line.startswith('OpenSM ')), 'OpenSM')
    return 'commit %s%s, libosmroutes.so %s, %s' % (commit or 'unknown', ' and changes' if changed else '', plugin,
                                                    version)


def run(args, path, build, plan):
    """One life, which is a dict of plans(); a sentence about how it went."""
    def log(**record):
        """One write of one line, at the end of the file: another process cannot come between."""
        with open(path, 'a') as file:
            file.write(json.dumps(dict(record, life=number)) + '\n')

    number = plan['life']
    workdir = script.fresh(args.dir, 'life-%d' % number)
    what = '%s, %s, max_vls %s' % (plan['fabric'], plan['engines'], plan['max_vls'])
    log(seed=args.seed, build=build, **{k: v for k, v in plan.items() if k not in ('rng', 'per_life')})
    begun = time.monotonic()
    try:
        life = Life(net_of(plan, workdir), workdir, plan['engines'], plan['rng'], lambda record: log(**record),
                    plan['max_vls'], sample=8 if plan['size'] == 'large' else None)
        life.live(plan['faults'])
    except osmtest.Skip as s:
        log(skipped=str(s))
        return 'skipped life %d: %s' % (number, s)
    except Exception as f:	# also what nobody thought of: the other lives go on
        f = f if isinstance(f, osmtest.Failure) else repr(f)
        log(failed=str(f))
        return 'FAILED life %d (%s): %s; files in %s; again: --only %d' % (number, what, f, workdir, number)
    log(done=round(time.monotonic() - begun, 1), refused=len(life.refused))
    if life.refused:
        return ('REFUSED by the check, %d re-routes of life %d (%s), first: %sfiles in %s; again: --only %d' %
                (len(life.refused), number, what, life.refused[0], workdir, number))
    shutil.rmtree(workdir, ignore_errors=True)
    return 'life %d: %s: %d steps, %d faults, %.0f s' % (number, what, life.n_steps, life.n_faults, time.monotonic() - begun)


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    script.add_options(p, 'campaign', '30 faults on small fabrics')
    p.add_argument('--faults', type=int, default=1700, help='on fabrics up to 64 switches')
    p.add_argument('--real', type=int, default=250, help='on fabrics from the field')
    p.add_argument('--large', type=int, default=50, help='on a tree of 1,944 hosts')
    p.add_argument('--jobs', type=int, default=1, help='so many lives at once')
    p.add_argument('--only', type=int, action='append', help='only the life of this number, with all other options as they were')
    p.add_argument('--engine', help='instead of all engines: what routing_engine is set to')
    p.add_argument('--fabric', help='words of `osmroutes generate`, or a file, instead of all')
    p.add_argument('--report', nargs='+', metavar='LOG', help='instead of a campaign: the sum of these')
    args = p.parse_args()
    if args.quick:
        args.faults, args.real, args.large = 30, 0, 0	# three lives
    return args


def main(args):
    path, build = os.path.join(args.dir, 'campaign.jsonl'), built()
    # What takes longest first, so that all processes end at the same time.
    lives = sorted((plan for plan in plans(args) if not args.only or plan['life'] in args.only),
                   key=lambda plan: ('large', 'real', 'small').index(plan['size']))
    with concurrent.futures.ProcessPoolExecutor(args.jobs, initializer=osmtest._die_with_parent) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, args, path, build, plan) for plan in lives]):
            print(done.result(), flush=True)
    return 1 if tally.report([path]) else 0


args = parse()
if args.report:
    sys.exit(1 if tally.report(args.report) else 0)
script.run(main, args)
