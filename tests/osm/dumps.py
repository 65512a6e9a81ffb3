# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes check` on the dumps that a real opensm wrote, against two other opinions on the same sweep: the
oracle on what was read out of the switches, and ibdmchk on the same files."""
import json
import os
import shutil
import subprocess
import tempfile

import oracle
from judge import QOS, expect, generate, ibdmchk, scenario
from osmtest import BUILD, LOG_DUMPS, Fabric, Opensm, running

COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')


def check(opensm, form='opensm-lfts.dump', sl2vl=False, *words):
    """(exit code, report) of `osmroutes check` on these dumps; SLs as ibdmchk gets them."""
    chosen = {'opensm-subnet.lst': 'opensm-subnet.lst', form: form, 'opensm-path-sl.dump': 'psl'}
    if sl2vl:
        chosen['opensm-sl2vl.dump'] = 'opensm-sl2vl.dump'
    with tempfile.TemporaryDirectory() as folder:
        for name, of in chosen.items():
            os.symlink(os.path.abspath(opensm.dump(of)), os.path.join(folder, name))
        run = subprocess.run([COMMAND, 'check', '--json', *words, folder], capture_output=True, text=True)
    expect(run.returncode in (0, 1), 'check: ' + run.stderr)
    return run.returncode, json.loads(run.stdout)


def same_opinion(fabric, opensm, what):
    tables = oracle.Tables(fabric.read_back())
    rows = tables.ask_sls(fabric, limit=4000000)
    problems = tables.routes(tables.host_lids).problems
    free = not tables.cycles(rows, scope='hosts')
    free_replies = not tables.cycles(rows, replies=True, scope='hosts')
    if shutil.which('ibdmchk'):
        _, theirs = ibdmchk(opensm, tables, rows)
        expect(theirs == free, '%s: ibdmchk says %s, the oracle %s' % (what, theirs, free))
    for form in ('opensm-lfts.dump', 'opensm.fdbs'):
        code, report = check(opensm, form, True, '--only-hosts')
        found = report['verdict']['answers']
        expect(found['one_way'] == ('proven' if free else 'refuted'), '%s: check says %s, the oracle %s' % (what, found, free))
        expect(found['replies'] == ('proven' if free_replies else 'refuted'),
               '%s: replies: check says %s, the oracle %s' % (what, found, free_replies))
        bad = sum(report['verdict']['faults'].values())
        expect(bool(bad) == bool(problems), '%s: %s; the oracle: %s' % (
            what, report['verdict']['faults'], problems[:1]))
        efi, _ = tables.edge_forwarding_index()
        expect(report['verdict']['efi'] == efi, '%s: EFI %d, the oracle says %d' % (
            what, report['verdict']['efi'], efi))
        expect(code == (0 if free and not bad else 1), '%s: exit code %d' % (what, code))
    same_verdict(opensm, what)
    return free


def same_verdict(opensm, what):
    """check and route on the whole directory, without path SLs and with them."""
    for sls in (False, True) if os.path.exists(opensm.dump('psl')) else (False,):
        if sls:
            shutil.copy(opensm.dump('psl'), opensm.dump('opensm-path-sl.dump'))
        said = []
        for words in (['check', opensm.dir], ['route', '--bisections=0', '--tables', opensm.dir,
                                              opensm.dump('opensm-subnet.lst')]):
            done = subprocess.run([COMMAND, *words, '--json'], capture_output=True, text=True)
            expect(done.returncode in (0, 1), '%s: %s' % (what, done.stderr))
            report = json.loads(done.stdout)
            report = report['results'][0] if 'results' in report else report['verdict']
            expect((report['verdict'] == 'refuted') == done.returncode, '%s: %s' % (what, words[0]))
            said.append((report['verdict'], report['answers']))
        expect(said[0] == said[1], '%s: check says %s, route %s' % (what, *said))
        if sls:
            os.unlink(opensm.dump('opensm-path-sl.dump'))


@scenario('check.dumps')
def dumps(workdir):
    seen = set()
    for netfile, engine in (('ring-5', 'minhop'), ('ring-5', 'dfsssp'), ('torus-4x4', 'dfsssp'),
                            ('torus-4x4', 'sssp'), ('random-12', 'lash'), ('tree-2', 'updn'),
                            ('random-12', 'minhop'), ('dragonfly-12', 'nue')):
        with running(workdir, netfile, engine, plugin=False, name=netfile + engine,
                     log_flags=LOG_DUMPS) as (fabric, opensm):
            seen.add(same_opinion(fabric, opensm, 'stock %s on %s' % (engine, netfile)))
    expect(len(seen) == 2, 'the engines chosen must give tables with and without credit loops')


@scenario('check.lmc')
def lmc(workdir):
    """opensm-subnet.lst does not say LMCs; opensm-lfts.dump knows them."""
    with running(workdir, 'torus-4x4', 'dfsssp', plugin=False, options=dict(QOS, lmc='2'),
                 log_flags=LOG_DUMPS) as (fabric, opensm):
        tables = oracle.Tables(fabric.read_back())
    done = subprocess.run([COMMAND, 'check', '--json', opensm.dir], capture_output=True, text=True)
    report = json.loads(done.stdout)
    expect(report['lids'] == len(tables.lids), '%d LIDs, the switches know %d' % (
        report['lids'], len(tables.lids)))
    expect(not report['tables']['foreign'], '%d entries for nobody' % report['tables']['foreign'])
    expect(report['verdict']['efi'] == tables.edge_forwarding_index()[0], 'another EFI')


def dumped_sls(path):
    """{(switch GUID, LID): SL} of the compact dump."""
    sls = {}
    for line in open(path, encoding='utf-8'):
        words = line.split()
        if line.startswith('Senders on switch '):
            guid = words[3]
        elif words:
            sls.update({(guid, int(words[0], 16) + i): int(c, 16)
                        for i, c in enumerate(words[2]) if c != '-'})
    return sls


@scenario('check.path-sl')
def path_sl(workdir):
    """The plugin adds the SLs that OpenSM's dumps lack: those of path records; without them nobody knows."""
    for engine, lanes in (('dfsssp', 2), ('sssp', 1)):
        with running(workdir, 'dragonfly-12', engine, log_flags=LOG_DUMPS,
                     plugin_conf='[dfsssp]\nany_sl = off\n') as (fabric, opensm):
            tables = oracle.Tables(fabric.read_back())
            rows = tables.ask_sls(fabric)
            sls = dumped_sls(opensm.dump('opensm-path-sl.dump'))
        free = not tables.cycles(rows, scope='hosts')
        asked = {(tables.switches[tables.end_of[a].switch].guid, lid): row[k] for a, row in rows.items()
                 for k, lid in enumerate(tables.lids) if row[k] != 255 and tables.end_of[a].host}
        expect(len(set(asked.values())) >= lanes, '%s: %d SLs' % (engine, len(set(asked.values()))))
        wrong = [k for k, sl in asked.items() if sls.get(k) != sl]
        expect(not wrong, '%s: %d of %d SLs differ, as from %s' % (engine, len(wrong), len(asked),
                                                                 wrong[:1]))
        for there, verdict in ((True, 'proven' if free else 'refuted'), (False, 'unknown')):
            if not there:
                os.unlink(opensm.dump('opensm-path-sl.dump'))
            done = subprocess.run([COMMAND, 'check', '--json', opensm.dir], capture_output=True,
                                  text=True)
            said = json.loads(done.stdout)['verdict']['verdict']
            expect(said == verdict, '%s: check says %s, expected %s' % (engine, said, verdict))
            expect(done.returncode == (verdict == 'refuted'), 'exit code %d' % done.returncode)
            text = subprocess.run([COMMAND, 'check', opensm.dir], capture_output=True, text=True)
            expect(('verdict unknown: no path SLs are given' in text.stdout + text.stderr) == (not there),
                   '%s: check says %s' % (engine, text.stdout[-300:] + text.stderr))
        expect(free == (engine == 'dfsssp'), engine)


