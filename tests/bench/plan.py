# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Which fabrics, which engines on them, and what each is expected to reach."""
import math
import os

BUDGETS = (1, 2, 4, 8)

W1 = ['stock dfsssp', 'stock minhop', 'dfsssp', 'dfsssp one-way']
BY_BUDGET = [k % n for n in BUDGETS for k in ('stock nue %d', 'dfsssp %d')]
SSSP = ['stock sssp', 'sssp']
GRID = ['stock torus-2QoS', 'angara']
TREE = W1 + ['stock ftree', 'dmodk']


class Plan:
    """One fabric. `least` is the ratio of CPU, stock dfsssp / ours, it must reach; `efi` is the
    largest edge forwarding index allowed (None: stock's), `bound` the least a minimal one can have."""

    def __init__(self, key, title, words, variants, least=None, efi=None, bound=None, vls=None,
                 memory=None, efi_by_budget=None, cut=0, in_quick=False, only_large=False, switches=0):
        self.key, self.title, self.words, self.variants = key, title, words.split(), variants
        self.least, self.efi, self.bound, self.vls, self.memory = least, efi, bound, vls, memory
        self.efi_by_budget = efi_by_budget	# largest at 4 and 8 VLs, instead of half of nue's
        self.cut = cut	# no routing at all has a lower EFI
        self.in_quick, self.only_large = in_quick, only_large
        self.switches = switches
        self.path = None	# of a fabric from the field


# The least EFI that minimal routing can have, by linear programming: every pair of switches splits
# its routes at will over its shortest paths, and the most loaded channel is minimised.
BOUNDS_RANDOM64 = {1: 16128, 2: 20736, 3: 16128}
BOUNDS_RANDOM128 = {1: 64512, 2: 38656, 3: 66304}

# And what no routing goes below, minimal or not: all that k switches with 16 hosts each send to the
# others crosses the e cables between them, so one carries k * (128 - k) * 256 / e routes.
CUTS_RANDOM128 = {1: 2 * 126 * 256, 3: 4 * 124 * 256 // 2}

# The goals for random fabrics were set on graphs with bounds of 15,673 and 41,724 (1.855 of the
# average); on others they mean the same distance from the bound.
RANDOM64 = 18500 / 15673
RANDOM128 = 1.95 / 1.855


def _random64(seed):
    bound = BOUNDS_RANDOM64[seed]
    return Plan('random64-%d' % seed, 'random, 64 switches, 128 links, 16 hosts each, seed %d' % seed,
                'random switches=64 links=128 hosts=16 seed=%d' % seed, W1, least=40, switches=64,
                bound=bound, efi=int(bound * RANDOM64), vls=5, in_quick=seed == 1)


def _random128(seed):
    bound = BOUNDS_RANDOM128[seed]
    return Plan('random128-%d' % seed,
                'random, 128 switches, 300 links, 16 hosts each, seed %d' % seed,
                'random switches=128 links=300 hosts=16 seed=%d' % seed, W1 + SSSP + BY_BUDGET,
                switches=128, bound=bound, efi_by_budget=bound * RANDOM128,
                cut=CUTS_RANDOM128.get(seed, 0), vls=6)


def _grid(kind, dims, hosts, bound):
    """Tori and meshes for angara; torus-2QoS knows two and three dimensions."""
    return Plan('%s%s' % (kind, dims), '%s %s, %d host%s a switch' % (kind, dims, hosts, 's' * (hosts > 1)),
                '%s dims=%s hosts=%d' % (kind, dims, hosts), GRID[dims.count('x') > 2:],
                bound=bound, switches=math.prod(map(int, dims.split('x'))))


# Bounds: the largest mean load over the links of one dimension; of lines, over those of one cut.
GRIDS = [('torus', '8x8x8', 2, 2048), ('torus', '6x6x6', 2, 648), ('torus', '16x16', 1, 512),
         ('torus', '4x2x2x2', 1, 16), ('torus', '5x4x3x2', 1, 72), ('mesh', '16x16', 1, 1024),
         ('mesh', '8x8x8', 2, 4096)]


def plans():
    rows = [
        Plan('tree1000', '10-ary 3-tree, 1,000 hosts', 'kary k=10 n=3', TREE,
             least=100, efi=990, bound=990, switches=300),
        Plan('tree1944', 'tree 3;18,18,6;1,18,6;1,1,3, 1,944 hosts',
             'tree m=18,18,6 w=1,18,6 p=1,1,3', TREE + ['dfsssp ROUTING'],
             least=100, efi=1926, bound=1926, memory=10, switches=324),
        Plan('hyperx', 'HyperX 12x8, 7 hosts a switch', 'hyperx dims=12x8 hosts=7', W1,
             least=40, efi=680, bound=588, in_quick=True, switches=96),
    ]
    rows += [_random64(seed) for seed in BOUNDS_RANDOM64]
    rows += [_random128(seed) for seed in BOUNDS_RANDOM128]
    rows += [
        Plan('dragonfly', 'dragonfly a8 h4 p4, 1,056 hosts', 'dragonfly a=8 h=4 p=4',
             W1 + BY_BUDGET, least=20, efi=1180, bound=1059, vls=4, switches=264),
        Plan('torus', 'torus 8x8x8, 2 hosts a switch', 'torus dims=8x8x8 hosts=2',
             W1 + SSSP + BY_BUDGET, bound=2048, switches=512),
        Plan('tree11664', 'tree 3;18,18,36;1,18,18, 11,664 hosts', 'tree m=18,18,36 w=1,18,18',
             TREE + ['dfsssp ROUTING'], least=400, efi=11646, bound=11646, memory=10,
             only_large=True, switches=1620),
    ]
    return rows + [_grid(*grid) for grid in GRIDS]


# What dmodk routes again after a fault: title, words of the generator, ms of CPU it may take.
FAULTS = [('tree 3;18,18,36;1,18,18, 11,664 hosts', 'tree m=18,18,36 w=1,18,18', 150),
          ('tree 3;32,32,44;1,32,32, 45,056 hosts', 'tree m=32,32,44 w=1,32,32', 1000)]


# From the field: the largest, and one each of what generators do not make; with their bounds.
FIELD = {'plafrim-2013': 2646, 'psmn-x5-2020': 130, 'tartu-2014': 415, 'topograph-dgx-2025': 714,
         'selene-storage-2021': 1957, 'ibutils/RhinoBased512Nodes': 448}


def field(directory):
    rows = []
    for name, bound in FIELD.items() if directory else ():
        path = next(filter(os.path.isfile, (os.path.join(directory, name + end)
                                            for end in ('.topo', '.net'))), None)
        if path:
            name = os.path.basename(name)
            row = Plan(name, name, '', W1, switches=_count_switches(path), bound=bound)
            row.path = path
            rows.append(row)
    return rows


def _count_switches(path):
    with open(path, errors='replace') as file:
        return sum(line.startswith('Switch') for line in file)
