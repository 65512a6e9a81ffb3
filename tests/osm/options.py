# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Configurations, right and wrong, a row each: of the plugin, of OpenSM's LMC, lanes, SLs, partitions and QoS policies. Who
routes, what the log says, what the tables are. Of each life of ours the command says the same tables by the same files."""
import functools
import itertools
import os
import re
import tempfile

from judge import QOS, Claims, compare, expect, generate, judge, scenario
from osmtest import BUILD, LOG_DUMPS, LOG_PLAIN, Failure, Fabric, Opensm, Skip, find_fabric, osmroutes, running, wait_for
from restart import kill

BY_SL = '[dfsssp]\nany_sl = off\n'
ANY_SL = '[dfsssp]\nany_sl = on\n'
# What the log says where something is not proven.
SAID = {'deadlock-free': 'not proven free of deadlock: packets', 'any SL': 'only packets on the SL of their path record',
        'replies': 'replies on the SL of their request', 'multicast': 'ERR OR07'}
ROWS = {}	# test -> its lives


def row(test, net, engine='dfsssp', conf='', **more):
    """One more life of a test; more: of live()."""
    if test not in ROWS:
        ROWS[test] = []
        scenario(test)(lambda workdir: walk(workdir, test))
    ROWS[test].append((net, engine, conf, more))


def walk(workdir, test):
    """[(claims, words that its log says to be unproven)] of the lives by osmroutes."""
    found = []
    for n, (net, engine, conf, more) in enumerate(ROWS[test]):
        try:
            found += live(os.path.join(workdir, str(n)), net, engine, conf, **more)
        except Failure as f:
            raise Failure('%s on %s, %r %s: %s' % (engine, net, conf[:60], more, f))
    return found


@functools.lru_cache(maxsize=None)
def stock_lfts(netfile, engine):
    """LFTs of OpenSM's own engine, without the plugin."""
    with tempfile.TemporaryDirectory() as folder, \
            running(folder, netfile, engine, plugin=False) as (fabric, opensm):
        return [s.lft for s in fabric.tables('lft').switches]


def live(workdir, net, engine, conf, options=(), files=(), ours=None, stock=None, says=(), silent=(), errors=(), many=(),
         look=None, judged=True, offline=(), sim=None, log_flags=LOG_PLAIN, **wanted):
    """Up, judged, and down.

    net: a name, or words of `osmroutes generate`. options: of OpenSM, or a function of the fabric that makes them; DIR is
    where the files {name: text} are, or folders {name: None}. ours: who serves, if not the first engine; stock: OpenSM's engine that routes instead,
    as without the plugin. says, silent: what stands in the log, or does not. errors: for each error line of it the words in
    it; but for those with one of many, the first of which is there. wanted: values of Claims. offline: words of the command, None if it cannot know.
    """
    os.makedirs(workdir, exist_ok=True)
    for name in files:
        if files[name] is None:
            os.makedirs(os.path.join(workdir, name))
            continue
        with open(os.path.join(workdir, name), 'w', encoding='utf-8') as file:
            file.write(files[name])
    path = find_fabric(net) if isinstance(net, str) else generate(os.path.join(workdir, 'fabric.net'), *net)
    routed = stock or ours or engine.split(',')[0]
    with Fabric(path, workdir, sim=sim) as fabric:
        options = dict(options(fabric) if callable(options) else options)
        options = {name: str(value).replace('DIR', fabric.dir) for name, value in dict(QOS, **options).items()}
        with Opensm(fabric, engine, plugin=True, options=options, plugin_conf=conf, log_flags=log_flags) as opensm:
            opensm.wait_up(120)
            if stock or not judged:
                tables = fabric.tables('lft')
                expect(not tables.routes(tables.host_lids).problems, 'LIDs are not reached')
            else:
                tables = judge(fabric, opensm, ours=routed.replace('osmroutes-', ''))
            if look:
                look(fabric, opensm, tables)
            if not stock and offline is not None:
                opensm.wait_quiet()
                compare(path, opensm, opensm.dump('opensm-subnet.lst'), *offline)
        expect(opensm.engine_used() == routed, '%s routed' % opensm.engine_used())
    for text in says:
        expect(re.search(text, opensm.log), 'the log does not say: ' + text)
    for text in silent:
        expect(not re.search(text, opensm.log), 'the log says: ' + text)
    lines = opensm.errors(many)
    expect(len(lines) == len(errors) and all(word in line for line, words in zip(lines, errors) for word in words),
           'error lines: %s' % lines)
    expect(not many or any(many[0] in line for line in opensm.errors()), 'no error line of ' + ''.join(many[:1]))
    if stock:
        expect(not re.search(r'osmroutes: .* hosts? on \d+ switch(?:es)?,', opensm.log), 'osmroutes routed all the same')
        expect([s.lft for s in tables.switches] == stock_lfts(path, stock), 'the tables are not those of the stock engine')
        return []
    claims = Claims(opensm.log)
    for name, value in wanted.items():
        expect(getattr(claims, name) == value, '%s is %s' % (name, getattr(claims, name)))
    return [(claims, unproven_is_said(opensm.log))]


