#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How long is it from a request to entries in the switches? Stock opensm under ibsim, by default with
1,728 hosts on XGFT(3; 12,12,12; 1,12,12), LMC 2.

    keytime.py [--side=12] [--apps=2] [--phases=5]

Every application gets its part of all hosts, shuffled, and phases of a random permutation each. Times are wall
clock at the client: from the line of the request to the event that says the switches have answered.
"""
import argparse
import os
import random
import statistics
import sys
import tempfile
import time

import oracle
from judge import expect, generate
from keys import Client, blocks_of, contention, hosts_of, pattern, with_keys
from osmtest import SKIPPED, Fabric, Skip, need_tools, routed


def permutation(n, rng):
    order = list(range(n))
    rng.shuffle(order)
    return [(order[i], order[(i + 1) % n]) for i in range(n)]


def measure(workdir, side, n_apps, n_phases):
    rng = random.Random(1)
    net = generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=%d,%d,%d' % (side, side, side),
                   'w=1,%d,%d' % (side, side))
    rows = []
    with Fabric(net, workdir) as fabric:
        with with_keys(fabric, workdir, options={'max_wire_smps': 32}) as opensm:
            opensm.wait_up(600)
            opensm.wait_quiet(600)
            tables = oracle.Tables(fabric.read_back('lft'))
            hosts = hosts_of(tables)
            rng.shuffle(hosts)
            each = len(hosts) // n_apps
            apps = []
            for i in range(n_apps):
                own = hosts[i * each:(i + 1) * each]
                phases = [permutation(each, rng) for _ in range(n_phases)]
                client = Client(os.path.join(workdir, 'keys.sock'))
                begin = time.monotonic()
                app = client.must(op='place', hosts=[e.guid for e in own],
                                  patterns=[pattern(p) for p in phases])
                placed = (time.monotonic() - begin) * 1e3 / n_phases
                apps.append((client, own, phases, app, placed))
            # The first application of a new opensm makes it discover the fabric once more.
            opensm.wait_quiet(600)
            for k in range(n_phases):
                for client, own, phases, app, placed in apps:
                    before = blocks_of(tables)
                    mark = len(opensm.log)
                    begin = time.monotonic()
                    client.begin(app['app'], k)
                    ms = (time.monotonic() - begin) * 1e3
                    log = opensm.log[mark:]
                    tables = oracle.Tables(fabric.read_back('lft'))
                    after = blocks_of(tables)
                    changed = sum(before[b] != after[b] for b in after)
                    sweep = [s['ms']['total'] for s in routed(log) if s['outcome'] == 'keys']
                    expect(sweep, 'no sweep for keys')
                    got = contention(tables, own, phases[k], app['offsets'][0])
                    rows.append((ms, sweep[0], changed, len(after), got, placed))
                    client.must(op='done', app=app['app'], key=k)
    return len(hosts), len(tables.switches), rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--side', type=int, default=12)
    parser.add_argument('--apps', type=int, default=2)
    parser.add_argument('--phases', type=int, default=5)
    a = parser.parse_args()
    try:
        need_tools()
    except Skip as s:
        print('skipped:', s)
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as workdir:
        n_hosts, n_switches, rows = measure(workdir, a.side, a.apps, a.phases)
    ms, sweep, changed, blocks, got, placed = zip(*rows)
    print('%d hosts, %d switches, %d applications, %d requests' % (n_hosts, n_switches, a.apps, len(rows)))
    print('placing, each key: median %.1f ms' % statistics.median(placed))
    print('request to entries written: median %.1f ms, most %.1f; in the plugin %.1f ms, most %.1f' %
          (statistics.median(ms), max(ms), statistics.median(sweep), max(sweep)))
    print('blocks of 64 entries sent: median %d of %d' % (statistics.median(changed), blocks[0]))
    print('contention: at most %d' % max(got))
    expect(max(got) <= 1, 'contention within an application')


if __name__ == '__main__':
    main()
