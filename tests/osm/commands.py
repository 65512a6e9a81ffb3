# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Every command that `osmroutes --help` lists, with no options but those it cannot do without: the default engine with the
default options, which must be what -e dfsssp gives. `--live`: the fabric and its tables read by MADs while a real opensm runs it,
and entries of switches spoilt behind its back. `check` on the tables of a real opensm, in its dumps and in its switches, against
two other opinions on the same sweep: the oracle on what was read out of the switches, and ibdmchk on the dumps."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from groups import join
from judge import Claims, expect, ibdmchk, judge, QOS, say_ibdmchk, scenario
from osmtest import COMMAND, Fabric, find_fabric, generate, LOG_DUMPS, Opensm, osmroutes, patience, ROOT, running, Skip, TOOLS, wait_for


# What differs from run to run.
MEASURED = re.compile(r'(_|^)(ms|time|cpu|wall|kb|rate|date|command_line)(_|$)|memory')


def said(words, code=0, env=None):
    done = subprocess.run([COMMAND] + words, capture_output=True, text=True, timeout=patience(120), env=env)
    expect(done.returncode == code and (done.stdout or code), 'osmroutes %s: exit code %d: %s' % (
        ' '.join(words), done.returncode, done.stderr))
    return done.stdout


def steady(value):
    """JSON without what is measured."""
    if isinstance(value, dict):
        return {k: steady(v) for k, v in value.items() if not MEASURED.search(k)}
    return [steady(v) for v in value] if isinstance(value, list) else value


def arguments(net, work):
    """{command: (arguments, exit code)}; commands that ask a subnet manager are not among them."""
    dump = os.path.join(work, 'dump')
    said(['route', net, '--dump', dump])
    return {'route': [net], 'check': [dump], 'diff': [dump, dump],
            'report': [net], 'path': ['h0', 'h3', net],
            'whatif': ['--each=link', net],
            'conf': [os.path.join(work, 'osmroutes.conf')],
            'order': [find_fabric('tree-2')], 'generate': ['torus']}


@scenario('commands.defaults')
def defaults(workdir):
    net = find_fabric('ring-5')
    with open(os.path.join(workdir, 'osmroutes.conf'), 'w', encoding='utf-8') as file:
        file.write('max_vls = 8\n')
    listed = re.findall(r'^  (\w+) ', said(['--help']), re.M)
    runs = arguments(net, workdir)
    for name in (n for n in listed if n in runs):
        out = said([name] + runs[name])
        usage = said([name, '--help'])
        if '--json' in usage and name not in ('generate',):
            # The page would be on standard output as well.
            page = ['--html', os.path.join(workdir, 'page.html')] if name == 'report' else []
            found = json.loads(said([name, '--json'] + page + runs[name]))
            if '--engine' in usage and name != 'check':
                named = json.loads(said([name, '--json', '-e', 'dfsssp'] + page + runs[name]))
                expect(steady(found) == steady(named), '%s: -e dfsssp is not the default' % name)
        expect(out.strip(), '%s says nothing' % name)
    # The rest ask a subnet manager, which runs the default engine with default options.
    with Fabric(net, workdir) as fabric:
        path = os.path.join(fabric.dir, 'keys.sock')
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS, plugin_conf='control_socket = %s\n' % path) as opensm:
            opensm.wait_up()
            env = dict(os.environ, OSMROUTES_KEYS=path)
            done = {name: said([name] + words, code, env) for name, words, code in (
                ('key', ['status', '--json'], 0), ('status', [], 0), ('drain', ['s-0:2'], 0), ('undrain', ['s-0:2', '--json'], 0))}
            expect('no application' in said(['key', 'status'], 0, env), 'key status without applications says nothing')
            expect(Claims(opensm.log).engine == 'dfsssp', 'another engine has routed')
    missing = set(listed) - set(runs) - set(done)
    expect(not missing, 'no test of %s' % ', '.join(sorted(missing)))


def start(fabric, *words):
    """A command that finds the simulated fabric on its InfiniBand port."""
    return subprocess.run(['ibsim-run', COMMAND] + list(words) + ['--json'], env=dict(fabric.env),
                          capture_output=True, text=True, timeout=patience(120), cwd=fabric.dir)


def run(fabric, *words, code=0):
    """Its JSON."""
    done = start(fabric, *words)
    expect(done.returncode in (code if isinstance(code, tuple) else (code,)), '%s: exit code %d: %s%s' % (
        ' '.join(words), done.returncode, done.stderr[-300:], done.stdout[-600:]))
    return json.loads(done.stdout) if done.stdout else done.stderr


def spoil(fabric, guid, *words):
    fabric.run([os.path.join(TOOLS, 'osr-spoil'), guid] + [str(w) for w in words])


