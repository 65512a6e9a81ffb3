# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables and switches that are taken out of routing before they are pulled, and links that flap. `osmroutes status`: what a running
subnet manager says of itself, also where osmroutes routes nothing."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from groups import join
from judge import check_loops, Claims, expect, generate, judge, QOS, scenario
from keys import Client
from osmtest import BUILD, COMMAND, Fabric, find_fabric, Opensm, OPENSM, osmroutes, patience, running, wait_for
from restart import kill
from transition import Hold, free, mixed


CONF = 'control_socket = ../keys.sock\n'


def ask(fabric, *words, good=True):
    """`osmroutes drain` and undrain; what they list, or the sentence of a refusal."""
    said = subprocess.run([COMMAND, words[0], '--json', '--socket=' + os.path.join(fabric.dir, 'keys.sock'),
                           *words[1:]], capture_output=True, text=True, timeout=patience(90))
    expect((said.returncode == 0) == good, '%s: exit code %d: %s%s' %
           (' '.join(words), said.returncode, said.stdout, said.stderr))
    expect(good or said.stderr.count('\n') == 1, 'not one sentence: ' + said.stderr)
    return json.loads(said.stdout)['parts'] if good else said.stderr


def entries(found, but=()):
    """What is in the switches, LFTs and multicast tables."""
    return {s.guid: (list(s.lft), {m: sorted(p) for m, p in s.mft.items() if p}) for s in found.switches
            if s.name not in but}


def uses(found, switch, port=None):
    """Entries of LFTs and multicast tables that lead into a cable, or into a switch from all its neighbours."""
    n = 0
    guid = next(s for s in found.switches if s.name == switch).guid
    for s in found.switches:
        for out, (there, came) in s.next.items():
            if (s.guid, out) == (guid, port) or (found.switches[there].guid == guid and port in (None, came)):
                n += sum(s.forward(lid) == out for lid in found.lids)
                n += sum(out in ports for ports in s.mft.values())
    return n


def still(fabric, opensm, command, before, but=()):
    """A cable or switch is pulled or put back: no entry changes."""
    opensm.hear(command)
    expect(entries(fabric.tables(), but) == before, 'tables have changed after: %s' % command)


def with_groups(fabric, opensm):
    whole = judge(fabric, opensm, ours='dfsssp')
    for name in sorted({e.name for e in whole.ends if e.host}):
        join(fabric, name)
    opensm.wait_quiet()
    return fabric.tables()


@scenario('drain.cable')
def cable(workdir):
    """Drained, pulled, put back, undrained; the default engine with default options besides, also beside OpenSM's unicast cache.
    What no engine of ours routes any more is not out."""
    for cached in 'FALSE', 'TRUE':
        with running(os.path.join(workdir, cached), 'tree-3', options={'use_ucast_cache': cached}, plugin_conf=CONF) as (fabric, opensm):
            whole = with_groups(fabric, opensm)
            name, port, far = max(whole.cables(), key=lambda link: uses(whole, link[0], link[1]))
            expect(uses(whole, name, port) > 0, 'nothing uses that cable anyway')
            parts = ask(fabric, 'drain', '%s:%d' % (name, port))
            expect([(p['port'], p['why'], p['state']) for p in parts] == [(port, 'drained', 'out')], str(parts))
            fabric.env['OSMROUTES_KEYS'] = os.path.join(fabric.dir, 'keys.sock')
            for node in name, whole.switches[far[0]].name if isinstance(far, tuple) else far:
                seen = json.loads(fabric.run([COMMAND, 'path', '--live', node, '--json']))['ports']
                states = {p['port']: (p.get('state'), p['out'] + p['in']) for p in seen}
                expect([s for s in states.values() if s[0]] == [('drained', 0)], '%s at a glance: %s' % (node, states))
            out = fabric.tables()
            expect(uses(out, name, port) == 0, '%d entries use the drained cable' % uses(out, name, port))
            expect(not out.routes().problems, 'LIDs are not reached')
            check_loops(fabric, out, {'deadlock-free', 'replies deadlock-free', 'with multicast'})
            ask(fabric, 'drain', '%s:%d' % (name, port), good=False)
            still(fabric, opensm, fabric.unlink(name, port), entries(out))
            still(fabric, opensm, fabric.relink(name, port), entries(out))
            expect(ask(fabric, 'undrain', '%s:%d' % (name, port)) == [], 'something is drained')
            expect([list(s.lft) for s in fabric.tables().switches] == [list(s.lft) for s in whole.switches],
                   'the first tables have not come back')
        opensm.check_own_log()
    with running(os.path.join(workdir, 'refused'), 'tree-3', 'p2sssp', options={'qos': 'FALSE'}, plugin_conf=CONF) as (fabric, opensm):
        said = ask(fabric, 'drain', 'leaf-1:3', '--wait=4000', good=False)
        expect('no new tables yet' in said and uses(fabric.tables(), 'leaf-1', 3) > 0, said)
        expect([p['state'] for p in ask(fabric, 'drain')] == ['asked'], 'out, by tables that use it')


