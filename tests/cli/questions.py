#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes path` and `users` against a program that knows nothing but cables and dumps (bandwidth.py): every switch and
port of a path, and every host behind a cable. SLs and VLs by the text dumps.

    questions.py COMMAND ROOT
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from bandwidth import Oracle, run
from dump import Dump


def ask(command, *words, code=0):
    done = subprocess.run([command, *words, '--json'], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit('%s: exit %d, not %d: %s' % (words, done.returncode, code, done.stderr))
    return json.loads(done.stdout)


def same(what, got, want):
    if got != want:
        sys.exit('%s: the command says %s, by hand it is %s' % (what, got, want))


def name_of(oracle, place):
    return oracle.cables[place][0]


def check_path(command, source, oracle, sls, a, b):
    found = ask(command, 'path', name_of(oracle, a), name_of(oracle, b), *source)
    for here, there in ((a, b), (b, a)):
        way = [step for step in oracle.path(here, there)[1:]]
        lid = oracle.lids[there]
        hops = [h for h in found['hops'] if h['lid'] == lid]
        same('path to LID %d' % lid, [(h['node'], h['out']) for h in hops if 'out' in h], way)
        path = [p for p in found['paths'] if p['lid'] == lid][0]
        same('arrives', path['arrives'], True)
        same('switches', path['hops'], len(way))
        guid = int(hops[0]['guid'], 16)
        if sls:
            same('SL', path['sl'], sls[guid, lid])
            # Without SL2VL tables of other kinds dfsssp has VL = SL.
            same('VLs', {h['vl'] for h in hops}, {path['sl']})


def routes_over(oracle, channel):
    found = []
    for a in oracle.hosts:
        for b in oracle.hosts:
            if a != b and channel in oracle.path(a, b)[1:]:
                found.append((name_of(oracle, a), name_of(oracle, b)))
    return found


def check_users(command, source, oracle, channel):
    found = ask(command, 'path', '--via=%s:%d' % channel, *source, '--max=0', '--pairs')
    for number, end in ((1, channel), (2, oracle.cables[channel])):
        # A cable to a host: its own packets leave by its one cable.
        routes = (routes_over(oracle, end) if oracle.kinds[end[0]] == 'Switch' else
                  [(end[0], name_of(oracle, b)) for b in oracle.hosts if name_of(oracle, b) != end[0]])
        of = lambda rows: [r for r in rows if r['direction'] == number]
        same('pairs', sorted((p['from'], p['to']) for p in of(found.get('pairs', []))), sorted(routes))
        row = of(found['directions'])[0]
        same('routes', (row['routes'], row['senders'], row['receivers']),
             (len(routes), len({a for a, b in routes}), len({b for a, b in routes})))
    return 2


def check_hosts(command, source, oracle, hosts, workdir):
    """Routes between the hosts of a job, over every channel between switches."""
    listed = os.path.join(workdir, 'job')
    with open(listed, 'w') as file:
        file.write(''.join(name_of(oracle, h) + '\n' for h in hosts))
    found = ask(command, 'path', '--hosts=' + listed, *source, '--max=0')
    want = {}
    for a in hosts:
        for b in hosts:
            for channel in oracle.path(a, b)[1:] if a != b else ():
                if oracle.kinds[channel[0]] == 'Switch' and oracle.kinds[oracle.cables[channel][0]] == 'Switch':
                    want[channel] = want.get(channel, 0) + 1
    same('cables', {(c['from'], c['from_port']): c['routes'] for c in found.get('cables', [])}, want)
    return 1


def fabric(command, net, words, workdir):
    dump = os.path.join(workdir, 'dump')
    run(command, 'route', net, *words, '--dump', dump, '--ibdmchk')
    oracle = Oracle(net, os.path.join(dump, 'opensm-lfts.dump'))
    sls = Dump(dump).sl
    n = 0
    # The default engine with default options, then the same tables as dumps.
    for source in ([net] + words, [dump]):
        for a, b in list(zip(oracle.hosts, oracle.hosts[1:] + oracle.hosts[:1]))[::3]:
            check_path(command, source, oracle, sls, a, b)
            n += 2
        for channel in sorted(c for c in oracle.cables if oracle.kinds[c[0]] == 'Switch')[::7]:
            n += check_users(command, source, oracle, channel)
        n += check_hosts(command, source, oracle, oracle.hosts[::3], workdir)
    return n


def broken(command, root, workdir):
    """An entry that is not there, and one to a wrong port: the path says where it ends."""
    net, dump = os.path.join(root, 'topologies', 'tree-2.net'), os.path.join(workdir, 'broken')
    run(command, 'route', net, '--dump', dump, '--ibdmchk')
    lfts = os.path.join(dump, 'opensm-lfts.dump')
    text = open(lfts).read()
    lid = ask(command, 'path', 'h00', 'h15', net)['paths'][0]['lid']
    entry = re.compile(r'^0x%04x \d+ .*\n' % lid, re.M | re.I)
    with open(lfts, 'w') as file:
        file.write(entry.sub('', text))
    found = ask(command, 'path', 'h00', 'h15', dump, code=1)
    same('arrives', [p['arrives'] for p in found['paths']], [False, True])
    return 1


def main():
    command, root = sys.argv[1:]
    n = 0
    with tempfile.TemporaryDirectory() as workdir:
        for name, words in (('tree-3', []), ('ring-5', ['-o', 'any_sl=off']), ('random-12', []), ('tree-2', ['-e', 'dmodk'])):
            n += fabric(command, os.path.join(root, 'topologies', name + '.net'), words, workdir)
        n += broken(command, root, workdir)
    print('%d paths and directions of cables are what they are by hand' % n)


if __name__ == '__main__':
    main()