def good(fabric, *words):
    """Nothing is wrong, and nothing was left out."""
    report = run(fabric, 'check', '--live', *(words or ['--sa=pairs']))
    expect(report['verdict']['verdict'] == 'proven', 'check --live: %s' % report['verdict'])
    expect(report['tables'].get('path_sls') == 'the subnet administrator', report['tables'])
    expect(report['tables'].get('sl2vl') == 'the switches', report['tables'])
    return report


@scenario('live.check')
def check(workdir):
    """opensm routes, check agrees; one entry of each kind spoilt, check names it; put right, it agrees again."""
    with running(workdir, 'torus-4x4', 'dfsssp', log_flags=LOG_DUMPS) as (fabric, opensm):
        group, _ = [join(fabric, name) for name in ('h01', 'h06', 'h15')][0]
        opensm.wait_quiet()
        before = good(fabric)
        expect(before['tables'].get('groups') == 'the switches', before['tables'])
        good(fabric, '--sa=switches')
        in_dumps = run(fabric, 'check', opensm.dir)
        for key in ('entries', 'routes', 'max_hops', 'efi', 'faults'):
            expect(before['verdict'][key] == in_dumps['verdict'][key], '%s: %s, in the dumps %s'
                   % (key, before['verdict'][key], in_dumps['verdict'][key]))
        tables = fabric.tables()
        lid = tables.host_lids[0]
        s, port = next((s, p) for s in tables.switches for p in s.next if s.forward(lid) == p)
        t, out = next((t, p) for t in tables.switches for p in t.next if p in t.mft.get(group, ()))
        host = min(s.hosts)
        for switch, words, back, named, code in (
                (s, ('lft', lid, 255), ('lft', lid, port), dict(kind='hole', guid=s.guid, lid=lid), 1),
                (s, ('sl2vl', host, port, 0, 15), ('sl2vl', host, port, 0, 0), dict(guid=s.guid, out=port), 1),
                # What port 0 sends no host misses.
                (s, ('sl2vl', 0, port, 0, 15), ('sl2vl', 0, port, 0, 0), dict(guid=s.guid, out=port), 0),
                (t, ('mft', group, out), ('mft', group, out), None, 1)):
            spoil(fabric, switch.guid, *words)
            found = run(fabric, 'check', '--live', code=code)
            expect((found['verdict']['verdict'], found['verdict']['with_switches']['verdict']) == (
                ('proven', 'refuted')[code], 'refuted'), '%s: %s' % (words, found['verdict']))
            run(fabric, 'check', '--live', '--require=switches', code=1)
            expect(any(named.items() <= fault.items() for fault in found['faults']) if named else
                   found['verdict']['faults']['multicast_split'], '%s: %s, %s' % (words, found['faults'], found['verdict']))
            spoil(fabric, switch.guid, *back)
            good(fabric)


@scenario('live.commands')
def commands(workdir):
    """What is read live is what is in the file; every command that takes a FILE takes --live."""
    path = find_fabric('tree-2')
    with Fabric(path, workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS) as opensm:
            opensm.wait_up()
            digest = Claims(opensm.log).digest
        one = run(fabric, 'route', '--live')
        expect(one['results'][0]['digest'] == digest, 'route --live is not what opensm has: %s, %s'
               % (one['results'][0]['digest'], digest))
        # opensm has ended and its tables are there: nothing answers for SLs, a comparison says so and goes on.
        words = 'route', '--live', '-e', 'dfsssp', '--tables=live', '--bisections=50'
        mine = run(fabric, *words)
        said = start(fabric, *words).stderr
        expect(said.count('\n') == 1 and 'warning: the subnet administrator' in said and 'unknown' in said, said)
        answers = [r['answers']['one_way'] for r in mine['results']]
        # Shortest paths of a tree go up and then down: no SL, known or not, has a credit loop.
        expect(answers == ['proven', 'proven'], 'free of credit loops on any SL: %s' % answers)
        efi = [r['efi'] for r in mine['results']]
        expect(len(efi) == 2 and efi[0] == efi[1], 'the tables in the switches: EFI %s' % efi)
        run(fabric, 'route', '--live', '--tables=live', '-e', 'dmodk', '--bisections=10')
        run(fabric, 'whatif', '--live', '--each=link')
        run(fabric, 'report', '--live', '--html', os.path.join(workdir, 'page.html'))
        run(fabric, 'check', '--live')
        said = run(fabric, 'check', '--live', '--sa=pairs', code=2)
        expect('subnet administrator' in said and said.count('\n') == 1, said)
        run(fabric, 'check', '--live', '--sa=none')
        said = run(fabric, 'check', '--live', path, code=2)
        expect('either FILE or --live' in said, said)


