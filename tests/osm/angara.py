# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""angara on tori and meshes: two lanes by SL2VL tables, faults and recovery, and what it refuses."""
import os
import random
import re

import oracle
from faults import down_and_up, switch_links
from judge import QOS, Claims, expect, generate, judge, scenario
from groups import join
from osmtest import Fabric, Opensm, running
from qos import partitions


def grid(workdir, kind, dims, hosts=1):
    os.makedirs(workdir, exist_ok=True)
    return generate(os.path.join(workdir, 'grid.net'), kind, 'dims=' + dims, 'hosts=%d' % hosts)


def on_grid(workdir, kind, dims, vls, sls, hosts=1, efi=None):
    """One sweep, judged in full from what was read back: LFTs, SL2VL by port pair, path SLs."""
    with running(workdir, grid(workdir, kind, dims, hosts), 'angara') as (fabric, opensm):
        tables = judge(fabric, opensm, ours='angara')
    opensm.check_log()
    claims = Claims(opensm.log)
    expect(claims.n_vls == vls and claims.n_longer == 0,
           '%d VLs, %d longer routes' % (claims.n_vls, claims.n_longer))
    expect({'minimal', 'deadlock-free', 'with multicast'} <= claims.proven,
           'proven: %s' % ', '.join(sorted(claims.proven)))
    used = {sl for row in tables.rows.values() for sl in row} - {255}
    expect(len(used) == sls, '%d service levels are in use' % len(used))
    if efi:
        expect(tables.edge_forwarding_index()[0] == efi,
               'EFI %d instead of %d' % (tables.edge_forwarding_index()[0], efi))
    return tables


@scenario('angara.torus-2d')
def torus_2d(workdir):
    tables = on_grid(workdir, 'torus', '6x6', vls=2, sls=8, hosts=2, efi=108)
    used = {sl for row in tables.rows.values() for sl in row} - {255}
    lanes = {tables.switches[0].table(0, p)[sl] for p in tables.switches[0].next for sl in used}
    expect(lanes == {0, 1}, 'SL2VL of a switch leads to lanes %s' % sorted(lanes))


@scenario('angara.torus-3d')
def torus_3d(workdir):
    on_grid(workdir, 'torus', '5x4x3', vls=2, sls=2)


@scenario('angara.mesh')
def mesh(workdir):
    on_grid(workdir, 'mesh', '5x4x2', vls=1, sls=1)


def thin_out(path, share, seed):
    """Takes hosts out of a net file, some switches more than others."""
    with open(path) as file:
        blocks = file.read().split('\n\n')
    names = [re.search(r'^(?:Ca|Hca)\s+\d+\s+"([^"]+)"', b, re.M) for b in blocks]
    gone = set(random.Random(seed).sample([m[1] for m in names if m], int(share * sum(map(bool, names)))))
    text = '\n\n'.join(b for b, m in zip(blocks, names) if not m or m[1] not in gone)
    with open(path, 'w') as file:
        file.writelines(line + '\n' for line in text.split('\n')
                        if not (m := re.match(r'\[\d+\].*?"([^"]+)"', line)) or m[1] not in gone)
    return path


@scenario('angara.uneven')
def uneven(workdir):
    """Hosts spread unevenly: shortest, safe for multicast, and no link carries more than under OpenSM's own sssp, which has
    any shortest path to choose from and no deadlock to mind. In 4x2x2x2, a cube of five dimensions, the lanes suffice for
    replies as well."""
    for dims, hosts, more in (('6x6', 4, set()), ('4x2x2x2', 2, {'replies deadlock-free'})):
        with Fabric(thin_out(grid(workdir, 'torus', dims, hosts), 0.5, 1), workdir) as fabric:
            with Opensm(fabric, 'angara', plugin=True, options=QOS, name='ours' + dims) as opensm:
                opensm.wait_up()
                tables = judge(fabric, opensm, ours='angara')
                claims = Claims(opensm.log)
            expect({'minimal', 'with multicast'} | more <= claims.proven and claims.n_vls <= 8,
                   '%s: %d VLs, proven: %s' % (dims, claims.n_vls, ', '.join(sorted(claims.proven))))
            hosts_at = [sum(e.host for e in tables.ends if e.switch == v) for v in range(len(tables.switches))]
            expect(min(hosts_at) + 2 <= max(hosts_at), 'hosts are even: %s' % hosts_at)
            with Opensm(fabric, 'sssp', options=QOS, name='stock' + dims) as opensm:
                opensm.wait_up()
                stock = judge(fabric, opensm)
            expect(opensm.engine_used() == 'sssp', '%s routed' % opensm.engine_used())
            ours, theirs = tables.edge_forwarding_index()[0], stock.edge_forwarding_index()[0]
            expect(ours <= theirs, '%s: %d routes on a link, under stock sssp %d' % (dims, ours, theirs))


def same_sls(before, after):
    """Pairs of LIDs, there before and after, whose service level is another one."""
    return [(a, b) for a, row in before.rows.items() if a in after.rows
            for b, sl in zip(before.lids, row)
            if b in after.end_of and after.rows[a][after.lids.index(b)] != sl]