def own_lft(found, name):
    return list(next(s for s in found.switches if s.name == name).lft)


@scenario('drain.lid')
def lid(workdir):
    """What a drained switch still is, as the pages say: it keeps its LFT until opensm starts anew, no other switch has an entry for
    its LID, and the subnet manager reaches it. With all of its cables drained but one no packet passes it either, and its LID works."""
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        for start in 'first', 'restart':
            with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, name=start,
                        env={'OSM_CACHE_DIR': workdir}) as opensm:
                opensm.wait_up()
                if start == 'first':
                    whole = judge(fabric, opensm, ours='dfsssp')
                    ask(fabric, 'drain', 'spine-0')
                found = fabric.tables()
                spine = next(s for s in found.switches if s.name == 'spine-0')
                lids = [l for l in found.lids if found.end_of[l].switch == found.switches.index(spine)]
                expect(lids and all(s is spine or s.forward(l) == 255 for s in found.switches for l in lids),
                       start + ': a switch has an entry for the LID of the drained one')
                kept = own_lft(whole, 'spine-0') if start == 'first' else [255] * len(spine.lft)
                expect(list(spine.lft) == kept, start + ': its own LFT is another one')
                opensm.resweep()
                expect(own_lft(fabric.tables(), 'spine-0') == kept, start + ': a sweep changes its own LFT')
                if start == 'first':
                    kill(opensm)
                    continue
                ask(fabric, 'undrain', '--all')
                back = judge(fabric, opensm, ours='dfsssp')
                expect(own_lft(back, 'spine-0') == own_lft(whole, 'spine-0'), 'it has other tables than before')
                ports = sorted(back.switches[found.switches.index(spine)].next)
                for port in ports[1:]:
                    ask(fabric, 'drain', 'spine-0:%d' % port)
                alone = fabric.tables()
                expect(not alone.routes().problems, 'a LID is not reached: ' + str(alone.routes().problems[:1]))
                there = alone.switches.index(next(s for s in alone.switches if s.name == 'spine-0'))
                passing = [(s.name, l) for s in alone.switches for l in alone.lids if l not in lids
                           and s.forward(l) in s.next and s.next[s.forward(l)][0] == there]
                expect(not passing, 'packets pass a switch with one cable: %s' % passing[:3])
        opensm.check_own_log()


@scenario('drain.switch')
def switch(workdir):
    """A spine; what would cut off hosts is refused; a restart, also by kill -9, keeps it."""
    cache = {'OSM_CACHE_DIR': os.path.join(workdir, 'cache')}
    os.makedirs(cache['OSM_CACHE_DIR'], exist_ok=True)
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, env=cache) as opensm:
            opensm.wait_up()
            whole = with_groups(fabric, opensm)
            leaf = next(s for s in whole.switches if s.hosts)
            host = next(e.name for e in whole.ends if e.host)
            for what, why in ((leaf.name, 'cut off'), ('%s:%d' % (leaf.name, min(leaf.hosts)), 'cut off'),
                              (host, 'end port'), ('nobody', 'no switch'), ('%s:200' % leaf.name, 'no cable')):
                said = ask(fabric, 'drain', what, good=False)
                expect(why in said, '%s: %s' % (what, said))
            ask(fabric, 'drain', 'spine-0')
            out = fabric.tables()
            expect(uses(out, 'spine-0') == 0, '%d entries lead to the drained switch' % uses(out, 'spine-0'))
            still(fabric, opensm, fabric.unlink('spine-0'), entries(out, ['spine-0']), ['spine-0'])
            still(fabric, opensm, fabric.relink('spine-0'), entries(out, ['spine-0']), ['spine-0'])
            kill(opensm)
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, env=cache) as opensm:
            opensm.wait_up()
            expect([p['what'] for p in ask(fabric, 'drain')] == ['switch spine-0'], 'forgotten in a restart')
            expect(uses(fabric.tables(), 'spine-0') == 0, 'a restart routes by the drained switch')
            ask(fabric, 'undrain', '--all')
            expect(uses(fabric.tables(), 'spine-0') > 0, 'nothing leads to the switch after undrain')
            judge(fabric, opensm, ours='dfsssp')
        opensm.check_own_log()


