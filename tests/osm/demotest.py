# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/demo on fabrics without LIDs and with LIDs that no fresh OpenSM would give, as ibnetdiscover writes them: its
figures are those of `osmroutes route`, and of tables read back out of the switches."""
import json
import os
import re
import subprocess
import sys

import oracle
from osmtest import BUILD, HERE, ROOT, Failure, Fabric, Opensm, Skip, need_tools

DIR = os.path.join(BUILD, 'osm-tests', 'demo')
COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')


def demo(*words, code=0):
    """What scripts/demo says, and its table: {what: [cells]}."""
    done = subprocess.run([sys.executable, '-B', os.path.join(HERE, 'demo.py'), *words], text=True,
                          env=dict(os.environ, OSR_DEMO_DIR=DIR), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != code:
        raise Failure('demo %s: exit %d: %s' % (' '.join(words), done.returncode, (done.stdout + done.stderr)[-600:]))
    cells = (re.split(r'  +', line.strip()) for line in done.stdout.splitlines() if line.startswith('  '))
    return done.stdout + done.stderr, {c[0]: c[1:] for c in cells if len(c) == 5}


def expect(what, found, expected):
    if found != expected:
        raise Failure('%s: the demo says %s, expected %s' % (what, found, expected))


def compare(netfile):
    table = demo(netfile)[1]
    done = subprocess.run([COMMAND, 'route', '-e', 'dfsssp', '--json', netfile], stdout=subprocess.PIPE, check=True)
    ours = json.loads(done.stdout)['results'][0]
    expect('bandwidth', table['effective bisection bandwidth'][3], '%.3f' % ours['ebb'])
    expect('busiest link', table['routes on the busiest link'][3], '%d' % ours['efi'])
    with Fabric(netfile, os.path.join(DIR, 'minhop')) as fabric, Opensm(fabric, 'minhop') as opensm:
        opensm.wait_up()
        tables = oracle.Tables(fabric.read_back('lft'))
    expect('faults', tables.routes().problems, [])
    expect('busiest link of minhop', table['routes on the busiest link'][0], '%d' % tables.edge_forwarding_index()[0])
    return tables


def main():
    need_tools()
    compare(os.path.join(ROOT, 'topologies', 'torus-4x4.net'))
    with open(os.path.join(DIR, 'torus-4x4', 'ours-dfsssp.topo')) as file:
        text = file.read()
    renumbered = os.path.join(DIR, 'renumbered.topo')
    with open(renumbered, 'w') as file:
        file.write(re.sub(r'\blid (\d+)', lambda m: 'lid %d' % (300 - 7 * int(m.group(1))), text))
    expect('highest LID', max(compare(renumbered).lids), 293)
    lone = os.path.join(DIR, 'lone-switch.net')
    subprocess.run([COMMAND, 'generate', '-o', lone, 'kary', 'k=4', 'n=1'], check=True)
    said = demo(lone, code=1)[0]
    expect('last line', said.splitlines()[-1].rpartition(': ')[2], 'no route between hosts takes a cable between switches')


try:
    main()
except Skip as skip:
    print(skip)
    sys.exit(77)
except Failure as failure:
    sys.exit('demotest: %s' % failure)
