#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a new master reads to start from what is in the switches: LFT blocks, SL2VL tables, milliseconds, and whether an
entry changed. handovermads.py [--vls=N] NETFILE ...: rows of a table."""
import os
import re
import shutil
import sys

from judge import QOS, Claims
from osmtest import BUILD, Failure, Fabric, Opensm, find_fabric, held, wait_for
from restart import kill

SAID = r'handover: (\d+) LFT blocks and (\d+) SL2VL tables read from the switches in ([\d.]+) ms'


def master(fabric, host, name, vls):
    return Opensm(fabric, 'dfsssp', plugin=True, name=name,
                  options=dict(QOS, max_op_vls=vls, sm_priority=3, sminfo_polling_timeout=1000, polling_retry_number=4),
                  env={'SIM_HOST': fabric.node_id(host)})


def measure(netfile, vls):
    workdir = os.path.join(BUILD, 'osm-tests', 'handovermads')
    shutil.rmtree(workdir, ignore_errors=True)
    os.makedirs(workdir)
    with Fabric(netfile, workdir) as fabric:
        hosts = [name for name, (_, kind) in fabric.ids.items() if kind == 'ca']
        with master(fabric, hosts[0], 'first', vls) as first:
            first.wait_up(300)
            first.wait_quiet(still=2)
            with master(fabric, hosts[-1], 'second', vls) as second:
                wait_for('standby', lambda: 'STANDBY' in second.log, 300, second._alive)
                with held(second):
                    kill(first)
                    fabric.forget(first.process.pid)
                second.wait_up(300)
                second.wait_quiet(still=2)
                blocks, tables, ms = re.search(SAID, second.log).groups()
                sweep = re.search(r'osmroutes: \S+: (\d+) switches, .*?(\d+) LIDs in ([\d.]+) ms', second.log)
                return sweep.group(1), sweep.group(2), blocks, tables, ms, sweep.group(3), Claims(second.log).changed


def main():
    words = sys.argv[1:]
    vls = {'2': 2, '4': 3, '8': 4}[next((w[6:] for w in words if w.startswith('--vls=')), '2')]
    print('| fabric | switches, LIDs | LFT blocks | SL2VL tables | read, ms | routed and verified, ms | entries changed |')
    print('|---|---|---|---|---|---|---|')
    for name in (w for w in words if not w.startswith('--')):
        got = measure(find_fabric(name), vls)
        print('| %s | %s, %s | %s | %s | %s | %s | %s |' % ((os.path.basename(name),) + got), flush=True)


if __name__ == '__main__':
    main()