# A random fabric by its seed, the switch that is drained, and the cables that fail meanwhile.
RETURNS = (115, 's05', (('s01', 3), ('s03', 3), ('s00', 4), ('s02', 5))), (125, 's03', (('s06', 3), ('s06', 4), ('s09', 3)))


@scenario('drain.transition')
def word(workdir):
    """What the log says of the tables that switches really hold, a drained one its own, and of those they get. A switch is drained,
    cables fail, so that all others have other tables, and it comes back: in one round that can deadlock."""
    os.makedirs(workdir, exist_ok=True)
    for seed, name, cables in RETURNS:
        net, counts = os.path.join(workdir, '%d.net' % seed), {}
        generate(net, 'random', 'switches=12', 'links=19', 'seed=%d' % seed)
        # Every second switch has no host.
        with open(net) as file:
            blocks = [b for b in file.read().split('\n\n') if not re.match(r'Ca\t1 "h\d[13579]"', b)]
        with open(net, 'w') as file:
            file.write(re.sub(r'(?m)^\[\d+\]\t"h\d[13579]".*\n', '', '\n\n'.join(blocks)))
        hold = Hold(workdir)
        with running(os.path.join(workdir, str(seed)), net, plugin_conf=CONF + 'hold_down_after = 0\n',
                     **hold.settings) as (fabric, opensm):
            def read():
                tables = fabric.tables()
                tables.rows = tables.ask_sls(fabric)
                return tables

            with_groups(fabric, opensm)
            opensm.resweep()
            before, start = read(), len(opensm.log)
            ask(fabric, 'drain', name)
            mixed(before, read(), opensm.log[start:], counts)
            for cable in cables:
                opensm.change(fabric.unlink(*cable))
            before, start = read(), len(opensm.log)
            hold.begin(opensm)
            undrain = subprocess.Popen([COMMAND, 'undrain', '--socket=' + os.path.join(fabric.dir, 'keys.sock'), name])
            first = hold.look(opensm)
            first.rows = before.rows
            expect(not undrain.wait(patience(90)), 'undrain has failed')
            opensm.wait_quiet()
            after = read()
            mixed(before, after, opensm.log[start:], counts)
            expect((True, False) in counts, 'one round would have done: nothing is shown')
            free(before, first, opensm.log[start:], 'the tables of before and of the first round')
            free(first, after, opensm.log[start:], 'the tables of the first round and the new ones')
            returned = next(s.guid for s in after.switches if s.name == name)
            lft = [next(list(s.lft) for s in t.switches if s.guid == returned) for t in (first, after)]
            expect(lft[0] == lft[1], 'the switch that came back has its new tables later than others')
        opensm.check_own_log()


