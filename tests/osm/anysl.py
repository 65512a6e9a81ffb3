# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Virtual lanes by turn: what switches hold is free of credit loops for senders on any SL, and on SL 0 or
SL 1 for all pairs, as UCX and NCCL send; lanes by SL are not."""
import os

from entries import different
from faults import switch_links
from judge import QOS, Claims, expect, generate, judge, scenario
from osmtest import Fabric, Opensm, find_fabric

OTHERS = 'programs that choose an SL themselves (UCX, NCCL) are not covered'
ANY_SL = '[dfsssp]\nany_sl = on\n'


def on_one_sl(tables, sl):
    """VLs with credit loops if all packets, replies included, are on one SL."""
    rows = {source: bytes([sl]) * len(row) for source, row in tables.rows.items()}
    return tables.cycles(rows, replies=True)


def sweep(opensm, fabric):
    tables = judge(fabric, opensm, ours='dfsssp')
    claims = Claims(opensm.log)
    expect({'deadlock-free', 'replies deadlock-free', 'any SL', 'with multicast'} <= claims.proven,
           'proven: %s' % ', '.join(sorted(claims.proven)))
    for sl in 0, 1:
        loops = on_one_sl(tables, sl)
        expect(not loops, 'senders on SL %d: credit loops on VLs %s' % (sl, loops))
    return tables, claims


def lanes_in_use(tables):
    """VLs that switches put packets of SL 0 on, between switches."""
    return {s.table(i, o)[0] for s in tables.switches for o in s.next
            for i in set(s.next) | set(s.hosts) if i != o}


def on_fabric(workdir, netfile, vls=4):
    options = dict(QOS, max_op_vls={2: 2, 4: 3, 8: 4}[vls])
    with Fabric(netfile, workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=options, plugin_conf=ANY_SL) as opensm:
            opensm.wait_up()
            tables, claims = sweep(opensm, fabric)
            expect('warning:' not in opensm.log, 'a warning where everything is proven')
        opensm.check_log()
    return tables, claims


@scenario('any-sl.small', 240)
def small(workdir):
    for name in 'random-12', 'dragonfly-12', 'kautz-2-2', 'tree-3', 'hyperx-3x3':
        on_fabric(os.path.join(workdir, name), find_fabric(name))


@scenario('any-sl.random', 240)
def random_fabric(workdir):
    os.makedirs(workdir, exist_ok=True)
    netfile = generate(os.path.join(workdir, 'random.net'), 'random', 'switches=48', 'links=110', 'seed=1')
    tables, claims = on_fabric(os.path.join(workdir, 'on'), netfile, vls=8)
    expect(claims.n_vls == 8, '%d VLs of 8' % claims.n_vls)
    expect(lanes_in_use(tables) == set(range(8)), 'lanes in use: %s' % sorted(lanes_in_use(tables)))
    expect(claims.n_longer * 100 <= claims.n_routes,
           '%d of %d routes are longer' % (claims.n_longer, claims.n_routes))
    # The same fabric with lanes by SL: right for those who ask the SA, wrong for those who do not.
    with Fabric(netfile, os.path.join(workdir, 'off')) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf='[dfsssp]\nany_sl = off\n') as opensm:
            opensm.wait_up()
            tables = judge(fabric, opensm, ours='dfsssp')
            expect(OTHERS in opensm.log, 'no warning for senders that choose their SL')
    expect(on_one_sl(tables, 0), 'lanes by SL have no loop for senders on SL 0: this tests nothing')


@scenario('any-sl.fault', 240)
def fault(workdir):
    os.makedirs(workdir, exist_ok=True)
    netfile = generate(os.path.join(workdir, 'random.net'), 'random', 'switches=24', 'links=60', 'seed=3')
    with Fabric(netfile, workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=ANY_SL) as opensm:
            opensm.wait_up()
            before, first = sweep(opensm, fabric)
            link = switch_links(before)[0]
            opensm.change(fabric.unlink(*link[:2]))
            during, second = sweep(opensm, fabric)
            # Read from the switches: the entries may have been sent on the trap, before the sweep that counts its own.
            expect(different(before, during) > 0, 'a link is gone and no entry has changed')
            expect(second.digest != first.digest, 'a link is gone and the tables are the same')
            opensm.change(fabric.relink(*link[:2]))
            after, third = sweep(opensm, fabric)
            expect(third.digest == first.digest, 'whole again, and the tables are others')
        opensm.check_log()


@scenario('any-sl.warning', 120)
def warning(workdir):
    """No missing proof goes unsaid: sssp on a torus has credit loops."""
    with Fabric(find_fabric('ring-5'), workdir) as fabric:
        with Opensm(fabric, 'sssp', plugin=True, options=QOS) as opensm:
            opensm.wait_up()
            expect(' warning: these tables are not proven free of deadlock' in opensm.log,
                   'sssp on a ring, and no warning')
        opensm.check_log()
