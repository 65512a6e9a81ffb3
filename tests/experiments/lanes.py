# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The least number of lanes for given routes (acyclic path partitioning; Domke 2011, section III), by a SAT solver, next to
what the heuristics take for the same routes. The solver is cadical (Debian: cadical)."""
import os
import re
import shutil
import subprocess

from bandwidth import read_lfts, read_net
from measure import Failure

SECONDS = 120	# of the solver, for each question
TRIPLES = 5000000	# beyond these the question is too large for it



class Routes:
    """What may wait for what: every route of the tables as its channels, and dependencies between them."""

    def __init__(self, net, lfts, between_switches=False):
        """Routes count as in docs/architecture.md: from every switch to end ports, and to port 0 of switches from
        those that have end ports; with `between_switches` from all of them, as stock LASH takes them."""
        cables, kinds = read_net(net)
        tables = read_lfts(lfts)
        is_host = {s: any(kinds[peer[0]] != 'Switch' for (node, _), peer in cables.items() if node == s) for s in tables}
        self.paths = set()
        for lid in {lid for table in tables.values() for lid in table}:
            owner = self._owner(tables, cables, kinds, lid)
            if not owner:
                continue
            at, to_host = owner
            for source in tables:
                if source != at and lid in tables[source] and (to_host or is_host[source] or between_switches):
                    self.paths.add(self._follow(tables, cables, source, at, lid))
        self._reduce()

    @staticmethod
    def _owner(tables, cables, kinds, lid):
        """(switch, is it of a host) that a LID ends on."""
        for switch, table in tables.items():
            port = table.get(lid)
            if port == 0:
                return switch, False
            peer = cables.get((switch, port))
            if peer and kinds[peer[0]] != 'Switch':
                return switch, True
        return None

    @staticmethod
    def _follow(tables, cables, source, last, lid):
        channels, at = [], source
        while at != last:
            channels.append((at, tables[at][lid]))
            at = cables[channels[-1]][0]
            if len(channels) > len(tables):
                raise Failure('LID %d: a loop from %s' % (lid, source))
        return tuple(channels)

    def _reduce(self):
        """Only dependencies inside a strongly connected component can be part of a cycle, and a route whose
        dependencies another one has all can share its lane."""
        every = {e for path in self.paths for e in zip(path, path[1:])}
        component = components(every)
        sets = {frozenset(e for e in zip(path, path[1:]) if component[e[0]] == component[e[1]]) for path in self.paths}
        having = {}
        for s in sets:
            for e in s:
                having.setdefault(e, []).append(s)
        self.items = [s for s in sets if s and not any(s < other for other in min((having[e] for e in s), key=len))]
        self.items.sort(key=lambda s: (-len(s), sorted(s)))
        self.edges = sorted({e for s in self.items for e in s})

    def least(self, upper, lower=1):
        """(lower bound, upper bound) of the lanes; both the same if the solver had the time."""
        if not self.items:
            return 1, 1
        lower = max(lower, 2 if cyclic(self.edges) else 1)
        while lower < upper:
            answer = self._solve(lower)
            if answer:
                return lower, lower
            if answer is None:
                return self._from_above(lower, upper)
            lower += 1
        return lower, upper

    def _from_above(self, lower, upper):
        while upper - 1 > lower and self._solve(upper - 1):
            upper -= 1
        return lower, upper

    def _solve(self, lanes):
        """Do so many lanes suffice? None: not known after SECONDS. In each lane t[a, b] means that a must come
        before b: it holds for the dependencies of the lane's routes, is closed under them, and never of a channel
        and itself."""
        clauses, number = [], {}

        def var(*key):
            return number.setdefault(key, len(number) + 1)
        component = components(self.edges)
        members = {}
        for node, c in component.items():
            members.setdefault(c, []).append(node)
        if lanes * sum(len(members[component[a]]) for a, _ in self.edges) > TRIPLES:
            return None
        for i, item in enumerate(self.items):
            # The lanes are alike: the i-th route needs none beyond the i-th.
            clauses.append([var('x', i, l) for l in range(min(lanes, i + 1))])
            for l in range(min(lanes, i + 1)):
                clauses += [[-var('x', i, l), var('y', e, l)] for e in item]
        for l in range(lanes):
            for a, b in self.edges:
                y = var('y', (a, b), l)
                clauses.append([-y, var('t', a, b, l)])
                clauses.append([-y, -var('t', b, a, l)])
                clauses += [[-y, -var('t', b, c, l), var('t', a, c, l)] for c in members[component[a]] if c not in (a, b)]
        text = ['p cnf %d %d' % (len(number), len(clauses))] + [' '.join(map(str, c + [0])) for c in clauses]
        done = subprocess.run(['cadical', '-q', '-t', str(SECONDS)], input='\n'.join(text) + '\n', capture_output=True,
                              text=True)
        if done.returncode == 20:
            return False
        if done.returncode != 10:
            return None
        true = {int(w) for line in done.stdout.splitlines() if line.startswith('v') for w in line.split()[1:]}
        self._verify([[l for l in range(min(lanes, i + 1)) if var('x', i, l) in true][0] for i in range(len(self.items))],
                     lanes)
        return True

    def _verify(self, lane_of, lanes):
        """The solver is believed nothing: every lane is sorted."""
        for l in range(lanes):
            if cyclic({e for item, lane in zip(self.items, lane_of) if lane == l for e in item}):
                raise Failure('lane %d of the solver has a cycle' % l)


def components(edges):
    """{node: number of its strongly connected component} (Tarjan, without recursion)."""
    after, number, low, found, stack, result = {}, {}, {}, [], [], {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
        after.setdefault(b, [])
    for root in after:
        if root in number:
            continue
        work = [(root, iter(after[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        while work:
            node, rest = work[-1]
            for b in rest:
                if b not in number:
                    number[b] = low[b] = len(number)
                    stack.append(b)
                    work.append((b, iter(after[b])))
                    break
                if b not in result:
                    low[node] = min(low[node], number[b])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    found.append(node)
                    while True:
                        b = stack.pop()
                        result[b] = len(found)
                        if b == node:
                            break
    return result


def cyclic(edges):
    """Is there a cycle? By taking away what nothing leads to."""
    after, waits = {}, {}
    for a, b in edges:
        after.setdefault(a, []).append(b)
        waits[b] = waits.get(b, 0) + 1
        waits.setdefault(a, 0)
    free = [n for n, count in waits.items() if not count]
    gone = 0
    while free:
        gone += 1
        for b in after.get(free.pop(), ()):
            waits[b] -= 1
            if not waits[b]:
                free.append(b)
    return gone < len(waits)


def have_solver():
    return shutil.which('cadical') is not None


def petersen(workshop):
    """The Petersen graph, a host on every switch."""
    pairs = [(i, (i + 1) % 5) for i in range(5)] + [(i, i + 5) for i in range(5)] + \
        [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    return workshop.write(graph(10, pairs))


def graph(n, pairs):
    """A net file: n switches with a host each, cables between the pairs."""
    ports = {i: ['host-%02d' % i] for i in range(n)}
    for a, b in pairs:
        ports[a].append(b)
        ports[b].append(a)
    text = []
    for i in range(n):
        lines = ['[1]\t"host-%02d"[1]' % i]
        for k, peer in enumerate(ports[i][1:], 2):
            lines.append('[%d]\t"switch-%02d"[%d]' % (k, peer, ports[peer].index(i) + 1))
        text.append('Switch\t%d "switch-%02d"\n%s\n' % (len(lines), i, '\n'.join(lines)))
    for i in range(n):
        text.append('Ca\t1 "host-%02d"\n[1]\t"switch-%02d"[1]\n' % (i, i))
    return '\n'.join(text)
