# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Multicast groups: hosts join as IPoIB does, and the tables of the switches are followed."""
import os

import oracle
from anysl import around, two_neighbours
from judge import Claims, expect, first, judge, scenario
from osmtest import TOOLS, running

BROADCAST = 'ff12:401b:ffff::ffff:ffff'	# IPoIB's, of the default partition


def join(fabric, name):
    """A host joins the broadcast group; returns (MLID, SL)."""
    words = fabric.run([os.path.join(TOOLS, 'osr-sa'), 'join', BROADCAST], host=name).split()
    return int(words[1]), int(words[3])


def members_of(tables, names):
    seen, ends = set(), []
    for e in tables.ends:	# the first port of a dual-port CA is where the program sits
        if e.host and e.name in names and e.name not in seen:
            seen.add(e.name)
            ends.append(e)
    return ends


def stale(tables, mlid, names):
    """Entries of multicast tables that belong to no tree of these hosts."""
    ends = {(e.switch, e.port) for e in tables.ends if e.host and e.name in names}
    bad, up = [], list(range(len(tables.switches)))

    def root(v):
        while up[v] != v:
            v = up[v]
        return v

    for v, s in enumerate(tables.switches):
        bad += ['MLID 0x%x at %s, of no group' % (m, s.name) for m, ports in s.mft.items() if ports and m != mlid]
        for p in s.mft.get(mlid, ()):
            u, q = s.next.get(p, (None, 0))
            if u is None:
                bad += [] if not p or (v, p) in ends else ['%s port %d, no member' % (s.name, p)]
            elif q not in tables.switches[u].mft.get(mlid, ()):
                bad.append('%s port %d, nothing comes back' % (s.name, p))
            elif v < u and root(v) == root(u):
                bad.append('%s port %d closes a ring' % (s.name, p))
            elif v < u:
                up[root(v)] = root(u)
    trees = {root(v) for v, s in enumerate(tables.switches) if s.mft.get(mlid)}
    return bad + (['%d trees' % len(trees)] if len(trees) > 1 else [])


def answers_of_port_zero(tables):
    """The oracle: port 0 answers and never asks. What CAs ask it comes back on the same SL; on the SLs of its own row
    packets leave it, and none comes back. (Of a switch whose only host had gone, kept tables gave port 0 an SL on
    which replies would have closed a loop.)"""
    asked, own = 9, 10
    zero = {l for l in tables.lids if not tables.end_of[l].host}
    rows = {slid: bytes(255 if sl == 255 else own if slid in zero else asked if lid in zero else sl
                        for lid, sl in zip(tables.lids, row)) for slid, row in tables.rows.items()}
    masks = oracle.SlMasks(tables, rows, True, 'all')
    for k, lid in enumerate(tables.lids):
        for v, mask in enumerate(masks.towards(k, lid)):
            if lid in zero:
                expect(not mask >> own & 1, 'a reply to port 0, which asked nobody')
            elif v != tables.end_of[lid].switch:
                expect(mask >> asked & 1 and mask >> own & 1, 'port 0 of switch %d does not answer LID %d' % (v, lid))


@scenario('multicast.island')
def island(workdir):
    """Two switches without a member are out of reach, where another SM writes entries that send copies from one to the
    other and back; when they have returned, these entries are gone."""
    with running(workdir, 'torus-4x4', 'dfsssp') as (fabric, opensm):
        tables = fabric.tables()
        away = two_neighbours(tables)
        cut = around(tables, away)
        a, b = (tables.switches[v] for v in away)
        names = sorted(e.name for e in tables.ends if e.host and e.switch not in away)[:3]
        group = [join(fabric, name) for name in names][0]
        opensm.wait_quiet()
        for s, port in (a, next(p for p, (u, _) in a.next.items() if u == away[1])), \
                       (b, next(p for p, (u, _) in b.next.items() if u == away[0])):
            for p in (port, min(s.hosts)):
                fabric.run([os.path.join(TOOLS, 'osr-spoil'), s.guid, 'mft', str(group[0]), str(p)])
        fabric.console(*[fabric.unlink(*cable) for cable in cut])
        opensm.change()
        opensm.change(*[fabric.relink(*cable) for cable in cut])
        after = judge(fabric, opensm, ours='dfsssp')
        answers_of_port_zero(after)
        problems = after.multicast_problems(group[0], members_of(after, names))
        expect(not problems and group[1] == 0, first(problems))
        expect('with multicast' in Claims(opensm.log).proven, 'multicast is not part of the proof')
        left = stale(after, group[0], names)
        expect(not left, 'tables of another SM are left: %s' % left)
    opensm.check_own_log()