def unproven_is_said(log):
    """No missing proof goes unsaid, and nothing is said where all is proven."""
    line = next(l for l in log.splitlines() if '; proven: reachable' in l)
    lacks = set(re.sub('.*; not proven: |;.*', '', line[line.index('reachable'):]).split(', ')) & set(SAID)
    lacks = lacks if '; not proven: ' in line else set()
    lacks = {'deadlock-free'} if 'deadlock-free' in lacks else lacks
    expect({word for word, text in SAID.items() if text in log} == lacks, 'lacking: %s; %s' % (lacks, line))
    return lacks


# Which engines osmroutes takes over ---------------------------------------------------------------

R12 = 'random-12'
row('option.takeover', R12, conf='takeover = none\n', stock='dfsssp')
row('option.takeover', R12, conf='takeover = sssp\n', stock='dfsssp')
row('option.takeover', R12, 'sssp', 'takeover = sssp\n')
# Names that can only mean ours.
row('option.takeover', R12, 'osmroutes-dfsssp', 'takeover = none\n')
row('option.takeover', R12, 'osmroutes-sssp', 'takeover = none\n')

# What is wrong is one error line that names it, and says who routes.
for _text, _named in (
        ('nonsense = 1\n', 'nonsense'),
        ('[dfsssp]\nnonsense = 1\n', 'nonsense'),
        ('[nosuchengine]\nrounds = 1\n', 'nosuchengine'),
        ('max_vls = 16\n', 'max_vls'),
        ('max_vls = many\n', 'max_vls'),
        ('max_vls = -1\n', 'max_vls'),
        ('takeover = lash\n', 'takeover'),
        ('on_error = perhaps\n', 'on_error'),
        ('this is no option\n', 'osmroutes.conf:1'),
        ('[dfsssp\n', 'osmroutes.conf:1'),
        ('\x01\x02\x7f\n' * 3, 'osmroutes.conf:1'),
        ('max_vls = ' + '1' * 5000 + '\n', 'osmroutes.conf:1')):
    row('option.mistakes', R12, conf=_text, stock='dfsssp', errors=[('OR01', _named, 'falls back to its own engines')])
# event_plugin_options is shared: others' words are none of our business, ours must be right.
for _words in ('osmroutes.nonsense=1', 'osmroutes.max_vls', 'osmroutes.dfsssp.nonsense=1', 'osmroutes.config=/nonexistent',
               'max_vls=4', 'dfsssp.max_vls=3', 'osmroutes.config=/', 'osmroutes.max_vls=017',
               'osmroutes.config=/proc/self/pagemap'):	# has no end
    row('option.mistakes-in-opensm-conf', R12, options={'event_plugin_options': _words}, stock='dfsssp', errors=[('OR01',)])
for _words in ('max_vls', 'lash.max_vls=3', 'someoneelse=5 other.option', 'osmroutes.max_vls=3 someoneelse',
               'osmroutes.max_vls=3, other.option=7'):
    row('option.mistakes-in-opensm-conf', R12, options={'event_plugin_options': _words + ' osmroutes.log_details=yes'})
# A comma in the name of the file belongs to it; one before the next option does not.
for _words in ('osmroutes.config=%s', 'osmroutes.config=%s,osmroutes.takeover=dfsssp,sssp', 'other.option, osmroutes.config=%s, other.option=7'):
    row('option.config-path', R12, options={'event_plugin_options': _words % '../vls,3.conf'}, files={'vls,3.conf': 'max_vls = 3\nlog_details = yes\n'},
        says=['3 virtual lanes available'])
# What README shows: comments on lines of their own and behind values.
row('option.comments', R12, conf='# ours\nmax_vls = 4             # of the plugin\n[dfsssp]\n  any_sl_cost = 3\t# of one engine\n',
    says=['4 virtual lanes available'])
