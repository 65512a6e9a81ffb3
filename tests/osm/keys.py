# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Routing keys: applications ask at the control socket, the switches get routes for them."""
import json
import os
import re
import socket
import subprocess
import sys
import time

import oracle
from judge import Claims, expect, generate, judge, scenario
from osmtest import BUILD, LOG_PLAIN, Fabric, Failure, Opensm, find_fabric, wait_for

COMMAND = os.path.join(BUILD, 'src', 'cli', 'osmroutes')
LOG_DEBUG = 0x0b	# "Writing FT block" is logged at DEBUG


class Client:
    """One connection, by the protocol of docs/routing-keys.md and nothing of the project's code."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.rest = b''
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.socket.close()

    def line(self):
        while b'\n' not in self.rest:
            more = self.socket.recv(1 << 16)
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b'\n')
        return json.loads(line)

    def send(self, **what):
        self.socket.sendall(json.dumps(what).encode() + b'\n')

    def answer(self):
        while True:
            said = self.line()
            if said is None or 'ok' in said:
                return said
            self.events.append(said)

    def ask(self, **what):
        self.send(**what)
        return self.answer()

    def must(self, **what):
        said = self.ask(**what)
        expect(said and said['ok'], '%s: %s' % (what.get('op'), said))
        return said

    def refused(self, *words, **what):
        said = self.ask(**what)
        expect(said and not said['ok'] and all(w in said['error'] for w in words),
               '%s: expected a refusal with %s, got %s' % (what, words, said))

    def until(self, seconds=30, **wanted):
        """The event with these members; those before it are forgotten."""
        end = time.monotonic() + seconds
        while True:
            for i, e in enumerate(self.events):
                if all(e.get(k) == v for k, v in wanted.items()):
                    self.events = self.events[i + 1:]
                    return e
            expect(time.monotonic() < end, 'no event %s within %d s' % (wanted, seconds))
            self.socket.settimeout(max(0.1, end - time.monotonic()))
            try:
                said = self.line()
            except socket.timeout:
                raise Failure('no event %s within %d s' % (wanted, seconds))
            expect(said is not None, 'the connection was closed')
            self.events.append(said)

    def begin(self, app, key):
        """A phase begins: until the switches have its routes."""
        said = self.must(op='request', app=app, key=key)
        if said['state'] == 'waiting':
            self.until(event='key', app=app, key=key, state='active')


def pattern(pairs):
    return ' '.join('%d>%d' % p for p in pairs)


def shift(n, by):
    return [(i, (i + by) % n) for i in range(n)]


def with_keys(fabric, workdir, lmc=2, name='opensm', conf='', mode='0600', **kwargs):
    options = dict(kwargs.pop('options', {}), lmc=lmc, qos='FALSE')
    return Opensm(fabric, kwargs.pop('engine', 'dmodk'), plugin=True, name=name, options=options,
                  plugin_conf='control_socket = %s\ncontrol_mode = %s\n%s' % (
                      os.path.join(workdir, 'keys.sock'), mode, conf), **kwargs)


def hosts_of(tables):
    """End ports of CAs that have neighbours, by name."""
    return sorted((e for e in tables.ends if e.host), key=lambda e: (e.switch, e.port))


def lft_by_offset(tables):
    """{offset: {(switch, LID): port}} of host LIDs."""
    found = {}
    for e in tables.ends:
        for lid in e.lids:
            found.setdefault(lid - e.lid if e.host else 0, {}).update(
                {(s.guid, lid): s.forward(lid) for s in tables.switches})
    return found


def blocks_of(tables):
    """{(switch, block): 64 bytes}"""
    return {(s.guid, at // 64): s.lft[at:at + 64].ljust(64, b'\xff') for s in tables.switches
            for at in range(0, len(s.lft), 64)}


def contention(tables, hosts, pairs, offset):
    """Most flows of these pairs on one cable between switches, by following the switches' tables."""
    count = {}
    for a, b in pairs:
        at, lid, hops = hosts[a].switch, hosts[b].lid + offset, 0
        while at != hosts[b].switch:
            port = tables.switches[at].forward(lid)
            expect(port in tables.switches[at].next and hops < 16, 'LID %d leads nowhere' % lid)
            count[at, port] = count.get((at, port), 0) + 1
            at, hops = tables.switches[at].next[port][0], hops + 1
    return max(count.values(), default=0)