@scenario('live.kept')
def kept(workdir):
    """Tables of a live fabric in a file (--save) and a folder (--dump): a day later both say what `check --live` said then, stand
    for fabric and tables, and `diff` says what has changed since: cables, a dead switch in one line, hosts, entries, load."""
    file, folder = (os.path.abspath(os.path.join(workdir, name)) for name in ('kept.save', 'kept.dump'))
    with running(workdir, 'torus-4x4', 'dfsssp') as (fabric, opensm):
        for name in ('h01', 'h06', 'h15'):
            join(fabric, name)
        opensm.wait_quiet()

        def judged(*words):
            said = run(fabric, 'check', *words)
            return dict(said['verdict'], checker=None), said['tables']['entries'], said['faults']

        now = judged('--live', '--save=' + file, '--dump=' + folder)
        expect(now[0]['answers']['groups'] == 'proven', now)
        for source in file, folder:
            expect(judged(source) == now, 'check %s: %s, live it was %s' % (source, judged(source), now))
        way = lambda *source: [(h['node'], h['out'], h['vl']) for h in run(fabric, 'path', '--one-way', 'h01', 'h11', *source)['hops'] if 'out' in h]
        expect(way(file) == way(folder) == way('--live') != [], 'path: %s, live %s' % (way(file), way('--live')))
        again = os.path.join(workdir, 'again')
        run(fabric, 'route', '--live', '--tables=live', '--bisections=0', '--save=' + again)
        for old, new in ((file, '--live'), (folder, '--live'), (file, folder), (again, file)):
            same = run(fabric, 'diff', '--same', old, new)
            expect(not same['nodes'] and not same['cables'] and not same['diff']['entries_changed'] and
                   not same['diff'].get('lids_moved'), same)
        # Another engine made these, and nobody has their fabric.
        of_engine = os.path.join(workdir, 'engine')
        run(fabric, 'route', '--live', '--bisections=0', '--save=' + of_engine)
        expect('do not hold their fabric' in run(fabric, 'check', of_engine, code=2), 'a file of an engine stands for a fabric')
        # The hosts of another world, with the same names and LIDs.
        other = os.path.join(workdir, 'other')
        shutil.copytree(folder, other)
        ends = [e for e in fabric.tables().ends if e.host]
        for name in os.listdir(other):
            path = os.path.join(other, name)
            with open(path) as lines:
                text = lines.read()
            with open(path, 'w') as lines:
                lines.write(re.sub(r'(?i)(port ?guid[: ](?:0x)?|adapter 0x)0000000000(1\w{5})', r'\g<1>0000000007\2', text))
        done = subprocess.run([COMMAND, 'diff', other, folder], capture_output=True, text=True)
        expect('%d of %d LIDs belong to other port GUIDs' % (len(ends), len(ends) + len(fabric.tables().switches)) in done.stdout.splitlines()[1],
               'other port GUIDs: %s%s' % (done.stdout[:600], done.stderr))
        before = fabric.tables()
        cable = before.cables()[3]
        opensm.change(fabric.unlink(*cable[:2]))
        opensm.wait_quiet()
        after = fabric.tables()
        expected = sum(before.switches[s].forward(lid) != after.switches[s].forward(lid) for s in range(len(after.switches)) for lid in after.lids)
        tables = sum(one.table(i, o) != two.table(i, o) for one, two in zip(before.switches, after.switches)
                     for o in {*two.next, *two.hosts} for i in {0, *two.next, *two.hosts})
        for old in file, folder:
            found = run(fabric, 'diff', old, '--live', code=(0, 1))
            row, = found['cables']
            expect(row['kind'] == 'missing' and cable[:2] in ((row['from'], row['from_port']), (row['to'], row['to_port'])), row)
            efi = found['diff']['efi']
            expect([efi['old'], efi['new']] == [t.edge_forwarding_index()[0] for t in (before, after)], 'load: %s' % efi)
            # What led into the dead cable leads nowhere in what is left of the old tables, and may not count.
            expect(0 < found['diff']['entries_changed'] == expected and not found['nodes'], '%s entries changed, not %d' % (found['diff'], expected))
            # Nor do the tables of the port that lost its cable, which nobody reads.
            expect(found['diff']['sl2vl_changed'] == tables, '%s SL2VL tables changed, not %d' % (found['diff'], tables))
        opensm.change(fabric.relink(*cable[:2]))
        victim = before.switches[next(e.switch for e in before.ends if e.name == 'h11')]
        opensm.change(fabric.unlink(victim.name))
        opensm.wait_quiet()
        for words in ([file, '--live'], [folder, '--live']):
            found = run(fabric, 'diff', *words, code=(0, 1))
            dead, = (n for n in found['nodes'] if n['type'] == 'switch')
            expect(dead['kind'] == 'missing' and dead['name'] == victim.name and dead['cables'] == len(victim.next) + len(victim.hosts), dead)
            expect(len(found['nodes']) == 1 + len(victim.hosts) and not found['cables'], found['nodes'])


PATH_RECORD = 0x35


