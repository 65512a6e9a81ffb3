# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables of random fabrics pulled, plugged in elsewhere, swapped and added at random. `osmroutes diff` of
the two fabrics names each of them once, and nothing else. A node without a cable is not in the file: it is one row, with
the number of its cables, which have none of their own."""
import json
import random

from command import at, run
from netfile import write_net

PORTS = 12


def fabric(draw):
    n_switches, n_hosts = draw.randrange(3, 9), draw.randrange(2, 6)
    free = [('s%d' % i, p) for i in range(n_switches) for p in range(1, PORTS + 1)]
    draw.shuffle(free)
    take = lambda name: free.pop(next(i for i, end in enumerate(free) if end[0] == name))
    cables = [(take('s%d' % i), take('s%d' % draw.randrange(i))) for i in range(1, n_switches)]
    cables += [(('h%d' % i, 1), take('s%d' % draw.randrange(n_switches))) for i in range(n_hosts)]
    for _ in range(draw.randrange(2, 8)):
        a, b = draw.sample(range(n_switches), 2)
        cables.append((take('s%d' % a), take('s%d' % b)))
    return n_switches, n_hosts, cables, free


def change(draw, cables, free):
    """The cables afterwards, and {kind: cables that `diff` must name}. Only one thing happens to a cable."""
    between = [c for c in cables if c[0][0][0] == 's']
    draw.shuffle(between)
    after, want = list(cables), {'missing': [], 'moved': [], 'new': []}
    for kind in ('missing', 'moved', 'swapped', 'new'):
        if kind == 'missing' and draw.random() < .7:
            gone = between.pop()
            after.remove(gone)
            want['missing'].append(gone)
        elif kind == 'moved' and between and draw.random() < .7:
            gone = between.pop()
            after.remove(gone)
            after.append((gone[0], free.pop()))
            want['moved'].append(gone)
        elif kind == 'swapped' and len(between) > 1 and draw.random() < .7:
            (a, b), (c, d) = between.pop(), between.pop()
            after.remove((a, b))
            after.remove((c, d))
            after += [(a, d), (c, b)]
            want['moved'] += [(a, b), (c, d)]
        elif kind == 'new' and draw.random() < .7:
            new = free.pop(), free.pop()
            after.append(new)
            want['new'].append(new)
    return after, want


draw, n_rows, n_lone = random.Random(5), 0, 0
for _ in range(60):
    n_switches, n_hosts, cables, free = fabric(draw)
    after, want = change(draw, cables, free)
    # GUIDs of their own, so that nodes keep them whatever stands in the file.
    guids = {'%s%d' % (kind, i): (0x10 + (kind == 'h')) << 16 | i << 4 for kind, n in (('s', n_switches), ('h', n_hosts)) for i in range(n)}
    write_net(at('old.net'), cables, n_ports=PORTS, guids=guids)
    write_net(at('now.net'), after, n_ports=PORTS, guids=guids)
    done = run('diff', '--json', '--same', at('old.net'), at('now.net'))
    found = json.loads(done.stdout)
    rows = found['cables']
    said = {kind: sorted(sorted([(r['from'], r['from_port']), (r['to'], r['to_port'])]) for r in rows
                         if r['kind'] == kind) for kind in want}
    nodes = [{end[0] for cable in net for end in cable} for net in (cables, after)]
    only = {'missing': nodes[0] - nodes[1], 'new': nodes[1] - nodes[0]}
    lone = only['missing'] | only['new']
    asked = {kind: sorted(sorted(cable) for cable in cables if not {a for a, _ in cable} & lone) for kind, cables in want.items()}
    for kind, net in ('missing', cables), ('new', after):
        told = {n['name']: n['cables'] for n in found['nodes'] if n['kind'] == kind}
        assert told == {name: sum(name in (a, b) for (a, _), (b, _) in net) for name in only[kind]}, (told, only)
    assert said == asked, 'said %s, happened %s' % (said, asked)
    assert done.returncode == bool(rows or lone), done
    n_rows += len(rows)
    n_lone += len(lone)
assert n_lone
print('%d changed cables and %d nodes of 60 fabrics were named' % (n_rows, n_lone))