@scenario('drain.own-cas')
def own_cas(workdir):
    """Management CAs on the last port of all switches; SHARP aggregation nodes on the spines alone. For whatif the spines are the
    switches without hosts, and drain takes one of them, which a restart leaves out, too; a leaf it refuses, and the spine at which
    the subnet manager is."""
    os.makedirs(workdir, exist_ok=True)
    mgmt, sharp = os.path.join(workdir, 'mgmt.net'), os.path.join(workdir, 'sharp.net')
    generate(mgmt, '--mgmt', 'kary', 'k=3', 'n=2')
    with open(mgmt) as file:
        blocks = [b for b in file.read().split('\n\n') if not b.startswith('Ca\t1 "mgmt-leaf')]
    with open(sharp, 'w') as file:
        text = re.sub(r'(?m)^\[\d+\]\t"mgmt-leaf.*\n?', '', '\n\n'.join(blocks))
        file.write(re.sub(r'mgmt-(spine-\d)', r'Mellanox Technologies Aggregation Node \1', text))
    for net, host in (mgmt, 'mgmt-spine-2'), (sharp, 'h0'):
        without = sorted(case['case'] for case in osmroutes('whatif', '--each=switch', net)['cases'])
        expect(without == ['spine-0', 'spine-1', 'spine-2'], 'whatif: %s have no hosts' % without)
        with Fabric(net, os.path.splitext(net)[0], host=host) as fabric:
            for name in 'first', 'again':
                with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, name=name,
                            env={'OSM_CACHE_DIR': fabric.dir}) as opensm:
                    opensm.wait_up()
                    if name == 'first':
                        ask(fabric, 'drain', 'spine-1')
                        for part in ('leaf-1', 'spine-2') if 'spine' in host else ('leaf-1',):
                            expect('cut off' in ask(fabric, 'drain', part, good=False), '%s is drained' % part)
                    expect([(p['what'], p['state']) for p in ask(fabric, 'drain')] == [('switch spine-1', 'out')],
                           '%s, %s' % (net, ask(fabric, 'drain')))
                    expect(uses(fabric.tables(), 'spine-1') == 0, '%s, %s: the drained spine is used' % (net, name))
                opensm.check_own_log()


@scenario('drain.last-way')
def last_way(workdir):
    """A spine is drained; then the other cables of a leaf die one by one: the last one makes the spine a way again, which the log
    says, and no host is cut off. When one of them is back the spine is out as before."""
    with running(workdir, 'tree-2', plugin_conf=CONF) as (fabric, opensm):
        whole = with_groups(fabric, opensm)
        leaf = next(s for s in whole.switches if s.hosts)
        others = [p for p, (far, _) in sorted(leaf.next.items()) if whole.switches[far].name != 'spine-0']
        expect(others and len(others) < len(leaf.next), 'the leaf has no other spine, or no cable to this one')
        ask(fabric, 'drain', 'spine-0')
        for port in others:
            expect('ERR OR20' not in opensm.log and uses(fabric.tables(), 'spine-0') == 0, 'used before it had to be')
            opensm.change(fabric.unlink(leaf.name, port))
        expect('ERR OR20: switch spine-0 is not left out' in opensm.log, 'the log does not say so')
        expect([p['state'] for p in ask(fabric, 'drain')] == ['suspended'], 'it is not listed as in use')
        expect(uses(judge(fabric, opensm, ours='dfsssp'), 'spine-0') > 0, 'the drained spine is not used')
        opensm.change(fabric.relink(leaf.name, others[-1]))
        expect([p['state'] for p in ask(fabric, 'drain')] == ['out'], 'it is not out again')
        expect(uses(fabric.tables(), 'spine-0') == 0, 'the drained spine is still used')
        ask(fabric, 'undrain', '--all')
        judge(fabric, opensm, ours='dfsssp')
    opensm.check_own_log(['ERR OR20'])


def is_bridge(whole, link):
    """Is there no other way between the ends of this link?"""
    near = next(v for v, s in enumerate(whole.switches) if s.name == link[0])
    far = whole.switches[near].next[link[1]][0]
    reached, todo = {near}, [near]
    for v in todo:
        new = {u for u, _ in whole.switches[v].next.values() if {u, v} != {near, far}} - reached
        reached |= new
        todo += new
    return far not in reached


