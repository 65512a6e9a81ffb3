#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What SL2VL tables cost: MADs, and seconds from the first Set to the last, of the first sweep, of a later one
that changes nothing, and of sweeps after a dead cable; by turn, by SL and by stock engines.

    slvlmads.py [--torus=XxYxZ] [--vls=N] [--width=PORTS] [--cables=N] NETFILE [WHO ...]

--torus names the size for torus-2QoS, --width the ports of every switch, for wildcards. Sets count those to
hosts, one each; Gets are what the plugin reads back.
"""
import os
import shutil
import statistics
import sys

import oracle
from faults import switch_links
from judge import QOS
from osmtest import BUILD, Fabric, Opensm, find_fabric

SLVL = 0x17
# name: routing_engine, ours, any_sl, wildcards
WHO = {
    'turn': ('dfsssp', True, 'on', False),
    'turn-wildcards': ('dfsssp', True, 'on', True),
    'sl': ('dfsssp', True, 'off', False),
    'sl-wildcards': ('dfsssp', True, 'off', True),
    'torus-2QoS': ('torus-2QoS', False, '', False),
    'torus-2QoS-wildcards': ('torus-2QoS', False, '', True),
}


def torus_conf(path, size):
    """ibsim numbers switches as they come in the file, and the generator's last dimension varies fastest."""
    dims = [int(n) for n in size.split('x')]
    with open(path, 'w') as file:
        file.write('torus %d %d %d\n' % tuple(dims))
        for axis, step in zip('xyz', (dims[1] * dims[2], dims[2], 1)):
            file.write('%sp_link 0x200000 0x%x\n' % (axis, 0x200000 + step))
    return path


def cost(fabric):
    mads, seconds = fabric.mads()
    gets, sets = mads.get(SLVL, (0, 0))
    return sets, gets, seconds, sum(a + b for a, b in mads.values())


def measure(netfile, who, values):
    engine, ours, any_sl, wildcards = WHO[who]
    workdir = os.path.join(values.get('dir', os.path.join(BUILD, 'osm-tests', 'slvlmads')), who)
    shutil.rmtree(workdir, ignore_errors=True)
    os.makedirs(workdir)
    options = dict(QOS, max_op_vls={2: 2, 4: 3, 8: 4}[int(values.get('vls', 2))],
                   use_optimized_slvl='TRUE' if wildcards else 'FALSE')
    if 'torus' in values:
        options['torus_config'] = torus_conf(os.path.join(workdir, 'torus.conf'), values['torus'])
    sim = {'OSR_SIM_WILDCARDS': values.get('width', '0') if wildcards else '0'}
    with Fabric(netfile, workdir, sim=sim) as fabric:
        with Opensm(fabric, engine, plugin=ours, options=options,
                    plugin_conf='[dfsssp]\nany_sl = %s\n' % any_sl) as opensm:
            opensm.wait_up(300)
            opensm.wait_quiet(still=1)
            rows = [('first', cost(fabric))]
            opensm.resweep(300)	# only now all ports have their operational VLs
            opensm.wait_quiet(still=1)
            rows.append(('second', cost(fabric)))
            opensm.resweep(300)
            rows.append(('later', cost(fabric)))
            cables = switch_links(oracle.Tables(fabric.read_back('lft')))
            n = int(values.get('cables', 3))
            dead = []
            for cable in cables[len(cables) // n // 2::len(cables) // n][:n]:
                fabric.mads()
                opensm.change(fabric.unlink(*cable[:2]), seconds=300)
                dead.append(cost(fabric))
                opensm.change(fabric.relink(*cable[:2]), seconds=300)
            rows.append(('repair', tuple(statistics.median(d[i] for d in dead) for i in range(4))))
    print('%-22s' % who, '; '.join('%s %d set %d read %.3f s (all %d)' % ((what,) + c) for what, c in rows), flush=True)


def main():
    values = dict(a[2:].split('=', 1) for a in sys.argv[1:] if a.startswith('--'))
    names = [a for a in sys.argv[1:] if not a.startswith('--')]
    for who in names[1:] or WHO:
        if 'torus' in values or not who.startswith('torus'):
            measure(find_fabric(names[0]), who, values)
    return 0


if __name__ == '__main__':
    sys.exit(main())
