# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One opensm, one sweep, measured by tests/bench/osr-timer.c: what scripts/demo is made of."""
import json
import os
import re

import oracle
from osmtest import LOG_DUMPS, Failure, Fabric, Opensm, routed

PAIRS = 500000	# path records asked for at most, one by one; beyond that one source a switch


class Run:
    """One engine on one fabric. used: the engine that routed in the end; seconds, peak: CPU time and kB in
    the routing callbacks and event handlers of the engine that was asked for."""
    used = seconds = peak = vls = efi = mean = one_way = replies = None


def measure(netfile, workdir, engine, ours, seconds=120):
    """Sweeps once with the stock engine or ours, reads back and looks for loops."""
    name = ('ours-' if ours else 'stock-') + engine
    timer = os.path.join(workdir, name + '.timer')
    if os.path.exists(timer):
        os.unlink(timer)
    conf = {'qos': 'TRUE', 'event_plugin_name': 'osmroutes osrtimer' if ours else 'osrtimer'}
    with Fabric(netfile, workdir) as fabric:
        with Opensm(fabric, engine, plugin=ours, options=conf, log_flags=LOG_DUMPS, name=name,
                    env={'OSR_TIMER_OUT': timer}) as opensm:
            opensm.wait_up(seconds)
            run = outcome(opensm, timer, engine)
            read_tables(fabric, run)
    run.dir = opensm.dir
    return run


def outcome(opensm, timer, engine):
    run = Run()
    run.used = opensm.engine_used()
    with open(timer) as file:
        line = json.loads(file.readline())
    mine = next((e for e in line['engines'] if e['name'] == engine), None)
    if not mine:
        raise Failure('%s was not measured: see %s' % (engine, opensm.logfile))
    run.failed = run.used != engine
    run.seconds = (mine['cpu_ms'] + line['events_ms']) / 1000
    run.peak = mine['grown_kb']
    run.vls = vls_of(opensm.log)
    return run


def vls_of(log):
    """VLs that deadlock freedom needs, as the engine logs them: with one-way SLs, as stock counts."""
    ours = routed(log)
    if ours:
        return ours[-1]['vls']['needed_one_way'] or None
    stock = re.findall(r'dfsssp_remove_deadlocks: \s*(\d+)\. lane: (\d+)',
                       log.split('Approx. #paths per VL')[0].rpartition('Paths per VL')[2])
    return sum(int(paths) > 0 for _, paths in stock) or None


def read_tables(fabric, run):
    tables = oracle.Tables(fabric.read_back())
    verdict = tables.routes()
    if verdict.problems:
        raise Failure(verdict.problems[0])
    run.n_switches, run.n_hosts = len(tables.switches), len(tables.host_lids)
    run.n_channels = len(tables.channels())
    run.longer = verdict.n_longer
    run.efi, run.mean = tables.edge_forwarding_index()
    try:
        rows = tables.ask_sls(fabric, limit=PAIRS)
    except Failure:		# too many pairs, and SLs that depend on the single host
        rows = tables.ask_sls(fabric, limit=1 << 40)
    run.one_way = not tables.cycles(rows, scope='hosts')
    run.replies = not tables.cycles(rows, replies=True, scope='hosts')