@scenario('live.silence')
def silence(workdir):
    """In the midst of a reading the simulator stands still for longer than anything is waited for, as on a machine that is too busy
    for it: what was asked is asked again, and nothing is missing."""
    halt = os.path.join(os.path.abspath(workdir), 'halt')
    with running(workdir, 'tree-2', sim={'OSR_SIM_HALT': halt}) as (fabric, _), ThreadPoolExecutor(1) as pool:
        def state():
            with open('/proc/%d/stat' % fabric.process.pid) as file:
                return file.read().rpartition(')')[2].split()[0]

        before = fabric.read_back('lft')
        with open(halt + '.new', 'w') as file:
            file.write('1 19 3 %d\n' % fabric.process.pid)
        os.rename(halt + '.new', halt)
        asked = pool.submit(fabric.read_back, 'lft')
        try:
            wait_for('a halt', lambda: state() == 'T', 20)
            time.sleep(6)
        finally:
            fabric.process.send_signal(signal.SIGCONT)
        expect(asked.result()['nodes'] == before['nodes'], 'another fabric was read')


@scenario('live.names')
def names(workdir):
    """path --live looks at the names first, and asks the subnet administrator for the SLs of what it shows alone: nothing for a
    wrong name. A host with two HCAs is refused where one port is needed, with the names that would do."""
    renamed = {'h00': 'node-1 mlx5_0', 'h04': 'node-1 mlx5_1', 'h01': 'node-2 mlx5_0', 'h05': 'node-2 mlx5_1'}
    net = os.path.join(workdir, 'rails.net')
    with open(find_fabric('tree-2')) as plain, open(net, 'w') as file:
        file.write(re.sub(r'^(Ca.*"(h\d\d)").*', lambda m: '%s # "%s"' % (m[1], renamed.get(m[2], m[2])), plain.read(), flags=re.M))
    socket = os.path.join(os.path.abspath(workdir), 'keys.sock')
    with running(workdir, net, 'dmodk', options=dict(QOS, lmc=1), sim={}, plugin_conf='control_socket = %s\n' % socket) as (fabric, opensm):
        opensm.wait_quiet()
        tables = fabric.tables()
        sls = fabric.path_sls([e.lid for e in tables.ends if e.host], tables.lids)

        def asked(code, *words):
            """How many path records it asks for, and what it says."""
            fabric.mads()
            said = run(fabric, 'path', '--live', *words, code=code)
            return fabric.mads()[0].get(PATH_RECORD, (0, 0))[0], said

        for words, sentence in ((['nobody', 'h02'], 'no node is called "nobody"'), (['h02', 'nobody'], 'no node is called "nobody"'),
                                (['h', 'h02'], 'no node is called "h"'), (['--hosts=h02,nobody'], 'no node is called "nobody"'),
                                (['h02', 'h02'], 'are one end port'), (['--hosts=h02'], 'expected two hosts'),
                                (['--via=leaf-0:99'], 'there is no cable on this port')):
            n, said = asked(2, *words)
            expect(n == 0 and sentence in said, 'path --live %s: %d queries: %s' % (' '.join(words), n, said))
        # Two LIDs a host.
        for words, expected in ((['h02', 'h07'], 4), (['--one-way', 'h02', 'h07'], 2), (['node-1', 'node-2'], 8), (['--sa=switches', 'h02', 'h07'], 4),
                                (['--hosts=h02,h07,h10'], 6), (['--hosts=node-[1-2]'], 4), (['--via=leaf-0:5'], 0),
                                (['--sa=none', 'h02', 'h07'], 0), (['--sl=3', 'h02', 'h07'], 0)):
            n, said = asked(0, *words)
            expect(n == expected, 'path --live %s: %d queries, not %d' % (' '.join(words), n, expected))
            for path in said.get('paths', ()) if words[0][:4] not in ('--sa', '--sl') else ():
                sender = next(e for e in tables.ends if e.host and e.name == path['from'])
                sl = sls[sender.lid][tables.lids.index(path['lid'])]
                expect(path['sl'] == int(sl, 16), '%s: SL %d, by a query %s' % (path, path['sl'], sl))
        traffic = os.path.join(workdir, 'traffic')
        with open(traffic, 'w') as file:
            file.write('ranks 2\n0 1\n')
        place = [COMMAND, 'key', 'place', '--socket=' + socket, '--traffic=' + traffic]
        done = subprocess.run(place + ['--hosts=node-1,h02'], capture_output=True, text=True)
        expect(done.returncode == 1 and 'rank 0: 2 end ports are called "node-1": give "node-1 mlx5_0" or "node-1 mlx5_1"' in done.stderr,
               'key place: exit code %d: %s' % (done.returncode, done.stderr))
        done = subprocess.run(place + ['--hosts="node-1 mlx5_1","node-2 mlx5_0"', '--csv=hosts'], capture_output=True, text=True)
        expect(re.findall(r'^\d,(.*?),', done.stdout, re.M) == ['node-1 mlx5_1', 'node-2 mlx5_0'], 'key place: %s%s' % (done.stdout, done.stderr))


