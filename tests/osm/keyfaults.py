# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Routing keys against what an unprivileged user, a damaged tree or a slow file system can do."""
import os
import re
import signal
import time

import oracle
from judge import expect, generate, scenario
from keys import Client, contention, hosts_of, pattern, shift, with_keys
from osmtest import TOOLS, Fabric, wait_for


def small_tree(workdir):
    return generate(os.path.join(workdir, 'tree.net'), 'tree', 'm=3,3', 'w=1,3')


def switch_of(tables, name):
    return next(s for s in tables.switches if s.name == name)


def lose_tables(fabric, switch):
    """The switch forgets its entries, as one that has rebooted; opensm must not run meanwhile."""
    lids = [lid for lid in range(1, len(switch.lft)) if switch.lft[lid] not in (0, 255)]
    for lid in lids:
        fabric.run([os.path.join(TOOLS, 'osr-spoil'), switch.guid, 'lft', str(lid), '255'])
    return lids


@scenario('keys.rebooted-switch', 200)
def rebooted_switch(workdir):
    """A switch has rebooted: empty tables, the same cables and LIDs. A key is requested while the sweep that finds it
    takes more than a minute. After that sweep the switch has its tables again, by reading them back."""
    with Fabric(small_tree(workdir), workdir) as fabric:
        with with_keys(fabric, workdir, 1, options={'transaction_timeout': 200}) as opensm:
            opensm.wait_up()
            opensm.resweep()
            opensm.wait_quiet()
            with Client(os.path.join(workdir, 'keys.sock')) as client:
                client.socket.settimeout(120)
                app = client.must(op='place', ranks=9, patterns=[pattern(shift(9, 1)), pattern(shift(9, 4))])
                client.begin(app['app'], 0)
                client.must(op='done', app=app['app'], key=0)
                opensm.wait_quiet()
                name = next(n for n, (_, kind) in reversed(fabric.ids.items()) if kind == 'switch')
                switch = switch_of(oracle.Tables(fabric.read_back('lft')), name)
                opensm.process.send_signal(signal.SIGSTOP)
                time.sleep(0.2)
                lids = lose_tables(fabric, switch)
                expect(len(lids) > 8, 'the switch had %d entries' % len(lids))
                fabric.console(fabric.unlink(name), fabric.relink(name))
                fabric.process.send_signal(signal.SIGSTOP)
                mark = opensm.sweeps()
                opensm.process.send_signal(signal.SIGCONT)
                time.sleep(2)
                said = client.must(op='request', app=app['app'], key=1)
                expect(said['state'] == 'waiting', 'a request during the sweep: %s' % said)
                time.sleep(62)
                fabric.process.send_signal(signal.SIGCONT)
                client.until(120, event='key', app=app['app'], key=1, state='active')
                wait_for('the sweep', lambda: opensm.sweeps() > mark, 60)
                opensm.wait_quiet()
                tables = oracle.Tables(fabric.read_back('lft'))
                now = switch_of(tables, name)
                lost = [lid for lid in lids if now.lft[lid] == 255]
                expect(not lost, '%d of %d entries of the rebooted switch are missing' %
                       (len(lost), len(lids)))
                expect(not tables.routes().problems, 'routes: %s' % tables.routes().problems[:1])
                ends = {int(e.guid, 16): e for e in hosts_of(tables)}
                hosts = [ends[int(guid, 16)] for guid in app['hosts']]
                expect(contention(tables, hosts, shift(9, 4), 1) <= 1, 'the key has contention')
