# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""angara on tori and meshes: two lanes by SL2VL tables, faults and recovery, and what it refuses."""
import os
import re

from judge import QOS, Claims, expect, generate, judge, scenario
from groups import join
from options import row
from osmtest import Fabric, Opensm


def two_lanes(fabric, opensm, tables):
    proven = Claims(opensm.log).proven
    expect({'minimal', 'deadlock-free', 'with multicast'} <= proven, 'proven: %s' % ', '.join(sorted(proven)))
    used = {sl for row in tables.rows.values() for sl in row} - {255}
    lanes = {tables.switches[0].table(0, p)[sl] for p in tables.switches[0].next for sl in used}
    expect(len(used) == 8 and lanes == {0, 1}, 'SLs %s on lanes %s' % (sorted(used), sorted(lanes)))


row('angara.torus', ('torus', 'dims=6x6', 'hosts=2'), 'angara', n_vls=2, n_longer=0, efi=108, look=two_lanes)


@scenario('angara.multicast')
def multicast(workdir):
    """A group is called proven on an SL that keeps to the VL of multicast, not on one whose VL changes on the way."""
    with Fabric(generate(os.path.join(workdir, 'torus.net'), 'torus', 'dims=5x5'), workdir) as fabric:
        for sl, says in ((0, None), (2, 'changes its VL along the tree')):
            config = os.path.join(workdir, 'partitions.conf')
            with open(config, 'w') as file:
                file.write('Default=0x7fff, ipoib, sl=%d : ALL=full ;\n' % sl)
            with Opensm(fabric, 'angara', plugin=True, options=dict(QOS, partition_config_file=config), name='sl%d' % sl) as opensm:
                opensm.wait_up()
                tables = fabric.tables()
                group = {join(fabric, name) for name in sorted({e.name for e in tables.ends if e.host})[:3]}
                opensm.resweep()
                said = [l for l in opensm.errors() if 'OR07' in l]
            expect(len(group) == 1 and {g[1] for g in group} == {sl}, 'members were told %s' % group)
            lanes = {s.table(i, o)[sl] for s in tables.switches for i in [0] + sorted(s.next) for o in s.next if i != o}
            expect((len(lanes) > 1) == bool(says), 'SL %d has VLs %s' % (sl, sorted(lanes)))
            expect(bool(said) == bool(says) and all(says in l and 'SL %d ' % sl in l for l in said),
                   'SL %d, on VLs %s: %s' % (sl, sorted(lanes), said))
            expect('with multicast' in Claims(opensm.log).proven, 'multicast is not proven at all')


@scenario('angara.then-dfsssp')
def then_dfsssp(workdir):
    """Cables across a mesh: angara refuses that, and keeps its tables until they fit no more. Then dfsssp routes, and says
    whose tables the switches hold."""
    net = generate(os.path.join(workdir, 'mesh.net'), 'mesh', 'dims=3x3')
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
