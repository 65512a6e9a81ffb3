# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Multicast groups: hosts join as IPoIB does, and the tables of the switches are followed. Also the
tests of the judges themselves."""
import copy
import os
import random

import oracle
from anysl import island_of
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


def check_group(fabric, opensm, names, group):
    """Every member reaches every other one, once; together with unicast no credit loop."""
    tables = judge(fabric, opensm, ours='dfsssp')
    problems = tables.multicast_problems(group[0], members_of(tables, names))
    expect(not problems and group[1] == 0, first(problems))
    expect('with multicast' in Claims(opensm.log).proven, 'multicast is not part of the proof')
    return tables


@scenario('multicast.island')
def island(workdir):
    """Two switches without a member are out of reach, where another SM writes entries that send copies from one to the
    other and back; when they have returned, these entries are gone."""
    with running(workdir, 'torus-4x4', 'dfsssp') as (fabric, opensm):
        tables = fabric.tables()
        away, cut = island_of(tables)
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
        after = check_group(fabric, opensm, names, group)
        left = stale(after, group[0], names)
        expect(not left, 'tables of another SM are left: %s' % left)
    opensm.check_own_log()


# The judges on trial ------------------------------------------------------------------------------

def mutants(tables, rng):
    """(what was done, broken copy of the data) of right tables: entry by entry."""
    switches = [k for k, n in enumerate(tables.data['nodes']) if n['type'] == 'switch']
    for _ in range(60):
        data = copy.deepcopy(tables.data)
        k = rng.choice(switches)
        lid = rng.choice(tables.lids)
        node = data['nodes'][k]
        s = tables.switches[tables.index[node['guid']]]
        old = s.forward(lid)
        # Not one that would be a shortest route too.
        to, me = tables.dist[tables.end_of[lid].switch], tables.index[s.guid]
        good = [p for p, (u, _) in s.next.items() if to[me] and to[u] == to[me] - 1]
        wrong = rng.choice([p for p in list(range(s.n_ports + 1)) + [255] if p != old and p not in good])
        node['lft'] = node['lft'][:2 * lid] + '%02x' % wrong + node['lft'][2 * lid + 2:]
        yield '%s: LID %d to port %d instead of %d' % (s.name, lid, wrong, old), data


@scenario('judge.loop-mutants')
def judge_loop_mutants(workdir):
    """Shortest routes on a ring of five are forced and close the circle on one VL, whatever made two
    of one: equal SLs, or equal VLs for them. And a used SL on VL15 is found at every node."""
    with running(workdir, 'ring-5', 'dfsssp', plugin_conf='[dfsssp]\nany_sl = off\n') as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
    folded = {slid: bytes(255 if sl == 255 else 0 for sl in row) for slid, row in tables.rows.items()}
    expect(tables.cycles(folded) == [0], 'all on SL 0: the loop of the ring is not found')
    data = copy.deepcopy(tables.data)
    for n in data['nodes']:
        if n['type'] == 'switch':
            n['sl2vl'] = dict(n['sl2vl'], common='0' * 16, others=[])
    expect(oracle.Tables(data).cycles(tables.rows) == [0], 'SL2VL all 0: the loop is not found')
    sls = sorted({sl for row in tables.rows.values() for sl in row} - {255})
    for k, n in enumerate(tables.data['nodes']):
        data = copy.deepcopy(tables.data)
        data['nodes'][k]['sl2vl'] = dict(n['sl2vl'], common='f' * 16, others=[]) \
            if n['type'] == 'switch' else {p: 'f' * 16 for p in n['sl2vl']}
        expect(oracle.Tables(data).sl2vl_problems(sls), 'VL15 at %s is not found' % n['name'])
    judge_port_zero(tables)


def judge_port_zero(tables):
    """Port 0 answers and never asks: what CAs ask it comes back on the same SL; on the SLs of its own row
    packets leave it, and none comes back. (Of a switch whose only host had gone, kept tables gave port 0 an SL on
    which replies would have closed a loop.)"""
    asked, own = 9, 10
    zero = {l for l in tables.lids if not tables.end_of[l].host}
    rows = {slid: bytes(255 if sl == 255 else own if slid in zero else asked if lid in zero else sl
                        for lid, sl in zip(tables.lids, row)) for slid, row in tables.rows.items()}
    masks = oracle.SlMasks(tables, rows, True, 'all')
    for k, lid in enumerate(tables.lids):
        towards = masks.towards(k, lid)
        mine = tables.end_of[lid].switch
        for v, mask in enumerate(towards):
            if lid in zero:
                expect(not mask >> own & 1, 'a reply to port 0, which asked nobody')
            elif v != mine:
                expect(mask >> asked & 1 and mask >> own & 1, 'port 0 of switch %d does not answer LID %d' % (v, lid))


@scenario('judge.mutants')
def judge_mutants(workdir):
    """The oracle finds every wrong entry."""
    with running(workdir, 'torus-4x4', 'dfsssp') as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
        for what, data in mutants(tables, random.Random(7)):
            verdict = oracle.Tables(data).routes()
            expect(verdict.problems or verdict.n_longer, 'not found: ' + what)
        names = sorted({e.name for e in tables.ends if e.host})
        group = {join(fabric, name) for name in names}.pop()
        opensm.wait_quiet()
        tables = check_group(fabric, opensm, names, group)
    members = members_of(tables, names)
    for s in tables.switches:
        ports = s.mft[group[0]]
        for p in sorted(set(s.next) | set(s.hosts)):
            s.mft[group[0]] = ports ^ {p}
            u = s.next.get(p)
            one_sided = u and p not in ports and u[1] not in tables.switches[u[0]].mft.get(group[0], ())
            found = tables.multicast_problems(group[0], members)
            expect(found or p in s.hosts and p not in ports,
                   '%s with port %d flipped is not found%s' % (s.name, p, ' (one side)' * bool(one_sided)))
        s.mft[group[0]] = ports
