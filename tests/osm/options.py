# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Options of the plugin, right and wrong, and which engine routes in the end."""
import os
import re

import oracle
from judge import QOS, Claims, expect, judge, one_sweep, scenario
from osmtest import LOG_DUMPS, Fabric, find_fabric, Opensm, pause, running, wait_for


def stock_lfts(workdir, netfile, engine):
    """LFTs of OpenSM's own engine, without the plugin."""
    with running(workdir, netfile, engine, plugin=False, name='stock') as (fabric, opensm):
        return [s.lft for s in oracle.Tables(fabric.read_back('lft')).switches]


def lfts_with(workdir, netfile, engine, **kwargs):
    with Fabric(find_fabric(netfile), workdir) as fabric:
        with Opensm(fabric, engine, plugin=True, **dict({'options': QOS}, **kwargs)) as opensm:
            opensm.wait_up()
            tables = oracle.Tables(fabric.read_back('lft'))
        return [s.lft for s in tables.switches], opensm


def we_routed(opensm):
    """The line of a sweep counts hosts and switches."""
    return re.search(r'osmroutes: .* hosts on \d+ switches,', opensm.log) is not None


def stays_stock(workdir, what, **kwargs):
    lfts, opensm = lfts_with(workdir, 'random-12', 'dfsssp', **kwargs)
    expect(opensm.engine_used() == 'dfsssp', '%s: %s routed' % (what, opensm.engine_used()))
    expect(not we_routed(opensm), '%s: osmroutes routed all the same' % what)
    expect(lfts == stock_lfts(workdir, 'random-12', 'dfsssp'),
           '%s: the tables are not those of the stock engine' % what)
    return opensm


@scenario('option.takeover-none')
def takeover_none(workdir):
    opensm = stays_stock(workdir, 'takeover = none', plugin_conf='takeover = none\n')
    opensm.check_log()


@scenario('option.takeover-one')
def takeover_one(workdir):
    """takeover = sssp leaves dfsssp alone, and serves sssp."""
    stays_stock(workdir, 'takeover = sssp', plugin_conf='takeover = sssp\n').check_log()
    _, opensm = lfts_with(workdir, 'random-12', 'sssp', plugin_conf='takeover = sssp\n')
    expect(Claims(opensm.log).engine == 'sssp', 'sssp was not served')


# What is wrong, and what the log must name.
MISTAKES = (
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
    ('max_vls = ' + '1' * 5000 + '\n', 'osmroutes.conf:1'),
)


@scenario('option.mistakes')
def mistakes(workdir):
    """Each is one error line that names it, and stock routes."""
    for text, named in MISTAKES:
        opensm = stays_stock(workdir, repr(text[:40]), plugin_conf=text)
        lines = [l for l in opensm.errors() if 'osmroutes' in l]
        expect(len(lines) == 1 and 'OR01' in lines[0] and named in lines[0],
               'for %r the log says: %s' % (text[:40], lines))
        expect('falls back to its own engines' in lines[0], 'the log does not say who routes: ' + lines[0])


@scenario('option.mistakes-in-opensm-conf')
def mistakes_in_string(workdir):
    """event_plugin_options is shared: others' words are none of our business, ours must be right."""
    for words, good in (('osmroutes.nonsense=1', False), ('osmroutes.max_vls', False),
                        ('osmroutes.dfsssp.nonsense=1', False), ('osmroutes.config=/nonexistent', False),
                        ('max_vls=4', False), ('dfsssp.max_vls=3', False), ('max_vls', True), ('lash.max_vls=3', True),
                        ('osmroutes.config=/', False), ('osmroutes.max_vls=017', False),
                        ('someoneelse=5 other.option', True),
                        ('osmroutes.max_vls=3 someoneelse', True),
                        ('osmroutes.max_vls=3, other.option=7', True)):
        options = dict(QOS, event_plugin_options=words)
        _, opensm = lfts_with(workdir, 'random-12', 'dfsssp', options=options)
        wrong = [l for l in opensm.errors() if 'OR01' in l]
        expect(bool(wrong) != good, '"%s": the log says %s' % (words, wrong))
        expect(we_routed(opensm) == good, '"%s": wrong engine' % words)


