# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fabrics come up under opensm with the plugin, and pass everything; their tables are those of `osmroutes route`, byte for byte.
All other fabrics are judged offline: tests/cli/fabrics.py."""
import os
import re
import sys

from judge import QOS, compare, expect, judge, scenario, second_opinion
from osmtest import LOG_DUMPS, ROOT, Fabric, find_fabric, generate, Opensm, osmroutes

sys.path.append(os.path.join(ROOT, 'tests', 'cli'))
from dump import Dump	# noqa: E402
from netfile import cables, strike_out	# noqa: E402

# What the plugin reads out of OpenSM's subnet is peculiar in most: judged offline, compared here.
ODD = ('bare-switches', 'dual-port', 'loopback', 'mixed-speeds', 'parallel', 'ring-5', 'kautz-2-2', 'cluster-192')
FILES = ('opensm-lfts.dump', 'opensm.fdbs', 'opensm-sl2vl.dump', 'opensm-subnet.lst')


def known(path, unknown=None):
    """Lines of a dump; (these, numbers of those unknown to the plugin: of what switches hold for ports that are down, where it
    writes VLs 13 and 14)."""
    with open(path, encoding='utf-8') as file:
        lines = file.read().splitlines()
    unknown = {i for i, line in enumerate(lines) if ': 13 14 13 14' in line} if unknown is None else unknown
    return [line for i, line in enumerate(lines) if i not in unknown], unknown


def dumps_of_command(opensm, net, *words):
    own = os.path.join(opensm.dir, 'own')
    osmroutes('route', net, '--opensm-conf', opensm.conf, '--dump', own, *words, cwd=opensm.dir)
    return own


def same_files(workdir, name, *words, options=QOS):
    """After one sweep: the command makes the same dumps from the file of the fabric, with the LIDs that OpenSM gives if it
    runs at the first node."""
    net = find_fabric(name)
    with open(net, encoding='utf-8') as file:
        first = re.search(r'(?m)^\w+\s+\d+\s+"([^"]+)"', file.read()).group(1)
    with Fabric(net, workdir, host=first) as fabric:
        with Opensm(fabric, plugin=True, options=options, log_flags=LOG_DUMPS, once=True) as opensm:
            opensm.wait_end()
    own = dumps_of_command(opensm, net, *words)
    # OpenSM writes FDR10 as 10, and speeds as ibsim has them before they are enabled.
    for file in FILES[:3] if name in ('loopback', 'mixed-speeds') else FILES:
        mine, unknown = known(opensm.dump(file))
        expect(mine == known(os.path.join(own, file), unknown)[0], '%s differs on %s' % (file, name))
    opensm.check_log()


def judged(fabric, engine, options=QOS):
    """Judged, and the same as offline: what the log says, and the tables that are read out of the switches."""
    with Opensm(fabric, engine, plugin=True, options=options, log_flags=LOG_DUMPS, name=engine) as opensm:
        opensm.wait_up()
        # OpenSM enables the best width and speed of a cable, and ibsim then changes them: the second sweep sees other
        # rates than the first.
        opensm.resweep()
        tables = judge(fabric, opensm, ours=engine)
        compare(fabric.netfile, opensm, opensm.dump('opensm-subnet.lst'))
        offline = Dump(dumps_of_command(opensm, opensm.dump('opensm-subnet.lst'))).tables(8)
        forwarding = [[(s.guid, [s.forward(lid) for lid in of.lids]) for s in of.switches] for of in (tables, offline)]
        expect(forwarding[0] == forwarding[1], 'the switches hold other tables than the command writes')
        if len(tables.ends) < 100 and tables.rows:
            second_opinion(fabric, opensm, tables)
    opensm.check_log()
    return opensm


def comes_up(workdir, net):
    """dfsssp with QoS on and off, and sssp; with QoS off it must be safe with any SL: SL2VL is what the hardware had."""
    with Fabric(net, workdir) as fabric:
        judged(fabric, 'dfsssp')
        judged(fabric, 'sssp')
        with Opensm(fabric, plugin=True, name='no-qos') as opensm:
            opensm.wait_up()
            tables = fabric.tables()
            compare(net + ' without QoS', opensm, opensm.dump('opensm-subnet.lst'))
        expect(opensm.engine_used() == 'dfsssp', '%s routed with QoS off' % opensm.engine_used())
        expect(not tables.routes().problems, 'LIDs are not reached with QoS off')
        expect(not tables.cycles(None), 'credit loops with QoS off')
        opensm.check_log()


def damaged(workdir):
    """A 4-ary 3-tree without one in six of the cables between its switches."""
    path = generate(os.path.join(workdir, 'damaged.net'), 'kary', 'k=4', 'n=3')
    left = strike_out(path, {end for cable in cables(path)[::6] for end in cable})
    with open(path, 'w') as file:
        file.write(left)
    return path


@scenario('up')
def up(workdir):
    """A tree, a torus, a dragonfly and a damaged tree in full; what is peculiar, and several LIDs a port, as offline."""
    for net in find_fabric('tree-3'), find_fabric('torus-4x4'), find_fabric('dragonfly-12'), damaged(workdir):
        comes_up(workdir, net)
    for name in ODD:
        same_files(workdir, name)
    for name in 'tree-2', 'dragonfly-12', 'dual-port':
        same_files(workdir, name, '--lmc=2', options=dict(QOS, lmc=2))


@scenario('up.real')
def up_real(workdir):
    """A real fabric, whose switches have an enhanced port 0 and whose spines carry CAs: also by dmodk, where stock ftree
    refuses."""
    with Fabric(find_fabric('topograph-dgx-2025'), workdir) as fabric:
        judged(fabric, 'dfsssp')
        opensm = judged(fabric, 'dmodk')
    expect('dmodk: fat tree of ' in opensm.log, 'the log does not say what tree it is')