def worst_flows(tables):
    """The most flows that a permutation of hosts brings to one channel: a matching of sources and destinations for each."""
    users = {}
    for e in tables.ends:
        for lid in tables.host_lids if e.host else ():
            at, goal = e.switch, tables.end_of[lid]
            while at != goal.switch:
                out = tables.switches[at].forward(lid)
                users.setdefault((at, out), {}).setdefault(e.lid, []).append(lid)
                at = tables.switches[at].next[out][0]

    def place(source, near, taken, seen):
        for lid in near[source]:
            if lid not in seen:
                seen.add(lid)
                if lid not in taken or place(taken[lid], near, taken, seen):
                    taken[lid] = source
                    return True
        return False

    def most(near):
        taken = {}
        return sum(place(source, near, taken, set()) for source in near)
    return max(most(near) for near in users.values())


@scenario('check.worst')
def worst(workdir):
    """--worst on tables of stock engines and of the default one; the least that tables of this tree can have is 4."""
    netfile = generate(os.path.join(workdir, 'tree.net'), 'kary', 'k=4', 'n=3')
    found = {}
    with Fabric(netfile, workdir) as fabric:
        for engine, ours in ('ftree', False), ('minhop', False), ('dfsssp', True):
            with Opensm(fabric, engine, plugin=ours, options=QOS, name=engine, log_flags=LOG_DUMPS) as opensm:
                opensm.wait_up()
                expected = worst_flows(oracle.Tables(fabric.read_back('lft')))
                done = subprocess.run([COMMAND, 'route', opensm.dump('opensm-subnet.lst'), '--tables',
                                       opensm.dump('opensm-lfts.dump'), '--bisections=0', '--worst', '--json'],
                                      capture_output=True, text=True)
                expect(done.returncode in (0, 1), '%s: %s' % (engine, done.stderr))
                said = json.loads(done.stdout)['results'][0]['worst']
                expect((said['flows'], said['share']) == (expected, 1 / expected) and said['share_bound'] == 1 / 4,
                       '%s: %s, by matchings %d flows' % (engine, said, expected))
                found[engine] = expected
    expect(found['ftree'] == found['dfsssp'] == 4 < found['minhop'], 'flows by engine: %s' % found)
