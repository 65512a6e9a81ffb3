# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes check` on the tables of a real opensm, in its dumps and in its switches, against two other opinions on the same
sweep: the oracle on what was read out of the switches, and ibdmchk on the dumps."""
import os
import re
import shutil
import subprocess
import tempfile

from judge import expect, ibdmchk, scenario
from live import run
from osmtest import COMMAND, LOG_DUMPS, osmroutes, running

VALUES = {'proven': 1, 'unknown': 0, 'refuted': -1}


def check(opensm, form):
    """JSON of `osmroutes check` on these dumps; SLs as ibdmchk gets them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, of in (('opensm-subnet.lst', 'opensm-subnet.lst'), (form, form), ('opensm-path-sl.dump', 'psl'),
                         ('opensm-sl2vl.dump', 'opensm-sl2vl.dump')):
            os.symlink(os.path.abspath(opensm.dump(of)), os.path.join(folder, name))
        return osmroutes('check', '--only-hosts', folder)


def same_opinion(fabric, opensm, what):
    tables = fabric.tables()
    rows = tables.rows = tables.ask_sls(fabric, limit=4000000)
    problems = tables.routes(tables.host_lids).problems
    efi, _ = tables.edge_forwarding_index()
    free = not tables.cycles(rows, scope='hosts')
    answers = {'one_way': free, 'replies': not tables.cycles(rows, replies=True, scope='hosts')}
    if shutil.which('ibdmchk'):
        _, theirs = ibdmchk(opensm, tables, rows)
        expect(theirs == free, '%s: ibdmchk says %s, the oracle %s' % (what, theirs, free))
    for form in 'opensm-lfts.dump', 'opensm.fdbs':
        report = check(opensm, form)
        found = report['verdict']['answers']
        for question, answer in answers.items():
            expect(found[question] == ('proven' if answer else 'refuted'), '%s: %s: check says %s, the oracle %s' % (
                what, question, found, answer))
        bad = sum(report['verdict']['faults'].values())
        expect(bool(bad) == bool(problems), '%s: %s; the oracle: %s' % (what, report['verdict']['faults'], problems[:1]))
        expect(report['verdict']['efi'] == efi, '%s: EFI %d, the oracle says %d' % (what, report['verdict']['efi'], efi))
        expect(report['code'] == (0 if free and not bad else 1), '%s: exit code %d' % (what, report['code']))
    same_verdict(opensm, what)
    live(fabric, tables, answers, what)
    return free


def live(fabric, tables, answers, what):
    """`check --live --prom` beside any engine: what it says, in both forms, is what the oracle finds; nothing changes."""
    path = os.path.join(fabric.dir, 'check.prom')
    said = run(fabric, 'check', '--live', '--prom', path, code=(0, 1))
    with open(path, encoding='utf-8') as file:
        text = file.read()
    gauges = {name: float(value) for name, value in re.findall(r'^osmroutes_check_(\w+) (\S+)$', text, re.M)}
    shown = {q: int(v) for q, v in re.findall(r'^osmroutes_check_answer\{question="(\w+)"\} (\S+)$', text, re.M)}
    expect(shown == {q: VALUES[a] for q, a in said['verdict']['answers'].items()},
           '%s: the file says %s, JSON %s' % (what, shown, said['verdict']['answers']))
    expect(not [f for f in os.listdir(fabric.dir) if f.endswith('.new')], 'a file that is half written is left')
    efi, _ = tables.edge_forwarding_index()
    expect(gauges['routes_busiest'] == efi and tables.least_load() <= gauges['efi_bound'] <= efi,
           '%s: busiest and bound: %s' % (what, gauges))
    # The oracle leaves port 0 out here; it may only add loops.
    zero = {lid: [0 if sl != 255 else 255 for sl in row] for lid, row in tables.rows.items()}
    for question, answer in dict(answers, sl0=not tables.cycles(zero, scope='hosts')).items():
        expect(answer or shown[question] != 1, '%s: %s: a credit loop was overlooked' % (what, question))
    expect(said.get('loop') or said['verdict']['answers']['one_way'] != 'refuted', what + ': the loop is not named')
    hosts = run(fabric, 'check', '--live', '--only-hosts', code=(0, 1))['verdict']['answers']
    expect((hosts['one_way'] == 'proven') == answers['one_way'], '%s: between hosts check says %s' % (what, hosts))
    expect([s.lft for s in fabric.tables('lft').switches] == [s.lft for s in tables.switches],
           what + ': a look has changed the tables')


def same_verdict(opensm, what):
    """check and route on the whole directory, without path SLs and with them."""
    for sls in (False, True) if os.path.exists(opensm.dump('psl')) else (False,):
        if sls:
            shutil.copy(opensm.dump('psl'), opensm.dump('opensm-path-sl.dump'))
        checked = osmroutes('check', opensm.dir)
        routed = osmroutes('route', '--bisections=0', '--tables', opensm.dir, opensm.dump('opensm-subnet.lst'))
        routed = dict(routed, verdict=routed['results'][0])
        for said in checked, routed:
            expect((said['verdict']['verdict'] == 'refuted') == said['code'], '%s: exit code %d' % (what, said['code']))
        expect(checked['verdict']['answers'] == routed['verdict']['answers'], '%s: check says %s, route %s' % (
            what, checked['verdict'], routed['verdict']))
        if sls:
            os.unlink(opensm.dump('opensm-path-sl.dump'))


@scenario('check.dumps')
def dumps(workdir):
    """Tables of stock engines, with QoS and without. What is known of them must come out: sssp and minhop close the ring,
    dfsssp and lash do not, nor do shortest paths on a tree."""
    for netfile, engine, known in (
            ('ring-5', 'minhop', False), ('ring-5', 'sssp', False), ('ring-5', 'dfsssp', True), ('torus-4x4', 'dfsssp', True),
            ('torus-4x4', 'sssp', None), ('random-12', 'lash', True), ('random-12', 'dfsssp', True), ('tree-2', 'ftree', True),
            ('tree-2', 'minhop', True), ('random-12', 'minhop', None), ('dragonfly-12', 'nue', None)):
        with running(workdir, netfile, engine, plugin=False, name=netfile + engine, log_flags=LOG_DUMPS) as (fabric, opensm):
            free = same_opinion(fabric, opensm, 'stock %s on %s' % (engine, netfile))
        expect(opensm.engine_used() == engine or known is None, '%s routed' % opensm.engine_used())
        expect(known in (free, None), 'stock %s on %s is judged %s' % (engine, netfile, free))
    with running(workdir, 'random-12', 'updn', plugin=False, options={'qos': 'FALSE'}) as (fabric, opensm):
        tables = fabric.tables()
        tables.rows = tables.ask_sls(fabric, limit=4000000)
        live(fabric, tables, {'one_way': not tables.cycles(tables.rows, scope='hosts')}, 'updn without QoS')


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
            tables = fabric.tables()
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
            report = osmroutes('check', opensm.dir)
            said = report['verdict']['verdict']
            expect(said == verdict, '%s: check says %s, expected %s' % (engine, said, verdict))
            expect(report['code'] == (verdict == 'refuted'), 'exit code %d' % report['code'])
            text = subprocess.run([COMMAND, 'check', opensm.dir], capture_output=True, text=True)
            expect(('verdict unknown: no path SLs are given' in text.stdout + text.stderr) == (not there),
                   '%s: check says %s' % (engine, text.stdout[-300:] + text.stderr))
        expect(free == (engine == 'dfsssp'), engine)
