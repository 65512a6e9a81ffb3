# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes check --live --prom` beside any engine: what it says of the tables is what the oracle finds in the switches, and
nothing changes."""
import json
import os
import re

import oracle
from judge import QOS, deadlock_free, expect, judge, scenario
from live import start
from options import stock_lfts
from osmtest import running

VALUES = {'proven': 1, 'unknown': 0, 'refuted': -1}


def look(fabric, *words):
    """(JSON, gauges, answers by question) of one look at the fabric."""
    path = os.path.join(fabric.dir, 'check.prom')
    done = start(fabric, 'check', '--live', '--prom', path, *words)
    expect(done.returncode in (0, 1), 'check --live: exit code %d: %s' % (done.returncode, done.stderr))
    said = json.loads(done.stdout)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    gauges = {name: float(value) for name, value in re.findall(r'^osmroutes_check_(\w+) (\S+)$', text, re.M)}
    answers = {q: int(v) for q, v in re.findall(r'^osmroutes_check_answer\{question="(\w+)"\} (\S+)$', text, re.M)}
    expect(answers == {q: VALUES[a] for q, a in said['verdict']['answers'].items()},
           'the file says %s, JSON %s' % (answers, said['verdict']['answers']))
    expect(not [f for f in os.listdir(fabric.dir) if f.endswith('.new')], 'a file that is half written is left')
    return said, gauges, answers


def one(workdir, netfile, engine, options=QOS):
    """(answers, LFTs in the switches, what was said)"""
    with running(workdir, netfile, engine, plugin=False, options=options) as (fabric, opensm):
        before = oracle.Tables(fabric.read_back())
        said, gauges, answers = look(fabric)
        efi, _ = before.edge_forwarding_index()
        expect(gauges['routes_busiest'] == efi, 'says %d routes, it is %d' % (gauges['routes_busiest'], efi))
        least = before.least_load()
        expect(gauges['efi_bound'] == least, 'the bound is %d, not %d' % (least, gauges['efi_bound']))
        one_way, replies = deadlock_free(fabric, before)
        # The oracle leaves port 0 out here: of packets between hosts both must say the same.
        _, _, hosts = look(fabric, '--only-hosts')
        expect(one_way == (hosts['one_way'] == 1), '%s: the oracle says %s between hosts, check %s' % (
            engine, one_way, hosts))
        expect(one_way or answers['one_way'] != 1, '%s: a credit loop was overlooked' % engine)
        expect(replies or answers['replies'] != 1, '%s: a credit loop with replies was overlooked' % engine)
        zero = {lid: [0 if sl != 255 else 255 for sl in row] for lid, row in before.rows.items()}
        expect((not before.cycles(zero, scope='hosts')) or answers['sl0'] != 1, 'a loop on SL 0 was overlooked')
        after = oracle.Tables(fabric.read_back())
        had = [s.lft for s in before.switches]
        expect(had == [s.lft for s in after.switches], 'a look has changed the tables')
    return answers, had, said


@scenario('watch.minhop-ring')
def minhop_ring(workdir):
    """The loop that a ring has: on SL 0, and named."""
    answers, had, said = one(workdir, 'ring-5', 'minhop')
    expect(answers['sl0'] == -1 and answers['one_way'] == -1, 'a ring is called free of loops: %s' % answers)
    expect(said.get('loop'), 'the loop is not named')
    expect(had == stock_lfts(os.path.join(workdir, 'stock'), 'ring-5', 'minhop'), 'the tables are not stock\'s')


@scenario('watch.stock')
def stock(workdir):
    """Nothing to say against a tree. Layers are by path records: SL 0 alone has a loop on a torus. Without QoS."""
    answers, _, _ = one(workdir, 'tree-2', 'ftree')
    expect(all(answers[q] == 1 for q in ('sl0', 'one_way', 'any_sl')), 'a tree is said to deadlock: %s' % answers)
    answers, _, _ = one(workdir, 'torus-4x4', 'dfsssp')
    expect(answers['sl0'] == -1, 'one lane of a torus is called safe: %s' % answers)
    one(workdir, 'random-12', 'updn', options={'qos': 'FALSE'})


@scenario('watch.ours')
def ours(workdir):
    """Tables of ours: no more and no less than our own checker says."""
    with running(workdir, 'torus-4x4', 'dfsssp') as (fabric, opensm):
        _, _, answers = look(fabric)
        judge(fabric, opensm, ours='dfsssp')
        expect(all(answers[q] == 1 for q in ('reach', 'one_way', 'replies')),
               'what the checker has proven is not found: %s' % answers)
    opensm.check_own_log()