@scenario('drain.in-the-way')
def in_the_way(workdir):
    """One link is held down, then another one flaps, without which hosts would be cut off: that one is used, and
    the first stays out. Requests that come before a sweep are judged together."""
    more = 'hold_down_after = 2\nhold_down_within = 600\nhold_down_calm = 600\n'
    net = generate(os.path.join(workdir, 'sparse.net'), 'random', 'switches=12', 'links=13', 'seed=1')
    with running(os.path.join(workdir, 'sparse'), net, 'dfsssp', plugin_conf=CONF + more) as (fabric, opensm):
        whole = judge(fabric, opensm, ours='dfsssp')
        sm = next(s for s in whole.switches for node, _ in s.hosts.values() if node == whole.data['from'])
        spare = next(link[:2] for link in whole.cables() if not is_bridge(whole, link))
        leaf = next(s for s in whole.switches if len(s.next) == 1 and s != sm)
        for (name, port), states in (spare, ['out']), ((leaf.name, *leaf.next), ['out', 'suspended']):
            for command in [fabric.unlink(name, port), fabric.relink(name, port)] * 2:
                opensm.change(command)
            parts = ask(fabric, 'drain')
            expect(sorted(p['state'] for p in parts) == states, 'flapped: %s' % parts)
        expect(uses(fabric.tables(), *spare) == 0, 'the first one is used')
        expect(opensm.log.count('ERR OR20') == 1, 'not said once')
        expect(not fabric.tables().routes().problems, 'LIDs are not reached')
    opensm.check_own_log(['ERR OR2'])
    with running(os.path.join(workdir, 'torus'), 'torus-4x4', 'dfsssp', plugin_conf=CONF) as (fabric, opensm):
        corner = fabric.tables().switches[-1]
        with Client(os.path.join(fabric.dir, 'keys.sock')) as client:
            for port in sorted(corner.next):
                client.send(op='drain', what='%s:%d' % (corner.name, port))
            said = [client.answer() for _ in corner.next]
        expect([s['ok'] for s in said] == [True, True, True, False] and 'cut off' in said[3]['error'], str(said))
        opensm.change()
        expect([p['state'] for p in ask(fabric, 'drain')] == ['out'] * 3, 'not out: %s' % ask(fabric, 'drain'))
    opensm.check_own_log()


@scenario('drain.flaps')
def flaps(workdir):
    """One cable flaps six times (`unit.control_drain` has the hundred): at most four changes of tables."""
    more = 'hold_down_within = 20\nhold_down_calm = 4\n'
    with running(workdir, 'ring-5', 'dfsssp', plugin_conf=CONF + more) as (fabric, opensm):
        whole = judge(fabric, opensm, ours='dfsssp')
        name, port, _ = whole.cables()[0]
        start = len(opensm.routed())
        for _ in range(6):
            for command in (fabric.unlink(name, port), fabric.relink(name, port)):
                sweeps = opensm.sweeps()
                fabric.console(command)
                wait_for('a sweep', lambda: opensm.sweeps() > sweeps, 60, opensm._alive)
        expect('ERR OR21' in opensm.log, 'not said that the link is held down')
        expect([p['why'] for p in ask(fabric, 'drain')] == ['held'], 'it is not listed')
        wait_for('the end of the calm time', lambda: 'has been calm' in opensm.log, 30, opensm._alive)
        opensm.wait_quiet()
        changed = [sweep['lft']['entries_changed'] for sweep in opensm.routed()[start:]]
        expect(sum(n > 0 for n in changed) <= 4, '%d changes: %s' % (sum(n > 0 for n in changed), changed))
        back = judge(fabric, opensm, ours='dfsssp')
        expect(entries(back) == entries(whole), 'the first tables have not come back')
        ask(fabric, 'drain', '%s:%d' % (name, port))
        for other, its, _ in whole.cables()[1:]:
            said = ask(fabric, 'drain', '%s:%d' % (other, its), good=False)
            expect('cut off' in said, 'a second cable of a ring: %s' % said)
    opensm.check_own_log(['ERR OR21'])