# A path of 240 bytes, and long comments.
LONG = '../' + 'x' * 237
row('option.comments', R12, conf='# %s\nmetrics_dir = %s   # a comment\n[dfsssp]\n# %s\n' % ('y' * 300, LONG, 'z' * 300), files={LONG[3:]: None},
    look=lambda fabric, opensm, _: wait_for('metrics', lambda: len(os.listdir(os.path.join(opensm.dir, LONG))) == 2, 10))


@scenario('option.shipped')
def shipped(workdir):
    """osmroutes.conf as it is installed, with every line in force, is accepted and changes nothing."""
    path = os.path.join(BUILD, 'manual', 'osmroutes.conf')
    if not os.path.exists(path):
        raise Skip('built without osmroutes.conf')
    with open(path) as file:
        lines = file.read().splitlines()
    active = [l[1:] if l[:1] == '#' and l[1:2] != ' ' else l for l in lines]
    expect(sum(l != a for l, a in zip(lines, active)) > 10, 'no options in the file')
    ROWS['shipped'] = [(R12, 'dfsssp', conf, {}) for conf in
                       ('', *(re.sub('#?log_details = no', 'log_details = yes', '\n'.join(of) + '\n') for of in (lines, active)))]
    expect(len({claims.digest for claims, _ in walk(workdir, 'shipped')}) == 1, 'the tables differ')


@scenario('option.changed-file')
def changed_file(workdir):
    """SIGHUP does not read our file again: one line says so for each change, none without one."""
    with running(workdir, 'ring-5', 'dfsssp', plugin_conf='max_vls = 4\n') as (fabric, opensm):
        opensm.resweep()
        path = re.search(r'ready, options from (\S+)', opensm.log).group(1)
        said = lambda: opensm.log.count('%s has changed; osmroutes reads it again when opensm restarts' % path)
        expect(said() == 0, 'a change is said, and there was none')
        for n in (1, 2):
            with open(os.path.join(opensm.dir, path), 'a', encoding='utf-8') as file:
                file.write('# %d\n' % n)
            opensm.resweep()
            opensm.resweep()
            expect(said() == n, '%d changes, and %d times it is said' % (n, said()))
        # One line for the VLs, not one a sweep.
        expect(opensm.log.count('virtual lanes available') == 1, 'the VLs are said more than once')


# Who routes where osmroutes does not --------------------------------------------------------------

row('option.refuse', R12, 'dfsssp,lash', 'nonsense = 1\non_error = refuse\n', stock='lash', errors=[('OR01', 'nonsense'), ('OR03', 'nonsense')])
# A ring needs two VLs, and is no tree.
row('option.next-engine', 'ring-5', 'dfsssp,minhop', 'max_vls = 1\n[dfsssp]\ndetours = no\n', stock='minhop',
    errors=[('OR04', 'virtual lane')],
    look=lambda fabric, opensm, tables: expect(sls_of(tables.ask_sls(fabric)) <= {0, 255}, 'SLs of the engine that failed'))
row('option.next-engine', 'ring-5', 'dmodk,dfsssp', ours='dfsssp', offline=None, errors=[('OR04', 'not a fat tree', 'dfsssp of osmroutes is next')])
row('option.next-engine', 'ring-5', 'dmodk', stock='minhop', errors=[('OR04', "warning: OpenSM's minhop is next", 'may deadlock')])
row('option.next-engine', 'tree-2', 'angara,updn', stock='updn', errors=[('angara', 'not a torus, mesh or HyperX')])
# Another engine for a tree than for a torus, and the log says which and why.
row('option.choice', 'tree-2', 'osmroutes', says=[r'chosen: dmodk \('])
row('option.choice', 'torus-4x4', 'osmroutes', says=[r'chosen: dfsssp \('])


# Options of OpenSM --------------------------------------------------------------------------------

def guids(fabric):
    hosts = [p['guid'] for n in fabric.read_back('lft')['nodes'] if n['type'] == 'ca' for p in n['ports']]
    for name, part in ('cn', hosts[::2]), ('io', hosts[1::4]):
        with open(os.path.join(fabric.dir, name), 'w') as file:
            file.writelines(guid + '\n' for guid in part)
    return {'cn_guid_file': 'DIR/cn', 'io_guid_file': 'DIR/io'}


