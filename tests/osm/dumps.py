# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes check` on the dumps that a real opensm wrote, against two other opinions on the same sweep: the
oracle on what was read out of the switches, and ibdmchk on the same files."""
import json
import os
import shutil
import subprocess

import oracle
from judge import QOS, expect, ibdmchk, scenario
from osmtest import BUILD, LOG_DUMPS, Fabric, Opensm, find_fabric

COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')


def check(opensm, *words):
    """(exit code, report) of `osmroutes check` on the dumps; SLs as ibdmchk gets them."""
    run = subprocess.run([COMMAND, 'check', '--json', '--path-sl', opensm.dump('psl'), '--lft',
                          opensm.dump('opensm-lfts.dump')] + list(words) +
                         [opensm.dump('opensm-subnet.lst')], capture_output=True, text=True)
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
        words = ['--hosts', '--sl2vl', opensm.dump('opensm-sl2vl.dump'), '--lft', opensm.dump(form)]
        _, report = check(opensm, *words)
        found = report['verdict']['deadlock_free']
        expect(found['one_way'] == free, '%s: check says %s, the oracle %s' % (what, found, free))
        expect(found['replies'] == free_replies,
               '%s: replies: check says %s, the oracle %s' % (what, found, free_replies))
        bad = sum(report['verdict']['faults'].values())
        expect(bool(bad) == bool(problems), '%s: %s; the oracle: %s' % (
            what, report['verdict']['faults'], problems[:1]))
        efi, _ = tables.edge_forwarding_index()
        expect(report['verdict']['efi'] == efi, '%s: EFI %d, the oracle says %d' % (
            what, report['verdict']['efi'], efi))
        code, _ = check(opensm, '--one-way', *words)
        expect(code == (0 if free and not bad else 1), '%s: exit code %d' % (what, code))
    return free


@scenario('check.dumps', 120)
def dumps(workdir):
    seen = set()
    for netfile, engine in (('ring-5', 'minhop'), ('ring-5', 'dfsssp'), ('torus-4x4', 'dfsssp'),
                            ('torus-4x4', 'sssp'), ('random-12', 'lash'), ('tree-2', 'updn'),
                            ('random-12', 'minhop'), ('dragonfly-12', 'nue')):
        with Fabric(find_fabric(netfile), workdir) as fabric:
            with Opensm(fabric, engine, options=QOS, name=netfile + engine,
                        log_flags=LOG_DUMPS) as opensm:
                opensm.wait_up()
                seen.add(same_opinion(fabric, opensm, 'stock %s on %s' % (engine, netfile)))
    expect(len(seen) == 2, 'the engines chosen must give tables with and without credit loops')


@scenario('check.lmc', 60)
def lmc(workdir):
    """opensm-subnet.lst does not say LMCs; opensm-lfts.dump knows them."""
    with Fabric(find_fabric('torus-4x4'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp', options=dict(QOS, lmc='2'), log_flags=LOG_DUMPS) as opensm:
            opensm.wait_up()
            tables = oracle.Tables(fabric.read_back())
        done = subprocess.run([COMMAND, 'check', '--json', opensm.dir], capture_output=True, text=True)
        report = json.loads(done.stdout)
        expect(report['lids'] == len(tables.lids), '%d LIDs, the switches know %d' % (
            report['lids'], len(tables.lids)))
        expect(not report['tables']['foreign'], '%d entries for nobody' % report['tables']['foreign'])
        expect(report['verdict']['efi'] == tables.edge_forwarding_index()[0], 'another EFI')