@scenario('option.comments')
def comments(workdir):
    """What README shows: comments on lines of their own and behind values."""
    text = '# ours\nmax_vls = 4             # of the plugin\n[dfsssp]\n  any_sl_cost = 3\t# of one engine\n'
    _, opensm = lfts_with(workdir, 'random-12', 'dfsssp', options=QOS, plugin_conf=text)
    expect(not any('OR01' in l for l in opensm.errors()), 'the log says %s' % opensm.errors())
    expect('4 virtual lanes available' in opensm.log, 'max_vls = 4 was not taken')


@scenario('option.config-path')
def config_path(workdir):
    """A comma in the name of the file belongs to it; one before the next option does not."""
    for words in ('osmroutes.config=%s', 'osmroutes.config=%s,osmroutes.takeover=dfsssp,sssp',
                  'other.option, osmroutes.config=%s, other.option=7'):
        os.makedirs(workdir, exist_ok=True)
        with open(os.path.join(workdir, 'vls,3.conf'), 'w', encoding='utf-8') as file:
            file.write('max_vls = 3\n')
        _, opensm = lfts_with(workdir, 'random-12', 'dfsssp',
                              options=dict(QOS, event_plugin_options=words % '../vls,3.conf'))
        expect(not any('OR01' in l for l in opensm.errors()), '%s: the log says %s' % (words, opensm.errors()))
        expect('3 virtual lanes available' in opensm.log, words + ': the file was not read')


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


@scenario('option.refuse')
def refuse(workdir):
    """on_error = refuse: osmroutes' engines refuse, the next one of the list has its turn."""
    _, opensm = lfts_with(workdir, 'random-12', 'dfsssp,updn',
                          plugin_conf='nonsense = 1\non_error = refuse\n')
    expect(any('OR03' in l and 'nonsense' in l for l in opensm.errors()), 'no word of refusal')
    expect(opensm.engine_used() in ('updn', 'minhop'), '%s routed' % opensm.engine_used())


@scenario('option.refuse-no-fallback')
def refuse_no_fallback(workdir):
    """And with no_fallback nothing at all is published."""
    with Fabric(find_fabric('random-12'), workdir) as fabric:
        with Opensm(fabric, 'dfsssp,no_fallback', plugin=True, options=QOS,
                    plugin_conf='on_error = refuse\nnonsense = 1\n') as opensm:
            wait_for('the refusal', lambda: 'OR03' in opensm.log, 30)
            pause(1)
            tables = oracle.Tables(fabric.read_back('lft'))
            expect(opensm.engine_used() is None, '%s routed' % opensm.engine_used())
            expect(all(set(s.lft) <= {oracle.NO_PATH} for s in tables.switches),
                   'something was published')


@scenario('option.names')
def names(workdir):
    """Names that can only mean ours."""
    for engine in ('osmroutes-dfsssp', 'osmroutes-sssp'):
        with running(workdir, 'random-12', engine, plugin_conf='takeover = none\n',
                     name=engine) as (fabric, opensm):
            judge(fabric, opensm, ours=engine.split('-')[1])
        expect(opensm.engine_used() == engine, '%s routed' % opensm.engine_used())
        opensm.check_log()


@scenario('option.next-engine')
def next_engine(workdir):
    """A ring needs two VLs: with one dfsssp says so and the next engine routes, on its SLs."""
    with running(workdir, 'ring-5', 'dfsssp,minhop',
                 plugin_conf='max_vls = 1\n[dfsssp]\ndetours = no\n') as (fabric, opensm):
        tables = judge(fabric, opensm)
        sls = tables.ask_sls(fabric)
        expect(set().union(*sls.values()) <= {0, 255}, 'SLs of the engine that failed')
    expect(opensm.engine_used() == 'minhop', '%s routed' % opensm.engine_used())
    said = [l for l in opensm.errors() if 'OR04' in l]
    expect(said and 'virtual lane' in said[0], 'the log does not say what was missing: %s' % said)


