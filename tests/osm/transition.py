# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The transition: what the log says of old and new tables mixed, against tables read back from the switches
before and after a change, and a judge that sends every packet through every mixture of both."""
import os
import re
import time

import oracle
from judge import QOS, Claims, expect, judge
from osmtest import Counter, routed, running, wait_for

OUTAGE = r'second round of tables: (\d+) LFT blocks; entries were withdrawn for ([\d.]+) ms'


def in_rounds(log):
    """Sweeps whose tables went out in two rounds, as JSON."""
    return [sweep for sweep in routed(log) if sweep['tables']['transition']['two_rounds']]


class Hold:
    """A sweep waits behind its first round of tables, by osr-probe.c, from begin() to the end of look()."""

    def __init__(self, workdir):
        self.file = os.path.join(os.path.abspath(workdir), 'hold')
        # Every switch can be reached here, so there is no harm in waiting long for a MAD beside other tests.
        self.settings = dict(options=dict(QOS, event_plugin_name='osrprobe osmroutes', transaction_timeout=2000),
                             env={'OSR_CLOCK_HOLD': self.file})

    def begin(self, opensm):
        self.held = Counter(os.path.join(opensm.dir, 'output'), 'osrprobe: held')
        self.before = self.held.count()
        open(self.file, 'w').close()

    def look(self, opensm):
        """What is in the switches; looked: for how many ms the sweep waited at least."""
        wait_for('a first round', lambda: self.held.count() > self.before, 60, opensm._alive)
        began = time.monotonic()
        tables = opensm.fabric.tables()
        tables.looked = (time.monotonic() - began) * 1000
        os.unlink(self.file)
        return tables


class Mixture:
    """Two sets of tables on the fabric of the second. Vertices are (switch GUID, port, VL)."""

    def __init__(self, old, new):
        self.old = {s.guid: s for s in old.switches}
        self.new = {s.guid: s for s in new.switches}
        self.tables = old, new
        self.waits = {}		# (vertex, the one that it waits for) -> (sender, LID) of the packets
        self.cable = {}		# (GUID, port) -> (GUID, port); cables that are there today
        for s in new.switches:
            for p, (u, q) in s.next.items():
                self.cable[s.guid, p] = (new.switches[u].guid, q)

    def generations(self, guid):
        return [g[guid] for g in (self.old, self.new) if guid in g]

    def is_old_cable(self, guid, port):
        """An old entry for a port behind which another switch is today leads nowhere."""
        there = self.old[guid].next.get(port)
        return there and (self.tables[0].switches[there[0]].guid, there[1]) == self.cable.get((guid, port))

    def ports(self, guid, lid):
        found = {self.new[guid].forward(lid)}
        if guid in self.old and self.is_old_cable(guid, self.old[guid].forward(lid)):
            found.add(self.old[guid].forward(lid))
        return {p for p in found if (guid, p) in self.cable}

    def vls(self, guid, came, out, sl):
        return {s.table(came, out)[sl] for s in self.generations(guid)} - {15}

    def send(self, guid, came, lid, sl, goal, sender=None):
        """From an end port on this switch, everywhere a packet may come."""
        todo, seen = [(guid, came, None)], set()
        while todo:
            at, came, held = todo.pop()
            if (at, came, held) in seen:
                continue
            seen.add((at, came, held))
            if at == goal:
                continue
            for out in self.ports(at, lid):
                for vl in self.vls(at, came, out, sl):
                    hold = (at, out, vl)
                    if held:
                        self.waits.setdefault((held, hold), set()).add((sender, lid))
                    todo.append(self.cable[at, out] + (hold,))

    def add_unicast(self, replies):
        """Every SL of the old and the new path records, to every LID that both have."""
        ends, goal = {}, {}
        for tables in self.tables:
            for e in tables.ends:
                for lid in e.lids:
                    ends.setdefault(lid, []).append((tables, e))
        for e in self.tables[1].ends:
            for lid in e.lids:
                goal[lid] = self.tables[1].switches[e.switch].guid
        for lid in goal:
            for tables, e in ends[lid]:
                at = tables.switches[e.switch].guid
                for other, sl in zip(tables.lids, tables.rows[lid]):
                    if sl == 255 or other not in goal or other == lid or at not in self.new:
                        continue
                    host = any(x.host for _, x in ends[other])
                    if e.host or host:
                        self.send(at, e.port, other, sl, goal[other])
                    if replies and e.host:
                        there = [x for t, x in ends[other] if t is self.tables[1]][0]
                        self.send(goal[other], there.port, lid, sl, goal[lid])

    def add_multicast(self, sl=0):
        """A copy leaves by every port of the old or the new table but the one it came by."""
        links = {}
        for guid in self.new:
            for s in self.generations(guid):
                for mlid, ports in s.mft.items():
                    links.setdefault(mlid, set()).update(
                        (guid, p) for p in ports if (guid, p) in self.cable and
                        (s is self.new[guid] or self.is_old_cable(guid, p)))
        for out in links.values():
            for a in out:
                there, came = self.cable[a]
                for b in out:
                    if b[0] != there or b[1] == came:
                        continue
                    befores = set().union(*[self.vls(a[0], i, a[1], sl) for i in [0] + list(self.new[a[0]].next)])
                    for before in befores:
                        for after in self.vls(there, came, b[1], sl):
                            self.waits.setdefault((a + (before,), b + (after,)), set())

    def is_cyclic(self):
        return oracle.is_cyclic(list(self.waits))


def mixed(old, new, log, counts):
    """Is it true what the log says since the tables were old? counts[(were they kept, no loop)] goes up."""
    # Of the sweep that changed entries, or the last one, if none did.
    sweeps = routed(log)
    sweeps = [s for s in sweeps if s['lft']['entries_changed']] or sweeps[-1:]
    if len(sweeps) != 1:
        counts['more sweeps than one'] = counts.get('more sweeps than one', 0) + 1
        return
    transition, kept = sweeps[0]['tables']['transition'], bool(sweeps[0]['stable']['kept'])
    expect(transition['answer'] in ('deadlock-free', 'can deadlock'), 'nothing is said of the transition')
    # In one round those in two would have a loop.
    free = transition['answer'] == 'deadlock-free' and not transition['two_rounds']
    mixture = Mixture(old, new)
    mixture.add_unicast('replies deadlock-free' in Claims(log).proven)
    mixture.add_multicast()
    expect(free != mixture.is_cyclic(), 'the log says that old and new tables mixed %s' %
           ('have no credit loop, and there is one' if free else 'can deadlock, and there is no loop'))
    counts[kept, free] = counts.get((kept, free), 0) + 1


def free(old, new, log, what):
    mixture = Mixture(old, new)
    mixture.add_unicast('replies deadlock-free' in Claims(log).proven)
    expect(not mixture.is_cyclic(), '%s mixed: there is a loop' % what)


def two_rounds(workdir):
    """A cable of a tree dies and returns: each time what changes it, the log since, and the tables before, of the first
    round, and after."""
    hold = Hold(workdir)
    with running(workdir, 'tree-3', 'dfsssp', plugin_conf='ask_switches = no\n', **hold.settings) as (fabric, opensm):
        opensm.resweep()
        before = judge(fabric, opensm, ours='dfsssp')
        name, port, _ = before.cables()[0]
        for change in (fabric.unlink, fabric.relink):
            start, sweeps = len(opensm.log), opensm.sweeps()
            hold.begin(opensm)
            fabric.console(change(name, port))
            first = hold.look(opensm)
            first.rows = before.rows
            wait_for('the end of the sweep', lambda: opensm.sweeps() > sweeps, 60, opensm._alive)
            after = judge(fabric, opensm, ours='dfsssp')
            yield change == fabric.unlink, opensm.log[start:], before, first, after
            before = after
    opensm.check_own_log()


def judge_rounds(dead, log, before, first, after):
    """What is in the switches between the two rounds makes no loop with the tables before, nor with those after."""
    sweep = in_rounds(log)[-1]
    # It cannot deadlock, and it is said why there are two.
    transition = sweep['tables']['transition']
    expect(transition['answer'] == 'deadlock-free' and sweep['stable']['together'] and transition['why'] and
           transition['sent'] == 'in two rounds', 'the JSON says %s' % transition)
    said = re.findall(r', transition ([^;]*)', log)
    expect('deadlock-free in two rounds' in said and 'can deadlock' not in said, 'the log says %s' % said)
    n, whole = sweep['stable']['withdrawn'], sweep['stable']['withdrawn_whole']
    expect(n and (whole == 0) == dead, '%d withdrawn, %d whole' % (n, whole))
    n_blocks, outage = (float(x) for x in re.findall(OUTAGE, log)[-1])
    expect(n_blocks == len(first.blocks_changed(after)), 'not %d blocks of the second round differ' % n_blocks)
    expect(first.looked <= outage < 60000, 'withdrawn for %.1f ms, and looked at for %.1f' % (outage, first.looked))
    now = {s.guid: s for s in first.switches}
    expect(sum(now[guid].forward(lid) == 255 for guid, lid in before.changed(first)) >= n, 'fewer than %d entries are withdrawn' % n)
    free(before, first, log, 'the tables of before and of the first round')
    free(first, after, log, 'the tables of the first round and the new ones')
    mixture = Mixture(before, after)
    mixture.add_unicast(True)
    expect(mixture.is_cyclic(), 'one round would have done: nothing is shown')