@scenario('drain.twins')
def twins(workdir):
    """Two spines that their vendor gave one name: the log and the lists tell them apart, and each way to name one
    of them drains that one."""
    net = os.path.join(workdir, 'twins.net')
    with open(find_fabric('tree-2')) as plain, open(net, 'w') as made:
        made.write(''.join(line.rstrip('\n') + ' # "Twin 36 ports"\n' if line.startswith('Switch')
                           and ('"spine-1"' in line or '"spine-2"' in line) else line for line in plain))
    with running(workdir, net, 'dfsssp', plugin_conf=CONF) as (fabric, opensm):
        found = sorted((e for e in fabric.tables().ends if e.name == 'Twin 36 ports'), key=lambda e: e.guid)
        expect(len(found) == 2, 'no twins')
        guids = [int(e.guid, 16) for e in found]
        name = 'Twin 36 ports 0x%016x' % (guid := guids[1])
        said = ask(fabric, 'drain', 'Twin 36 ports', good=False)
        expect(all('0x%016x' % g in said for g in guids), said)
        expect('did you mean "spine-0"?' in ask(fabric, 'drain', 'spine-00', good=False), 'no other name is proposed')
        for word in ('0x%x' % guid, '%x' % guid, 'S-%016x' % guid, 'lid:%d' % found[1].lid, name):
            parts = ask(fabric, 'drain', word)
            expect([(p['what'], p['guid'], p['state']) for p in parts] ==
                   [('switch ' + name, '0x%016x' % guid, 'out')], '%s: %s' % (word, parts))
            expect(ask(fabric, 'undrain', word if not word.startswith('lid') else name) == [], word)
        opensm.hear('Unlink "spine-2"[1]')
        expect(name + ' port 1' in opensm.log, 'the log does not tell which of the twins lost a cable')
    opensm.check_own_log()


def words(fabric, *more):
    return [COMMAND, 'status', '--socket=' + os.path.join(fabric.dir, 'keys.sock'), *more]


def status(fabric, good=True):
    """The JSON; good: tables that osmroutes has checked are in use."""
    said = subprocess.run(words(fabric, '--json'), capture_output=True, text=True, timeout=60)
    expect(said.returncode == (0 if good else 1) and not said.stderr, 'exit code %d: %s' % (said.returncode, said.stderr))
    return json.loads(said.stdout)


def seconds(text):
    return time.mktime(time.strptime(text[:19], '%Y-%m-%d %H:%M:%S'))


@scenario('status.ours')
def ours(workdir):
    """The default engine with default options: what is said is what the switches hold, what the metrics have and what was asked;
    a user who may connect reads it too, others get a sentence, as do all when opensm is gone."""
    more = 'control_mode = 0666\nmetrics_dir = .\n'
    began = time.time() - 1
    # The sources may lie where another user may not look, so command and socket are in a folder that all may enter.
    with tempfile.TemporaryDirectory() as shared, Fabric(find_fabric('tree-3'), workdir) as fabric:
        os.chmod(shared, 0o755)
        os.makedirs(os.path.join(shared, 'src', 'cli'))
        command, socket = shutil.copy(COMMAND, os.path.join(shared, 'src', 'cli')), os.path.join(shared, 'keys.sock')
        shutil.copytree(os.path.join(BUILD, 'osmroutes'), os.path.join(shared, 'osmroutes'))	# the library that it shares
        os.symlink(socket, os.path.join(fabric.dir, 'keys.sock'))
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS,
                    plugin_conf='control_socket = %s\n' % socket + more) as opensm:
            opensm.wait_up()
            tables = judge(fabric, opensm, ours='dfsssp')
            first = status(fabric)
            name, port, _ = tables.cables()[0]
            ask(fabric, 'drain', '%s:%d' % (name, port))
            opensm.wait_quiet()
            found, claims = status(fabric), Claims(opensm.log)
            now, head = found['status'], (found['opensm'], found['state'])
            version = subprocess.run([OPENSM, '--version'], capture_output=True, text=True).stdout
            expect(head == (re.search(r'OpenSM [\w.]+', version).group(), 'MASTER'), str(head))
            expect((now['routed_by'], now['ours'], now['engine'], now['outcome']) == ('dfsssp', True, 'dfsssp', 'routed'), str(now))
            expect(now['since'] == first['status']['since'], 'it began to route twice')
            expect(began <= seconds(now['since']) <= seconds(now['time']) <= time.time(), 'times: %s' % now)
            expect((now['digest'], now['load'], now['vls']['used'], now['fabric']['hosts']) ==
                   (claims.digest, {'efi': claims.efi, 'efi_per_capacity': claims.efi, 'efi_bound': claims.efi_bound,
                                    'efi_over_bound': claims.efi / claims.efi_bound}, claims.n_vls, len(tables.host_lids)), str(now))
            line = re.findall(r'; proven: (.*?); busiest link', opensm.log)[-1]
            expect(now['check'] == {'passed': True, 'text': line}, 'proven: %s; the log: %s' % (now['check'], line))
            expect([(p['what'].split(' port ')[0], p['port'], p['state']) for p in found['parts']] == [(name, port, 'out')],
                   str(found['parts']))
            with open(glob.glob(os.path.join(opensm.dir, 'osmroutes-0*.json'))[0]) as file:
                expect(json.load(file)['digest'] == now['digest'], 'the metrics are of another sweep')
            people = subprocess.run(words(fabric), capture_output=True, text=True).stdout
            expect(re.search(r'times the least possible +%.3f' % (claims.efi / claims.efi_bound), people), people)
            other = subprocess.run([command, 'status', '--socket=' + socket, '--json'], capture_output=True, text=True,
                                   cwd='/', user=65534 if not os.getuid() else None)
            expect(other.returncode == 0 and json.loads(other.stdout) == status(fabric), 'another user: ' + other.stderr)
        opensm.check_own_log()
        gone = subprocess.run(words(fabric), capture_output=True, text=True)
        expect((gone.returncode, gone.stdout, gone.stderr.count('\n')) == (2, '', 1) and 'it does not run' in gone.stderr, str(gone))


