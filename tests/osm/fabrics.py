# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Every fabric of the project and from the field comes up and passes everything."""
import glob
import json
import os
import subprocess

import oracle
from judge import QOS, expect, generate, judge, scenario, second_opinion
from osmtest import BUILD, LOG_DUMPS, ROOT, Failure, Fabric, Opensm, find_fabric

# Fabrics from the field, by name: listed here so that their tests are there, as skipped, without
# the directory too. ibdmchk needs minutes for the largest.
FIELD = ('doc-sample-1 doc-sample-2 doc-sample-3 doc-sample-4 plafrim-2013 psmn-x5-2020 '
         'selene-storage-2021 tartu-2014 topograph-dgx-2025 topograph-dgx-2025-noan ufm-lab-2021 '
         'ibutils/12-ary-2-tree ibutils/12-node-spaced ibutils/2-ary-4-tree '
         'ibutils/32nodes-3lvl-is1 ibutils/32nodes-3lvl-is1-cbb2 ibutils/4-ary-2-tree '
         'ibutils/4-ary-2-tree-links-at-same-rank-1 ibutils/4-ary-3-tree ibutils/4-ary-4-tree '
         'ibutils/FullGnu ibutils/IS1-16 ibutils/IS3-128 ibutils/RhinoBased512Nodes '
         'ibutils/clusters-PartialGazelle ibutils/clusters-SingleGazelle '
         'ibutils/merge-2-ary-4-tree').split()
LARGE = 300	# end ports, from which on ibdmchk is not asked


def comes_up(workdir, name):
    """dfsssp with QoS on and off, and sssp, on one fabric; the same bytes whenever asked again."""
    with Fabric(find_fabric(name), workdir) as fabric:
        tables = with_dfsssp(fabric)
        if not tables.switches:
            return
        again = without_dumps(fabric)
        expect(again == tables.bytes_of_tables(), 'two runs of opensm programmed different tables')
        without_qos(fabric)
        with_sssp(fabric)


def with_dfsssp(fabric):
    with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, log_flags=LOG_DUMPS,
                name='dfsssp') as opensm:
        opensm.wait_up()
        # OpenSM enables the best width and speed of a cable, and ibsim then changes them: the second
        # sweep sees other rates than the first.
        opensm.resweep()
        tables = oracle.Tables(fabric.read_back('lft'))	# the other tables are most of the time: judge() reads them
        if tables.switches:	# no engine is called without a switch
            tables = judge(fabric, opensm, ours='dfsssp')
            if len(tables.ends) < LARGE and tables.channels():
                second_opinion(fabric, opensm, tables)
    opensm.check_log()
    return tables


def without_dumps(fabric):
    """Another process, without the ROUTING log flag: nothing but the log may differ."""
    with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, name='again') as opensm:
        opensm.wait_up()
        opensm.resweep()
        found = oracle.Tables(fabric.read_back()).bytes_of_tables()
    opensm.check_log()
    return found


def without_qos(fabric):
    """One VL, which must be safe with any SL: SL2VL is what the hardware had."""
    with Opensm(fabric, 'dfsssp', plugin=True, name='no-qos') as opensm:
        opensm.wait_up()
        tables = oracle.Tables(fabric.read_back())
    expect(opensm.engine_used() == 'dfsssp', '%s routed with QoS off' % opensm.engine_used())
    expect(not tables.routes().problems, 'LIDs are not reached with QoS off')
    expect(not tables.cycles(None), 'credit loops with QoS off')
    opensm.check_log()


def with_sssp(fabric):
    with Opensm(fabric, 'sssp', plugin=True, name='sssp') as opensm:
        opensm.wait_up()
        judge(fabric, opensm, ours='sssp')
    opensm.check_log()


def register(name, seconds):
    scenario('up.' + name.replace('/', '.'), seconds)(lambda workdir: comes_up(workdir, name))


for path in sorted(glob.glob(os.path.join(ROOT, 'topologies', '*.net'))):
    register(os.path.basename(path)[:-4], 60)
for name in FIELD:
    register(name, 150)


@scenario('up.large-tree', 120)
def large_tree(workdir):
    """Three levels, 1,000 hosts: the fabric of the bench, judged in full once."""
    from judge import generate
    os.makedirs(workdir, exist_ok=True)
    net = generate(os.path.join(workdir, 'tree.net'), 'kary', 'k=10', 'n=3')
    with Fabric(net, workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS) as opensm:
            opensm.wait_up()
            tables = judge(fabric, opensm, ours='dfsssp')
        opensm.check_log()
        efi, _ = tables.edge_forwarding_index()
        if efi != 990:
            raise Failure('EFI %d on the 10-ary 3-tree, whose bound is 990' % efi)


