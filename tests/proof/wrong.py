#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""wrong.py WHY3CONF [FUNCTION...]

Wrong edits of the proved checker, one at a time: each must leave a goal of the edited function that CVC4 does not
prove, and does prove without the edit. Run by scripts/prove --wrong, in src/core/proved.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

EDITS = [  # what, function, from, to
    ('a wait may stay level', 'turn_check', 'low < r && r <= high', 'low <= r && r <= high'),
    ('a bound may be passed', 'turn_check', 'low < r && r <= high', 'low < r'),
    ('one lane too many', 'turn_check', 'm >= of_chan', 'm > of_chan'),
    ('one slot too many', 'lane_of', 'r >= t.n_slot - p', 'r > t.n_slot - p'),
    ('a slot may overflow', 'lane_of', 'r >= t.n_slot - p', 'r + p >= t.n_slot'),
    ('a port too many', 'leads_to', 'if p >= of_sw', 'if p > of_sw'),
    ('another switch\'s port', 'leads_to', 'if of_chan t c 0 = s then c else -1', 'c'),
    ('what enters is not looked at', 'level_check', 'if own && (', 'if not own && ('),
    ('the next switch is not marked', 'level_check', 'not (bit (levels_at t r v) q) || ', ''),
    ('a hole is let pass', 'hop_check', 'return t.n_gen = 2', 'return true'),
    ('new tables forgotten', 'goes_on', '(t.n_gen < 2 || turn_check t 1 c e q h high)', 'true'),
    ('own packets need no mark', 'hop_check', 'if met && not (own_check t r s) then return false;', ''),
    ('level 0 skipped', 'hop_check', 'next_bit m 0', 'next_bit m 1'),
    ('every second level skipped', 'hop_check', 'next_bit m (q + 1)', 'next_bit m (if q < 15 then q + 2 else 16)'),
    ('a switch skipped', 'dest_check', 'for s = 0 to', 'for s = 1 to'),
    ('hops may stay equal', 'left_check', 'l < rd r.k_left', 'l <= rd r.k_left'),
    ('replies forgotten', 'asked_check', 'not t.f_replies ||', 't.f_replies ||'),
    ('a level too many', 'asked_check', '>= t.n_q then', '> t.n_q then'),
    ('another port of the host', 'dest_check', 'if rdb r.lft0 (to_int t.n_sw) r.r_home <> r.r_exit then return false;', ''),
    ('parts of the fabric joined', 'chan_check', 'of_sw t s 2 = of_sw t v 2 && ', ''),
    ('multicast may stay level', 'on_check', 'mheld_of t c q < r', 'mheld_of t c q <= r'),
    ('multicast not looked at', 'fabric_check', 'if of_chan t c 6 <> 0', 'if t.f_any && of_chan t c 6 <> 0'),
    ('wrong cell', 'cell', '    a * m + b\n', '    a * m + a\n'),
]


def unproved(conf, path, function):
    """Is a goal of the function left? None if it is no WhyML any more. Ends at the first one."""
    words = ['why3', 'prove', '-C', conf, '-P', 'CVC4,1.8', '-t', '20', '-a', 'split_vc', '-a', 'eliminate_definition', path,
             '-T', 'Checker', '-G', function + "'vc"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as why3:
        results = 0
        for line in why3.stdout:
            found = re.match(r'Prover result is: (\w+)', line)
            results += bool(found)
            if found and found.group(1) != 'Valid':
                why3.terminate()
                return True
    return False if results else None


def main():
    with open('proved.mlw') as f:
        source = f.read()
    wanted = sys.argv[2:]
    tried = [edit for edit in EDITS if not wanted or edit[1] in wanted]
    control = {}

    def attempt(edit):
        what, function, old, new = edit
        at = source.index(old, source.index('  let %s (' % function))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'proved.mlw')
            with open(path, 'w') as f:
                f.write(source[:at] + new + source[at + len(old):])
            return unproved(sys.argv[1], path, function)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        functions = sorted({edit[1] for edit in tried})
        control.update(zip(functions, pool.map(lambda f: unproved(sys.argv[1], 'proved.mlw', f), functions)))
        caught = 0
        for edit, left in zip(tried, pool.map(attempt, tried)):
            good = left and control[edit[1]] is False
            caught += bool(good)
            print('%s  %s (%s)' % ('caught' if good else 'MISSED', edit[0], edit[1]), flush=True)
    print('%d of %d wrong edits caught; %d functions without them are proved, of %d' % (
        caught, len(tried), sum(left is False for left in control.values()), len(control)))
    return 0 if caught == len(tried) else 1


if __name__ == '__main__':
    sys.exit(main())