def routes_nothing(log):
    return re.findall(r'osmroutes: loaded, but routes nothing: (.*)', log)


@scenario('status.others')
def others(workdir):
    """routing_engine names no engine: OpenSM's minhop routes, which the log says once; a cable that was drained is in use, and
    nothing says that it is left out. Where dmodk refuses and minhop routes instead, that is said at each change."""
    cache = {'OSM_CACHE_DIR': os.path.join(workdir, 'cache')}
    os.makedirs(cache['OSM_CACHE_DIR'])
    with Fabric(find_fabric('ring-5'), os.path.join(workdir, 'ring')) as fabric:
        for name, engine in (('first', 'dfsssp'), ('wrong', 'dfssp'), ('right', 'dfsssp')):
            with Opensm(fabric, engine, plugin=True, options=QOS, plugin_conf=CONF, name=name, env=cache) as opensm:
                opensm.wait_up()
                opensm.resweep()
                if name == 'first':
                    ask(fabric, 'drain', '%s:%d' % judge(fabric, opensm, ours='dfsssp').cables()[0][:2])
                now = status(fabric, good=engine == 'dfsssp')['status']
            expect(('still left out: 1 drained part' in opensm.log) == (name == 'right'), '%s: left out or not?' % name)
            if engine == 'dfsssp':
                expect(not routes_nothing(opensm.log) and now['ours'], name)
                continue
            expect((now['routed_by'], now['ours']) == ('minhop', False) and 'engine' not in now, str(now))
            expect(routes_nothing(opensm.log) == ["OpenSM's minhop routes; osmroutes serves no engine of routing_engine dfssp"],
                   str(routes_nothing(opensm.log)))
    with running(os.path.join(workdir, 'tree'), 'tree-2', 'dmodk', plugin_conf=CONF + '[dmodk]\nmax_missing = 0\n') as (fabric,
                 opensm):
        cable = judge(fabric, opensm, ours='dmodk').cables()[0][:2]
        for change, who in ((fabric.unlink, 'minhop'), (fabric.relink, 'dmodk'), (fabric.unlink, 'minhop')):
            opensm.change(change(*cable))
            opensm.resweep()
            found = status(fabric, good=who == 'dmodk')
            now = found['status']
            expect((now['routed_by'], now['ours']) == (who, who == 'dmodk'), str(now))
        expect(now['outcome'] == 'failed' and not now['check']['passed'] and 'load' not in now, str(now))
        warned = [w['text'] for w in found['warnings']]
        expect(len(warned) == len(set(warned)) and any(w.startswith('ERR OR04: dmodk: ') for w in warned), str(warned))
    expect(routes_nothing(opensm.log) == ["OpenSM's minhop routes"] * 2, str(routes_nothing(opensm.log)))