def fault_and_back(workdir, parts, lost=0):
    """Nearly all service levels stay what they were, and all comes back."""
    def few_others(before, during):
        other, pairs = same_sls(before, during), sum(map(len, before.rows.values()))
        expect(10 * len(other) <= pairs, '%d of %d pairs have another SL, first: %s' %
               (len(other), pairs, other[:1]))
    before, after = down_and_up(workdir, grid(workdir, 'torus', '6x6'), parts, lost, 'angara',
                                compare=few_others)
    expect(not same_sls(before, after), 'SLs are others after a fault')


@scenario('angara.fault-links')
def links(workdir):
    fault_and_back(workdir, lambda t: switch_links(t)[5::31][:3])


@scenario('angara.fault-switch')
def switch(workdir):
    fault_and_back(workdir, lambda t: [l for l in switch_links(t) if 's-1-4' in (l[0], l[2])], 1)


@scenario('angara.one-vl')
def one_vl(workdir):
    """No second lane: longer routes, safe with any SL."""
    with running(workdir, grid(workdir, 'torus', '6x5'), 'angara',
                 options=dict(QOS, max_op_vls=1)) as (fabric, opensm):
        tables = judge(fabric, opensm, ours='angara')
        expect(not tables.cycles(None), 'credit loops on one VL')
    opensm.check_log()
    expect(Claims(opensm.log).n_vls == 1, 'not one VL')


@scenario('angara.multicast')
def multicast(workdir):
    """A group is called proven on an SL that keeps to the VL of multicast, not on one whose VL changes on the way."""
    with Fabric(grid(workdir, 'torus', '5x5'), workdir) as fabric:
        for sl, says in ((0, None), (2, 'changes its VL along the tree')):
            options = dict(QOS, partition_config_file=partitions(workdir, sl))
            with Opensm(fabric, 'angara', plugin=True, options=options, name='sl%d' % sl) as opensm:
                opensm.wait_up()
                tables = oracle.Tables(fabric.read_back())
                group = {join(fabric, name) for name in sorted({e.name for e in tables.ends if e.host})[:3]}
                opensm.resweep()
                said = [l for l in opensm.errors() if 'OR07' in l]
            expect(len(group) == 1 and {g[1] for g in group} == {sl}, 'members were told %s' % group)
            lanes = {s.table(i, o)[sl] for s in tables.switches for i in [0] + sorted(s.next) for o in s.next if i != o}
            expect((len(lanes) > 1) == bool(says), 'SL %d has VLs %s' % (sl, sorted(lanes)))
            expect(bool(said) == bool(says) and all(says in l and 'SL %d ' % sl in l for l in said),
                   'SL %d, on VLs %s: %s' % (sl, sorted(lanes), said))
            expect('with multicast' in Claims(opensm.log).proven, 'multicast is not proven at all')


@scenario('angara.refused')
def refused(workdir):
    """Not a torus: one sentence, and the next engine routes."""
    with running(workdir, 'tree-2', 'angara,updn') as (fabric, opensm):
        expect(opensm.engine_used() == 'updn', '%s routed' % opensm.engine_used())
        said = [l for l in opensm.errors() if 'angara' in l]
        expect(len(said) == 1 and 'not a torus, mesh or HyperX' in said[0], 'it said: %s' % said)
        tables = oracle.Tables(fabric.read_back())
        expect(not tables.routes(tables.host_lids).problems, 'LIDs are not reached')


@scenario('angara.then-dfsssp')
def then_dfsssp(workdir):
    """Cables across a mesh: angara refuses that, and keeps its tables until they fit no more. Then dfsssp routes, and says
    whose tables the switches hold."""
    net = grid(workdir, 'mesh', '3x3')
    with open(net) as file:
        text = file.read()
    for name, peer in (('s-0-0', 's-1-1'), ('s-1-1', 's-0-0'), ('s-0-1', 's-1-2'), ('s-1-2', 's-0-1')):
        text = re.sub(r'Switch\t5 "%s"\n' % name, 'Switch\t6 "%s"\n[6]\t"%s"[6]\n' % (name, peer), text)
    with open(net, 'w') as file:
        file.write(text)
    with Fabric(net, workdir) as fabric:
        fabric.console(fabric.unlink('s-0-0', 6), fabric.unlink('s-0-1', 6))
        with Opensm(fabric, 'angara,dfsssp', plugin=True, options=QOS, plugin_conf='[angara]\nstable = no\n') as opensm:
            opensm.wait_up()
            judge(fabric, opensm, ours='angara')
            expect('dfsssp: there are no stored tables' not in opensm.log, 'dfsssp speaks, and angara routes')
            opensm.change(fabric.relink('s-0-0', 6), fabric.relink('s-0-1', 6))
            judge(fabric, opensm, ours='angara')
            opensm.change(fabric.unlink('s-2-1', 4))
            judge(fabric, opensm, ours='dfsssp')
        expect("; first tables of dfsssp; the switches still hold angara's: transition not checked; " in opensm.log,
               'not said whose tables there were')
