# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One cable after the other dies under a running opensm, and returns: how many entries of the LFTs that the switches then
have are others, and how many blocks of 64, with engines of OpenSM and (after "our-") of osmroutes."""
import os

from judge import expect, generate, scenario
from oracle import Tables
from osmtest import find_fabric, running


def read(fabric):
    return fabric.tables('lft', timeout=600)


def direct(tables, cable):
    """Entries that lead into the cable, at both of its ends."""
    name, port, _ = cable
    v = next(i for i, s in enumerate(tables.switches) if s.name == name)
    u, back = tables.switches[v].next[port]
    return sum((tables.switches[v].forward(lid) == port) + (tables.switches[u].forward(lid) == back)
               for lid in tables.lids)


def pull(netfile, workdir, ours, n_cables):
    """[(the cable, the tables before and after it died)]"""
    changes = []
    with running(workdir, netfile, 'dfsssp', plugin=ours, name='ours' if ours else 'stock', seconds=600) as (fabric, opensm):
        links = read(fabric).cables()
        for cable in links[len(links) // 3::max(1, len(links) // n_cables)][:n_cables]:
            before = read(fabric)
            opensm.change(fabric.unlink(*cable[:2]), seconds=600)
            changes.append((cable, before, read(fabric)))
            opensm.change(fabric.relink(*cable[:2]), seconds=600)
        expect(opensm.engine_used() == 'dfsssp', '%s routed' % opensm.engine_used())
    return changes


@scenario('fault.entries-changed')
def entries_changed(workdir):
    """A cable of a tree dies. Ours: routes between hosts stay minimal, with fewer entries than stock dfsssp, no
    more blocks, and no higher load. Where LIDs fill blocks: no route is longer, the load is within 5 % of the least, and what moves
    for that costs no more blocks than entries were cut."""
    large = generate(os.path.join(workdir, 'kary.net'), 'kary', 'k=6', 'n=3')
    for name, netfile in (('tree-3', find_fabric('tree-3')), ('large', large)):
        for ours, stock in zip(*(pull(netfile, os.path.join(workdir, name), ours, 2) for ours in (True, False))):
            after, cut = ours[2], direct(ours[1], ours[0])
            entries, blocks = ([len(count(*c[1:])) for c in (ours, stock)] for count in (Tables.changed, Tables.blocks_changed))
            efi = [c[2].edge_forwarding_index()[0] for c in (ours, stock)]
            said = '%s: ours, stock: entries %s; blocks %s; EFI %s; entries cut %d' % (name, entries, blocks, efi, cut)
            expect(cut and direct(stock[1], stock[0]), 'the cable is not in use: ' + said)
            with_hosts = {e.switch for e in after.ends if e.host}
            longer = sum(hops[v] > after.dist[after.end_of[lid].switch][v]
                         for lid in after.host_lids for hops in [after.tree(lid)[2]] for v in with_hosts)
            expect(not after.routes().problems and not longer, 'routes: ' + said)
            expect(entries[0] < entries[1] and blocks[0] <= blocks[1] and efi[0] <= efi[1], said)
            if name == 'large':
                expect(not after.routes().n_longer, 'longer routes: ' + said)
                expect(efi[0] <= 1.05 * after.least_load(), 'the least: %d; %s' % (after.least_load(), said))
                expect(entries[0] * 10 < entries[1] and blocks[0] <= cut, said)