def mistaken(fabric):
    nodes = [n['guid'] for n in fabric.read_back('lft')['nodes'] if n['type'] == 'ca']
    for name, lines in ('cn', ['# none yet']), ('io', nodes[:2]):
        with open(os.path.join(fabric.dir, name), 'w') as file:
            file.writelines(line + '\n' for line in lines)
    return {'cn_guid_file': 'DIR/cn', 'io_guid_file': 'DIR/io'}


def ignored(fabric):
    guid = next(n['guid'] for n in fabric.read_back('lft')['nodes'] if n['name'] == 'spine-0')
    with open(os.path.join(fabric.dir, 'ignored'), 'w') as file:
        file.writelines('%s %d\n' % (guid, p) for p in range(1, 5))
    return {'port_prof_ignore_file': 'DIR/ignored'}


# They change the order of routing, not its quality; one that is not there is an error line and no more.
row('option.guid-files', 'tree-3', options=guids, offline=None)
row('option.guid-files', 'tree-2', options={'cn_guid_file': 'DIR/absent'}, errors=[('OR02', 'absent')])
# What is no list of ports gets a word: nothing in it, and the GUIDs of nodes.
row('option.guid-files', 'tree-2', options=mistaken, errors=[('OR02', 'cn_guid_file', 'no GUID stands in it'),
                                                             ('OR02', 'io_guid_file', '0 of 2 GUIDs are GUIDs of end ports, 2 are GUIDs of nodes')])
# Ports whose load does not count still carry routes.
row('option.guid-files', 'tree-2', options=ignored, offline=None)


def lid_matrix(fabric, opensm, tables):
    """OpenSM's dump of hops by port knows distances."""
    hops = {}
    with open(opensm.dump('opensm-lid-matrix.dump')) as file:
        for line in file:
            if line.startswith('Switch'):
                here = hops['0x%016x' % int(line.split()[-1], 16)] = {}
            elif line.startswith('0x'):
                words = line.split('#')[0].split()
                here[int(words[0].rstrip(':'), 16)] = [int(w, 16) for w in words[1:] if w != ':']
    for v, s in enumerate(tables.switches):
        for lid in tables.host_lids:
            far = tables.dist[tables.end_of[lid].switch][v] + 1
            expect(min(hops[s.guid][lid]) == far, 'not %d hops from %s to LID %d' % (far, s.name, lid))
    for name in ('opensm-lfts.dump', 'opensm.fdbs', 'opensm-sl2vl.dump', 'opensm-subnet.lst'):
        expect(os.path.getsize(opensm.dump(name)) > 0, name + ' is empty')


row('option.routing-log-flag', 'tree-3', log_flags=LOG_DUMPS, look=lid_matrix)


def several_lids(bits, ways=0):
    """2^bits LIDs a port, which go as many ways from a leaf, as few spines allow."""
    def look(fabric, opensm, tables):
        expect(all(e.lmc == bits for e in tables.ends if e.host), 'the LMC is another')
        leaves = {e.switch for e in tables.ends if e.host}
        fewest = min(len({tables.switches[v].forward(lid) for lid in e.lids})
                     for e in tables.ends if e.host for v in leaves if v != e.switch)
        expect(not ways or fewest == ways, '%d LIDs a port use %d of 4 spines' % (1 << bits, fewest))
        # opensm-subnet.lst does not say LMCs; opensm-lfts.dump knows them.
        report = osmroutes('check', opensm.dir)
        if ways and bits:
            split = {name: report['verdict']['split'][name] for name in ('first', 'two', 'all', 'free', 'one')}
            expect((report['lids'], report['tables']['foreign'], report['verdict']['efi'], report['verdict']['efi_all']) == (
                len(tables.lids), 0, tables.edge_forwarding_index()[0], tables.edge_forwarding_index(all_lids=True)[0]),
                'check on the dumps says %s' % report)
            # The plugin takes fewer bisections, of the same sequence.
            said = opensm.routed()[-1]['split']
            expect(all(abs(split[name] - said[name]) < 0.03 for name in split) and said['lids'] == 1 << bits,
                   'check says %s of the LIDs, the plugin %s' % (split, said))
    return dict(options=dict(lmc=bits, lmc_esp0='TRUE', reassign_lids='TRUE'), look=look, log_flags=LOG_DUMPS)


# The tree has four spines; in the last one ports of one host are on two switches.
for _net, _bits, _ways in (('tree-2', 0, 1), ('tree-2', 1, 2), ('tree-2', 2, 4), ('tree-2', 3, 4), (R12, 1, 0), (R12, 3, 0), ('dual-port', 2, 0)):
    row('lmc', _net, offline=None if _net == 'dual-port' else ['--lmc=%d' % _bits], **several_lids(_bits, _ways))

