# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What came out of a campaign, by its lines of JSON alone: one log or several, of one run or of parts.

A life that was run again counts once, as it went the last time.
"""
import collections
import json


def read(paths):
    """[(head, steps, end)] of the lives: lines of JSON. Of a life that was run again, the last time."""
    lives = {}
    for path in paths:
        now = {}		# number of the life -> what is known of it, in this log
        with open(path) as file:
            for record in map(json.loads, file):
                number = record['life']
                if 'fabric' in record:
                    now[number] = lives[record['seed'], number] = [record, [], {}]
                elif 'step' in record:
                    now[number][1].append(record)
                else:
                    now[number][2] = record
    return list(lives.values())


def words(items):
    counter = collections.Counter(items)
    return '%d: %s' % (sum(counter.values()), ', '.join('%d %s' % (n, k) for k, n in counter.most_common()))


def report(paths):
    """Prints the sum; returns the numbers of the lives that failed, did not come to their end, or had re-routes that
    the check refused."""
    lives = read(paths)
    steps = [s for _, steps, _ in lives for s in steps]
    for seed, build in sorted({(head['seed'], head['build']) for head, _, _ in lives}):
        print('seed %s, %s' % (seed, build))
    print('lives, ' + words(head['size'] for head, _, _ in lives))
    print('lives, ' + words(next((k for k in ('failed', 'skipped', 'done') if k in end), 'unfinished') for _, _, end in lives))
    print('faults and recoveries, ' + words(head['size'] for head, own, _ in lives for s in own for _ in range(s['faults'])))
    print('steps, ' + words(s['kind'] for s in steps))
    print('steps routed, ' + words(s.get('engine', 'not judged') for s in steps))
    print('more sweeps than steps, %d; handovers stuck in OpenSM, %d; steps ended with a new opensm that was to send the same '
          'tables, %d' % tuple(sum(s.get(k, 0) for s in steps) for k in ('n_retries', 'stuck', 'compared')))
    print('re-routes refused by the check, %d; minutes of all lives, %.0f' % (
        sum(end.get('refused', 0) for _, _, end in lives), sum(end.get('done', 0) for _, _, end in lives) / 60))
    return sorted(head['life'] for head, _, end in lives if not end or 'failed' in end or end.get('refused'))
