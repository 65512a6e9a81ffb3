# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One opensm, one sweep, measured: what scripts/demo and scripts/bench are made of."""
import os
import re

import oracle
from osmtest import BUILD, LOG_PLAIN, TOOLS, Failure, Fabric, Opensm

PAIRS = 500000	# path records asked for at most, one by one; beyond that one source a switch


class Run:
    """One engine on one fabric. cpu, kb: in the routing callbacks and event handlers; None if the
    engine failed. used: the engine that routed in the end."""
    cpu = kb = used = vls = efi = mean = one_way = replies = None


def timer_lines(path):
    with open(path) as file:
        return [line.split() for line in file]


def measure(netfile, workdir, engine, ours, judge=False, log_flags=LOG_PLAIN, seconds=600,
            options=None):
    """Sweeps once with the stock engine or ours; with judge, reads back and looks for loops."""
    name = ('ours-' if ours else 'stock-') + engine
    timer = os.path.join(workdir, name + '.timer')
    if os.path.exists(timer):
        os.unlink(timer)
    plugins = 'osr-timer osmroutes osr-timer' if ours else 'osr-timer'
    conf = dict({'qos': 'TRUE', 'event_plugin_name': plugins}, **(options or {}))
    env = {'OSR_TIMER_FILE': timer, 'LD_LIBRARY_PATH': BUILD + ':' + TOOLS}
    with Fabric(netfile, workdir) as fabric:
        with Opensm(fabric, engine, plugin=ours, options=conf, log_flags=log_flags, name=name,
                    once=not judge, env=env) as opensm:
            if judge:
                opensm.wait_up(seconds)
            else:
                opensm.wait_end(seconds)
            run = outcome(opensm, timer, engine)
            read_tables(fabric, run, judge)
    run.dir = opensm.dir
    return run


def outcome(opensm, timer, engine):
    run = Run()
    run.used = opensm.engine_used()
    lines = timer_lines(timer)
    mine = [l for l in lines if l[0] == engine]
    if not mine:
        raise Failure('%s was not measured: see %s' % (engine, opensm.logfile))
    run.status = int(mine[0][3])
    run.seconds = float(mine[0][1]) + sum(float(l[1]) for l in lines if l[0] == 'events')
    run.peak = int(mine[0][2])
    if run.used == engine:
        run.cpu, run.kb = run.seconds, run.peak
    run.vls = vls_of(opensm.log)
    return run


def vls_of(log):
    """VLs that deadlock freedom needs, as the engine logs them: with one-way SLs, as stock counts."""
    ours = re.findall(r'with one-way SLs (\d+)\)', log)
    if ours:
        return int(ours[-1])
    stock = re.findall(r'dfsssp_remove_deadlocks: \s*(\d+)\. lane: (\d+)',
                       log.split('Approx. #paths per VL')[0].rpartition('Paths per VL')[2])
    return sum(int(paths) > 0 for _, paths in stock) or None


def read_tables(fabric, run, judge):
    tables = oracle.Tables(fabric.read_back(*([] if judge else ['lft'])))
    verdict = tables.routes() if judge else None
    if verdict and verdict.problems:
        raise Failure(verdict.problems[0])
    run.n_switches, run.n_hosts = len(tables.switches), len(tables.host_lids)
    run.n_channels = len(tables.channels())
    run.longer = verdict.n_longer if verdict else None
    run.efi, run.mean = tables.edge_forwarding_index()
    if judge:
        try:
            rows = tables.ask_sls(fabric, limit=PAIRS)
        except Failure:		# too many pairs, and SLs that depend on the single host
            rows = tables.ask_sls(fabric, limit=1 << 40)
        run.one_way = not tables.cycles(rows, scope='hosts')
        run.replies = not tables.cycles(rows, replies=True, scope='hosts')