def no_loops(tables):
    """All routes of all LIDs together, on one lane, with replies."""
    verdict = tables.routes()
    expect(not verdict.problems, 'routes: %s' % verdict.problems[:1])
    expect(not tables.cycles(None, replies=True), 'credit loops')


def end_of_log(opensm, mark):
    return opensm.log[mark:]


def keys_sweeps(text):
    return len(re.findall(r'\(base as before\)', text))


@scenario('keys.two-applications', 120)
def two_applications(workdir):
    """LMC 1 to 3, two applications at once: their keys are free of contention in the switches, no other
    LID offset has changed, no discovery took place, and no block was sent that had not changed."""
    for lmc, offsets in ((1, 1), (2, 2), (3, 2)):
        with Fabric(find_fabric('tree-3'), workdir) as fabric:
            with with_keys(fabric, workdir, lmc, name='lmc-%d' % lmc, log_flags=LOG_DEBUG) as opensm:
                opensm.wait_up()
                opensm.wait_quiet()
                before = oracle.Tables(fabric.read_back())
                two_on(fabric, opensm, workdir, before, offsets)
            opensm.check_log()


def two_on(fabric, opensm, workdir, before, n_offsets):
    hosts = hosts_of(before)
    groups = hosts[0::2], hosts[1::2]
    mark = len(opensm.log)
    with Client(os.path.join(workdir, 'keys.sock')) as a, \
            Client(os.path.join(workdir, 'keys.sock')) as b:
        apps = []
        for client, own in ((a, groups[0]), (b, groups[1])):
            n = len(own)
            phases = [shift(n, 1), shift(n, n // 2)]
            apps.append((client, own, phases, client.must(
                op='place', name='test', hosts=[e.guid for e in own], offsets=n_offsets,
                patterns=[pattern(p) for p in phases])))
        expect(end_of_log(opensm, mark).count('REROUTE') == 0, 'placing has made a sweep')
        for client, _, _, app in apps:
            client.begin(app['app'], 0)
        after = oracle.Tables(fabric.read_back())
        log = end_of_log(opensm, mark)
        expect(1 <= keys_sweeps(log) <= 2, '%d sweeps for two requests' % keys_sweeps(log))
        for sign in ('HEAVY SWEEP', 'Received signal OSM_SIGNAL_PERFMGR', 'LIGHT SWEEP'):
            expect(sign not in log, 'there was a discovery: %s' % sign)
        used = set()
        for _, own, phases, app in apps:
            offset = app['keys'][0]['offset']
            used.add(offset)
            got = contention(after, own, phases[0], offset)
            expect(got <= 1, 'contention %d within an application' % got)
        same_but(before, after, used)
        sent_blocks(before, after, log)
        no_loops(after)
        base_unlike_keys(after, apps)
        for client, _, _, app in apps:
            client.must(op='done', app=app['app'], key=0)
            client.must(op='withdraw', app=app['app'])
    wait_for('the base routing', lambda: same(before, fabric), 30)


def same(before, fabric):
    return before.bytes_of_tables() == oracle.Tables(fabric.read_back()).bytes_of_tables()


def same_but(before, after, offsets):
    old, new = lft_by_offset(before), lft_by_offset(after)
    changed = {o for o in old if old[o] != new[o]}
    expect(changed and changed <= offsets, 'offsets %s changed, keys have %s' % (changed, offsets))


def sent_blocks(before, after, log):
    """OpenSM says at DEBUG which blocks it writes: none but those that differ, all of those."""
    sent = {(s, int(b)) for b, s in re.findall(r'Writing FT block (\d+) to switch (0x[0-9a-f]+)', log)}
    old, new = blocks_of(before), blocks_of(after)
    differ = {('0x%x' % int(s, 16), b) for s, b in old if old[s, b] != new[s, b]}
    sent = {('0x%x' % int(s, 16), b) for s, b in sent}
    expect(differ and differ <= sent, 'blocks that differ were not sent')
    # Two requests may be two sweeps, the second of which takes back what the first has changed.
    expect(len(sent - differ) <= len(differ) // 4, '%d blocks sent that do not differ, of %d' %
           (len(sent - differ), len(sent)))


def base_unlike_keys(tables, apps):
    """The first LIDs of some application would have contention: otherwise the test says nothing."""
    worst = max(contention(tables, own, phases[0], 0) for _, own, phases, _ in apps)
    print('contention of the base routing', worst)
