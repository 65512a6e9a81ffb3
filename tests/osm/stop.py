# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""SIGTERM: opensm ends, whatever it is just doing. OSR_SEED makes other moments, OSR_STEPS more of them:

    OSR_SEED=7 OSR_STEPS=200 ctest --test-dir build -R osm.stop.moments --timeout 3600
"""
import os
import random
import signal
import subprocess
import time

from anysl import ANY_SL, SLVL, sparse
from judge import QOS, expect, scenario
from keys import Client
from osmtest import Fabric, Opensm, find_fabric, wait_for
from rough import SEED, steps


def end(opensm):
    """Seconds from SIGTERM until opensm has closed its plugins and its SM. What follows is ibsim's library, which in its
    exit handler joins a thread that may wait for ever, or crashes, if an answer is still under way."""
    started = time.monotonic()
    opensm.process.terminate()
    wait_for('the end of opensm', lambda: 'Exiting SM' in opensm.log, 15)
    seconds = time.monotonic() - started
    try:
        opensm.process.wait(2)
    except subprocess.TimeoutExpired:
        opensm.process.kill()
        opensm.process.wait()
    opensm.fabric.forget(opensm.process.pid)
    return seconds


@scenario('stop.unanswered')
def unanswered(workdir):
    """A cable dies, and for a moment switches do not answer to their new SL2VL tables: SIGTERM comes while the plugin
    waits for them, before it lets OpenSM's QoS manager send."""
    with Fabric(sparse(workdir), workdir, sim={}) as fabric:
        for i in 5, 7:
            with Opensm(fabric, 'dfsssp', plugin=True, options=dict(QOS, max_op_vls=2), plugin_conf=ANY_SL) as opensm:
                opensm.wait_up()
                opensm.wait_quiet()
                cable = fabric.tables().cables()[i]
                fabric.mads()
                fabric.console(fabric.unlink(*cable[:2]))
                give_up = time.monotonic() + 30
                while not fabric.mads()[0].get(SLVL, (0, 0))[1]:	# no pause: all of it takes 20 ms
                    expect(time.monotonic() < give_up, 'no SL2VL tables are sent')
                fabric.process.send_signal(signal.SIGSTOP)
                opensm.process.terminate()
                time.sleep(0.3)
                fabric.process.send_signal(signal.SIGCONT)
                end(opensm)
                fabric.console(fabric.relink(*cable[:2]))


class Moments:
    """Lives of opensm that end a few ms after something has happened. Keys want a tree, lanes by turn another fabric."""

    def __init__(self, workdir, rng, kind, ours=True):
        self.dir, self.rng, self.kind = os.path.join(workdir, kind), rng, kind
        self.engine = 'dmodk' if kind == 'key' else 'dfsssp'
        self.net = find_fabric('tree-2') if kind == 'key' else sparse(self.dir)
        self.ours, self.slowest = ours, 0

    def happens(self, fabric, path, opensm, cable):
        if self.kind == 'sweep':
            opensm.process.send_signal(signal.SIGHUP)
        elif self.kind == 'trap':	# without waiting for ibsim to have done it
            fabric.process.stdin.write(fabric.unlink(*cable) + '\n')
            fabric.process.stdin.flush()
        else:
            with Client(path) as client:
                if self.kind == 'key':
                    app = client.must(op='place', ranks=4, patterns=['0>1 1>2 2>3 3>0'])['app']
                    client.send(op='request', app=app, key=0)
                else:
                    client.send(op='drain', what='%s:%d' % cable)

    def live(self, n):
        """The slowest end of n lives, in seconds."""
        with Fabric(self.net, self.dir) as fabric:
            path, cables = os.path.join(fabric.dir, 'keys.sock'), None
            for _ in range(n):
                with Opensm(fabric, self.engine, plugin=self.ours, options=dict(QOS, max_op_vls=2, lmc=1),
                            plugin_conf='control_socket = %s\n' % path + ANY_SL) as opensm:
                    opensm.wait_up()
                    opensm.wait_quiet(still=0.2)
                    cables = cables or [c[:2] for c in fabric.tables('lft').cables()]
                    cable = self.rng.choice(cables)
                    self.happens(fabric, path, opensm, cable)
                    time.sleep(self.rng.choice((0.003, 0.02, 0.1, 1)) * self.rng.random())
                    self.slowest = max(self.slowest, end(opensm))
                    fabric.console(fabric.relink(*cable))
        return self.slowest


@scenario('stop.moments')
def moments(workdir):
    """SIGTERM at random moments of a trap, a sweep, a key request, a drain."""
    rng = random.Random(SEED)
    for kind in 'trap', 'sweep', 'key', 'drain':
        print('SIGTERM after a %s: the slowest end took %.2f s' % (kind, Moments(workdir, rng, kind).live(steps(2))))
