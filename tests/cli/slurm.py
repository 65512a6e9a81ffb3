# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What `osmroutes order` writes for Slurm: hosts stand under the leaf that the net file has them on, names differ, all
sub-trees are one tree, and --hca chooses a rail."""
import itertools

from command import at, run, topology
from netfile import read_net, renamed


def order(*words):
    done = run('order', *words, code=(0, 1, 2))
    return done.returncode, done.stdout, done.stderr


def net_leaves(path):
    """{switch: its hosts} of a net file."""
    leaves, (ends, kinds) = {}, read_net(path)
    for (node, _), (far, _) in ends.items():
        if kinds[node] == 'Switch' != kinds[far]:
            leaves.setdefault(node, set()).add(far)
    return leaves


def judge(net, leaves):
    """[(switch, its hosts, its children)] of topology.conf, whose rules hold."""
    tree = []
    for line in order('--format=slurm-topology', net)[1].splitlines():
        fields = dict(word.split('=') for word in line.split())
        tree.append((fields['SwitchName'], fields.get('Nodes', '').split(','), fields.get('Switches', '').split(',')))
    names = [name for name, _, _ in tree]
    assert len(set(names)) == len(names) and all(len(n) <= 64 for n in names), names
    assert sorted(map(sorted, leaves)) == sorted(sorted(hosts) for _, hosts, _ in tree if hosts != ['']), tree
    children = [c for _, _, below in tree for c in below if c]
    assert sorted(children) == sorted(set(names) - {names[-1]}), 'one tree: %s' % tree
    return tree


for name in ('tree-2', 'tree-3'):
    leaves = net_leaves(topology(name))
    tree = judge(topology(name), leaves.values())
    assert {row[0]: set(row[1]) for row in tree if row[1] != ['']} == leaves
tree_2, made, number = topology('tree-2'), at('renamed.net'), itertools.count()
hosts = sorted(h for leaf in net_leaves(tree_2).values() for h in leaf)
by_leaf = [['n%d' % hosts.index(h) for h in leaf] for leaf in net_leaves(tree_2).values()]
# Every switch of a fabric that nobody has named says what its maker is called.
judge(renamed(tree_2, made, lambda is_switch, _: 'Quantum Mellanox Technologies' if is_switch else
              'n%d HCA-1' % next(number)), by_leaf)
# Two HCAs a host, on leaves of their own.
number = itertools.count()
rails = renamed(tree_2, made, lambda is_switch, _: 'leaf' if is_switch else 'n%d mlx5_%d' % divmod(next(number), 8)[::-1])
eight = ['n%d' % i for i in range(8)]
assert order(rails)[1].split() == eight
lids = []
for rail in ('mlx5_0', 'mlx5_1'):
    status, out, _ = order('--hca=' + rail, '--csv', rails)
    rows = [line.split(',') for line in out.splitlines()[1:]]
    assert status == 0 and [row[1] for row in rows] == eight, out
    lids.append({row[2] for row in rows})
assert not lids[0] & lids[1], lids
status, out, said = order('--hca=mlx5_9', rails)
assert status == 2 and not out and said.count('\n') == 1 and 'mlx5_9' in said, said