@scenario('option.max-vls')
def max_vls(workdir):
    for vls in (2, 3):
        with running(workdir, 'ring-5', 'dfsssp', name='vls-%d' % vls,
                     plugin_conf='max_vls = %d\n' % vls) as (fabric, opensm):
            tables = judge(fabric, opensm, ours='dfsssp')
            used = {sl for row in tables.rows.values() for sl in row} - {255}
            expect(max(used) < vls, 'SLs %s with max_vls %d' % (sorted(used), vls))
        expect('limited by max_vls' in opensm.log, 'the log does not say what limits the VLs')


@scenario('option.guid-files')
def guid_files(workdir):
    """cn_guid_file and io_guid_file change the order of routing, not its quality; a file that is
    not there is an error line and no more."""
    netfile = find_fabric('cluster-192')
    with running(workdir, netfile, 'dfsssp', name='plain') as (fabric, opensm):
        hosts = [e for e in judge(fabric, opensm, ours='dfsssp').ends if e.host]
    cn, io = os.path.join(workdir, 'cn'), os.path.join(workdir, 'io')
    for path, part in ((cn, hosts[::2]), (io, hosts[1::4])):
        with open(path, 'w') as file:
            file.writelines(e.guid + '\n' for e in part)
    one_sweep(workdir, netfile, 'dfsssp', ours='dfsssp',
              options=dict(QOS, cn_guid_file=cn, io_guid_file=io))
    _, log = one_sweep(workdir, netfile, 'dfsssp', ours='dfsssp',
                       options=dict(QOS, cn_guid_file=os.path.join(workdir, 'absent')),
                       expected=('OR02', 'absent'))
    expect('OR02' in log, 'no error line about the file that is not there')


@scenario('option.port-prof-ignore')
def port_prof_ignore(workdir):
    """Ports whose load does not count still carry routes."""
    netfile = find_fabric('tree-2')
    with Fabric(netfile, workdir) as fabric:
        guids = [n['guid'] for n in fabric.read_back('lft')['nodes'] if n['name'] == 'spine-0']
        ignored = os.path.join(workdir, 'ignored')
        with open(ignored, 'w') as file:
            file.writelines('%s %d\n' % (guids[0], p) for p in range(1, 5))
        with Opensm(fabric, 'dfsssp', plugin=True,
                    options=dict(QOS, port_prof_ignore_file=ignored)) as opensm:
            opensm.wait_up()
            judge(fabric, opensm)
        expect(opensm.engine_used() == 'dfsssp', '%s routed' % opensm.engine_used())
        opensm.check_log()


@scenario('option.routing-log-flag')
def routing_log_flag(workdir):
    """With the ROUTING log flag the hops are filled in: opensm-lid-matrix.dump knows distances."""
    with running(workdir, 'tree-3', 'dfsssp', log_flags=LOG_DUMPS) as (fabric, opensm):
        tables = judge(fabric, opensm, ours='dfsssp')
        hops = read_lid_matrix(opensm.dump('opensm-lid-matrix.dump'))
    for v, s in enumerate(tables.switches):
        for lid in tables.host_lids:
            least = min(hops[s.guid][lid])
            far = tables.dist[tables.end_of[lid].switch][v] + 1
            expect(least == far, 'the dump says %d hops from %s to LID %d, it is %d' %
                   (least, s.name, lid, far))
    for name in ('opensm-lfts.dump', 'opensm.fdbs', 'opensm-sl2vl.dump', 'opensm-subnet.lst'):
        expect(os.path.getsize(opensm.dump(name)) > 0, name + ' is empty')


def read_lid_matrix(path):
    """{switch: {LID: hops by port}} of OpenSM's dump."""
    matrix = {}
    with open(path) as file:
        for line in file:
            if line.startswith('Switch'):
                here = matrix['0x%016x' % int(line.split()[-1], 16)] = {}
            elif line.startswith('0x'):
                words = line.split('#')[0].split()
                here[int(words[0].rstrip(':'), 16)] = [int(w, 16) for w in words[1:] if w != ':']
    return matrix
