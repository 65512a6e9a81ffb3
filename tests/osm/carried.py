# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Do packets get through? Tables read back from the switches carry traffic in a simulator of links with credits
(tests/lab/simulator/credits.c), which knows nothing of how they were made."""
import json
import os
import re
import sys

import drain
from judge import QOS, expect, generate, scenario
from osmtest import BUILD, COMMAND, ROOT, running
from transition import judge_rounds, Mixture, two_rounds

sys.path.append(os.path.join(ROOT, 'tests', 'lab', 'simulator'))
import credits as simulator	# noqa: E402

BINARY = os.path.join(BUILD, 'tests', 'osr-credits')


class Waits(Mixture):
    """Which (switch, port, VL) waits for which in one set of tables, and the pairs of hosts that make it so; rows None: on any SL."""

    def __init__(self, tables, rows=None):
        super().__init__(tables, tables)
        for e in [e for e in tables.ends if e.host]:
            for k, lid in [(k, lid) for k, lid in enumerate(tables.lids) if tables.end_of[lid].host and lid not in e.lids]:
                for sl in [rows[e.lid][k]] if rows else range(15):
                    goal = tables.switches[tables.end_of[lid].switch].guid
                    self.send(tables.switches[e.switch].guid, e.port, lid, sl, goal, e.lid)
        self.after = {}
        for a, b in self.waits:
            self.after.setdefault(a, []).append(b)

    def chain(self):
        """The longest, or a circle where there is one, its first also last."""
        best, path, ways = {}, [], []

        def enter(v):
            path.append(v)
            ways.append(iter(self.after.get(v, ())))

        for root in sorted(self.after):
            if root not in best:
                enter(root)
            while path:
                b = next(ways[-1], None)
                if b in path:
                    return path[path.index(b):] + [b]
                if b is None:
                    v = path.pop()
                    ways.pop()
                    best[v] = max(((best[b][0] + 1, b) for b in self.after.get(v, ())), default=(0, None))
                elif b not in best:
                    enter(b)
        path = [max(best, key=lambda v: best[v][0])] if best else []
        while path and best[path[-1]][1]:
            path.append(best[path[-1]][1])
        return path

    def aimed(self, path):
        """{LID: LIDs} of all packets that make one of these wait for the next."""
        send = {}
        for source, lid in sorted(set().union(*(self.waits[wait] for wait in zip(path, path[1:])))):
            send.setdefault(source, []).append(lid)
        return send


def carry(texts, **options):
    return simulator.run(BINARY, texts if isinstance(texts, list) else [texts], **options)


def read(fabric, **how):
    """Tables of the switches, with the SLs of path records."""
    tables = fabric.tables('lft', 'sl2vl')
    tables.rows = tables.ask_sls(fabric, **how)
    return tables


def routed_by(netfile, workdir, engine, ours, **options):
    """What an opensm has programmed; .loop: the credit loop that `osmroutes check` names, as (switch, port, VL)."""
    with running(workdir, netfile, engine, plugin=ours, options=dict(QOS, **options),
                 name=('ours-' if ours else 'stock-') + engine) as (fabric, opensm):
        tables = read(fabric)
        words = [COMMAND, 'check', '--live', '--sa=switches', '--json']
        said = json.loads(fabric.run(words, ok=False))
        tables.engine = opensm.engine_used()
    tables.answers = said['verdict']['answers']
    tables.loop = [(hop['guid'], hop['port'], hop['vl']) for hop in said.get('loop', [])]
    return tables


def whole(got, what):
    expect(not got['stuck'] and not got['lost'], '%s: %d packets stuck, %d lost, after %d of %d' % (
        what, got['stuck'], got['lost'], got['delivered'], got['sent']))


def attacks(tables, what, packets=30000):
    """Uniform traffic, on the SLs of path records and on any; all that can wait in the longest chain; small buffers."""
    text = simulator.text_of(tables, tables.rows)
    for buffer in (1, 4):
        whole(carry(text, packets=packets, buffer=buffer), what)
        whole(carry(text, packets=packets, buffer=buffer, any_sl=True), what + ', on any SL')
    for any_sl in (False, True):
        waits = Waits(tables, None if any_sl else tables.rows)
        send = waits.aimed(waits.chain())
        expect(send, 'no packet waits for another: nothing to aim at')
        text = simulator.text_of(tables, tables.rows, send=send)
        whole(carry(text, packets=packets, buffer=1, any_sl=any_sl), what + ', aimed at the longest chain')


def circle(tables, got):
    """Where packets are stuck, as (switch, port, VL)."""
    return [(tables.switches[s].guid, port, vl) for (s, port), vl in got['circle']]


def stops(tables, what, packets=100000):
    """Uniform traffic stops, at a circle of dependencies; that aimed at the loop of `osmroutes check` stops there."""
    text = simulator.text_of(tables, tables.rows)
    waits = Waits(tables, tables.rows)
    expect(tables.loop, what + ': osmroutes check names no credit loop')
    got = carry(text, packets=packets, buffer=1)
    expect(got['stuck'] and got['circle'], '%s: all %d packets got through' % (what, got['delivered']))
    at = circle(tables, got)
    for pair in zip(at, at[1:] + at[:1]):
        expect(pair in waits.waits, '%s: %s does not wait for %s by any route' % ((what,) + pair))
    send = waits.aimed(tables.loop + tables.loop[:1])
    aimed = carry(simulator.text_of(tables, tables.rows, send=send), packets=packets, buffer=1)
    expect(aimed['stuck'], what + ': aimed at the loop that check names, and it does not stop')
    expect(set(circle(tables, aimed)) == set(tables.loop),
           '%s: stopped at %s, and check names %s' % (what, aimed['circle'], tables.loop))
    return got


@scenario('carried.whole')
def without_faults(workdir):
    """OpenSM's default stops on a torus and on a dragonfly, ours does not."""
    for kind in ('torus', 'dims=4x4'), ('dragonfly', 'a=4', 'h=1', 'p=2'):
        netfile = generate(os.path.join(workdir, kind[0] + '.net'), *kind)
        stops(routed_by(netfile, workdir, 'minhop', False), 'minhop on a ' + kind[0])
        ours = routed_by(netfile, workdir, 'dfsssp', True)
        expect(not ours.loop, 'osmroutes check names a credit loop')
        attacks(ours, 'dfsssp on a ' + kind[0])
    # It is the lanes that do it: the same routes on one lane stop.
    one_lane = re.sub(r'(?m)^(vl .*) [0-9a-f]{16}$', r'\1 ' + 16 * '0', simulator.text_of(ours, ours.rows))
    expect(carry(one_lane, packets=100000, buffer=1)['stuck'], 'the same routes on one lane do not stop')