# Every other engine; what a torus needs lanes for, too.
for _engine, _net, _bits, _ways in (('dmodk', 'tree-2', 1, 2), ('sssp', 'tree-2', 2, 4), ('p2sssp', R12, 3, 0),
                                    ('angara', 'torus-4x4', 2, 0), ('osmroutes', 'tree-2', 3, 4)):
    row('lmc', _net, _engine, offline=['--lmc=%d' % _bits], **several_lids(_bits, _ways))

# One switch, and no cable between any.
for _engine in 'dfsssp', 'sssp':
    row('lmc', ('mesh', 'dims=1', 'hosts=3'), _engine, n_lids=4, offline=None)


# Virtual lanes ------------------------------------------------------------------------------------

def two_lanes(fabric, opensm, tables):
    """From the first sweep on: OpenSM masks SL2VL with what it read before."""
    vls = {p['op_vls'] for n in tables.data['nodes'] for p in n['ports'] if p['port'] and p['state'] == 4}
    expect(vls == {2}, 'operational VLs are %s' % vls)
    opensm.resweep()
    judge(fabric, opensm, ours='dfsssp')


def one_lane(fabric, opensm, tables):
    """Over longer paths, safe with any SL."""
    expect(not tables.cycles(None) and Claims(opensm.log).n_longer, 'credit loops on one VL, or no longer route')


def sls_of(rows):
    return set().union(*rows.values())


def partitions(*sls):
    """A default partition on the first of these SLs, and others."""
    lines = ['%s, sl=%d : ALL=full ;\n' % (name, sl) for name, sl in
             zip(('Default=0x7fff, ipoib', 'storage=0x8001', 'third=0x8002'), sls)]
    return dict(options={'partition_config_file': 'DIR/partitions.conf'}, files={'partitions.conf': ''.join(lines)})


def policy(sl):
    text = 'qos-levels\n  qos-level\n    name: DEFAULT\n    sl: %d\n  end-qos-level\nend-qos-levels\n' % sl
    return dict(options={'qos_policy_file': 'DIR/qos-policy.conf'}, files={'qos-policy.conf': text})


row('vl.budget', 'ring-5', options={'max_op_vls': 2}, look=two_lanes, budget=2, n_vls=2, says=['max_op_vls'])
row('vl.budget', 'ring-5', options={'max_op_vls': 1}, look=one_lane, n_vls=1)
for _vls in 2, 3:
    row('vl.budget', 'ring-5', conf='max_vls = %d\n' % _vls, says=['limited by max_vls'],
        look=lambda fabric, opensm, tables, vls=_vls: expect(max(sls_of(tables.rows) - {255}) < vls, 'SLs beyond max_vls'))
# Switches without SL2VL tables, or with one lane: one sentence, one lane, and safe all the same.
SPARSE = ('random', 'switches=16', 'links=36', 'seed=2')	# needs two lanes; all its switches have nine ports
for _lacks, _said in ('sl2vl', 'cannot map SLs to VLs'), ('vls', 'limited by the VLCap of'):
    row('vl.budget', SPARSE, conf=ANY_SL, sim={'OSR_SIM_LACKS': _lacks}, says=[_said], silent=['(?s)%s.*%s' % (_said, _said)],
        budget=1, n_vls=1, offline=None)
# Tables of the administrator that would close loops are replaced; some drop SLs, or give VLs no weight.
for _kind in 'qos', 'qos_swe', 'qos_ca':
    row('vl.options', 'ring-5', options={_kind + '_sl2vl': '0' + ',0' * 15}, says=['SL2VL tables are set by osmroutes'])
