# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Table 1 of the D-Mod-K paper as data: which permutation sequences the collectives of two MPI
libraries use.

Marks as printed: m, M MVAPICH and o, O Open MPI, small and large messages; 2: only for powers of
two. Transcribed from the text of the paper, in which the columns of merged headings are not certain
(reduce-scatter and all-reduce), and the row of Tournament has lost its marks.
"""

# Sequences of table 2 by the names of share/examples/traffic-patterns. Reverse dissemination is n_i -> n_(i - 2^s):
# the same pairs with the arrows turned.
SEQUENCES = {
    'Binomial': 'cps-binomial', 'Recursive doubling': 'cps-doubling',
    'Recursive halving': 'cps-halving', 'Dissemination': 'cps-dissemination',
    'Reverse dissemination': 'cps-dissemination', 'Tournament': 'cps-tournament',
    'Ring': 'cps-ring', 'Shift': 'cps-shift',
}

_COLUMNS = [
    ('AllGather', 'Ring'), ('AllGather', 'Bruck'), ('AllGather', 'Doubling'), ('Barrier', ''),
    ('Broadcast', 'Old'), ('Broadcast', 'van de Geijn'), ('AlltoAll', 'Shift'),
    ('AlltoAll', 'Xor'), ('AlltoAll', 'Bruck'), ('Commutative Reduce Scatter', 'Old'),
    ('Commutative Reduce Scatter', 'New'), ('Reduce Scatter', 'New'), ('AllReduce', 'Old'),
    ('AllReduce', 'Rabenseifner'), ('Reduce', 'Old'), ('Reduce', 'Rabenseifner'),
    ('Scatter', ''), ('Gather', ''),
]

# By sequence: marks by column, counted from 1.
_MARKS = {
    'Binomial': {4: 'o', 5: 'm o O', 6: 'm M', 10: 'm M', 14: 'M', 15: 'o m M', 16: 'm',
                 17: 'm o O', 18: 'O o M m'},
    'Recursive doubling': {1: 'm 2', 3: 'o 2', 4: 'm o', 5: 'o', 6: 'm', 8: 'M 2', 12: 'm o',
                           13: 'o m M'},
    'Recursive halving': {10: 'o', 11: 'm M', 14: 'M', 16: 'm'},
    'Dissemination': {4: 'm o', 9: 'm o'},
    'Reverse dissemination': {2: 'm o'},
    'Ring': {1: 'M O', 5: 'M O', 6: 'M', 10: 'm M O', 13: 'O', 15: 'O', 17: 'M O'},
    'Shift': {7: 'M O', 12: 'M O'},
}

# (collective, algorithm, sequence, marks), column by column.
TABLE1 = [_COLUMNS[i - 1] + (sequence, marks[i]) for i in range(1, len(_COLUMNS) + 1)
          for sequence, marks in _MARKS.items() if i in marks]
