# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rails.py OSMROUTES [FABRICS]: hosts with several ports, each of a rail of its own, some plugged in wrongly at random.
`osmroutes wiring` must name what was done, and nothing else. Two ports of a host swapped, ports of one rail of two hosts of
different groups swapped, or a port moved to another leaf. Of two ports the plan does not say which of them is wrong
if one is: there only swapped ones are asked for.
"""
import json
import os
import random
import subprocess
import sys
import tempfile


def write(path, leaf_of, n_leaves, spines):
    """leaf_of: {(host, rail): leaf}. As ibnetdiscover prints it."""
    cas, switches = [], []
    used = {s: 0 for s in range(n_leaves + spines)}
    ports = {s: [] for s in used}

    def plug(switch, peer):
        used[switch] += 1
        ports[switch].append('[%d]\t%s' % (used[switch], peer))
        return used[switch]

    for n, ((host, rail), leaf) in enumerate(sorted(leaf_of.items())):
        guid = 'H-%016x' % (0x1000 + n)
        port = plug(leaf, '"%s"[1](%x) # "node%02d mlx5_%d" lid %d 4xEDR' % (guid, 0x1000 + n, host, rail, n + 1))
        cas.append('Ca\t1 "%s" # "node%02d mlx5_%d"\n[1](%x)\t"S-%016x"[%d] # lid %d lmc 0 "leaf-%d" lid 0 4xEDR\n'
                   % (guid, host, rail, 0x1000 + n, leaf + 1, port, n + 1, leaf))
    for leaf in range(n_leaves):
        for spine in range(n_leaves, n_leaves + spines):
            a, b = used[leaf] + 1, used[spine] + 1
            plug(leaf, '"S-%016x"[%d] # "spine-%d" lid 0 4xEDR' % (spine + 1, b, spine - n_leaves))
            plug(spine, '"S-%016x"[%d] # "leaf-%d" lid 0 4xEDR' % (leaf + 1, a, leaf))
    for switch, lines in ports.items():
        name = 'leaf-%d' % switch if switch < n_leaves else 'spine-%d' % (switch - n_leaves)
        switches.append('Switch\t64 "S-%016x" # "%s" enhanced port 0 lid %d lmc 0\n%s\n'
                        % (switch + 1, name, 2000 + switch, '\n'.join(lines)))
    with open(path, 'w', encoding='utf-8') as file:
        file.write('\n'.join(switches + cas))


def miswire(rng, leaf_of, groups, rails, per_group):
    """One mistake at hosts that nothing was done to yet; the ports it concerns and where they belong."""
    host, rail = rng.randrange(groups * per_group), rng.randrange(rails)
    kind = rng.randrange(3 if rails > 2 else 1)
    if kind == 0:
        other = (host, (rail + 1 + rng.randrange(rails - 1)) % rails)
    elif kind == 1:
        other = ((host + per_group * (1 + rng.randrange(groups - 1))) % (groups * per_group), rail)
    else:
        other = None
    if kind < 2:
        ends = {(host, rail): leaf_of[host, rail], other: leaf_of[other]}
        leaf_of[host, rail], leaf_of[other] = leaf_of[other], leaf_of[host, rail]
        return ends
    right = leaf_of[host, rail]
    leaf_of[host, rail] = (right + 1 + rng.randrange(groups * rails - 1)) % (groups * rails)
    return {(host, rail): right}


def said(fault):
    """{port: leaf} that the answer wants."""
    ends = [fault['connect']] + [fault[key] for key in ('other_connect',) if key in fault]
    found = {}
    for end in ends:
        port, leaf = end.split(' - ')
        found[int(port[4:6]), int(port.split('mlx5_')[1])] = int(leaf[5:])
    return found


def main(command, n_fabrics):
    wrong = named = false = 0
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, 'rails.topo')
        for seed in range(n_fabrics):
            rng = random.Random(seed)
            groups, rails, per_group = rng.choice([(2, 8, 16), (4, 4, 12), (3, 2, 10), (6, 8, 6)])
            leaf_of = {(h, r): h // per_group * rails + r for h in range(groups * per_group) for r in range(rails)}
            want = {}
            for _ in range(rng.randrange(1 + len(leaf_of) // 50 % 6) if seed else 0):
                touched = {host for host, _ in want}
                trial = dict(leaf_of)
                ends = miswire(rng, trial, groups, rails, per_group)
                if not touched & {host for host, _ in ends}:
                    leaf_of = trial
                    want.update(ends)
            write(path, leaf_of, groups * rails, 4)
            done = subprocess.run([command, 'wiring', '--json', '--max=0', path], capture_output=True, text=True)
            if done.returncode != bool(want):
                sys.exit('seed %d: exit code %d: %s' % (seed, done.returncode, done.stderr))
            answer = json.loads(done.stdout)
            got = {}
            for fault in answer['faults']:
                got.update(said(fault))
            if answer['rails'] != rails or answer['rail_hosts'] != groups * per_group:
                sys.exit('seed %d: %s' % (seed, answer))
            wrong += len(want)
            named += sum(got.get(port) == leaf for port, leaf in want.items())
            false += sum(want.get(port) != leaf for port, leaf in got.items())
    print('%d fabrics with rails: %d ports in the wrong place, %d named, %d falsely' % (n_fabrics, wrong, named, false))
    if not wrong or named < 0.99 * wrong or false:
        sys.exit(1)


main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40)
