# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""How close to the full mesh any choice of keys can come that knows what runs and not what comes (NRK's knowledge):
two applications on all hosts of XGFT(3; k,k,k; 1,k,k), as figures 7 and 8 of the Routing Keys paper have them.

Application B communicates, free of contention: at a leaf with b of its hosts it uses b of the k cables up and b down.
A begins, with the k - b cables left, as many as it has hosts there. Its message from leaf u to leaf v passes one cable up
from u and one down to v, of the same plane p; so what goes through p without meeting B is a matching of A's messages
between the leaves where p is free upwards and those where it is free downwards. Where the largest matchings of all
planes together are fewer than A's messages, two flows meet on a cable, whatever key A gets: no search through keys
helps, only other entries for B, which is sending, or having known what comes."""
import random
import statistics


def colour(pairs, planes, rng):
    """A plane for each pair of leaves so that no leaf has one twice, up or down (Koenig, by alternating paths): the first
    that is free, or with rng any."""
    def choose(side, at):
        free = [p for p in range(planes) if (at, p) not in side]
        return rng.choice(free) if rng else free[0]
    up, down, plane = {}, {}, [None] * len(pairs)
    for i, (u, v) in enumerate(pairs):
        a, b = choose(up, u), choose(down, v)
        if (v, a) in down:	# exchange a and b along the path that begins at v with a
            path, at, side, p = [], v, down, a
            while (at, p) in side:
                j = side[at, p]
                path.append(j)
                at, side = (pairs[j][0], up) if side is down else (pairs[j][1], down)
                p = b if p == a else a
            for j in path:
                del up[pairs[j][0], plane[j]], down[pairs[j][1], plane[j]]
            for j in path:
                plane[j] = b if plane[j] == a else a
            for j in path:
                up[pairs[j][0], plane[j]] = down[pairs[j][1], plane[j]] = j
        plane[i] = a
        up[u, a] = down[v, a] = i
    return plane


def matching(edges, left, right):
    """Size of the largest matching of the edges between two sets (augmenting paths)."""
    after = {}
    for u, v in edges:
        if u in left and v in right:
            after.setdefault(u, set()).add(v)
    partner = {}

    def augment(u, seen):
        for v in after[u]:
            if v not in seen:
                seen.add(v)
                if v not in partner or augment(partner[v], seen):
                    partner[v] = u
                    return True
        return False
    return sum(augment(u, set()) for u in after)


def shut_out(side, seed, spread):
    """(messages of A that meet B at least, all of A's that leave their leaf); hosts and destinations at random."""
    rng = random.Random(seed)
    hosts = list(range(side ** 3))
    rng.shuffle(hosts)
    half = len(hosts) // 2
    pairs = []
    for mine in (hosts[:half], hosts[half:]):
        to = list(mine)
        rng.shuffle(to)
        pairs.append([(h // side, t // side) for h, t in zip(mine, to)])
    a, b = pairs
    leaves = range(side ** 2)
    free_up, free_down = [set(leaves) for _ in range(side)], [set(leaves) for _ in range(side)]
    for (u, v), p in zip(b, colour(b, side, rng if spread else None)):
        free_up[p].remove(u)	# a KeyError: two flows of B on one cable
        free_down[p].remove(v)
    outside = [(u, v) for u, v in a if u != v]
    most = sum(matching(outside, up, down) for up, down in zip(free_up, free_down))
    return max(0, len(outside) - most), len(outside)


def slowed(utilization, phases, seed):
    """(communication time over that of the full mesh if who meets shares fairly, the larger of the two applications; the
    same for the best division of the cable there is), at least. Times of phases as osr-keys draws them.

    Who begins at t while a message of the other has r to go, undisturbed, shares a cable with it for twice the smaller
    of r and its own size, and both are late by that smaller one. A phase that is met twice may be so on different
    messages: of these the later counts, they do not add up. What is late already is met by nobody."""
    rng = random.Random(seed)
    mean = 127 / 7
    ready, begun, size, end = [0.0, 0.0], [0.0, 0.0], [0, 0], [0.0, 0.0]
    ideal, spent, left, shared = [0, 0], [0.0, 0.0], [phases, phases], 0.0

    def calculate(i, now):
        ready[i] = now + mean * (1 / utilization - 1) * (0.5 + rng.random())
    for i in range(2):
        calculate(i, 0.0)
    sends = [False, False]
    while any(left):
        now, i = min((end[i] if sends[i] else ready[i], i) for i in range(2) if left[i])
        if sends[i]:
            spent[i] += now - begun[i]
            sends[i] = False
            left[i] -= 1
            calculate(i, now)
            continue
        other = 1 - i
        sends[i], begun[i], size[i] = True, now, 1 << rng.randrange(7)
        ideal[i] += size[i]
        end[i] = now + size[i]
        rest = begun[other] + size[other] - now if sends[other] else 0
        if rest > 0:
            late = min(rest, size[i])
            end[i] += late
            more = max(0.0, begun[other] + size[other] + late - end[other])
            end[other] += more
            shared += min(late, more)
    # Fairly: what both lose. At best one of them loses nothing, and in the end both the same.
    return max(s / i for s, i in zip(spent, ideal)), 1 + shared / sum(ideal)


def rows(side, cases, percents, seeds, phases):
    forced = [shut_out(side, seed, spread) for spread in (False, True) for seed in range(cases)]
    head = ['hosts', 'cases', 'messages', 'meet', 'meet_least', 'percent', 'seeds', 'phases', 'fair', 'fair_least',
            'fair_most', 'any_division']
    out = [head]
    for percent in percents:
        got = [slowed(percent / 100, phases, seed) for seed in range(1, seeds + 1)]
        fair = [g[0] for g in got]
        out.append([side ** 3, len(forced), '%.1f' % statistics.mean(n for _, n in forced),
                    '%.1f' % statistics.mean(n for n, _ in forced), min(n for n, _ in forced), percent, seeds, phases,
                    '%.3f' % statistics.median(fair), '%.3f' % min(fair), '%.3f' % max(fair),
                    '%.3f' % statistics.median(g[1] for g in got)])
    return out
