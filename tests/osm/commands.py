# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Every command that `osmroutes --help` lists, with no options but those it cannot do without: the default engine with the
default options, which must be what -e dfsssp gives."""
import json
import os
import re
import subprocess

from judge import QOS, Claims, expect, scenario
from osmtest import COMMAND, Fabric, Opensm, find_fabric, patience

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
