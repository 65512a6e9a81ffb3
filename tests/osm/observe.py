# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`observe = yes`: what is said of any engine's tables is what the oracle finds in the switches, and nothing changes."""
import json
import os
import re

import oracle
from faults import switch_links
from judge import QOS, deadlock_free, expect, judge, scenario
from options import stock_lfts
from osmtest import Fabric, Opensm, find_fabric, wait_for

CONF = 'observe = yes\ntakeover = none\nmetrics_dir = .\n'


def seen(opensm, n):
    """The n-th line of the observer."""
    pattern = r'osmroutes: observe: \S+: \d+ routes on the busiest'
    wait_for('the observer', lambda: len(re.findall(pattern, opensm.log)) >= n, 15, opensm._alive)
    name = [f for f in os.listdir(opensm.dir) if f.endswith('-observed.json')]
    wait_for('its file', lambda: name or [f for f in os.listdir(opensm.dir) if f.endswith('-observed.json')], 10)
    name = [f for f in os.listdir(opensm.dir) if f.endswith('-observed.json')][0]
    with open(os.path.join(opensm.dir, name)) as file:
        found = json.load(file)

    def same():
        prom = os.path.join(opensm.dir, name.replace('.json', '.prom'))
        if not os.path.exists(prom):
            return False	# it is written after the other one
        with open(prom) as file:
            gauges = dict(re.findall(r'^osmroutes_observed_answer\{.*question="(\w+)"\} (\S+)$', file.read(), re.M))
        values = {'proven': '1', 'unknown': '0', 'refuted': '-1'}
        return gauges == {q: values[a] for q, a in found['answers'].items()}

    wait_for('the same answers in both files', same, 10)
    return found


def lfts(tables):
    return [s.lft for s in tables.switches]


def changed(before, after):
    """(entries, blocks of 64 LIDs) that differ."""
    was = {s.guid: s for s in before.switches}
    pairs = [(was[s.guid], s) for s in after.switches if s.guid in was]
    lids = set(before.lids) | set(after.lids)
    differs = {(s.guid, lid) for w, s in pairs for lid in lids if w.forward(lid) != s.forward(lid)}
    return len(differs), len({(guid, lid // 64) for guid, lid in differs})


def one(workdir, netfile, engine, options=QOS, conf=CONF):
    with Fabric(find_fabric(netfile), workdir) as fabric:
        with Opensm(fabric, engine, plugin=True, options=options, plugin_conf=conf) as opensm:
            opensm.wait_up()
            found = seen(opensm, 1)
            before = oracle.Tables(fabric.read_back())
            efi, _ = before.edge_forwarding_index()
            expect(found['routes_busiest'] == efi, 'says %d routes, it is %d' % (found['routes_busiest'], efi))
            expect(found['efi_bound'] <= efi and found['efi_bound'] <= max(found['other_routes_busiest'], efi),
                   'the bound is none: %s' % found)
            least = before.least_load()
            expect(found['efi_bound'] == least, 'the bound is %d, not %d' % (least, found['efi_bound']))
            one_way, replies = deadlock_free(fabric, before)
            says = {k: v == 'proven' for k, v in found['answers'].items()}
            expect(says['path_records'] >= says['replies'], 'replies are proven, and packets are not')
            # The oracle leaves port 0 out here: of packets between hosts both must say the same.
            expect(one_way == says['path_records_hosts'], '%s: the oracle says %s between hosts, the observer %s' %
                   (engine, one_way, says['path_records_hosts']))
            expect(one_way or not says['path_records'], '%s: a credit loop was overlooked' % engine)
            expect(replies or not says['replies'], '%s: a credit loop with replies was overlooked' % engine)
            said = re.findall(r'observe: .* credit loops on the SLs of path records: (found|none \(proven\)|unknown)', opensm.log)
            expect(said and said[-1] == {'proven': 'none (proven)', 'refuted': 'found', 'unknown': 'unknown'}
                   [found['answers']['path_records']], 'the log says %s, the file %s' % (said, found['answers']))
            zero = {lid: [0 if sl != 255 else 255 for sl in row] for lid, row in before.rows.items()}
            expect((not before.cycles(zero, scope='hosts')) or not says['sl0'], 'a loop on SL 0 was overlooked')
            name, port, _ = switch_links(before)[0]
            opensm.change(fabric.unlink(name, port))
            wait_for('a look at the change', lambda: 'LFT entries changed in' in opensm.log, 60, opensm._alive)
            opensm.wait_quiet()
            after = oracle.Tables(fabric.read_back())
            lines = re.findall(r'(\d+) of \d+ LFT entries changed in (\d+) blocks', opensm.log)
            entries, blocks = changed(before, after)
            expect(sum(int(a) for a, _ in lines) >= entries and
                   (len(lines) > 1 or int(lines[0][1]) == blocks),
                   'says %s entries and blocks changed, it is %d and %d' % (lines, entries, blocks))
            opensm.stop()
        opensm.check_own_log()
        return found, lfts(before), opensm


@scenario('observe.minhop-ring')
def minhop_ring(workdir):
    """The loop that a ring has: on SL 0, and named."""
    found, had, opensm = one(workdir, 'ring-5', 'minhop')
    expect(found['answers']['sl0'] == 'refuted' and found['answers']['path_records'] == 'refuted',
           'a ring is called free of loops: %s' % found['answers'])
    expect('path records: found: credit loop of ' in opensm.log, 'the loop is not named')
    expect(had == stock_lfts(os.path.join(workdir, 'stock'), 'ring-5', 'minhop'), 'the tables are not stock\'s')


@scenario('observe.ftree')
def ftree(workdir):
    """Nothing to say against a tree; hosts of a leaf share its uplinks, which is the bound."""
    found, had, _ = one(workdir, 'tree-2', 'ftree')
    expect(all(found['answers'][q] == 'proven' for q in ('sl0', 'path_records', 'any_sl')),
           'a tree is said to deadlock: %s' % found['answers'])
    expect(found['other'] == 'dmodk', 'not compared with dmodk: %s' % found)
    expect(had == stock_lfts(os.path.join(workdir, 'stock'), 'tree-2', 'ftree'), 'the tables are not stock\'s')


@scenario('observe.stock-dfsssp', 120)
def stock_dfsssp(workdir):
    """Layers by path records; SL 0 alone has a loop on a torus."""
    found, _, _ = one(workdir, 'torus-4x4', 'dfsssp')
    expect(found['answers']['path_records_hosts'] == 'proven', 'stock dfsssp is said to deadlock: %s' % found['answers'])
    expect(found['answers']['sl0'] == 'refuted', 'one lane of a torus is called safe: %s' % found['answers'])


@scenario('observe.without-qos')
def without_qos(workdir):
    one(workdir, 'random-12', 'updn', options={'qos': 'FALSE'})


@scenario('observe.ours')
def ours(workdir):
    """Tables of ours: no more and no less than our own checker says."""
    with Fabric(find_fabric('torus-4x4'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS,
                    plugin_conf='observe = yes\nmetrics_dir = .\n') as opensm:
            opensm.wait_up()
            found = seen(opensm, 1)
            judge(fabric, opensm, ours='dfsssp')
            expect(all(found['answers'][q] == 'proven' for q in ('reach', 'path_records', 'replies')),
                   'what the checker has proven is not found: %s' % found['answers'])
            for _ in range(12):
                opensm.resweep()
        opensm.check_own_log()
