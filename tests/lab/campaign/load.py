#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Storms of path record queries while opensm routes again: scripts/study load.

Several clients on different hosts ask the SA for random pairs as fast as it answers, while cables fail and
return. Between the faults, when opensm has come to rest, the whole matrix of SLs is asked for: these are the
sets of tables there were. Every answer of a storm has to fit:

- it names the LIDs that were asked for, and the SL of one of those sets;
- no answer is of an earlier set than one that had come before the query was sent.

While OpenSM sweeps it refuses pairs whose old route is cut (ERR 1F05), whoever routes: these are counted apart.

The same is done with osmroutes and with stock OpenSM; latencies are beside each other. Before the storm, while nothing
changes, one client asks one query after the other: the latency of the SA at rest.
"""
import argparse
import bisect
import os
import random
import threading
import time

import script		# noqa: F401  (finds the modules of tests/osm)
from osmtest import TOOLS, Fabric, Opensm, Served, generate

NO_PATH = 255
BY_SL = '[dfsssp]\nany_sl = off\n'	# lanes by SL, so that answers tell sets of tables apart


class Client(threading.Thread):
    """On one host: asks for random pairs, `window` of one source at a time. heard: (sent, got, source, destination, answer)."""

    def __init__(self, fabric, host, lids, seed, window, seconds):
        super().__init__()
        self.served, self.rng = Served(fabric, [os.path.join(TOOLS, 'osr-sa'), 'paths'], host), random.Random(seed)
        self.lids, self.window, self.seconds, self.heard = lids, window, seconds, []
        self.start()

    def run(self):
        end = time.monotonic() + self.seconds
        while (sent := time.monotonic()) < end:
            source, *dests = (self.rng.choice(self.lids) for _ in range(1 + self.window))
            answers, = self.served.ask(['%d: %s' % (source, ' '.join(map(str, dests)))])
            got = time.monotonic()
            self.heard += [(sent, got, source, dest, sl) for dest, sl in zip(dests, answers.split()[1])]

    def answers(self):
        self.join()
        self.served.close()
        return self.heard


class Matrix:
    """The SLs of one set of tables, for every pair."""

    def __init__(self, tables, rows):
        self.column = {lid: k for k, lid in enumerate(tables.lids)}
        self.rows = rows

    def sl(self, slid, dlid):
        k = self.column.get(dlid)
        return NO_PATH if k is None or slid not in self.rows else self.rows[slid][k]


def ask_matrix(fabric, sa):
    tables = fabric.tables('lft')
    sources = sorted(tables.end_of)
    columns = ' '.join(map(str, tables.lids))
    answers = sa.ask(['%d: %s' % (s, columns) for s in sources])
    rows = {int(s): bytes(NO_PATH if c in '-!' else int(c, 16) for c in sls)
            for s, sls in (line.split() for line in answers)}
    return tables, Matrix(tables, rows)


def judge(heard, sets):
    """(answers that fit no set, of an older set than was known, with other LIDs, refused, [answers that
    only set k gives])."""
    odd = late = wrong = refused = 0
    telling = [0] * len(sets)
    heard = sorted(heard, key=lambda h: h[1])
    times, known = [], []	# from then on, no set before this one
    for sent, got, slid, dlid, answer in heard:
        refused += answer == '-'
        wrong += answer == '?'
        if answer in '-!?':
            continue
        fits = [k for k, m in enumerate(sets) if m.sl(slid, dlid) == int(answer, 16)]
        if not fits:
            odd += 1
            continue
        if len(fits) == 1:
            telling[fits[0]] += 1
        at = bisect.bisect_right(times, sent) - 1
        if at >= 0 and fits[-1] < known[at]:
            late += 1
            continue
        if not known or fits[0] > known[-1]:
            times.append(got)
            known.append(fits[0])
    return odd, late, wrong, refused, telling


def run(args, name, plugin, conf, workdir):
    """One storm; a dict of what came out."""
    net = generate(os.path.join(workdir, 'fabric.net'), *args.fabric.split())
    rng = random.Random(args.seed)
    with Fabric(net, workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=plugin, options={'qos': 'TRUE'}, plugin_conf=conf) as opensm:
            opensm.wait_up(120)
            sa = Served(fabric, [os.path.join(TOOLS, 'osr-sa'), 'paths'])
            tables, matrix = ask_matrix(fabric, sa)
            sets = [matrix]
            hosts = [e.name for e in tables.ends if e.host and e.name in fabric.ids]
            hosts = rng.sample([h for h in hosts if fabric.node_id(h) != fabric.env['SIM_HOST']], args.clients)
            calm = latencies(Client(fabric, hosts[0], tables.host_lids, 0, 1, min(5, args.seconds)).answers())
            storm = [Client(fabric, host, tables.host_lids, host, args.window, args.seconds) for host in hosts]
            cables = rng.sample(tables.cables(), args.faults)
            ups = opensm.sweeps()
            for a, port, _ in cables:
                fabric.console(fabric.unlink(a, port))
                opensm.resweep(120)
                opensm.wait_quiet(120, 0.3)
                sets.append(ask_matrix(fabric, sa)[1])
            n_sweeps = opensm.sweeps() - ups
            heard = [h for client in storm for h in client.answers()]
            sa.close()
        if plugin:
            opensm.check_own_log()
    odd, late, wrong, refused, telling = judge(heard, sets)
    latency = latencies(heard)
    span = max(h[1] for h in heard) - min(h[0] for h in heard)
    return dict(name=name, queries=len(heard), rate=len(heard) / span, sweeps=n_sweeps,
                unanswered=sum(h[4] == '!' for h in heard), odd=odd, late=late, wrong=wrong, refused=refused,
                telling=telling, median=latency[len(latency) // 2], p99=latency[len(latency) * 99 // 100],
                worst=latency[-1], calm=calm[len(calm) // 2], calm99=calm[len(calm) * 99 // 100])


def latencies(heard):
    """Milliseconds, sorted."""
    return sorted((h[1] - h[0]) * 1000 for h in heard if h[4] != '!') or [0]


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--fabric', default='random switches=32 links=64 hosts=4 seed=1')
    p.add_argument('--seconds', type=float, default=20)
    p.add_argument('--clients', type=int, default=4)
    p.add_argument('--window', type=int, default=8, help='queries that a client sends at a time')
    p.add_argument('--faults', type=int, default=6)
    script.add_options(p, 'load', 'eight seconds, osmroutes only')
    args = p.parse_args()
    if args.quick:
        args.fabric = 'random switches=12 links=24 hosts=2 seed=1'
        args.seconds, args.faults = 2, 2
    return args


def main(args):
    rows = [('osmroutes', True, BY_SL), ('osmroutes, stable = no', True, BY_SL + 'stable = no\n'),
            ('stock', False, None)]
    bad = False
    print('| %-22s | queries | a second | sweeps | median ms | 99 %% ms | worst ms | at rest: median | 99 %% | '
          'refused | unanswered | of no set | too old |' % '')
    print('|' + '---|' * 13)
    for name, plugin, conf in rows[:2] if args.quick else rows:
        workdir = script.fresh(args.dir, name.split(',')[0] + ('-anew' if conf else ''))
        r = run(args, name, plugin, conf, workdir)
        print('| %(name)-22s | %(queries)d | %(rate).0f | %(sweeps)d | %(median).2f | %(p99).2f | '
              '%(worst).1f | %(calm).3f | %(calm99).3f | %(refused)d | %(unanswered)d | %(odd)d | %(late)d |' % r,
              flush=True)
        print('  answers that only one set of tables gives: %s; other LIDs than asked for: %d' %
              (', '.join(map(str, r['telling'])), r['wrong']), flush=True)
        if plugin:
            bad |= bool(r['odd'] or r['late'] or r['wrong'] or not r['queries'] or 'no' in name and not any(r['telling']))
    return 1 if bad else 0


script.run(main, parse())
