# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What `osmroutes order` writes for Slurm: topology.conf and topology.yaml say the same, hosts stand under the leaf that
the net file has them on, names differ, block sizes are what topology.yaml(5) asks for, and --hca chooses a rail."""
import itertools
import re

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


def conf(text):
    """[(name, hosts, children)] and block sizes."""
    rows, sizes = [], None
    for line in text.splitlines():
        fields = dict(word.split('=') for word in line.split())
        if 'BlockSizes' in fields:
            sizes = [int(n) for n in fields['BlockSizes'].split(',')]
        else:
            rows.append((fields.get('SwitchName') or fields['BlockName'], fields.get('Nodes', '').split(','),
                         fields.get('Switches', '').split(',')))
    return rows, sizes


def yaml(text):
    """The same of both topologies; of YAML's rules those that this file needs, and nothing else may stand in it."""
    lines = text.splitlines()
    assert lines.pop(0) == '---'
    topologies, rows, sizes = {}, None, None
    while lines:
        line = lines.pop(0)
        if m := re.fullmatch(r'- topology: "(\w+)"', line):
            rows, sizes = [], []
            topologies[m[1]] = rows, sizes
            assert lines.pop(0) == '  cluster_default: ' + ('true' if len(topologies) == 1 else 'false')
            assert lines.pop(0) == '  %s:' % m[1]
        elif line in ('    switches:', '    blocks:', '    block_sizes:'):
            pass
        elif m := re.fullmatch(r'      - (\d+)', line):
            sizes.append(int(m[1]))
        else:
            name = re.fullmatch(r'      - (?:switch|block): "([^"\\]+)"', line)
            m = re.fullmatch(r'        (nodes|children): "([^"\\]+)"', lines.pop(0))
            assert name and m, line
            rows.append((name[1], m[2].split(',') if m[1] == 'nodes' else [''],
                         m[2].split(',') if m[1] == 'children' else ['']))
    return topologies


def judge(net, leaves):
    tree, _ = conf(order('--format=slurm-topology', net)[1])
    blocks, sizes = conf(order('--format=slurm-blocks', net)[1])
    both = yaml(order('--format=slurm-yaml', net)[1])
    assert both == {'tree': (tree, []), 'block': (blocks, sizes)}, both
    names = [name for name, _, _ in tree]
    assert len(set(names)) == len(names) and all(len(n) <= 64 for n in names), names
    assert [row for row in tree if row[1] != ['']] == blocks
    assert sorted(map(sorted, leaves)) == sorted(sorted(hosts) for _, hosts, _ in blocks), blocks
    children = [c for _, _, below in tree for c in below if c]
    assert sorted(children) == sorted(set(names) - {names[-1]}), 'one tree: %s' % tree
    smallest = min(map(len, leaves))
    assert sizes == [smallest << i for i in range(len(blocks).bit_length())], sizes
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
