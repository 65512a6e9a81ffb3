#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""osr-angara against a slow program that shares nothing with it but the paper's rules: what
nodes and links there are, which routes a packet can take, whether the turns added close a cycle,
loads and sigma. Random tori with random failures.

    angara_routes.py COMMAND [N]
"""
import itertools
import json
import random
import subprocess
import sys

LETTERS = 'XYZKLM'


class Torus:
    def __init__(self, dims, lines, failed_nodes, failed_links):
        self.dims, self.lines = dims, lines
        self.n = len(dims)
        self.names = ['+' + c for c in LETTERS[:self.n]] + ['-' + c for c in LETTERS[:self.n]]
        self.places = list(itertools.product(*map(range, dims)))
        self.number = {p: i for i, p in enumerate(self.places)}
        self.cut = set()
        for node, name in failed_links:
            to = self.plain_step(node, name)
            self.cut |= {(node, name), (to, self.back(name))}
        self.dead = set(failed_nodes)

    @staticmethod
    def back(name):
        return ('-' if name[0] == '+' else '+') + name[1]

    def plain_step(self, node, name):
        at, i = list(self.places[node]), LETTERS.index(name[1])
        at[i] += 1 if name[0] == '+' else -1
        if not 0 <= at[i] < self.dims[i]:
            if name[1] in self.lines or self.dims[i] == 2:
                return None
            at[i] %= self.dims[i]
        return self.number[tuple(at)]

    def step(self, node, name):
        """Where this channel leads; None if there is none."""
        to = self.plain_step(node, name)
        if to is None or (node, name) in self.cut or node in self.dead or to in self.dead:
            return None
        return to

    def rank(self, name):
        return self.names.index(name)


def may_follow(torus, turns, node, before, name):
    """Who has come to node by `before` may go on by `name`, as far as deadlock is concerned."""
    if name == torus.back(before):
        return False
    return torus.rank(name) >= torus.rank(before) or (node, before, name) in turns


def all_shortest(torus, turns, source):
    """{node: set of hop sequences}: breadth first over everything that a packet can remember."""
    # State: node, stage (0 start, 1 behind a first step, 2 body, 3 behind a last step), body's
    # directions, last direction. Several sequences can lead to one state.
    level = {(source, 0, frozenset(), None): {()}}
    found, seen = {}, set()
    while level:
        following = {}
        seen |= level.keys()
        for (node, stage, bits, last), ways in level.items():
            for name in torus.names:
                to = torus.step(node, name)
                if to is None or stage == 3 or (last and not may_follow(torus, turns, node, last, name)):
                    continue
                states = []
                if stage == 0 and name[0] == '+':
                    states.append((to, 1, frozenset(), name))
                in_order = stage < 2 or torus.rank(name) >= torus.rank(last)
                if in_order and torus.back(name) not in bits and not (stage == 1 and name == last):
                    states.append((to, 2, bits | {name}, name))
                if stage == 2 and name[0] == '-' and name != last:
                    states.append((to, 3, frozenset(), name))
                for state in states:
                    if state not in seen:
                        following.setdefault(state, set()).update(w + (name,) for w in ways)
        # All of this level are equally long; what was found in an earlier one is shorter.
        reached = {}
        for (node, *_), ways in following.items():
            reached.setdefault(node, set()).update(ways)
        for node, ways in reached.items():
            found.setdefault(node, ways)
        level = following
    found.pop(source, None)
    return found


def rings(torus):
    """{channel: its whole ring, or itself}"""
    unit = {}
    for node in range(len(torus.places)):
        for name in torus.names:
            at, members = node, []
            while at is not None and (at != node or not members):
                members.append((at, name))
                at = torus.step(at, name)
            if torus.step(node, name) is not None:
                unit[node, name] = min(members) if at == node and len(members) > 2 else (node, name)
    return unit


def is_acyclic(edges):
    """Takes away what nobody waits for, until nothing is left."""
    out, into = {}, {}
    for a, b in edges:
        out.setdefault(a, set()).add(b)
        into.setdefault(b, set()).add(a)
    free = [v for v in out if not into.get(v)]
    left = set(out) | set(into)
    while free:
        v = free.pop()
        left.discard(v)
        for w in out.get(v, ()):
            into[w].discard(v)
            if not into[w]:
                free.append(w)
    return not left


def check_turns(torus, turns, channels):
    """No cycle but around whole rings, with every turn that is allowed; and the ranks say so."""
    unit, edges = rings(torus), set()
    for node, name in unit:
        to = torus.step(node, name)
        for nxt in torus.names:
            if torus.step(to, nxt) is None or not may_follow(torus, turns, to, name, nxt):
                continue
            a, b = unit[node, name], unit[to, nxt]
            if a != b:
                edges.add((a, b))
                assert channels[node, name] < channels[to, nxt], 'ranks do not rise'
    assert is_acyclic(edges), 'the turns close a cycle'
    assert set(channels) == set(unit), 'other channels'


def used_directions(torus, turns, start):
    """B(v, E): the directions of all channels that can be reached from channel (v, E), its own among them."""
    seen, queue = {start}, [start]
    for node, name in queue:
        to = torus.step(node, name)
        for nxt in torus.names:
            if torus.step(to, nxt) is not None and may_follow(torus, turns, to, name, nxt) and (to, nxt) not in seen:
                seen.add((to, nxt))
                queue.append((to, nxt))
    return {name for _, name in seen}


def check_theorem2(torus, turns, rule):
    """Theorem 2 refuses a turn from D to a lower E only if D can be used behind it; B(v, E) only grows, so what was
    refused early is still refused in the end. Without the theorem there are no such turns."""
    assert rule != 'none' or not turns, 'turns against the order of directions'
    for node, name in itertools.product(range(len(torus.places)), torus.names) if rule == 'theorem2' else ():
        to = torus.step(node, name)
        for lower in torus.names[:torus.rank(name)]:
            if to is not None and lower[0] == name[0] and torus.step(to, lower) is not None and \
                    (to, name, lower) not in turns:
                assert name in used_directions(torus, turns, (to, lower)), \
                    'theorem 2 allows %s behind %s at %d' % (lower, name, to)


def check_route(torus, turns, r):
    """The hops a packet makes with this header; it must come to its node."""
    hops = [r['hops'][i:i + 2] for i in range(0, len(r['hops']), 2)]
    bits = [r['bits'][i:i + 2] for i in range(0, len(r['bits']), 2)]
    body = list(hops)
    if 'first' in r:
        assert r['first'][0] == '+' and body.pop(0) == r['first'], 'first step'
    if 'last' in r:
        assert r['last'][0] == '-' and body.pop() == r['last'], 'last step'
    assert body, 'no body'
    assert body == sorted(body, key=torus.rank), 'direction order'
    assert list(dict.fromkeys(body)) == bits, 'direction bits'
    assert not any(torus.back(b) in bits for b in bits), 'both directions of a dimension'
    node, before = r['from'], None
    for name in hops:
        assert before is None or may_follow(torus, turns, node, before, name), 'a turn'
        before, node = name, torus.step(node, name)
        assert node is not None, 'a channel that is not there'
    assert node == r['to'], 'arrives somewhere else'
    return hops


def check(command, dims, lines, failed_nodes, failed_links, words):
    torus = Torus(dims, lines, failed_nodes, failed_links)
    words = [command, '--json', '--routes', '-a', 'all', '--dims', 'x'.join(map(str, dims)),
             '-o', 'population=6', '-o', 'patience=2'] + words
    words += ['--lines', lines] if lines else []
    for node in failed_nodes:
        words += ['--fail-node', str(node)]
    for node, name in failed_links:
        words += ['--fail-link', '%d:%s' % (node, name)]
    got = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    turns = {(t['node'], t['from'], t['to']) for t in got.get('turns', [])}
    assert len(turns) == got['turns_added']
    channels = {(c['node'], c['direction']): c['rank'] for c in got.get('channels', [])}
    check_turns(torus, turns, channels)
    check_theorem2(torus, turns, next(w for w in words if w.startswith('turns=')).split('=')[1])
    alive = [v for v in range(len(torus.places)) if v not in torus.dead]
    best = {v: all_shortest(torus, turns, v) for v in alive}
    n_pairs = len(alive) * (len(alive) - 1)
    n_reached = sum(len(b) for b in best.values())
    assert got['pairs'] == n_pairs and got['pairs_unroutable'] == n_pairs - n_reached
    assert got['pairs_unique'] == sum(len(w) == 1 for b in best.values() for w in b.values())
    assert got['choices'] == sum(len(w) for b in best.values() for w in b.values())
    for result in got['results']:
        load = dict.fromkeys(channels, 0)
        mine = [r for r in got.get('routes', []) if r['algorithm'] == result['algorithm']]
        assert len(mine) == len({(r['from'], r['to']) for r in mine}) == n_reached
        for r in mine:
            hops, node = check_route(torus, turns, r), r['from']
            assert tuple(hops) in best[r['from']][r['to']], 'not a shortest legal route'
            for name in hops:
                load[node, name] += 1
                node = torus.step(node, name)
        if not load:
            continue
        mean = sum(load.values()) / len(load)
        sigma = (sum(abs(mean - x) ** 4 for x in load.values()) / len(load)) ** 0.25
        assert result['max_load'] == max(load.values()) and result['min_load'] == min(load.values())
        assert abs(result['mean_load'] - mean) < 1e-9 and abs(result['sigma4'] - sigma) < 1e-6
    return n_pairs - n_reached


def main():
    command, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    draw, unroutable = random.Random(4), 0
    for _ in range(n):
        dims = tuple(draw.randint(2, (6, 5, 3, 2)[k]) for k in [draw.randint(0, 3)] for _ in range(k + 1))
        lines = ''.join(c for c in LETTERS[:len(dims)] if draw.random() < 0.1)
        size = len(list(itertools.product(*map(range, dims))))
        nodes = draw.sample(range(1, size), draw.choice((0, 0, 1, 2)) if size > 4 else 0)
        plain, links = Torus(dims, lines, nodes, []), []
        for _ in range(draw.choice((0, 0, 1, 3))):
            node, name = draw.randrange(size), draw.choice(plain.names)
            to = plain.step(node, name)
            # Each cable once: the command refuses one that has gone.
            if to is not None and not {(node, name), (to, plain.back(name))} & set(links):
                links.append((node, name))
        words = ['-o', 'turns=' + draw.choice(('none', 'theorem2', 'exact')),
                 '-o', 'order=' + draw.choice(('vertex', 'direction', 'reverse', 'random')),
                 '-o', 'weight=' + draw.choice(('least', 'sum', 'none')), '-o', 'ties=%d' % draw.randrange(3),
                 '-o', 'literal=' + draw.choice(('yes', 'no'))]
        try:
            unroutable += check(command, dims, lines, nodes, links, words)
        except AssertionError as error:
            sys.exit('%s, lines "%s", nodes %s, links %s, %s: %s' % (dims, lines, nodes, links, words, error))
    if n >= 60 and not unroutable:
        sys.exit('no pair without a route was met: the failures are too few')
    print('%d tori: the same turns, routes and loads; %d pairs without a route' % (n, unroutable))


if __name__ == '__main__':
    main()