def shifts_meet_nowhere(fabric, tables):
    """Theorems 1 and 2 of the D-Mod-K paper: in a whole tree with as many cables up as down, no two flows of any
    shift in the order of the tree share a channel. The order is by leaf and port, as equation (1) numbers hosts."""
    command = os.path.join(BUILD, 'src', 'cli', 'osmroutes')
    order = json.loads(subprocess.run([command, 'order', '--json', fabric.netfile], check=True, capture_output=True,
                                      text=True).stdout)['hosts']
    by_name = {e.name: e for e in tables.ends if e.host}
    hosts = [by_name[o['host']] for o in order]
    expect(len(hosts) == len(by_name), '%d of %d hosts are in the order' % (len(hosts), len(by_name)))
    for shift in range(1, len(hosts)):
        seen = {}
        for i, source in enumerate(hosts):
            end = hosts[(i + shift) % len(hosts)]
            at = source.switch
            while at != end.switch:
                out = tables.switches[at].forward(end.lid)
                expect((at, out) not in seen, 'shift by %d: %s and %s meet at %s port %d' %
                       (shift, source.name, seen.get((at, out)), tables.switches[at].name, out))
                seen[at, out] = source.name
                at = tables.switches[at].next[out][0]


def dmodk_comes_up(workdir, netfile):
    """What stock ftree mostly refuses: routed on one lane, safe with any SL, as read back."""
    with Fabric(find_fabric(netfile), workdir) as fabric:
        with Opensm(fabric, 'dmodk', plugin=True, options=QOS) as opensm:
            opensm.wait_up()
            judge(fabric, opensm, ours='dmodk')
        expect(opensm.engine_used() == 'dmodk', '%s routed' % opensm.engine_used())
        expect('dmodk: fat tree of ' in opensm.log, 'the log does not say what tree it is')
        opensm.check_log()


def register_dmodk(name, seconds):
    scenario('dmodk.' + name.replace('/', '.'), seconds)(
        lambda workdir: dmodk_comes_up(workdir, name))


for name in ('selene-storage-2021', 'topograph-dgx-2025', 'psmn-x5-2020', 'tartu-2014',
             'ibutils/IS3-128', 'ibutils/clusters-PartialGazelle', 'cluster-192'):
    register_dmodk(name, 150)


@scenario('dmodk.shifts', 120)
def dmodk_shifts(workdir):
    os.makedirs(workdir, exist_ok=True)
    for shape in (['m=4,4', 'w=1,4', 'p=1,1'], ['m=4,4,4', 'w=1,4,4', 'p=1,1,1'], ['m=4,4,4', 'w=1,4,2', 'p=1,1,2']):
        net = generate(os.path.join(workdir, 'whole.net'), 'tree', *shape)
        with Fabric(net, workdir) as fabric:
            with Opensm(fabric, 'dmodk', plugin=True, options=QOS) as opensm:
                opensm.wait_up()
                shifts_meet_nowhere(fabric, judge(fabric, opensm, ours='dmodk'))
            opensm.check_log()


@scenario('choice.comes-up')
def choice_comes_up(workdir):
    """Another engine for a tree than for a torus, and the log says which and why."""
    for netfile, engine in (('tree-2', 'dmodk'), ('torus-4x4', 'dfsssp')):
        with Fabric(find_fabric(netfile), workdir) as fabric:
            with Opensm(fabric, 'osmroutes', plugin=True, options=QOS) as opensm:
                opensm.wait_up()
                judge(fabric, opensm, ours='osmroutes')
            expect('chosen: %s (' % engine in opensm.log, '%s does not serve' % engine)
            opensm.check_log()


@scenario('dmodk.next-engine')
def dmodk_next_engine(workdir):
    """A ring is no tree: one sentence, and the next engine routes."""
    with Fabric(find_fabric('ring-5'), workdir) as fabric:
        with Opensm(fabric, 'dmodk,dfsssp', plugin=True, options=QOS) as opensm:
            opensm.wait_up()
            judge(fabric, opensm, ours='dfsssp')
        expect(opensm.engine_used() == 'dfsssp', '%s routed' % opensm.engine_used())
        said = [l for l in opensm.errors() if 'OR04' in l]
        expect(said and 'not a fat tree' in said[0], 'the log does not say why: %s' % said)
        expect('dfsssp of osmroutes is next' in said[0], 'nor who routes: %s' % said)
        with Opensm(fabric, 'dmodk', plugin=True, options=QOS, name='alone') as opensm:
            opensm.wait_up()
        said = [l for l in opensm.errors() if 'OR04' in l]
        expect(said and "warning: OpenSM's minhop is next" in said[0] and 'may deadlock' in said[0],
               'not said that nothing is proven: %s' % said)
