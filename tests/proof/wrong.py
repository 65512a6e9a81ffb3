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
    ('a wait may stay level', 'turn_check', 'low < x && x <= high', 'low <= x && x <= high'),
    ('a bound may be passed', 'turn_check', 'low < x && x <= high', 'low < x'),
    ('one lane too many', 'works', 'm < of_chan', 'm <= of_chan'),
    ('one row too many', 'row_check', '<= t.n_slot - 256', '<= t.n_slot - 255'),
    ('one column too many', 'chan_check', 'p > 255', 'p > 256'),
    ('parts of the fabric joined', 'chan_check', 'of_sw t s 2 = of_sw t v 2 && ', ''),
    ('a port too many', 'next_of', 'if p >= of_sw', 'if p > of_sw'),
    ('another switch\'s port', 'next_of', 'if of_chan t c 0 <> s then return -1;', ''),
    ('any channel that is named', 'next_of', 'if rd r.k_next (to_int t.n_sw) s = c then c else -2', 'c'),
    ('what enters is not looked at', 'hop_check', 'if own && (', 'if not own && ('),
    ('the next switch is not marked', 'hop_check', 'not (bit (pass_of t o v) q) || ', ''),
    ('a channel beyond the last', 'hop_check', ' || e >= t.n_chan', ''),
    ('a hole is let pass', 'switch_check', 'return c = -1 && not r.f_whole', 'return c = -1'),
    ('another channel is let pass', 'switch_check', 'return c = -1 && not r.f_whole', 'return not r.f_whole'),
    ('own packets need no mark', 'hops_check', 'if not (within own m) then return false;', ''),
    ('level 0 skipped', 'hops_check', 'next_bit m 0', 'next_bit m 1'),
    ('every second level skipped', 'hops_check', 'next_bit m (q + 1)', 'next_bit m (if q < 15 then q + 2 else 16)'),
    ('a switch skipped', 'dest_check', 'for s = 0 to', 'for s = 1 to'),
    ('another port of the host', 'dest_check', 'if r.f_whole && rdb r.lft (to_int t.n_sw) r.r_home <> r.r_exit then return false;', ''),
    ('a mixture of two homes', 'dest_check', 'if r.r_home <> o.r_home then return false;', ''),
    ('old packets stay old', 'hop_check', 'let e = rd o.k_next', 'let e = rd r.k_next'),
    ('replies forgotten', 'level_check', 'not t.f_replies ||', 't.f_replies ||'),
    ('a level too many', 'level_check', '>= t.n_q then', '> t.n_q then'),
    ('replies do not enter', 'allowed_at', 'both m (answers_of t r.r_home s)', 'm'),
    ('multicast may stay level', 'on_check', 'mheld_of t c q < x', 'mheld_of t c q <= x'),
    ('multicast not looked at', 'fabric_check', 'if of_chan t c 5 >= 0 &&', 'if t.f_any && of_chan t c 5 >= 0 &&'),
    ('wrong cell', 'cell', '    a * m + b\n', '    a * m + a\n'),
]


def unproved(conf, path, function):
    """Is a goal of the function left? None if it is no WhyML any more. Ends at the first one."""
    words = ['why3', 'prove', '-C', conf, '-P', 'CVC4,1.8', '-t', '6', '-a', 'split_vc', '-a', 'eliminate_definition', path,
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
