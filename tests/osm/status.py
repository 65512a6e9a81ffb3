# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes status`: what a running subnet manager says of itself, also where osmroutes routes nothing."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from drain import CONF, ask
from judge import QOS, Claims, expect, judge, scenario
from osmtest import BUILD, COMMAND, OPENSM, Fabric, Opensm, find_fabric, running


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
                   (claims.digest, {'efi': claims.efi, 'efi_bound': claims.efi_bound,
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
