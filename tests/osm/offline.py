# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The command beside the running plugin: with the same opensm.conf it says which tables the plugin has, before and after
a cable fails and returns."""
import os
import re

from judge import QOS, Claims, expect, generate, scenario
from osmtest import osmroutes, running


def command(opensm, *words):
    """Where opensm runs, so that the paths in its configuration mean the same."""
    return osmroutes(*words, '--opensm-conf', opensm.conf, cwd=opensm.dir)


def digest(opensm, *words):
    found = command(opensm, 'route', *words)
    return found['results'][0]['digest'], found['vls_available'], found['results'][0]['efi_bound']


def subnet(opensm, path, gone=None):
    """OpenSM's own picture of the fabric, with its LIDs, without one cable; gone: (name of a switch, port)."""
    with open(os.path.join(opensm.dir, 'opensm-subnet.lst')) as file:
        lines = [line for line in file
                 if gone not in [(name, int(port, 16)) for name, port in
                                 re.findall(r'\{([^{}]+)\} LID:\w+ PN:(\w+)', line)]]
    with open(path, 'w') as file:
        file.writelines(lines)
    return path


def compare(what, opensm, *words):
    got, vls, bound = digest(opensm, *words)
    live = Claims(opensm.log)
    expect(got == live.digest, '%s: the command says %s, and the plugin %s' % (what, got, live.digest))
    expect(vls == live.budget, '%s: %d virtual lanes, and in the plugin %d' % (what, vls, live.budget))
    expect(bound == live.efi_bound, '%s: least load %d, and in the plugin %d' % (what, bound, live.efi_bound))
    return got


def beside(workdir, netfile, engine='dfsssp', which=0, conf='', options=QOS, whatif=True):
    """Whole, without a cable, whole again."""
    results = [os.path.join(workdir, name) for name in ('whole', 'broken', 'again')]
    with running(workdir, netfile, engine, options=options, plugin_conf=conf) as (fabric, opensm):
        opensm.wait_quiet()
        net = subnet(opensm, os.path.join(workdir, 'whole.lst'))
        compare(netfile, opensm, net, '--save', results[0])
        switch, port, _ = fabric.tables('lft').cables()[which]
        broken = subnet(opensm, os.path.join(workdir, 'broken.lst'), (switch, port))
        opensm.change(fabric.unlink(switch, port))
        what = '%s without %s:%d' % (netfile, switch, port)
        compare(what, opensm, broken, '--previous', results[0], '--save', results[1])
        if whatif:
            case = command(opensm, 'whatif', net, '--link', '%s:%d' % (switch, port))['cases'][0]
            expect(case['digest'] == Claims(opensm.log).digest, what + ': whatif says ' + case['digest'])
        opensm.change(fabric.relink(switch, port))
        return compare(netfile + ' again', opensm, net, '--previous', results[1], '--save', results[2])


@scenario('offline.faults')
def faults(workdir):
    """Trees, a torus, a random fabric and a real one; QoS off, fewer lanes, options of the engine, and other engines."""
    beside(workdir, 'tree-3')
    beside(workdir, 'torus-4x4', options={'qos': 'FALSE'})
    beside(workdir, 'random-12', conf='max_vls = 3\n[dfsssp]\nrebalance = 101\n', which=3)
    beside(workdir, 'random-12', options={'qos': 'TRUE', 'max_op_vls': '2', 'disable_multicast': 'TRUE'})
    beside(workdir, 'ring-5', 'p2sssp')


@scenario('offline.rates')
def rates(workdir):
    """Links of several rates weigh the same in both: every third cable is slower, in three ways."""
    net = generate(os.path.join(workdir, 'slow.net'), '--rate=4xEDR', 'random', 'switches=12', 'links=24', 'hosts=2', 'seed=5')
    with open(net) as file:
        lines = file.readlines()
    here = 0
    for i, line in enumerate(lines):
        here = int((re.match(r'Switch\t\d+ "s(\d+)"', line) or [0, here])[1])
        there = re.search(r'"s(\d+)"\[', line)
        if there and (here + int(there[1])) % 3 == 0:
            lines[i] = line.replace('4xEDR', ('4xDDR', '4xQDR', '1xSDR')[(here + int(there[1])) // 3 % 3])
    with open(net, 'w') as file:
        file.writelines(lines)
    beside(workdir, net)


@scenario('offline.real-fabric')
def real_fabric(workdir):
    """A fabric from the field."""
    beside(workdir, 'topograph-dgx-2025')
