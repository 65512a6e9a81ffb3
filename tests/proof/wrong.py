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
    ('a wait may stay level', 'hop_check', 'low < x && x', 'low <= x && x'),
    ('what enters is not looked at', 'hop_check', 'if own && (', 'if not own && ('),
    ('the next switch is not marked', 'hop_check', 'if not (bit (rdh o.k_pass (to_int t.n_sw) v) q) then return false;', ''),
    ('old packets stay old', 'hop_check', 'let e = rdb o.lft', 'let e = rdb r.lft'),
    ('a bound may be passed', 'rank_in', 'if x <= bound then x else 0x7fffffff', 'x'),
    ('one lane too many', 'rank_in', 'if l >= hot_at', 'if l > hot_at'),
    ('one row too many', 'port_check', 'own > t.n_slot - t.n_port', 'own > t.n_slot - t.n_port + 1'),
    ('another row than at the port behind', 'port_check', 'r = cold_at t v i 1 && ', ''),
    ('parts of the fabric joined', 'port_check', ' || of_sw t s 0 <> of_sw t v 0', ''),
    ('a port too many behind a cable', 'port_check', 'i >= t.n_port', 'i > t.n_port'),
    ('a switch too many', 'port_check', 'v >= t.n_sw', 'v > t.n_sw'),
    ('a port too many', 'behind', 'if o >= t.n_port', 'if o > t.n_port'),
    ('a hole is let pass', 'switch_check', 'if v < 0 then s = r.r_home || not r.f_whole', 'if v < 0 then true'),
    ('entries into other parts are let pass', 'switch_check', 'return not r.f_whole || p = 255', 'return true'),
    ('own packets need no mark', 'hops_check', 'if not (within own m) then return false;', ''),
    ('level 0 skipped', 'hops_check', 'next_bit m 0', 'next_bit m 1'),
    ('every second level skipped', 'hops_check', 'next_bit m (q + 1)', 'next_bit m (if q < 15 then q + 2 else 16)'),
    ('a switch skipped', 'dest_check', 'for s = 0 to', 'for s = 1 to'),
    ('another port of the host', 'dest_check', 'if r.f_whole && rdb r.lft (to_int t.n_sw) r.r_home <> r.r_exit then return false;', ''),
    ('a mixture of two homes', 'dest_check', 'if r.r_home <> o.r_home then return false;', ''),
    ('replies forgotten', 'level_check', 'not t.f_replies ||', 't.f_replies ||'),
    ('a level too many', 'level_check', 'below t.n_q', 'below (if t.n_q < 16 then t.n_q + 1 else 16)'),
    ('a pair without a level', 'level_check', 'q >= t.n_q || ', ''),
    ('replies do not enter', 'allowed_at', 'both l (answers_of t r.r_home s)', 'l'),
    ('multicast may stay level', 'on_check', 'copies_at t s c q < x', 'copies_at t s c q <= x'),
    ('multicast on lanes of unicast', 'on_check', '(copy_of t', '(lane_of t'),
    ('multicast may not go on by the port it left by', 'on_check', 'cold_at t s c 0 = o', 'c = o'),
    ('multicast not looked at', 'fan_check', 'if cold_at t s c 3 <> 0 &&', 'if t.f_replies && cold_at t s c 3 <> 0 &&'),
    ('hosts not looked at', 'fan_check', 'if cold_at t s c 2 <> 0 &&', 'if t.f_replies && cold_at t s c 2 <> 0 &&'),
    ('what enters may pass its bound', 'in_check', 'f <> 0x7fffffff && x = 0x7fffffff', 'f = 0x7fffffff && x = 0x7fffffff'),
    ('a port skipped', 'fabric_check', 'for c = 0 to', 'for c = 1 to'),
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
