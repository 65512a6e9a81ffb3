# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""entries.py [--cables=N] [--seconds=N] FILE [ENGINE ...]

One cable after the other dies under a running opensm, and returns: how many entries of the LFTs that
the switches then have are others, for engines of OpenSM and (after "our-") of osmroutes. A sweep may take so
many seconds (600). Nothing is written but one line for each engine."""
import os
import shutil
import sys
import tempfile

import oracle
from faults import switch_links
from judge import QOS, expect, scenario
from osmtest import BUILD, Fabric, Opensm, Skip, find_fabric, need_tools, warn

ENGINES = ('dfsssp', 'ftree', 'minhop', 'our-dfsssp', 'our-dmodk')


def read(fabric):
    return oracle.Tables(fabric.read_back('lft', timeout=600))


def different(before, after):
    """Entries (switch, LID) that are others, of those that both have."""
    now = {s.guid: s for s in after.switches}
    return sum(s.forward(lid) != now[s.guid].forward(lid)
               for s in before.switches if s.guid in now for lid in before.lids)


def direct(tables, cable):
    """Entries that lead into the cable, at both of its ends."""
    name, port, _ = cable
    v = next(i for i, s in enumerate(tables.switches) if s.name == name)
    u, back = tables.switches[v].next[port]
    return sum((tables.switches[v].forward(lid) == port) + (tables.switches[u].forward(lid) == back)
               for lid in tables.lids)


def measure(netfile, workdir, engine, n_cables, seconds=600):
    """(engine that routed, cables, mean entries that led into the cable, mean entries changed, entries)"""
    ours, name = engine.startswith('our-'), engine.replace('our-', '')
    used_by = changed = n = 0
    with Fabric(netfile, workdir) as fabric:
        with Opensm(fabric, name, plugin=ours, options=QOS, name=engine) as opensm:
            opensm.wait_up(seconds)
            before = read(fabric)
            links = switch_links(before)
            for cable in links[len(links) // 3::max(1, len(links) // n_cables)][:n_cables]:
                opensm.change(fabric.unlink(*cable[:2]), seconds=seconds)
                after = read(fabric)
                used_by += direct(before, cable)
                changed += different(before, after)
                n += 1
                if n == n_cables:
                    break
                opensm.change(fabric.relink(*cable[:2]), seconds=seconds)
                before = read(fabric)
            routed = opensm.engine_used()
    return routed, n, used_by / n, changed / n, len(before.switches) * len(before.lids)


@scenario('fault.entries-changed', 120)
def entries_changed(workdir):
    """A cable of a tree dies: ours change no more than what used it asks for, stock dfsssp far more."""
    of = {}
    for engine in ('dfsssp', 'our-dfsssp'):
        routed, n, used_by, changed, _ = measure(find_fabric('tree-3'), workdir, engine, 2)
        expect(routed == 'dfsssp' and n == 2 and used_by > 0, '%s routed' % routed)
        of[engine] = changed / used_by
    expect(of['our-dfsssp'] <= 2 and of['our-dfsssp'] < of['dfsssp'],
           'entries changed by entries that used the cable: %s' % of)


def main():
    words = [a for a in sys.argv[1:] if not a.startswith('--')]
    numbers = dict(a[2:].split('=') for a in sys.argv[1:] if a.startswith('--'))
    if numbers.keys() - {'cables', 'seconds'}:
        sys.exit(__doc__)
    if not words:
        sys.exit(__doc__)
    try:
        need_tools()
    except Skip as s:
        sys.exit(str(s))
    netfile = os.path.abspath(find_fabric(words[0]))
    workdir = tempfile.mkdtemp(prefix='entries-', dir=BUILD)
    os.chdir(workdir)	# libumad2sim leaves directories where its programs stand
    print('%-12s %-10s %6s %12s %12s %12s' % ('engine', 'routed by', 'cables', 'used it', 'changed', 'of'))
    for engine in words[1:] or ENGINES:
        try:
            row = measure(netfile, workdir, engine, int(numbers.get('cables', 3)),
                          int(numbers.get('seconds', 600)))
            print('%-12s %-10s %6d %12.1f %12.1f %12d' % ((engine,) + row), flush=True)
        except Exception as e:	# another engine may still do
            warn('%s: %s' % (engine, e))
    shutil.rmtree(workdir)


if __name__ == '__main__':
    main()