row('vl.options', 'ring-5', options={'qos_sl2vl': '0' + ',15' * 15})
row('vl.options', 'ring-5', options={'qos_vlarb_low': '0:4', 'qos_vlarb_high': '0:4'}, says=['no weight'])
# Any SL is safe on one lane; what is claimed of those that never arrive is not that they may be used.
PROVEN, WARNING = 'proven: reachable, deadlock-free, replies, %s, multicast', 'warning: packets on SL 3 of a partition'
_drop = partitions(0, 3)
_drop['options']['qos_sl2vl'] = '0,0,0,15,15,0' + ',15' * 10
row('vl.options', 'tree-2', says=[PROVEN % 'any SL'], silent=[WARNING])
row('vl.options', 'tree-2', says=[PROVEN % 'SLs 0-2 5', WARNING], judged=False, **_drop)
row('vl.options', 'tree-2', says=[PROVEN % 'SLs 0-7'], silent=[WARNING], options={'qos': 'FALSE'})
# A VL without a weight sends nothing: its SLs are not claimed, and a partition on one is warned of.
_mute, MUTE = partitions(3), 'warning: packets on SL 3 of a partition or QoS level are never sent'
_mute['options'].update(qos_vlarb_low='0:4', qos_vlarb_high='0:4')
row('vl.options', 'tree-2', says=[PROVEN % 'SLs 0 8', MUTE], silent=['are dropped'], judged=False, **_mute)
# VL 10 of a port with 8 is no VL of its own: its entry is free for a VL in use. Of 15 VLs as many are used as the tables, 8 entries here, serve.
row('vl.options', 'ring-5', 'p2sssp', options={'qos_swe_vlarb_low': '0:4,10:4', 'qos_swe_vlarb_high': '0:0'}, n_vls=8)


def fifteen(fabric, opensm, tables):
    """The first sweep reads 8 operational VLs."""
    opensm.change()
    opensm.change()
    judge(fabric, opensm, ours='p2sssp')


row('vl.options', ('dragonfly', 'a=4', 'h=1', 'p=1'), 'p2sssp', sim={'OSR_SIM_VLS': '5'}, look=fifteen, budget=9, n_vls=9,
    says=['9 virtual lanes available: VL arbitration tables'], offline=None)
# sssp where nothing is safe; and by a CA's table alone, where the SA gives no paths although the routing has an SL for them.
row('vl.options', ('slimfly', 'q=3', 'p=1'), 'sssp', 'max_vls = 1\n', options={'qos_swe_sl2vl': ','.join(str(15 - sl) for sl in range(16))},
    says=['packets on SL 0 of a partition or QoS level are dropped'], judged=False)
_no_paths = partitions(13)
_no_paths['options']['qos_ca_sl2vl'] = ','.join(['0'] * 13 + ['15'] * 3)
row('vl.options', 'dragonfly-12', 'p2sssp', judged=False, offline=None, says=['packets on SL 13 .* are dropped.*hosts that ask for paths on these SLs get none'],
    **_no_paths)


# Service levels -----------------------------------------------------------------------------------

def ask_each_sl(fabric, tables):
    """{(source, destination): SLs the SA grants when asked for} between hosts on other switches."""
    hosts = tables.host_lids
    granted = {}
    for sl in range(16):
        for slid, row in fabric.path_sls(hosts, hosts, sl=sl).items():
            for dlid, answer in zip(hosts, row):
                if tables.end_of[slid].switch != tables.end_of[dlid].switch and answer not in '-!':
                    expect(int(answer, 16) == sl, 'asked for SL %d, got %s' % (sl, answer))
                    granted.setdefault((slid, dlid), set()).add(sl)
    return granted


def only_ours(fabric, opensm, tables):
    """An application that asks for an SL gets it where it is the routing's, and is refused (ERR 1F2A) where it is another: a
    path on the wrong SL could close a loop. Two queries for one pair always get one SL."""
    for (a, b), sls in ask_each_sl(fabric, tables).items():
        ours = tables.rows[a][tables.lids.index(b)]
        expect(sls == {ours}, 'LID %d to %d: SL %d routes, %s granted' % (a, b, ours, sls))
    expect(tables.rows == tables.ask_sls(fabric), 'a second query got another SL')
    opensm.resweep()
    expect(tables.rows == tables.ask_sls(fabric), 'a new sweep gave other SLs')


REFUSED = ('1F2A', '1F1')
row('sl.asked-for', 'ring-5', conf=BY_SL, look=only_ours, many=REFUSED)


def in_force(sl, granted, any_sl):
    """The SL of a partition or a QoS level is a hint: granted where any SL is safe (dfsssp on a tree) or none is promised to
    be (sssp), overruled where the routing depends on it."""
    def look(fabric, opensm, tables):
        used = sls_of(tables.ask_sls(fabric))
        expect(255 not in used, 'the SA refuses paths on SLs that were wished for')
        expect((used == {sl}) == granted, 'SLs %s, and %d was wished for' % (sorted(used), sl))
        expect(('any SL' in Claims(opensm.log).proven) == any_sl, 'the log line does not tell which it is')
    return look