@scenario('status.log')
def log(workdir):
    """The last 50 sweeps, over a restart: a cable that dies and returns, a dead switch in one entry, a drain; each with its cause,
    what had changed, entries as the switches have them, and load. A file that is too long, or none, is no reason to stop."""
    cache = {'OSM_CACHE_DIR': os.path.join(workdir, 'cache')}
    os.makedirs(cache['OSM_CACHE_DIR'], exist_ok=True)

    def sweeps(fabric, *words, code=0):
        said = subprocess.run([COMMAND, 'status', '--json', '--socket=' + os.path.join(fabric.dir, 'keys.sock'), *(words or ['--log'])],
                              capture_output=True, text=True, timeout=patience(30))
        expect(said.returncode == code, '%s: exit code %d: %s' % (words, said.returncode, said.stderr))
        return json.loads(said.stdout)['sweeps'] if said.stdout else said.stderr

    def last_change(fabric):
        return next(s for s in reversed(sweeps(fabric)) if s.get('change'))

    def differ(x, y):
        return sum(a.forward(lid) != b.forward(lid) for a, b in zip(x.switches, y.switches) for lid in y.lids)

    with Fabric(find_fabric('torus-4x4'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, env=cache) as opensm:
            opensm.wait_up()
            opensm.wait_quiet()
            first, = sweeps(fabric)
            whole = fabric.tables()
            expect((first['cause'], first['outcome'], first['load'], 'change' in first) == ('start', 'routed', whole.edge_forwarding_index()[0], False), first)
            name, port, far = whole.cables()[5]
            opensm.change(fabric.unlink(name, port))
            opensm.wait_quiet()
            broken = fabric.tables()
            new = sweeps(fabric)[1:]
            cut = next(s for s in new if s.get('change'))
            expect(cut['cause'] in ('trap', 'discovery') and re.match(r'1 cable missing \(.*\)$', cut['change']) and '%s port %d' % (name, port) in cut['change'], cut)
            expect(sum(s['entries_changed'] for s in new) >= differ(whole, broken) > 0 and new[-1]['load'] == broken.edge_forwarding_index()[0], new)
            opensm.change(fabric.relink(name, port))
            opensm.wait_quiet()
            expect('1 cable new (' in last_change(fabric)['change'], last_change(fabric))
            ask(fabric, 'drain', '%s:%d' % (name, port))
            drained = last_change(fabric)
            expect(drained['cause'] == 'drain' and '1 cable missing' in drained['change'], drained)
            ask(fabric, 'undrain', '--all')
            victim = whole.switches[next(e.switch for e in whole.ends if e.name == 'h11')]
            opensm.change(fabric.unlink(victim.name))
            opensm.wait_quiet()
            dead = [s['change'] for s in sweeps(fabric) if victim.name in s.get('change', '') and 'switch' in s['change']]
            expect(dead == ['switch %s missing, with %d cables' % (victim.name, len(victim.next) + len(victim.hosts))], dead)
            # A sweep that finds what the one before it found is no entry of its own.
            for _ in range(3):
                opensm.resweep()
            opensm.wait_quiet()
            before = sweeps(fabric)
            expect(before[-1]['times'] >= 3 and not before[-1]['entries_changed'], before[-2:])
            expect(sweeps(fabric, '--log=1h') == before and len(sweeps(fabric, '--log=2100-01-01')) == 0, 'since when?')
            expect('expected a time to look back' in sweeps(fabric, '--log=yesterday', code=2), 'yesterday')
        path, = glob.glob(os.path.join(cache['OSM_CACHE_DIR'], 'osmroutes-history-*.json'))
        with open(path) as file:
            kept = json.load(file)
        expect([s['time'] for s in kept][-1] > 0 and len(kept) == len(before), '%d of %d sweeps are kept' % (len(kept), len(before)))
        with open(path, 'w') as file:
            json.dump(['no sweep'] + [dict(kept[0], time=n + 1) for n in range(60)], file)
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, env=cache) as opensm:
            opensm.wait_up()
            opensm.wait_quiet()
            after = sweeps(fabric)
            own = [s for s in after if s['cause'] != 'start']
            expect(len(after) == 50 and own[0]['cause'] == 'restart' and own == after[-len(own):], after[-3:])
        with open(path, 'w') as file:
            file.write('{ no JSON')
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf=CONF, env=cache) as opensm:
            opensm.wait_up()
            expect(len(sweeps(fabric)) >= 1, 'no sweep')
            opensm.check_own_log()
