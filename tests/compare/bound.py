# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The least edge forwarding index that minimal routing can have: a bound from below.

Every pair of switches may split its routes at will over its shortest paths. For any lengths w of the
channels, sum of demand * shortest path under w / sum of w * capacity is a bound (the dual of the
linear program); the lengths are found by multiplicative weights. numpy alone, no code of the project.

single() is for forwarding tables, which have one next hop for each LID and switch: all end ports of a
switch then reach a LID over the same channels, so that loads are made of whole pieces.
"""
import heapq

try:
    import numpy
except ImportError:
    numpy = None

ROUNDS = 120


def read_net(path):
    """(switches, channels [(from, to, rate)], end ports per switch) of a net file."""
    # Of data, Gbit/s a lane: up to QDR 8 of 10 bits are data, in FDR10 and later 64 of 66.
    rates = {'SDR': 2, 'DDR': 4, 'QDR': 8, 'FDR10': 10, 'FDR': 13.64, 'EDR': 25, 'HDR': 50, 'NDR': 100,
             'XDR': 200}
    number, cables, hosts, here = {}, [], {}, None
    with open(path, errors='replace') as file:
        lines = file.readlines()
    for line in lines:
        word = line.split('"')
        if line.startswith('Switch') and len(word) > 1:
            number.setdefault(word[1], len(number))
    for line in lines:
        word = line.split('"')
        if line[:1].isalpha():
            here = word[1] if line.startswith('Switch') and len(word) > 1 else None
        elif here and line.startswith('[') and len(word) > 2:
            if word[1] in number:
                tail = line.split('#')[-1].split() if '#' in line else []
                rate = next((float(t.split('x')[0]) * rates[t.split('x')[1]] for t in tail
                             if t[:1].isdigit() and 'x' in t and t.split('x')[1] in rates), 0)
                cables.append((number[here], number[word[1]], rate))
            else:
                hosts[number[here]] = hosts.get(number[here], 0) + 1
    cables = [c for c in cables if c[0] != c[1]]
    fastest = max([c[2] for c in cables] or [0]) or 1
    channels = [(a, b, (rate or fastest) / fastest) for a, b, rate in cables]
    return len(number), channels, [hosts.get(i, 0) for i in range(len(number))]


class Problem:
    """Shortest-path graphs towards all switches with hosts, as edge lists by distance."""

    def __init__(self, n, channels, hosts):
        self.n, self.hosts = n, hosts
        # Parallel channels of one rate are one, of that much capacity.
        merged = {}
        for a, b, rate in channels:
            merged[a, b] = merged.get((a, b), 0) + rate
            self.widest = 1
        self.src = numpy.array([a for a, _ in merged], dtype=numpy.int64)
        self.dst = numpy.array([b for _, b in merged], dtype=numpy.int64)
        self.cap = numpy.array(list(merged.values()))
        self.dests = [v for v in range(n) if hosts[v]]
        self._distances()
        self._demand()
        self._edges()

    def _distances(self):
        near = [[] for _ in range(self.n)]
        for a, b in zip(self.src.tolist(), self.dst.tolist()):
            near[b].append(a)
        self.dist = numpy.full((len(self.dests), self.n), -1, dtype=numpy.int64)
        for i, root in enumerate(self.dests):
            row = [-1] * self.n
            row[root] = 0
            queue = [root]
            for v in queue:
                for u in near[v]:
                    if row[u] < 0:
                        row[u] = row[v] + 1
                        queue.append(u)
            self.dist[i] = row

    def _demand(self):
        h = numpy.array(self.hosts, dtype=float)
        self.demand = numpy.outer(h[self.dests], h)
        self.demand[self.dist <= 0] = 0

    def _edges(self):
        """Per distance: (tail node, head node, channel), sorted by tail; nodes are dest * n + switch."""
        base = (numpy.arange(len(self.dests)) * self.n)[:, None]
        self.steps = []
        there = self.dist[:, self.src]
        after = self.dist[:, self.dst]
        for k in range(1, int(self.dist.max()) + 1):
            rows, chans = numpy.nonzero((there == k) & (after == k - 1))
            tail = base[rows, 0] + self.src[chans]
            head = base[rows, 0] + self.dst[chans]
            order = numpy.argsort(tail, kind='stable')
            tail, head, chans = tail[order], head[order], chans[order]
            start = numpy.flatnonzero(numpy.r_[True, tail[1:] != tail[:-1]])
            self.steps.append((tail[start], start, numpy.diff(numpy.r_[start, len(tail)]), head,
                               chans))

    def value(self, weight):
        """The bound that these lengths give, and the cost of every node."""
        cost = numpy.zeros(len(self.dests) * self.n)
        for nodes, start, _, head, chans in self.steps:
            cost[nodes] = numpy.minimum.reduceat(weight[chans] + cost[head], start)
        return float((self.demand.ravel() * cost).sum() / (weight * self.cap).sum()), cost

    def load(self, weight, cost):
        """Routes per unit of capacity if everybody splits over what is nearly shortest."""
        flow = self.demand.ravel().copy()
        load = numpy.zeros(len(self.src))
        for nodes, start, size, head, chans in reversed(self.steps):
            over = weight[chans] + cost[head] - numpy.repeat(cost[nodes], size)
            share = numpy.exp(-over / (0.02 * weight.mean()))
            share /= numpy.repeat(numpy.add.reduceat(share, start), size)
            part = share * numpy.repeat(flow[nodes], size)
            load += numpy.bincount(chans, part, len(load))
            flow += numpy.bincount(head, part, len(flow))
        return load / self.cap


def _cuts(p):
    """What enters or leaves one switch must share its channels."""
    total = sum(p.hosts)
    best = 0
    for side in (p.src, p.dst):
        width = numpy.bincount(side, p.cap, p.n)
        for v in p.dests:
            if width[v]:
                best = max(best, p.hosts[v] * (total - p.hosts[v]) / width[v])
    return best


def _pods(p):
    """Parts that fall apart without the upper levels: what enters one must share its channels."""
    leaf = [v for v in range(p.n) if p.hosts[v] > (1 if max(p.hosts) > 1 else 0)]
    near = [[] for _ in range(p.n)]
    for a, b in zip(p.src.tolist(), p.dst.tolist()):
        near[a].append(b)
    level = dict.fromkeys(leaf, 0)
    for v in (queue := list(leaf)):
        for u in near[v]:
            if u not in level:
                level[u] = level[v] + 1
                queue.append(u)
    best, total = 0, sum(p.hosts)
    for top in range(1, max(level.values(), default=0)):
        part = numpy.full(p.n, -1)
        for root in leaf:
            if part[root] >= 0:
                continue
            part[root] = root
            for v in (queue := [root]):
                for u in near[v]:
                    if part[u] < 0 and level.get(u, top + 1) <= top:
                        part[u] = root
                        queue.append(u)
        for root in set(part[part >= 0].tolist()):
            inside = int(sum(p.hosts[v] for v in numpy.flatnonzero(part == root)))
            width = p.cap[(part[p.src] == root) & (part[p.dst] != root)].sum()
            best = max(best, inside * (total - inside) / width if width else 0)
    return best


def _fill(rates, n, size):
    """The least load per rate of the busiest channel when n pieces of one size are put on channels."""
    heap = [(size / r, r) for r in rates]
    heapq.heapify(heap)
    for _ in range(n - 1):
        load, r = heap[0]
        heapq.heapreplace(heap, (load + size / r, r))
    return heap[0][0] if n else 0


def single(path):
    """What one next hop for each LID and switch allows at best, by what enters or leaves one switch.

    The end ports of switch u reach a LID of switch v together: hosts[u] routes on one channel into v, for
    each u and LID. The larger pieces alone, all taken as small as the smallest of them, must find room.
    """
    n, channels, hosts = read_net(path)
    into, out = [[] for _ in range(n)], [[] for _ in range(n)]
    for a, b, rate in channels:
        out[a].append(rate)
        into[b].append(rate)
    best = 0
    for v in range(n):
        if not hosts[v] or not into[v]:
            continue
        best = max(best, _fill(out[v], sum(hosts) - hosts[v], hosts[v]))
        for size in set(hosts[:v] + hosts[v + 1:]) - {0}:
            larger = sum(h >= size for h in hosts) - (hosts[v] >= size)
            best = max(best, _fill(into[v], hosts[v] * larger, size))
    return best


def bound(path, rounds=ROUNDS):
    """Routes over the busiest link, in units of the fastest link, that no minimal routing goes below."""
    p = Problem(*read_net(path))
    if not len(p.src):
        return 0
    best = max(_cuts(p), _pods(p))
    for grow in (False, True):
        sums = numpy.zeros(len(p.src))
        weight = numpy.ones(len(p.src))
        for i in range(rounds):
            value, cost = p.value(weight)
            best = max(best, value)
            load = p.load(weight, cost)
            sums += load / load.max() if grow else load
            slope = 0.3 * sums.max() if grow else min(20 + 2 * i, 200)
            weight = numpy.exp(slope * (sums / sums.max() - 1)) + 1e-9
            weight /= weight.mean()
    return best


if __name__ == '__main__':
    import sys
    for name in sys.argv[1:]:
        print(name, bound(name), single(name))
