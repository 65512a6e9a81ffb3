#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Stock engines and ours, side by side: the tables of docs/results/benchmarks.md. See scripts/bench."""
import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

import runs
import plan as plans
import report
import targets
from osmtest import Failure, Skip, need_tools, real_fabrics, warn


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    mode = p.add_mutually_exclusive_group()
    mode.add_argument('--quick', action='store_true',
                      help='two fabrics, once: does everything work? (under 40 s)')
    mode.add_argument('--large', action='store_true',
                      help='also 11,664 hosts, which take stock dfsssp minutes and gigabytes')
    p.add_argument('--only', metavar='NAME,...', help='only these fabrics (see --list)')
    p.add_argument('--list', action='store_true', help='names of the fabrics')
    p.add_argument('--repetitions', type=int, metavar='N', help='at least so many (default 3)')
    p.add_argument('--markdown', metavar='FILE', help='write the tables there as well, fabric by fabric')
    p.add_argument('--update', metavar='FILE',
                   help='replace the tables in this file, between its "bench" marks')
    p.add_argument('--json', metavar='FILE', help='write everything measured there')
    return p.parse_args()


def chosen(args):
    rows = plans.plans() + plans.field(real_fabrics())
    if args.only:
        names = args.only.split(',')
        known = {r.key for r in rows} | {'offline'}
        for name in names:
            if name not in known:
                sys.exit('no fabric "%s"; --list names them' % name)
        return [r for r in rows if r.key in names]
    if args.quick:
        return [r for r in rows if r.in_quick]
    return [r for r in rows if args.large or not r.only_large]


class Run:
    """One run of the bench, and where it stands."""

    def __init__(self, args):
        self.args = args
        self.repetitions = args.repetitions or (1 if args.quick else 3)
        self.patterns = 100 if args.quick else 1000
        self.start = time.monotonic()
        self.results = []	# (plan, {variant: Outcome}, {budget: figures} or None)
        self.rows = []
        self.offline = None

    def say(self, text):
        warn('%6.1f s  %s' % (time.monotonic() - self.start, text))

    def fabric(self, row, workdir):
        net = row.path or runs.generate(os.path.join(workdir, row.key + '.net'), row.words)

        def say(key, outcome):
            self.say('%-16s %-16s %10.2f ms %8d kB  %s' % (
                row.key, key, outcome.cpu[-1], outcome.grown[-1], outcome.said))
        bench = runs.Bench(net, os.path.join(workdir, row.key), self.patterns,
                           row.words)
        got = bench.run(row.variants, self.repetitions, say)
        budgets = None
        if not self.args.quick and 'dfsssp' in got:
            budgets = runs.by_budget(net, plans.BUDGETS, self.patterns)
        self.results.append((row, got, budgets))
        self.rows += targets.rows_of(row, got)
        if row.key.startswith('random128'):
            self.rows += targets.random128(row, got)
        self.write()

    def write(self):
        """What there is so far."""
        if self.args.markdown:
            with open(self.args.markdown, 'w') as file:
                file.write(report.markdown(self) + '\n')

    def full_lid_space(self, workdir):
        title = 'tree 3;32,32,44;1,32,32, 45,056 hosts, offline'
        net = runs.generate(os.path.join(workdir, 'full.net'),
                            'tree m=32,32,44 w=1,32,32'.split())
        done = runs.offline(net, self.repetitions)
        if any(r['status'] != 'ok' for r in done):
            raise Failure('%s: %s' % (title, done[0]['message']))
        wall = statistics.median(r['route_ms']['wall'] + r['check_ms']['wall'] for r in done)
        kb = max(r['peak_rss_kb'] for r in done)
        self.say('%s: %.2f s, %d MB' % (title, wall / 1e3, kb / 1e3))
        self.offline = (title, done)
        self.rows += targets.offline(title, wall, kb)
        self.write()


    def after_faults(self, workdir):
        for title, words, limit in plans.FAULTS:
            net = runs.generate(os.path.join(workdir, 'whole.net'), words.split())
            for fault, option in (('a cable', '--links=1'), ('a spine', '--switches=1')):
                ms = runs.after_fault(net, os.path.join(workdir, 'broken.net'), option,
                                      self.repetitions)
                self.say('%s, without %s: dmodk %.1f ms' % (title, fault, ms))
                self.rows.append(targets.after_fault(title, fault, limit, ms))
        self.write()


def write_json(path, run):
    data = {row.key: dict({k: o.json() for k, o in got.items()}, by_budget=budgets)
            for row, got, budgets in run.results}
    if run.offline:
        data['offline'] = run.offline[1]
    with open(path, 'w') as file:
        json.dump(data, file, indent=1)


def finish(run):
    """Writes the report; the exit status says whether what does not depend on time is well."""
    text = report.markdown(run)
    print(text)
    if run.args.update:
        report.update(run.args.update, text)
    if run.args.json:
        write_json(run.args.json, run)
    failed = [r for r in run.rows if not r.passed]
    for r in failed:
        run.say('%s: %s, not %s' % (r.what, r.measured, r.asked))
    run.say('%d targets met, %d failed' % (len(run.rows) - len(failed), len(failed)))
    if run.args.quick:
        # A smoke test on a busy machine: times are for reading only.
        failed = [r for r in failed if not r.timed]
    return 1 if failed else 0


def main():
    args = arguments()
    if args.list:
        print('\n'.join(r.key for r in plans.plans() + plans.field(real_fabrics())))
        return 0
    run = Run(args)
    workdir = tempfile.mkdtemp(prefix='osr-bench-')
    try:
        need_tools()
        try:
            for row in chosen(args):
                run.fabric(row, workdir)
            if not args.quick and (not args.only or 'offline' in args.only):
                run.full_lid_space(workdir)
                run.after_faults(workdir)
        except KeyboardInterrupt:
            warn('interrupted: the report ends with the last complete fabric')
        return finish(run)
    except Skip as s:
        warn('skipped: %s' % s)
        return 77
    except Failure as f:
        warn('failed: %s' % f)
        return 1
    finally:
        shutil.rmtree(workdir, ignore_errors=True)


if __name__ == '__main__':
    sys.exit(main())