@scenario('carried.rounds')
def rounds(workdir):
    """A cable of a tree dies and returns while packets are under way; each switch takes its new tables at a moment of its
    own, first those of the first round. In one round, which the log says could deadlock, packets get stuck."""
    for dead, log, before, first, after in two_rounds(workdir):
        judge_rounds(dead, log, before, first, after)
        guids = [s.guid for s in before.switches]
        expect(first.bytes_of_tables() != before.bytes_of_tables(), 'nothing was withdrawn')
        texts = [simulator.text_of(t, t.rows, guids) for t in (before, first, after)]
        for seed in range(3):
            for buffer in (1, 4):
                got = carry(texts, packets=60000, buffer=buffer, change=4000, seed=seed)
                expect(not got['stuck'], 'between the rounds %d packets are stuck' % got['stuck'])
                expect(got['cycles'] > 16000, 'the packets were over before the last tables were in')
        expect(any(carry(texts[::2], packets=30000, buffer=1, change=4000, seed=seed)['stuck'] for seed in range(20)),
               'in one round nothing gets stuck: that nothing does in two says little')


@scenario('carried.drained')
def drained(workdir):
    """A cable of a torus out of routing, and a spine of a tree."""
    for net in ('torus-4x4', 'tree-2'):
        conf = 'hold_down_after = 0\ncontrol_socket = %s\n' % os.path.join(workdir, net, 'keys.sock')
        with running(os.path.join(workdir, net), net, plugin_conf=conf) as (fabric, opensm):
            before = read(fabric)
            part = before.cables()[0][:2] if net == 'torus-4x4' else ('spine-0',)
            expect(drain.uses(before, *part), '%s of %s is not in use anyway' % (part, net))
            drain.ask(fabric, 'drain', ':'.join(map(str, part)))
            tables = read(fabric)
            expect(not drain.uses(tables, *part), '%s of %s is in use' % (part, net))
            attacks(tables, '%s without %s, which is drained' % (net, part), packets=10000)
