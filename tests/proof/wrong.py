#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""wrong.py WHY3CONF

Wrong edits of the proved checker, one at a time: each must leave a goal of the edited function that CVC4 does not
prove, and does prove without the edit. Run by scripts/prove --wrong, in src/core/proved.
"""
import os
import re
import subprocess
import sys
import tempfile

EDITS = [  # what, function, from, to
    ('a wait may stay level', 'turn_check', 'low < r && r <= high', 'low <= r && r <= high'),
    ('a bound may be passed', 'turn_check', 'low < r && r <= high', 'low < r'),
    ('one lane too many', 'turn_check', 'm >= rd t.c_vls', 'm > rd t.c_vls'),
    ('one slot too many', 'lane_of', 'r >= t.n_slot - p', 'r > t.n_slot - p'),
    ('a slot may overflow', 'lane_of', 'r >= t.n_slot - p', 'r + p >= t.n_slot'),
    ('a port too many', 'leads_to', 'if p >= m then', 'if p > m then'),
    ('what enters is not looked at', 'hop_check', 'if own && (', 'if not own && ('),
    ('the next switch is not marked', 'hop_check', 'not (pass_at t r n k v q) || ', ''),
    ('a hole is let pass', 'hop_check', 'return t.n_gen = 2', 'return true'),
    ('new tables forgotten', 'goes_on', '(t.n_gen < 2 || turn_check t n k 1 c e q h high)', 'true'),
    ('own packets need no mark', 'entry_check', 'return not own', 'return true'),
    ('level 0 skipped', 'row_check', 'for q = 0 to', 'for q = 1 to'),
    ('a switch skipped', 'row_check', 'for s = 0 to', 'for s = 1 to'),
    ('hops may stay equal', 'left_at', 'l < rd r.k_left', 'l <= rd r.k_left'),
    ('replies forgotten', 'level_check', 'if t.f_replies && meets_at', 'if t.f_any && meets_at'),
    ('a level too many', 'level_check', '>= t.n_q then', '> t.n_q then'),
    ('another port of the host', 'dest_check', 'rdb r.lft0 (to_int t.n_sw) r.r_home = r.r_exit', 'true'),
    ('parts of the fabric joined', 'chan_check', 'rd t.s_comp (to_int t.n_sw) s = rd t.s_comp (to_int t.n_sw) v && ', ''),
    ('multicast may stay level', 'on_check', 'mheld_of t n k c q < r', 'mheld_of t n k c q <= r'),
    ('multicast not looked at', 'fabric_check', 'if t.f_mcast && rd', 'if t.f_any && t.f_mcast && rd'),
    ('wrong cell', 'cell', '    a * m + b\n', '    a * m + a\n'),
]


def unproved(conf, path, function):
    """Goals of the function that are left; None if it is no WhyML any more."""
    out = subprocess.run(['why3', 'prove', '-C', conf, '-P', 'CVC4,1.8', '-t', '20', '-a', 'split_vc', '-a',
                          'eliminate_definition', path, '-T', 'Checker', '-G', function + "'vc"],
                         capture_output=True, text=True).stdout
    results = re.findall(r'Prover result is: (\w+)', out)
    return sum(result != 'Valid' for result in results) if results else None


def main():
    with open('proved.mlw') as f:
        source = f.read()
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'proved.mlw')
        for what, function, old, new in EDITS:
            at = source.index(old, source.index('  let %s (' % function))
            with open(path, 'w') as f:
                f.write(source[:at] + new + source[at + len(old):])
            control, left = unproved(sys.argv[1], 'proved.mlw', function), unproved(sys.argv[1], path, function)
            caught = control == 0 and left
            missed += not caught
            print('%s  %s (%s): %s goals left, %s without the edit' % (
                'caught' if caught else 'MISSED', what, function, left, control), flush=True)
    print('%d of %d wrong edits caught' % (len(EDITS) - missed, len(EDITS)))
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
