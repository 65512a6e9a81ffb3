# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What tables/osr-credits is given and what it says: text from tables as tests/osm/oracle.py reads them back, and
runs.

    credits.py OSR-CREDITS	tests the simulator itself, on fabrics made by hand
"""
import json
import os
import subprocess
import sys
import tempfile


def text_of(tables, rows, guids=None, send=None):
    """The lines of one FABRIC. tables: oracle.Tables; rows: {LID: SLs by tables.lids}, None: SL 0; guids: the switches of
    the first tables, by whose numbers all later ones go; send: {host LID: LIDs}, None: hosts to all others."""
    order = {g: i for i, g in enumerate(guids or [s.guid for s in tables.switches])}
    number = {i: order[s.guid] for i, s in enumerate(tables.switches) if s.guid in order}
    at = {i: s for i, s in enumerate(tables.switches) if s.guid in order}
    hosts = sorted((e for e in tables.ends if e.host and e.switch in at), key=lambda e: e.guid)
    max_lid, n_ports = max(tables.lids), [0] * len(order)
    for i, s in at.items():
        n_ports[number[i]] = s.n_ports
    lines = ['fabric %d %d %d %s' % (len(order), len(hosts), max_lid, ' '.join(map(str, n_ports)))]
    for i, s in at.items():
        me = number[i]
        op_vls = {p['port']: p['op_vls'] for p in tables.nodes[s.guid]['ports']}
        lines.append('lft %d %s' % (me, bytes(s.forward(lid) for lid in range(max_lid + 1)).hex()))
        for o in list(s.next) + list(s.hosts):
            lines.append('vl %d -1 %d %s' % (me, o, digits(s.common, op_vls.get(o, 16))))
        for (a, b), table in s.others.items():
            if b in op_vls or b in s.hosts:
                lines.append('vl %d %d %d %s' % (me, a, b, digits(table, op_vls.get(b, 16))))
        lines += ['cable %d %d %d %d' % (me, p, number[u], q) for p, (u, q) in s.next.items() if u in number]
    all_lids = [lid for e in hosts for lid in e.lids]
    for k, e in enumerate(hosts):
        node, port = tables.switches[e.switch].hosts[e.port]
        vls = tables.nodes[node].get('sl2vl', {}).get(str(port), '0123456789abcdef')
        row = dict(zip(tables.lids, rows[e.lid])) if rows else {}
        sls = bytes(row.get(lid, 0) for lid in range(max_lid + 1)).hex()	# ff: none
        lines.append('host %d %d %d %s %s' % (k, number[e.switch], e.port, digits([int(c, 16) for c in vls], e.op_vls), sls))
        to = [lid for lid in all_lids if lid not in e.lids] if send is None else send.get(e.lid, [])
        lines.append('send %d %d %s' % (k, len(to), ' '.join(map(str, to))))
    return '\n'.join(lines) + '\n'


def digits(vls, op_vls):
    """A VL that does not work is VL 15: the packet is dropped."""
    return ''.join('%x' % (vl if vl < op_vls else 15) for vl in vls)


def run(binary, texts, **options):
    """What a run came to, of tables one after the other."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, str(i)) for i in range(len(texts))]
        for path, text in zip(paths, texts):
            with open(path, 'w') as file:
                file.write(text)
        words = ['--%s=%s' % (k.replace('_', '-'), v) if v is not True else '--' + k.replace('_', '-')
                 for k, v in options.items() if v is not False]
        done = subprocess.run([binary, *words, *paths], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError('osr-credits: status %d: %s' % (done.returncode, done.stderr))
    return json.loads(done.stdout)


# The simulator itself ---------------------------------------------------------------------------


def by_hand(n, cables, hosts, lft, sl=lambda a, b: 0, send=lambda a: []):
    """n switches; cables (s, p, t, q), both ways; hosts (switch, port), LIDs from 1 on; lft(switch, host) -> port."""
    n_ports = [max([p for s, p in hosts if s == i] + [p for c in cables for s, p in (c[:2], c[2:]) if s == i]) for i in range(n)]
    lines = ['fabric %d %d %d %s' % (n, len(hosts), len(hosts), ' '.join(map(str, n_ports)))]
    for s, p, t, q in cables:
        lines += ['cable %d %d %d %d' % (s, p, t, q), 'cable %d %d %d %d' % (t, q, s, p)]
    for s in range(n):
        lines += ['vl %d -1 -1 0123456789abcdef' % s,
                  'lft %d ff%s' % (s, ''.join('%02x' % lft(s, h) for h in range(len(hosts))))]
    for h, (s, p) in enumerate(hosts):
        lines.append('host %d %d %d 0123456789abcdef 00%s' % (h, s, p, ''.join('%02x' % sl(h, b) for b in range(len(hosts)))))
        lines.append('send %d %d %s' % (h, len(send(h)), ' '.join(str(b + 1) for b in send(h))))
    return '\n'.join(lines) + '\n'


def ring(n, hops, lanes):
    """Clockwise, port 1 onwards, port 3 the host; with two lanes what crosses switch 0 is on the second."""
    return by_hand(n, [(i, 1, (i + 1) % n, 2) for i in range(n)], [(i, 3) for i in range(n)],
                   lambda s, h: 3 if s == h else 1, lambda a, b: int(lanes > 1 and b < a), lambda a: [(a + hops) % n])


def expect(what, good):
    if not good:
        sys.exit('osr-credits: ' + what)


def near(what, found, expected, tolerance):
    expect('%s: %r, expected %r' % (what, found, expected), abs(found - expected) <= tolerance * expected)


def check(binary):
    # One link: packets of constant length that are born in each cycle with probability p wait L (L - 1) p / (2 (1 - p L))
    # cycles in the mean (the queue Geo/D/1; M/D/1 for small cycles).
    one = by_hand(1, [], [(0, 1), (0, 2)], lambda s, h: h + 1, send=lambda a: [1] if a == 0 else [])
    for load in (0.3, 0.6, 0.8):
        got = run(binary, [one], length=16, load=load, packets=400000)
        near('waiting at load %g' % load, got['wait'], load * 15 / (2 * (1 - load)), 0.04)
        near('throughput at load %g' % load, got['throughput'], load, 0.01)
        # Two links of 2 cycles of delay, the second begins when the header is there.
        near('latency', got['latency'], got['wait'] + 2 + 2 + 16, 1e-3)
    # Two senders share the link to a third host.
    two = by_hand(1, [], [(0, 1), (0, 2), (0, 3)], lambda s, h: h + 1, send=lambda a: [2] if a < 2 else [])
    near('half a link', run(binary, [two])['throughput'], 0.5, 0.01)
    # One switch of n ports, uniform traffic, and always more to send: what first-in first-out queues at the inputs let
    # through (Karol, Hluchyj, Morgan 1987, table 1).
    for n, expected in ((2, 0.75), (4, 0.6553), (8, 0.6184)):
        full = by_hand(1, [], [(0, h + 1) for h in range(n)], lambda s, h: h + 1, send=lambda a: range(n))
        near('%d inputs' % n, run(binary, [full], packets=200000, buffer=16)['throughput'], expected, 0.01)
    # A ring on two lanes, three hops each: a third of a link is the most; well below it all that is offered arrives.
    got = run(binary, [ring(8, 3, 2)], load=0.15, packets=200000)
    near('a ring at load 0.15', got['throughput'], 0.15, 0.01)
    got = run(binary, [ring(8, 3, 2)], packets=200000)
    expect('a ring in saturation: %s' % got, 0.2 < got['throughput'] <= 1 / 3 and not got['stuck'])
    # One hop: each link has one sender.
    near('a ring of neighbours', run(binary, [ring(8, 1, 1)])['throughput'], 1, 0.01)
    # A deadlock by hand: one lane, buffers of one packet. All first packets have gone one link and wait for the next one,
    # none has arrived, the second ones are in the first switch, the third ones in the hosts.
    got = run(binary, [ring(4, 2, 1)], buffer=1, packets=1000)
    expect('a ring on one lane delivers %s' % got, got['delivered'] == 0 and got['stuck'] == 12)
    expect('the circle is %s' % got['circle'], sorted(got['circle']) == [[[i, 1], 0] for i in range(4)])
    # The same with larger buffers: sooner or later.
    got = run(binary, [ring(5, 3, 1)], buffer=4, packets=100000, load=0.5)
    expect('a ring with buffers of four does not stop: %s' % got, got['delivered'] and got['stuck'] and len(got['circle']) == 5)
    # Nothing waits in a circle where no route goes further than one link.
    expect('one hop is stuck', not run(binary, [ring(4, 1, 1)], buffer=1)['stuck'])
    # A hole is a loss, and nothing else.
    hole = by_hand(1, [], [(0, 1), (0, 2), (0, 3)], lambda s, h: 255 if h == 2 else h + 1,
                   send=lambda a: [1, 2] if a == 0 else [])
    got = run(binary, [hole], packets=30000)
    expect('losses: %s' % got, got['delivered'] + got['lost'] == 30000 and not got['stuck'])
    near('lost', got['lost'], 15000, 0.05)
    # Tables that take another way from some time on: what was under way is carried by both.
    got = run(binary, [ring(4, 1, 1), ring(4, 1, 1)], packets=50000, change=1000)
    expect('a change of tables: %s' % got, got['delivered'] == 50000)
    same = [run(binary, [ring(8, 3, 2)], load=0.5, seed=seed)['latency'] for seed in (1, 1, 2)]
    expect('one seed, two results', same[0] == same[1] != same[2])
    print('osr-credits: one link, a shared link, a ring, and deadlocks by hand are as expected')


if __name__ == '__main__':
    check(sys.argv[1])
