#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""From a cable that goes to the last new block in the switches, in parts, ours and stock side by side.

    traptime.py [NETFILE|NAME] [--cables=N] [--engines=LIST] [--dir=DIR]

Each engine has a fresh ibsim and opensm; each of N cables between switches, chosen evenly, goes and comes back.
Milliseconds from the console command, medians: the trap in OpenSM, its sweep begins, the last LFT block
that differs is confirmed, the discovery is over. Blocks that are sent again with what they had do not count.
Meanwhile a client on the host of the SM asks for one path record after the other: the median time to an answer
when nothing happens, and the median and the worst from Unlink to the end of the sweep.
"""
import os
import shutil
import statistics
import sys
import threading
import time

import oracle
from faults import switch_links
from judge import QOS
from osmtest import BUILD, TOOLS, Fabric, Opensm, Served, find_fabric, wait_for

# name: routing_engine, plugins, the plugin's options
WHO = {
    'dfsssp': ('dfsssp', 'osmroutes osrclock', ''),
    'dmodk': ('osmroutes-dmodk', 'osmroutes osrclock', ''),
    'dfsssp-discovery': ('dfsssp', 'osmroutes osrclock', 'ask_switches = no\n'),
    'stock-minhop': ('minhop', 'osrclock', ''),
    'stock-ftree': ('ftree', 'osrclock', ''),
    'stock-dfsssp': ('dfsssp', 'osrclock', ''),
}
COLUMNS = ('trap', 'start', 'last', 'discovered', 'blocks', 'sa', 'sa-during', 'sa-worst')


class Asker(threading.Thread):
    """One query at a time; .heard: [(begin, milliseconds)]."""

    def __init__(self, fabric, lids):
        super().__init__(daemon=True)
        self.sa, self.lids, self.heard, self.over = Served(fabric, [os.path.join(TOOLS, 'osr-sa'), 'paths']), lids, [], False

    def run(self):
        n = 0
        while not self.over:
            n += 1
            begin = time.monotonic()
            self.sa.ask(['%d: %d' % (self.lids[n % len(self.lids)], self.lids[n * 7 % len(self.lids)])])
            self.heard.append((begin, (time.monotonic() - begin) * 1e3))
            time.sleep(0.002)
        self.sa.close()

    def between(self, begin, end):
        return [ms for at, ms in self.heard if at + ms / 1e3 > begin and at < end] or [0]


def events(path, start):
    """[(ms after start, what)] of the lines that are there."""
    with open(path) as file:
        lines = [l.split() for l in file if l.endswith('\n')]
    return [(float(l[0]) - start, l[1]) for l in lines if float(l[0]) >= start]


def one_cable(fabric, opensm, clock, cable, asker):
    sweeps = opensm.sweeps()
    rest = time.monotonic()
    time.sleep(0.5)
    start = time.clock_gettime(time.CLOCK_MONOTONIC) * 1e3
    fabric.console(fabric.unlink(*cable[:2]))
    wait_for('the sweep', lambda: opensm.sweeps() > sweeps, 300, opensm._alive)
    end = time.monotonic()
    opensm.wait_quiet(still=1)
    during = asker.between(start / 1e3, end)
    happened = events(clock, start)
    new = [ms for ms, what in happened if what == 'new']
    row = {what: next((ms for ms, w in happened if w == what), 0) for what in ('trap', 'start', 'discovered')}
    row['last'], row['blocks'] = max(new) if new else 0, len(new)
    row['sa'] = statistics.median(asker.between(rest, start / 1e3))
    row['sa-during'], row['sa-worst'] = statistics.median(during), max(during)
    opensm.change(fabric.relink(*cable[:2]), seconds=300)
    return row


def measure(netfile, who, n_cables, workdir):
    engine, plugins, conf = WHO[who]
    workdir = os.path.join(workdir, who)
    shutil.rmtree(workdir, ignore_errors=True)
    with Fabric(netfile, workdir) as fabric:
        clock = os.path.join(fabric.dir, 'clock')
        with Opensm(fabric, engine, plugin=True, plugin_conf=conf, env={'OSR_CLOCK_OUT': clock},
                    options=dict(QOS, event_plugin_name=plugins)) as opensm:
            opensm.wait_up(600)
            opensm.wait_quiet(still=1)
            opensm.resweep(600)
            tables = oracle.Tables(fabric.read_back('lft', timeout=600))
            cables, asker = switch_links(tables), Asker(fabric, tables.host_lids)
            asker.start()
            step = max(1, len(cables) // n_cables)
            rows = [one_cable(fabric, opensm, clock, c, asker) for c in cables[step // 2::step][:n_cables]]
            asker.over = True
            asker.join()
    return {c: statistics.median(r[c] for r in rows) for c in COLUMNS}


def main():
    values = dict(a[2:].split('=', 1) for a in sys.argv[1:] if a.startswith('--'))
    names = [a for a in sys.argv[1:] if not a.startswith('--')]
    netfile = find_fabric(names[0] if names else 'cluster-192')
    workdir = values.get('dir', os.path.join(BUILD, 'osm-tests', 'traptime'))
    print('%-18s' % os.path.basename(netfile), *('%10s' % c for c in COLUMNS), flush=True)
    for who in values.get('engines', ','.join(WHO)).split(','):
        row = measure(netfile, who, int(values.get('cables', 3)), workdir)
        print('%-18s' % who, *('%10.1f' % row[c] for c in COLUMNS), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