def interrupted(fabric, during, *words):
    """A command that stands still before it reads the first forwarding table, while during() changes the fabric."""
    # The shell names its own process ID, which is that of the command then.
    script = 'echo "1 19 1 $$" >"$0.new" && mv "$0.new" "$0" && exec "$@"'
    process = subprocess.Popen(['ibsim-run', 'sh', '-c', script, fabric.sim['OSR_SIM_HALT'], COMMAND, *words], env=fabric.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=fabric.dir)

    def stopped():
        with open('/proc/%d/stat' % process.pid) as file:
            return file.read().rpartition(')')[2].split()[0] == 'T'

    wait_for('the first Get of a table', stopped, 30)
    during()
    process.send_signal(signal.SIGCONT)
    out, said = process.communicate(timeout=patience(60))
    return process.returncode, out, said


@scenario('live.changes')
def changes(workdir):
    """A cable returns while check and others read the fabric, and opensm routes by it: the tables lead out of ports that had
    no cable. That is no verdict on tables that were right before and after. What stays wrong is refuted by a second reading."""
    changed = 'the fabric changed while it was read'
    with running(workdir, 'torus-4x4', 'dfsssp', sim={'OSR_SIM_HALT': os.path.join(workdir, 'halt')}) as (fabric, opensm):
        cable = fabric.tables().cables()[3]
        prom, junit = os.path.join(workdir, 'check.prom'), os.path.join(workdir, 'check.xml')

        def asked(*words):
            """Its answer while the cable returns."""
            opensm.change(fabric.unlink(*cable[:2]))
            return interrupted(fabric, lambda: opensm.change(fabric.relink(*cable[:2])), *words)

        for words, expected in (('--sa=pairs',), 0), (('--sa=none', '--require=deadlock-free,switches'), 1), (('--sa=none', '--min-hosts=3'), 1):
            code, out, said = asked('check', '--live', '--json', '--prom=' + prom, '--junit=' + junit, *words)
            expect(code == expected, 'check %s: exit code %d: %s%s' % (words, code, out, said))
            verdict = json.loads(out)['verdict']
            answers = {*verdict['answers'].values(), *(a for q, a in verdict['with_switches'].items() if q != 'why'), verdict['verdict']}
            expect(answers == {'unknown'} and verdict['with_switches']['why'] == changed and 'efi' not in verdict, verdict)
            expect(not json.loads(out)['faults'] and not json.loads(out)['loop'], out)
            with open(prom) as file:
                gauges = re.findall(r'^osmroutes_check_(\w+)(?:\{.*?\})? (\S+)$', file.read(), re.M)
            expect({name for name, _ in gauges} == {'time_seconds', 'duration_seconds', 'answer', 'answer_with_switches'}, gauges)
            expect({value for name, value in gauges if 'answer' in name} == {'0'}, gauges)
            with open(junit) as file:
                failures = re.findall(r'<failure message="(.*?)"', file.read())
            expect(len(failures) == {'--sa=pairs': 0, '--require=deadlock-free,switches': 2, '--min-hosts=3': 1}[words[-1]] and
                   set(failures) <= {'unknown: ' + changed}, failures)
        code, out, said = asked('route', '--live', '--tables=live', '--bisections=0')
        expect(code == 0 and 'verdict unknown: ' + changed in out, 'route: exit code %d: %s%s' % (code, out, said))
        saved = os.path.join(workdir, 'saved')
        fabric.run([COMMAND, 'route', '--live', '--save', saved, '--bisections=0'])
        code, out, said = asked('diff', saved, '--live')
        expect(code == 0 and re.search(r'^  the new +unknown$', out, re.M) and changed in out, 'diff: exit code %d: %s%s' % (code, out, said))
        good(fabric)


@scenario('live.waiting')
def waiting(workdir):
    """What takes long says in a log how far it is, and what does not says nothing. The subnet administrator is asked for the SLs of all
    pairs on a small fabric, of one host a switch on a large one, and only where the verdict depends on SLs: not on trees."""
    with running(os.path.join(workdir, 'halted'), 'torus-4x4', 'dfsssp', sim={'OSR_SIM_HALT': os.path.join(workdir, 'halt')}) as (fabric, opensm):
        code, out, said = interrupted(fabric, lambda: time.sleep(6), 'check', '--live')
        expect(code == 0 and re.match(r'osmroutes: tables of the fabric: \d+ %\n', said), 'after six seconds: %s' % said)
        expect(not start(fabric, 'check', '--live').stderr, 'a line without need')
    # Two levels, 26 switches of which 20 have hosts; with their own port 0s 526 LIDs.
    large = os.path.join(workdir, 'large.net')
    generate(large, 'tree', 'm=25,20', 'w=1,6')
    for net, plugin, conf, words, asked in (('torus-4x4', True, 'any_sl = off\n', [], 32 * 32), (large, True, '', ['--save=saved'], 46 * 526),
                                            (large, False, '', [], 0), ('tree-2', True, '', [], 0), ('tree-2', True, '', ['--sa=pairs'], 24 * 24)):
        with running(os.path.join(workdir, 'of-' + os.path.basename(net)), net, 'dfsssp' if plugin else 'minhop', plugin=plugin,
                     options=QOS if plugin else {'qos': 'FALSE'}, sim={}, plugin_conf=conf) as (fabric, opensm):
            opensm.wait_quiet()
            fabric.mads()
            said = run(fabric, 'check', '--live', *words)
            n = fabric.mads()[0].get(PATH_RECORD, (0, 0))[0]
            expect(n == asked and said['verdict']['verdict'] == 'proven', '%s: %d queries, not %d: %s' % (net, n, asked, said['verdict']['verdict']))
            expect(('path_sls' in said['tables']) == (asked > 0), said['tables'])


