# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What came out of a campaign, by its lines of JSON alone: one log or several, of one run or of parts.

A life that was run again counts once, as it went the last time.
"""
import collections
import json

SETTLED = 5		# steps of an opensm after which its memory counts
WINDOW = 5		# steps at both ends that are compared
SIZES = {'small': 'on fabrics of up to 64 switches', 'real': 'on real ones', 'large': 'on 1,944 hosts'}


class Life:
    def __init__(self, head):
        self.head = head
        self.steps = []
        self.end = None		# 'done', 'failed' or 'skipped': the line that says it


def read(paths):
    """{(seed, number): Life}"""
    lives = {}
    for path in paths:
        now = {}		# number of the life -> Life, in this log
        with open(path) as file:
            for line in file:
                record = json.loads(line)
                number = record['life']
                if 'fabric' in record:
                    now[number] = lives[(record['seed'], number)] = Life(record)
                elif 'step' in record:
                    now[number].steps.append(record)
                else:
                    now[number].end = record
    return lives


def growth(lives):
    """Of every opensm that lived long enough: its memory in its last steps by that in its first ones."""
    found = []
    for life in lives:
        rss = collections.defaultdict(list)
        for step in life.steps:
            if 'rss_kb' in step:
                rss[step['run']].append(step['rss_kb'])
        for kb in rss.values():
            kb = kb[SETTLED:]
            if len(kb) >= 2 * WINDOW:
                found.append((sum(kb[:WINDOW]), sum(kb[-WINDOW:])))
    return found


def words(counter):
    return ', '.join('%d %s' % (n, k) for k, n in sorted(counter.items(), key=lambda i: (-i[1], i[0])))


def report(paths):
    """Prints the sum; returns the numbers of the lives that failed, did not come to their end, or had re-routes that
    the check refused."""
    lives = read(paths)
    steps = [s for life in lives.values() for s in life.steps]
    faults, sizes = collections.Counter(), collections.Counter()
    ends = collections.Counter(next((k for k in ('failed', 'skipped', 'done') if k in (life.end or {})), 'unfinished')
                               for life in lives.values())
    for life in lives.values():
        faults[life.head['size']] += sum(s['faults'] for s in life.steps)
        sizes[life.head['size']] += 1
    for seed, build in sorted({(life.head['seed'], life.head['build']) for life in lives.values()}):
        print('seed %s, %s' % (seed, build))
    print('%d lives (%s): %s' % (len(lives), words(sizes), words(ends)))
    print('%d faults and recoveries: %s' % (sum(faults.values()), ', '.join(
        '%d %s' % (faults[k], where) for k, where in SIZES.items() if faults[k])))
    print('%d steps: %s' % (len(steps), words(collections.Counter(s['kind'] for s in steps))))
    again = [s for s in steps if s.get('retries')]
    handed = [s for s in steps if s['kind'] == 'handover']
    print('%d steps needed more than one sweep, %d sweeps more; %d of %d handovers got stuck in OpenSM' %
          (len(again), sum(len(s['retries']) for s in again), sum(s.get('stuck', 0) for s in handed), len(handed)))
    refused = {number: life.end['refused'] for (_, number), life in lives.items() if life.end and life.end.get('refused')}
    print('%d steps ended with a new opensm that was to send the same tables' %
          sum(s.get('compared', 0) for s in steps))
    print('%d re-routes refused by the check%s' %
          (sum(refused.values()), ', in lives ' + ', '.join(map(str, sorted(refused))) if refused else ''))
    engines = collections.Counter(s.get('engine', 'others than osmroutes') for s in steps)
    print('steps routed by: ' + words(engines))
    seconds = sum(life.end['done'] for life in lives.values() if life.end and 'done' in life.end)
    print('%.0f minutes, if one life had come after the other' % (seconds / 60))
    memory = growth(lives.values())
    if memory:
        early, late = (sum(m[i] for m in memory) for i in (0, 1))
        print('memory of %d opensm that lived for %d steps or more: %+.2f %% from the first to the last %d of them' %
              (len(memory), SETTLED + 2 * WINDOW, (late / early - 1) * 100, WINDOW))
    return sorted({number for (_, number), life in lives.items() if not life.end or 'failed' in life.end} | set(refused))