for _engine, _net, _granted in ('sssp', 'ring-5', True), ('dfsssp', 'ring-5', False), ('dfsssp', 'tree-2', True):
    row('sl.wished-for', _net, _engine, BY_SL, look=in_force(3, _granted, _net == 'tree-2'), **partitions(3))
    if _net == 'ring-5':
        row('sl.wished-for', _net, _engine, BY_SL, look=in_force(5, _granted, False), **policy(5))


def takes_turns(fabric, opensm, tables):
    """The SLs of all VLs, the same in both directions; a request for another SL than 0 is granted."""
    sl = {(a, b): tables.rows[a][tables.lids.index(b)] for a in tables.host_lids for b in tables.host_lids if a != b}
    n_vls = Claims(opensm.log).budget
    expect(n_vls > 1 and set(sl.values()) == set(range(n_vls)), 'SLs %s on %d VLs' % (sorted(set(sl.values())), n_vls))
    expect(all(sl[a, b] == sl[b, a] for a, b in sl), 'replies on another SL')
    expect(all(set(range(1, 16)) <= sls for sls in ask_each_sl(fabric, tables).values()), 'an SL that was asked for is refused')


# On one lane, unless a partition has an SL of its own, or the routing depends on the SL.
SPREAD = 'spread_sls = yes\n'
row('sl.spread', 'tree-2', conf=SPREAD, look=takes_turns, many=REFUSED)
row('sl.spread', 'ring-5', conf=SPREAD + BY_SL, look=only_ours, many=REFUSED)
row('sl.spread', 'tree-2', conf=SPREAD, look=in_force(3, True, True), **partitions(3))


def master_sl(fabric, opensm, tables):
    """MasterSMSL: what a port sends to the SM goes on the SL of that path. ibsim forgets it: what OpenSM sends is read in its
    log, under the DEBUG flag."""
    told = {int(guid, 16): int(sl) for sl, guid in re.findall(
        r'Setting SMSL to (\d+) on (?:port 0 )?GUID (0x[0-9a-f]+)', opensm.log)}
    sm = next(e.lid for e in tables.ends if e.host and tables.switches[e.switch].hosts[e.port][0] == tables.data['from'])
    for e in tables.ends:
        want, got = tables.rows[e.lid][tables.lids.index(sm)], told.get(int(e.guid, 16), 0)
        expect(got == want or e.lid == sm, '%s is told SMSL %d, its path to the SM has SL %d' % (e.name, got, want))
    expect(set(told.values()) - {0}, 'every SMSL is 0: nothing was tested')


row('sl.smsl', 'dragonfly-12', conf=BY_SL, log_flags=LOG_PLAIN | 0x08, look=master_sl)

# SLs of partitions and of both forms of a QoS policy get VLs of their own: the command reads what OpenSM reads.
ROWS['classes'] = [('dragonfly-12', 'dfsssp', ANY_SL, more) for more in (
    partitions(0), partitions(0, 3), policy(5),
    dict(options={'partition_config_file': 'DIR/partitions.conf', 'qos_policy_file': 'DIR/qos-policy.conf'}, files={
        'partitions.conf': 'Default=0x7fff,ipoib : ALL=full;\na=1, sl=9: ALL=full;\na=1, sl = 2 : ALL;\n# sl=7:\n',
        'qos-policy.conf': 'qos-ulps\n  default : 0\n  any, service-id 0x6234 : 4 # storage\n  ipoib : 9\nend-qos-ulps\n'}))]


@scenario('offline.classes')
def classes(workdir):
    digests = [claims.digest for claims, _ in walk(workdir, 'classes')]
    expect(len(set(digests)) == len(digests), 'the same tables for other classes: %s' % digests)


CAS = ('--mgmt', 'tree', 'm=3,3,3', 'w=1,3,3')	# one on every switch
ROWS['lacking'] = [(net, engine, 'max_vls = 4\n', {}) for net, engine in (
    ('ring-5', 'sssp'), ('torus-4x4', 'p2sssp'), (CAS, 'p2sssp'), (CAS, 'sssp'), (CAS, 'dmodk'), ('torus-4x4', 'angara'))]
ROWS['lacking'].append((('random', 'switches=24', 'links=60', 'seed=3'), 'dfsssp', 'max_vls = 4\n[dfsssp]\nany_sl = off\nreversible_sl = off\n', {}))


@scenario('any-sl.warning')
def warning(workdir):
    """By engines that prove less."""
    lacking = set().union(*(lacks for _, lacks in walk(workdir, 'lacking')))
    expect(lacking >= {'deadlock-free', 'any SL', 'replies'}, 'nothing was lacking but %s' % lacking)


