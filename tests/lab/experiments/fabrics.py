# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fabrics of the papers: most come from `osmroutes generate`; here is what that does not make."""
import collections
import math
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'cli'))
from shapes import Net  # noqa: E402

# Domke 2011, table I: end points, XGFT(h; m; w), Kautz(b, n), k-ary n-tree. All of switches; the
# end points are spread over those at the bottom (all, in a Kautz graph).
TABLE_I = [
    (64, ([6], [3]), (2, 2), (6, 2)),
    (128, ([10], [5]), (2, 2), (10, 2)),
    (256, ([16], [8]), (2, 3), (16, 2)),
    (512, ([6, 6], [3, 3]), (3, 3), (6, 3)),
    (1024, ([10, 10], [5, 5]), (3, 3), (10, 3)),
    (2048, ([14, 14], [7, 7]), (4, 3), (14, 3)),
    (4096, ([18, 18], [9, 9]), (6, 3), (18, 3)),
]


def _tree(m, w, hosts):
    per_leaf = -(-hosts // math.prod(m))
    join = lambda *parts: ','.join(str(x) for part in parts for x in part)	# noqa: E731
    return ['tree', 'm=' + join([per_leaf], m), 'w=' + join([1], w)]


def xgft(hosts, m, w):
    """Words for `osmroutes generate`; a few hosts too many, see keep_hosts()."""
    return _tree(m, w, hosts)


def kary(hosts, k, n):
    """k-ary n-tree: n levels of k^(n-1) switches."""
    return _tree([k] * (n - 1), [k] * (n - 1), hosts)


def kautz(hosts, b, n):
    switches = (b + 1) * b ** (n - 1)
    return ['kautz', 'b=%d' % b, 'n=%d' % n, 'hosts=%d' % -(-hosts // switches)]


def keep_hosts(text, n):
    """Takes hosts out of a net file until n are left, evenly: of every switch the last ones."""
    blocks, home, by_switch = text.split('\n\n'), {}, {}
    for block in blocks:
        switch = re.search(r'^Switch\s+\d+\s+"([^"]+)"', block, re.M)
        home.update((peer, switch[1]) for peer in re.findall(r'^\[\d+\]\s+"([^"]+)"', block, re.M) if switch)
    # Hosts are numbered block by block, so those of one switch follow each other.
    hosts = [m and m[1] for m in (re.match(r'(?:Ca|Hca)\s+\d+\s+"([^"]+)"', block) for block in blocks)]
    for name in filter(None, hosts):
        by_switch.setdefault(home[name], []).append(name)
    rows, surplus = list(by_switch.values()), sum(map(bool, hosts)) - n
    gone = {rows[i * len(rows) // surplus].pop() for i in range(surplus)}
    lines = '\n\n'.join(block for block, name in zip(blocks, hosts) if name not in gone).split('\n')
    return '\n'.join(l for l in lines if not (l.startswith('[') and re.search(r'"([^"]+)"', l)[1] in gone))


def big_switch(net, name, leaves):
    """A large switch as it was built then: 24-port chips, 12 ports of a leaf chip outside, and
    leaves / 2 spine chips; returns the leaf chips. 288 ports have 24 leaf chips, 144 have 12."""
    spines = [net.switch('%s-spine-%02d' % (name, i)) for i in range(leaves // 2)]
    chips = [net.switch('%s-leaf-%02d' % (name, i)) for i in range(leaves)]
    for chip in chips:
        for k in range(12):
            net.link(chip, spines[k % len(spines)])
    return chips


def _system(title, n_switches, leaves, bundles, n_hosts):
    """Large switches; bundles: [(switch, switch, cables)], the cables spread evenly over the leaf chips of both. Hosts come
    one after the other on the chip with the most free ports, all of them behind the cables."""
    net = Net(title)
    net.hosts_last = True
    switches = [big_switch(net, '%s-%d' % (title, i), leaves) for i in range(n_switches)]
    used = collections.Counter(chip for chips in switches for chip in chips * 12)
    def freest(chips):
        chip = min(chips, key=used.__getitem__)
        used[chip] += 1
        return chip
    for a, b, n in bundles:
        for _ in range(n):
            net.link(freest(switches[a]), freest(switches[b]))
    for i in range(n_hosts):
        net.host(freest(used), 'host-%03d' % i)
    return net


def odin():
    """128 nodes on one 144-port switch."""
    return _system('odin', 1, 12, [], 128)


def deimos(bundles):
    """724 nodes on three 288-port switches."""
    return _system('switch', 3, 24, bundles, 724)


DEIMOS_CHAIN = [(0, 1, 30), (1, 2, 30)]
DEIMOS_TRIANGLE = [(0, 1, 10), (1, 2, 10), (2, 0, 10)]
