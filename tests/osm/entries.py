# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One cable after the other dies under a running opensm, and returns: how many entries of the LFTs that the switches then
have are others, and how many blocks of 64, with engines of OpenSM and (after "our-") of osmroutes."""
import os
from typing import NamedTuple

import oracle
from faults import switch_links
from judge import expect, generate, scenario
from osmtest import find_fabric, running


def read(fabric):
    return oracle.Tables(fabric.read_back('lft', timeout=600))


def different(before, after):
    """Entries (switch, LID) that are others, of those that both have."""
    now = {s.guid: s for s in after.switches}
    return sum(s.forward(lid) != now[s.guid].forward(lid)
               for s in before.switches if s.guid in now for lid in before.lids)


def blocks_changed(before, after):
    """(switch, block of 64 LIDs) that differ: what the subnet manager has to send."""
    now = {s.guid: s for s in after.switches}
    return len({(s.guid, lid // 64) for s in before.switches if s.guid in now for lid in before.lids
                if s.forward(lid) != now[s.guid].forward(lid)})


def direct(tables, cable):
    """Entries that lead into the cable, at both of its ends."""
    name, port, _ = cable
    v = next(i for i, s in enumerate(tables.switches) if s.name == name)
    u, back = tables.switches[v].next[port]
    return sum((tables.switches[v].forward(lid) == port) + (tables.switches[u].forward(lid) == back)
               for lid in tables.lids)


class Change(NamedTuple):
    """What one cable that died changed: entries that led into it, entries and blocks that are others, and the
    tables before and after."""
    used_by: int
    entries: int
    blocks: int
    before: oracle.Tables
    after: oracle.Tables


def pull(netfile, workdir, engine, n_cables, seconds=600):
    """(engine that routed, a Change for each cable)"""
    ours, name = engine.startswith('our-'), engine.replace('our-', '')
    changes = []
    with running(workdir, netfile, name, plugin=ours, name=engine,
                 seconds=seconds) as (fabric, opensm):
        before = read(fabric)
        links = switch_links(before)
        for cable in links[len(links) // 3::max(1, len(links) // n_cables)][:n_cables]:
            opensm.change(fabric.unlink(*cable[:2]), seconds=seconds)
            after = read(fabric)
            changes.append(Change(direct(before, cable), different(before, after),
                                  blocks_changed(before, after), before, after))
            if len(changes) == n_cables:
                break
            opensm.change(fabric.relink(*cable[:2]), seconds=seconds)
            before = read(fabric)
        return opensm.engine_used(), changes


def longer_between_hosts(tables):
    """Routes longer than minimal from switches with hosts to LIDs of hosts."""
    with_hosts = {e.switch for e in tables.ends if e.host}
    n = 0
    for lid in tables.lids:
        if tables.end_of[lid].host:
            _, _, hops = tables.tree(lid)
            n += sum(hops[v] > tables.dist[tables.end_of[lid].switch][v] for v in with_hosts)
    return n


def by_cable(netfile, workdir):
    """[(our Change, that of stock dfsssp)], the same two cables for both."""
    pulled = []
    for engine in 'our-dfsssp', 'dfsssp':
        routed, changes = pull(netfile, workdir, engine, 2)
        expect(routed == 'dfsssp' and len(changes) == 2 and all(c.used_by for c in changes), '%s routed' % routed)
        pulled.append(changes)
    return list(zip(*pulled))


@scenario('fault.entries-changed')
def entries_changed(workdir):
    """A cable of a tree dies. Ours: routes between hosts stay minimal, with fewer entries than stock dfsssp, no
    more blocks, and no higher load. Where LIDs fill blocks: no route is longer, the load is within 5 % of the least, and what moves
    for that costs no more blocks than entries were cut."""
    os.makedirs(workdir, exist_ok=True)
    large = generate(os.path.join(workdir, 'kary.net'), 'kary', 'k=6', 'n=3')
    for name, netfile in (('tree-3', find_fabric('tree-3')), ('large', large)):
        for ours, stock in by_cable(netfile, os.path.join(workdir, name)):
            efi, stock_efi = (c.after.edge_forwarding_index()[0] for c in (ours, stock))
            said = '%s: ours, stock: entries %d, %d; blocks %d, %d; EFI %d, %d; entries cut %d' % (
                name, ours.entries, stock.entries, ours.blocks, stock.blocks, efi, stock_efi, ours.used_by)
            expect(not ours.after.routes().problems and not longer_between_hosts(ours.after), 'routes: ' + said)
            expect(ours.entries < stock.entries and ours.blocks <= stock.blocks and efi <= stock_efi, said)
            if name == 'large':
                expect(not ours.after.routes().n_longer, 'longer routes: ' + said)
                least = ours.after.least_load()
                expect(efi <= 1.05 * least, 'the least: %d; %s' % (least, said))
                expect(ours.entries * 10 < stock.entries and ours.blocks <= ours.used_by, said)