@scenario('vl.far-end')
def far_end(workdir):
    """One end of a cable has two lanes, the other eight; or there are two by max_op_vls. There are two, whichever end OpenSM meets
    first, and no table of the first sweep names another one, with OpenSM's optimised SL2VL MADs or without."""
    os.makedirs(workdir, exist_ok=True)
    net = os.path.join(workdir, 'pair.net')
    with open(net, 'w') as file:
        file.write('Switch 4 "a"\n[1] "h0"[1]\n[2] "h1"[1]\n[3] "b"[4]\n\nSwitch 4 "b"\n[1] "h2"[1]\n[2] "h3"[1]\n[4] "a"[3]\n\n' +
                   ''.join('Ca 1 "h%d"\n[1] "%s"[%d]\n\n' % (n, 'ab'[n // 2], n % 2 + 1) for n in range(4)))
    for few, optimised in itertools.product(('2:3', '2:4', ''), ('FALSE', 'TRUE')):
        here = os.path.join(workdir, few.replace(':', '-') + optimised)
        options = dict(QOS, use_optimized_slvl=optimised, **({} if few else {'max_op_vls': 2}))
        with running(here, net, options=options, sim={'OSR_SIM_VLS': few} if few else None) as (fabric, opensm):
            problems = fabric.tables().sl2vl_problems(range(15))
            expect(Claims(opensm.log).budget == 2, '%s: %d lanes' % (here, Claims(opensm.log).budget))
            expect(not problems, '%s: %s' % (here, problems[:1]))
        opensm.check_log()


@scenario('vl.back')
def back(workdir):
    """On a torus that needs more than one lane there is one for two sweeps: by max_op_vls, by qos, by what ports say that they can.
    Then the old number is back, and with it the load and the lengths, also after a restart in between; and no sweep after that
    changes a table."""
    os.makedirs(workdir, exist_ok=True)
    net, code = generate(os.path.join(workdir, 'torus.net'), 'torus', 'dims=5x5'), os.path.join(workdir, 'code')

    def few(opensm, name, value):
        if name == 'vls':
            with open(code, 'w') as file:
                file.write(value)
        else:
            opensm.set_option(name, value)

    def many(opensm, name, value):
        if name == 'vls':
            os.remove(code)
        else:
            opensm.set_option(name, value)

    for name, less, more in ('max_op_vls', '1', '3'), ('qos', 'FALSE', 'TRUE'), ('vls', '1', None):
        for killed in False, True:
            here = os.path.join(workdir, name + '-killed' * killed)
            options = dict(QOS, max_op_vls=3)
            with Fabric(net, here, sim={'OSR_SIM_VLS': code}) as fabric:
                with Opensm(fabric, 'dfsssp', plugin=True, options=options, env={'OSM_CACHE_DIR': here}) as opensm:
                    opensm.wait_up()
                    first = Claims(opensm.log)
                    few(opensm, name, less)
                    opensm.resweep()
                    opensm.change()
                    lacks = Claims(opensm.log)
                    expect(lacks.n_vls == 1 and (lacks.efi > first.efi or lacks.n_longer > first.n_longer), 'one lane: no loss')
                    if killed:
                        kill(opensm)
                        fabric.forget(opensm.process.pid)
                    many(opensm, name, more)
                    if not killed:
                        for _ in range(3):
                            opensm.change()
                        again(opensm, first, name)
                if not killed:
                    continue
                with Opensm(fabric, 'dfsssp', plugin=True, options=options, env={'OSM_CACHE_DIR': here}, name='after') as opensm:
                    opensm.wait_up()
                    for _ in range(2):
                        opensm.change()
                    again(opensm, first, name)


def again(opensm, first, what):
    """The claims of the first sweep."""
    now = Claims(opensm.log)
    expect((now.n_vls, now.efi, now.n_longer, now.proven) == (first.n_vls, first.efi, first.n_longer, first.proven),
           '%s: %d lanes, load %d, %d longer; at first %d, %d, %d' %
           (what, now.n_vls, now.efi, now.n_longer, first.n_vls, first.efi, first.n_longer))
    sweeps = len(opensm.routed())
    opensm.resweep()
    expect(all(not s['lft']['entries_changed'] for s in opensm.routed()[sweeps:]), what + ': tables change in the next sweep')
    judge(opensm.fabric, opensm, ours='dfsssp')
