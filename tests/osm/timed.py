# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""One engine on one fabric: the first sweep of an opensm -o under ibsim, timed by libosrtimer.so
(tests/bench/osr-timer.c)."""
import json
import os
import re
import shutil

from osmtest import BUILD, LOG_PLAIN, Failure, Opensm, routed

TIMER = os.path.join(BUILD, 'libosrtimer.so')


def have_opensm():
    return os.path.exists(TIMER) and all(shutil.which(t) for t in ('opensm', 'ibsim', 'ibsim-run'))


class Sweep:
    """What one sweep cost and came to. cpu: ms of the engine's callbacks; sent: the same until all tables are sent;
    kb: growth of the memory; used: the engine that made the tables, which is another one if this one refused; lanes: those it
    says that deadlock freedom needs; said: of ours, the JSON of its log; lfts: the file of the tables."""

    def __init__(self, line, engine, log, lfts):
        self.used, self.lfts = line['used'], lfts
        self.said = (routed(log) or [None])[-1]
        # CPU of the thread that stores our tables; opensm waits for it before it ends.
        stored = re.findall(r'osmroutes: \S+: tables stored in .*: \d+ bytes, ([\d.]+) ms of CPU', log)
        if self.said and self.used == engine and (line['threads'] or not stored):
            raise Failure('%s left threads behind, or the log does not say that its tables were stored' % engine)
        # Without callbacks of its own (updn in part) an engine is not timed.
        self.cpu = self.sent = None
        if 'cpu_ms' in line:
            self.cpu = line['cpu_ms'] + line['events_ms'] + sum(map(float, stored))
            self.sent = line['sent_ms'] + sum(map(float, stored))
        self.kb = line.get('grown_kb')
        # lash and dfsssp of stock say that.
        lanes = re.findall(r'[Ll]anes needed: (\d+)', log)
        self.lanes = self.said['vls']['needed'] if self.said else int(lanes[-1]) if lanes else None


def sweep(fabric, engine, ours=None, options=None, seconds=900, log_flags=LOG_PLAIN):
    """ours: lines of osmroutes.conf, None for a stock engine."""
    name = engine if ours is None else 'ours-' + engine
    out, lfts = (os.path.join(fabric.dir, name + end) for end in ('.timer', '.lfts'))
    for path in (out, lfts):
        if os.path.exists(path):
            os.remove(path)
    plugins = 'osrtimer' if ours is None else 'osmroutes osrtimer'
    # With 0, its default here, the main thread of opensm -o polls beside the routing.
    options = dict({'qos': 'TRUE', 'max_wire_smps': 32, 'sweep_interval': 3600, 'event_plugin_name': plugins},
                   **options or {})
    with Opensm(fabric, engine, plugin=ours is not None, plugin_conf=ours, options=options,
                log_flags=log_flags, once=True, name=name,
                env={'OSR_TIMER_ENGINE': engine, 'OSR_TIMER_OUT': out, 'OSR_TIMER_LFTS': lfts}) as opensm:
        opensm.wait_end(seconds)
    with open(out) as file:
        return Sweep(json.loads(file.readline()), engine, opensm.log, lfts)
