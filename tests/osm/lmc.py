# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Several LIDs a port in the life of a fabric: the LMC changes, cables and hosts go and return, parts are drained. After every change
all LIDs are judged, and first LIDs have the entries that an opensm with LMC 0 gives them on the same fabric."""
import os
import sys

from drain import ask, CONF, entries, uses
from judge import Claims, expect, first, generate, judge, scenario
from osmtest import Fabric, find_fabric, Opensm, osmroutes, QOS, ROOT, running

sys.path.append(os.path.join(ROOT, 'tests', 'cli'))
from dump import Dump	# noqa: E402
from netfile import cables, strike_out	# noqa: E402


def several(bits):
    return dict(QOS, lmc=bits, reassign_lids='TRUE')


def first_lids(tables):
    """(switch, end port) -> port, by GUIDs; a switch and its port 0 have one GUID."""
    return {(s.guid, e.guid): s.forward(e.lid) for s in tables.switches for e in tables.ends}


def hosts_lids(tables):
    """(switch, end port, offset of the LID) -> port."""
    return {(s.guid, e.guid, lid - e.lid): s.forward(lid)
            for s in tables.switches for e in tables.ends if e.host for lid in e.lids}


def expect_same(what, found, wanted):
    other = [k for k in wanted if found.get(k) != wanted[k]]
    expect(wanted and not other, '%s: %d of %d entries are others, first: %s' % (what, len(other), len(wanted), other[:1]))


def judge_lids(fabric, opensm, engine, bits):
    tables = judge(fabric, opensm, ours=engine)
    expect({e.lmc for e in tables.ends if e.host} == {bits}, 'the LMCs are %s' % {e.lmc for e in tables.ends if e.host})
    return tables


@scenario('lmc.changed')
def changed(workdir):
    """LMC 0, 2 and 0 again, each by a new opensm that finds the LIDs and the stored tables of the last one."""
    for net, engine in ('tree-2', 'dfsssp'), ('torus-4x4', 'dfsssp'), ('tree-2', 'dmodk'):
        cache = {'OSM_CACHE_DIR': os.path.join(os.path.abspath(workdir), net + engine, 'cache')}
        os.makedirs(cache['OSM_CACHE_DIR'])
        with Fabric(find_fabric(net), os.path.join(workdir, net + engine)) as fabric:
            found = []
            for bits, env in (0, None), (0, cache), (2, cache), (0, cache):
                with Opensm(fabric, engine, plugin=True, options=several(bits), env=env) as opensm:
                    opensm.wait_up()
                    tables = judge_lids(fabric, opensm, engine, bits)
                    if bits:
                        # OpenSM reads its LMC when it begins, and at no SIGHUP.
                        opensm.set_option('lmc', 0)
                        opensm.resweep()
                        opensm.wait_quiet()
                        expect(tables.bytes_of_tables() == judge_lids(fabric, opensm, engine, bits).bytes_of_tables(),
                               'other tables after SIGHUP with another LMC')
                opensm.check_own_log()
                found.append(first_lids(tables))
                expect_same('%s by %s, LMC %d, first LIDs' % (net, engine, bits), found[-1], found[0])


def mates(tables):
    """LID, as (end port, offset) -> end ports of its switch whose first LIDs have the same entries on all other switches."""
    rows = {lid: [s.forward(lid) for v, s in enumerate(tables.switches) if v != e.switch] for lid, e in tables.end_of.items()}
    hosts = [e for e in tables.ends if e.host]
    return {(e.guid, lid - e.lid): {m.guid for m in hosts if m.switch == e.switch and rows[m.lid] == rows[lid]}
            for e in hosts for lid in e.lids}


def host_of(tables):
    """(switch name, port, GUID) of a host in the middle, far from the SM's."""
    hosts = sorted((e for e in tables.ends if e.host), key=lambda e: e.guid)
    end = hosts[len(hosts) // 2 + 1]
    return tables.switches[end.switch].name, end.port, end.guid


def lives(fabric, opensm, engine, bits, where):
    """Tables of the whole fabric, without a cable, whole, without a host, whole. where: (switch name, port) of both."""
    found = [judge_lids(fabric, opensm, engine, bits)]
    for part in where:
        opensm.change(fabric.unlink(*part))
        found.append(judge_lids(fabric, opensm, engine, bits))
        opensm.change(fabric.relink(*part))
        found.append(fabric.tables())
    return found


@scenario('lmc.faults')
def faults(workdir):
    """A cable dies and returns, then a host, with LMC 1 and 2."""
    torus = generate(os.path.join(workdir, 'torus.net'), 'torus', 'dims=4x4', 'hosts=2')
    for net, engine in ('tree-2', 'dfsssp'), ('tree-2', 'dmodk'), (torus, 'dfsssp'):
        alone = None	# first LIDs with LMC 0, through the same life
        for bits in 0, 1, 2:
            what = '%s by %s, LMC %d' % (os.path.basename(net), engine, bits)
            with running(os.path.join(workdir, '%s-%s-%d' % (os.path.basename(net), engine, bits)), net, engine, options=several(bits)) as (fabric, opensm):
                before = fabric.tables()
                *dead, guid = host_of(before)
                found = lives(fabric, opensm, engine, bits, (before.cables()[0][:2], dead))
            opensm.check_own_log()
            alone = alone or [first_lids(tables) for tables in found]
            for n, tables in enumerate(found):
                # Where a repair has to balance, it sends few blocks of 64 LIDs, and which LIDs share one depends on the LMC.
                if n == 1 and net == torus:
                    continue
                expect_same('%s, change %d, first LIDs' % (what, n), first_lids(tables), alone[n])
            whole, without_cable, mended, without_host, back = found
            # D-Mod-K makes full routes, which give the hosts beside the dead one other mates.
            beside = {e.guid for e in whole.ends if whole.switches[e.switch].name == dead[0]}
            expect(len(whole.channels()) == len(without_cable.channels()) + 2, 'no cable went')
            expect(len(whole.ends) == len(without_host.ends) + 1 and all(e.guid != guid for e in without_host.ends), 'no host went')
            kept = {k: port for k, port in hosts_lids(whole).items() if k[1] != guid and not (engine == 'dmodk' and k[2] and k[1] in beside)}
            expect_same(what + ', the dead host', hosts_lids(without_host), kept)
            expect(whole.bytes_of_tables() == mended.bytes_of_tables() == back.bytes_of_tables(), what + ': not the first tables at last')
            # A repair keeps whose tree a LID has; a full route may choose others.
            if engine == 'dfsssp':
                then, now = mates(whole), mates(without_cable)
                lost = [k for k in then if then[k] and not then[k] & now[k]]
                expect(any(then.values()) and not lost, '%s: without the cable %s have the tree of no mate' % (what, lost[:3]))


@scenario('lmc.drain')
def drain(workdir):
    """A cable, then a spine, with four LIDs a port: no entry of any LID leads there; undrained, all is as before."""
    with running(workdir, 'tree-2', options=several(2), plugin_conf=CONF) as (fabric, opensm):
        whole = judge_lids(fabric, opensm, 'dfsssp', 2)
        name, port, _ = max(whole.cables(), key=lambda cable: uses(whole, *cable[:2]))
        for part, where in ('%s:%d' % (name, port), (name, port)), ('spine-0', ('spine-0',)):
            expect(uses(whole, *where) > 0, 'nothing uses %s anyway' % part)
            ask(fabric, 'drain', part)
            out = fabric.tables()
            # As with one LID a port, a drained switch is not reached itself.
            verdict = out.routes(out.host_lids)
            expect(not verdict.problems, '%s: %s' % (part, first(verdict.problems)))
            expect(uses(out, *where) == 0, '%d entries lead to %s' % (uses(out, *where), part))
            rows, claimed = out.ask_sls(fabric), Claims(opensm.log).proven
            missing = [(a, b) for a, b in out.unanswered(rows) if {a, b} <= set(out.host_lids)]
            expect(not missing, 'no path record for %d pairs of hosts, first: %s' % (len(missing), missing[:1]))
            expect({'deadlock-free', 'any SL'} <= claimed, 'claimed is only %s' % sorted(claimed))
            expect(not out.cycles(rows, replies=True) and not out.cycles(None), 'credit loops')
            ask(fabric, 'undrain', part)
            expect(entries(judge_lids(fabric, opensm, 'dfsssp', 2)) == entries(whole), 'not the first tables after undrain of ' + part)
    opensm.check_own_log()


def reached(tables, passed=()):
    """(host, LID of another host) pairs that arrive; those of them that pass one of these (switch name, port)."""
    hosts = [e for e in tables.ends if e.host]
    ways = [tables.way(a, b, offset) for a in hosts for b in hosts if a != b for offset in range(1 << b.lmc)]
    ways = [[(tables.switches[v].name, port) for v, port in way] for way in ways if way]
    return len(ways), sum(any(step in passed for step in way) for way in ways)


@scenario('lmc.whatif')
def whatif(workdir):
    """One cable, by whatif and by the fabric without it: routed from nothing all that is connected is reached, and repaired it has
    the tables that whatif judged. On the line each cable leaves two parts, of which OpenSM sees one."""
    for kind in ('tree', 'm=4,4', 'w=1,4'), ('torus', 'dims=4x4', 'hosts=2'), ('mesh', 'dims=4', 'hosts=2'):
        folder = os.path.join(workdir, kind[0])
        net, struck = generate(os.path.join(folder, 'whole.net'), '--lmc=2', *kind), os.path.join(folder, 'struck.net')
        saved, at = os.path.join(folder, 'saved'), lambda name: os.path.join(folder, name)

        def route(path, name, *words):
            said = osmroutes('route', path, '--config=none', '--vls=8', '--bisections=0', '--dump', at(name), *words)['results'][0]
            return said, Dump(at(name)).tables(8)

        before = route(net, 'before', '--save', saved)[1]
        total = reached(before)[0]
        hosts = sum(e.host for e in before.ends)
        expect(total == hosts * (hosts - 1) * 4, '%s: %d pairs arrive with the whole fabric' % (kind[0], total))
        for ends in cables(net)[::5 if kind[0] != 'mesh' else 1]:
            what = '%s without %s' % (kind[0], ends)
            case = osmroutes('whatif', net, '--config=none', '--vls=8', '--link', '%s:%d' % ends[0])['cases'][0]
            with open(struck, 'w') as file:
                file.write(strike_out(net, ends))
            said, tables = route(struck, 'after')
            verdict, (arrive, _) = tables.routes(), reached(tables)
            expect(not verdict.problems and said['host_routes_lost'] == total - arrive, '%s: %d pairs do not arrive, route says %d; %s' % (
                what, total - arrive, said['host_routes_lost'], first(verdict.problems)))
            expect(case['pairs_cut'] == reached(before, ends)[1], '%s: %d pairs pass it, whatif says %d' % (
                what, reached(before, ends)[1], case['pairs_cut']))
            largest = max(sum(e.host and tables.dist[v][e.switch] >= 0 for e in tables.ends) for v in range(len(tables.switches)))
            expect(case['pairs_lost'] == total - largest * (largest - 1) * 4, '%s: whatif says that %d of %d pairs are lost, the part has %d hosts' % (
                what, case['pairs_lost'], total, largest))
            if kind[0] != 'mesh':
                said, tables = route(struck, 'repaired', '--previous', saved)
                expect(said['digest'] == case['digest'], '%s: tables %s, in whatif %s' % (what, said['digest'], case['digest']))
                expect(reached(tables) == (total, 0), '%s: %d pairs arrive after the repair' % (what, reached(tables)[0]))