@scenario('live.file')
def file_engine(workdir):
    """Tables of --dump loaded by OpenSM's own engine `file`, as ufm.md says: every entry is in the switches."""
    folder = os.path.abspath(os.path.join(workdir, 'tables'))
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        for engine, more in ('minhop', {}), ('file', {'lfts_file': os.path.join(folder, 'opensm-lfts.dump')}):
            with Opensm(fabric, engine, options=dict(more, qos='FALSE')) as opensm:
                opensm.wait_up()
                opensm.wait_quiet()
                if not more:
                    run(fabric, 'route', '--live', '--vls=1', '--bisections=0', '--dump', folder)
                    continue
                found = run(fabric, 'diff', folder, '--live')
        expect(found['diff']['entries'] and not found['diff']['entries_changed'] and not found['nodes'] and not found['cables'], found['diff'])


# A device that stands for another: NAME CAPABILITIES STATE PHYS_STATE LINK_LAYER GUID-SUFFIX. 0x400 is IsSMDisabled.
DEVICES = {
    'mlx5_1': (0, '1: DOWN', '3: Disabled', 'InfiniBand', '0002'),
    'mlx5_2': (0x400, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0003'),
    'smi2': (0, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0003'),
    'mlx5_10': (0, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0004'),
    'mlx5_11': (0x400, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0005'),
}


@scenario('live.devices')
def devices(workdir):
    """A host with five InfiniBand devices and one of Ethernet, two of them the halves of one port (SMI and GSI): --live opens for each kind of packet
    the device that takes it, or the one behind --live=, and what cannot be used is named."""
    log = os.path.join(workdir, 'used')
    script = os.path.join(workdir, 'devices.sh')
    # What osr-devices runs when the simulation has made its one device.
    lines = ['cd "$1"', 'rm -r ibsim0/ports/1/pkeys/[2-9] ibsim0/ports/1/pkeys/??']
    for name, (mask, state, phys_state, layer, suffix) in DEVICES.items():
        lines += ['cp -r ibsim0 %s' % name, 'cd %s/ports/1' % name] + [
            "echo '%s' >%s" % (text, file) for file, text in (
                ('state', state), ('phys_state', phys_state), ('link_layer', layer), ('cap_mask', '0x%08x' % mask),
                ('gids/0', 'fe80:0000:0000:0000:0002:c903:0000:%s' % suffix))] + ['cd ../../..']
    with open(script, 'w') as file:
        file.write('\n'.join(lines + ['echo Ethernet >ibsim0/ports/1/link_layer', '']))
    # LD_PRELOAD takes no path with a blank in it.
    os.symlink(os.path.join(TOOLS, 'osr-devices.so'), os.path.join(workdir, 'osr-devices.so'))
    with running(workdir, 'tree-2', 'dfsssp') as (fabric, opensm):
        command = ['ibsim-run', 'sh', '-c', 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"',
                   './osr-devices.so', COMMAND]

        def check(*words, **more):
            """Exit code, what it said, and the devices that were opened for subnet management and for the rest."""
            with open(log, 'w'):
                pass
            done = subprocess.run(command + list(words), capture_output=True, text=True, timeout=patience(60), cwd=workdir,
                                  env=dict(fabric.env, OSR_DEVICES=script, OSR_DEVICES_LOG=log, **more))
            with open(log) as file:
                used = [line.split() for line in file]
            smi = sorted({(u[0], u[1]) for u in used if u[2] == 'class' and u[3] in ('1', '129')})
            gsi = sorted({(u[0], u[1]) for u in used if u[2] == 'class' and u[3] == '3'})
            return done.returncode, done.stderr, smi, gsi, {u[3] for u in used if u[2] == 'pkey'}

        split = (0, '', [('smi2', '1')], [('mlx5_2', '1')], set())
        plain = (0, '', [('mlx5_10', '1')], [('mlx5_10', '1')], set())
        for port, expected in ((None, split), ('mlx5_2', split), ('smi2:1', split),
                                ('mlx5_10:1', plain)):
            got = check('check', '--sa=pairs', '--live' if port is None else '--live=' + port)
            expect(got == expected, 'check --live %s: %s' % (port, got))
        got = check('check', '--sa=pairs', '--live=::1')
        expect(got[0] == 0 and got[4] == {'1'}, 'P_Key index 1: %s' % (got,))
        got = check('check', '--sa=pairs', '--live', OSR_BUSY='1')
        expect(got[0] == 2 and 'does not answer, or is busy' in got[1], 'a busy subnet administrator: %s' % (got,))
        tables = os.path.join(workdir, 'tables')
        got = check('route', '--live=mlx5_2', '--save=' + tables)
        expect(got[0] == 0 and got[2] == split[2], 'route: %s' % (got,))
        got = check('diff', tables, '--live=mlx5_2')
        expect(got[0] < 2 and got[2:4] == split[2:4], 'diff: %s' % (got,))
        for port, sentence in (
                ('mlx5_9', 'no InfiniBand port mlx5_9 that could be used; it has mlx5_1:1 (disabled), '
                 'mlx5_2:1, mlx5_10:1, mlx5_11:1 (no SMI has its port GUID), smi2:1'),
                ('ibsim0', 'no InfiniBand port ibsim0 that'),
                ('mlx5_10:2', 'no InfiniBand port mlx5_10:2 that'),
                ('mlx5_1', 'no InfiniBand port mlx5_1 that'),
                ('mlx5_11', 'no InfiniBand port mlx5_11 that'),
                ('::99', 'P_Key index 99: mlx5_2, port 1, has a table of 2 entries')):
            code, said, smi, gsi, _ = check('check', '--sa=pairs', '--live=' + port)
            expect(code == 2 and sentence in said and said.count('\n') == 1 and not smi and not gsi,
                   '%s: exit code %d: %s %s %s' % (port, code, said, smi, gsi))


VALUES = {'proven': 1, 'unknown': 0, 'refuted': -1}


def check_form(opensm, form):
    """JSON of `osmroutes check` on these dumps; SLs as ibdmchk gets them."""
    with tempfile.TemporaryDirectory() as folder:
        for name, of in (('opensm-subnet.lst', 'opensm-subnet.lst'), (form, form), ('opensm-path-sl.dump', 'psl'),
                         ('opensm-sl2vl.dump', 'opensm-sl2vl.dump')):
            os.symlink(os.path.abspath(opensm.dump(of)), os.path.join(folder, name))
        return osmroutes('check', folder)


def same_opinion(fabric, opensm, what):
    opensm.wait_quiet()	# another sweep would give stock engines other tables
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
        report = check_form(opensm, form)
        found = report['verdict']['answers']
        for question, answer in answers.items():
            expect(found[question] == ('proven' if answer else 'refuted'), '%s: %s: check says %s, the oracle %s' % (
                what, question, found, answer))
        bad = sum(report['verdict']['faults'].values())
        expect(bool(bad) == bool(problems), '%s: %s; the oracle: %s' % (what, report['verdict']['faults'], problems[:1]))
        expect(report['verdict']['efi'] == efi, '%s: EFI %d, the oracle says %d' % (what, report['verdict']['efi'], efi))
        expect(report['code'] == (0 if free and not bad else 1), '%s: exit code %d' % (what, report['code']))
    same_verdict(opensm, what)
    live(fabric, opensm, tables, what)
    return free


def kept_sls(folder, tables):
    """{source LID: SLs by tables.lids} of a dump that `check --live` keeps: a block for each switch, or for each end port."""
    blocks = {}
    with open(os.path.join(folder, 'opensm-path-sl.dump'), encoding='utf-8') as file:
        for line in file:
            head, words = re.match(r'Senders on switch (\w+)|.* base LID (\d+),', line), line.split()
            if head:
                switch, block = head[1], blocks.setdefault(head[1] or int(head[2]), {})
            elif words:
                digits = words[2] if switch else '%x' % int(words[2])
                block.update({int(words[0], 16) + i: int(c, 16) for i, c in enumerate(digits) if c != '-'})
    own = {lid: blocks.get(lid) or blocks[tables.switches[end.switch].guid] for lid, end in tables.end_of.items()}
    return {lid: bytes(block.get(to, 255) for to in tables.lids) for lid, block in own.items()}


def live(fabric, opensm, tables, what):
    """`check --live --prom` beside any engine: what it says, in both forms, is what the oracle finds; nothing changes. Stock dfsssp
    draws the SL of every answer anew where lanes are left, so the oracle judges the answers that check got."""
    path, folder = (os.path.join(fabric.dir, name) for name in ('check.prom', 'kept'))
    said = run(fabric, 'check', '--live', '--prom', path, '--dump', folder, code=(0, 1))
    if said['tables'].get('path_sls') == 'the subnet administrator':
        kept = kept_sls(folder, tables)
        differ = [(a, b) for a, row in kept.items() for b, got, asked in zip(tables.lids, row, tables.rows[a])
                  if a != b and got != asked and (opensm.engine != 'dfsssp' or 255 in (got, asked))]
        expect(not differ, '%s: check and the oracle are told different SLs, as for %s' % (what, differ[:1]))
        tables.rows = kept
    answers = {'one_way': not tables.cycles(tables.rows, scope='hosts'),
               'replies': not tables.cycles(tables.rows, replies=True, scope='hosts')}
    with open(path, encoding='utf-8') as file:
        text = file.read()
    gauges = {name: float(value) for name, value in re.findall(r'^osmroutes_check_(\w+) (\S+)$', text, re.M)}
    shown, with_switches = ({q: int(v) for q, v in re.findall(r'^osmroutes_check_%s\{question="(\w+)"\} (\S+)$' % name, text, re.M)}
                            for name in ('answer', 'answer_with_switches'))
    expect(shown == {q: VALUES[a] for q, a in said['verdict']['answers'].items()} and with_switches == {
        q: VALUES[a] for q, a in said['verdict']['with_switches'].items() if q not in ('verdict', 'why')},
           '%s: the file says %s and %s, JSON %s' % (what, shown, with_switches, said['verdict']))
    expect(not [f for f in os.listdir(fabric.dir) if f.endswith('.new')], 'a file that is half written is left')
    efi, _ = tables.edge_forwarding_index()
    expect(gauges['routes_busiest'] == efi and tables.least_load() <= gauges['efi_bound'] <= efi,
           '%s: busiest and bound: %s' % (what, gauges))
    zero = {lid: [0 if sl != 255 else 255 for sl in row] for lid, row in tables.rows.items()}
    for question, answer in dict(answers, sl0=not tables.cycles(zero, scope='hosts')).items():
        expect(shown[question] == (1 if answer else -1), '%s: %s: between hosts check says %s' % (what, question, shown))
    expect(with_switches['one_way'] == (-1 if tables.cycles(tables.rows) else 1), '%s: with switches %s' % (what, with_switches))
    expect(said.get('loop') or said['verdict']['with_switches']['one_way'] != 'refuted', what + ': the loop is not named')
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
        for key in 'answers', 'with_switches':
            expect(checked['verdict'][key] == routed['verdict'][key], '%s: check says %s, route %s' % (
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
        opensm.wait_quiet()
        tables = fabric.tables()
        tables.rows = tables.ask_sls(fabric, limit=4000000)
        live(fabric, opensm, tables, 'updn without QoS')


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


def ask_ibdmchk(opensm):
    """On what a running opensm has written, by the example of the page; the opinion of ibdmchk."""
    folder, psl = opensm.dir, opensm.dump('psl')
    with open(psl, 'w', encoding='utf-8') as file:
        subprocess.run([os.path.join(ROOT, 'share', 'examples', 'path-sls'), folder], check=True, stdout=file)
    sl2vl = opensm.dump('opensm-sl2vl.dump')
    walked, free = say_ibdmchk(folder, psl, sl2vl if os.path.exists(sl2vl) else None)
    with open(psl, encoding='utf-8') as file:
        return walked, free, {line.split()[2] for line in file}


@scenario('check.ibdmchk')
def ibdmchk_live(workdir):
    """Dumps of a running opensm, as they are: ibdmchk finds lanes by SL free of loops and a loop where there is one. Without QoS
    the dumps are those of stock, with no SL2VL tables, which the switches do not have from OpenSM; they come with QoS."""
    if not shutil.which('ibdmchk'):
        raise Skip('ibdmchk is not installed')
    for engine, free, lanes in ('dfsssp', True, 2), ('sssp', False, 1):
        with running(workdir, 'dragonfly-12', engine, log_flags=LOG_DUMPS, name=engine,
                     plugin_conf='[dfsssp]\nany_sl = off\n') as (fabric, opensm):
            opensm.wait_quiet()
            n = len({e.lid for e in fabric.tables().ends if e.host})
            walked, said, sls = ask_ibdmchk(opensm)
            expect(walked == n * (n - 1) and said == free and len(sls) >= lanes, '%s: %s' % (engine, (walked, said, sls)))
    found = {}
    for ours in False, True:
        with running(workdir, 'torus-4x4', 'dfsssp', plugin=ours, options={'qos': 'FALSE'}, log_flags=LOG_DUMPS,
                     name='ours' if ours else 'stock') as (fabric, opensm):
            opensm.wait_quiet()
            found[ours] = {name for name in os.listdir(opensm.dir) if name.endswith(('.dump', '.fdbs', '.mcfdbs', '.lst'))}
            expect(found[False] <= found[ours] <= found[False] | {'opensm-path-sl.dump'}, str(found))
            expect('opensm-sl2vl.dump' not in found[ours], 'SL2VL tables that no switch holds')
            if ours:
                expect(ask_ibdmchk(opensm)[1], 'ibdmchk finds a loop')
                opensm.set_option('qos', 'TRUE')
                opensm.resweep()
                opensm.wait_quiet()
                judge(fabric, opensm, ours='dfsssp')
                expect(os.path.exists(opensm.dump('opensm-sl2vl.dump')), 'no SL2VL tables with QoS')
                expect(ask_ibdmchk(opensm)[1], 'ibdmchk finds a loop with QoS')
