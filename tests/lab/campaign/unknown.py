# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What switches hold and opensm cannot know: they come back with tables of another SM or none, carry out what they do not
answer for, have tables of groups that nobody is in. And opensm is told to end, at any moment."""
import os
import random
import signal
import time

import oracle
from groups import BROADCAST, members_of, stale
from judge import different_sl2vl, expect, first
from osmtest import TOOLS, held, wait_for

SA, SPOIL = os.path.join(TOOLS, 'osr-sa'), os.path.join(TOOLS, 'osr-spoil')
SETS = {'SL2VL': ['17'], 'LFT': ['19'], 'both': ['17', '19'], 'MFT': ['1b'], 'all': ['17', '18', '19', '1b']}
MEMBERS = 5
COMPARED = 0.15	# of the other steps end with a restart
SUSPECT = ('island', 'reboot', 'answers', 'pause')	# all of these do


def different(a, b):
    """What differs between two readings of the same fabric, of ports that are up."""
    found, then = [], {s.guid: s for s in b.switches}
    for s in a.switches:
        t = then[s.guid]
        found += ['%s LID %d: port %d, then %d' % (s.name, lid, s.forward(lid), t.forward(lid))
                  for lid in a.lids if s.forward(lid) != t.forward(lid)]
    return found + different_sl2vl(a, b)


class Unknown:
    """Steps of a Life (life.py)."""

    def begin_unknown(self):
        self.mute = os.path.join(self.workdir, 'mute')
        self.members, self.group = set(), None
        self.rng_compare = random.Random(self.rng.random())
        self.n_compared = 0

    def spoil(self, guids, *words):
        """Those that can be reached."""
        self.fabric.run([SPOIL, ','.join(sorted(guids)), *map(str, words)], ok=False)

    # Groups -----------------------------------------------------------------------------------

    def rejoin(self):
        """As hosts do whose SM is another one, or that were away."""
        for name in sorted(self.members):
            said = self.fabric.run([SA, 'join', BROADCAST], host=name, ok=False).split()
            if len(said) > 3:
                self.group = int(said[1])

    def do_join(self, record):
        """A host joins a group, or leaves it."""
        if not self.single:
            record['do'] = ['no host with one port']
            return self.settle(record)
        if self.members and self.rng.random() < 0.3 + len(self.members) / MEMBERS / 2:
            name = self.rng.choice(sorted(self.members))
            self.members.discard(name)
            self.fabric.run([SA, 'leave', BROADCAST], host=name, ok=False)
            record['do'] = [name + ' leaves']
        else:
            name = self.rng.choice(self.single)
            self.members.add(name)
            record['do'] = [name + ' joins']
        self.n_faults += 1
        self.settle(record)

    def judge_group(self, tables, engine, whole):
        """whole: nothing is left out, so that every entry must be of a tree."""
        here = {e.name for e in tables.ends if e.host} & self.members
        if not here or self.group is None or engine == 'sssp':
            return
        bad = tables.multicast_problems(self.group, members_of(tables, here))
        bad += stale(tables, self.group, here) if whole else []
        expect(not bad, 'multicast: ' + (first(bad) if bad else ''))

    # Tables that opensm does not know -----------------------------------------------------------

    def away_and_back(self, record, guids, words):
        """These switches are out of reach, where something happens to them; a sweep; then they are back."""
        cut = [c for c in self.parts.cables if c not in self.parts.away and
               len(set(self.parts.ends[c]) & guids) == 1]
        with held(self.sm):
            for guid in sorted(guids):
                if self.rng.random() < 0.7:
                    self.spoil([guid], *words)
            self.type([self.parts.fail(c) for c in cut])
        self.sweep()
        record['do'] += self.faults(self.rng.choice((0, 0, 1)), ('link',))
        cut = [c for c in cut if c in self.parts.away]
        if self.rng.random() < 0.6:
            with held(self.sm):	# all at once for its next discovery
                self.type([self.parts.mend(c) for c in cut])
        else:
            self.type([self.parts.mend(c) for c in cut])
        self.n_faults += 2 * len(cut)
        self.settle(record)

    def do_island(self, record):
        guids, room = set(), [g for g in self.parts.switches if g not in self.parts.tied | set(self.parts.dead_switches())]
        if room:
            guids.add(self.rng.choice(room))
        n = self.rng.randint(1, max(1, len(self.parts.switches) // 3))
        while guids and len(guids) < n:
            near = sorted({g for c in self.parts.cables if c not in self.parts.away and set(self.parts.ends[c]) & guids
                           for g in self.parts.ends[c]} - guids - self.parts.kept - self.parts.tied)
            if not near:
                break
            guids.add(self.rng.choice(near))
        words = self.rng.choice((['foreign', self.rng.randrange(1 << 20)], ['reset']))
        record['do'] = ['%d switches are out of reach, %s' % (len(guids), words[0])]
        self.away_and_back(record, guids, words)

    def do_reboot(self, record):
        """A switch loses all tables, and its ports go down and up, before opensm can look."""
        alive = [g for g in self.parts.switches if g not in self.parts.tied and
                 any(c not in self.parts.away for c in self.parts.cables_of[g])]
        guid = self.rng.choice(alive) if alive else None
        record['do'] = ['reboot ' + self.parts.id[guid]] if guid else []
        if guid:
            ports = [c for c in self.parts.cables_of[guid] + self.parts.hosts
                     if c not in self.parts.away and guid in (c[0], self.parts.ends.get(c, c)[1])]
            if self.rng.random() < 0.5:
                self.sm.process.send_signal(signal.SIGHUP)
                time.sleep(self.rng.random() * 0.08)
            with held(self.sm):
                self.spoil([guid], 'reset')
                self.type([self.parts.fail(c) for c in ports])
                self.type([self.parts.mend(c) for c in ports])
            self.n_faults += 1
        self.settle(record)

    def do_answers(self, record):
        """Sets are carried out, their answers are lost; sometimes the fault is taken back meanwhile."""
        kind, percent = self.rng.choice(sorted(SETS)), self.rng.choice((5, 20, 50, 100))
        with open(self.mute, 'w') as file:
            file.writelines('%s %d\n' % (attr, percent) for attr in SETS[kind])
        try:
            before = dict(self.parts.away)
            record['do'] = ['%d %% of the answers to Sets of %s are lost' % (percent, kind)] + self.faults(1, ('link',))
            self.sm.process.send_signal(signal.SIGHUP)
            time.sleep(0.1 + 0.5 * self.rng.random())
            if self.rng.random() < 0.5:
                with held(self.sm):
                    os.remove(self.mute)
                    self.type([self.parts.mend(c) for c in set(self.parts.away) - set(before)] +
                              [self.parts.fail(c) for c in set(before) - set(self.parts.away)])
                    self.n_faults += 1
        finally:
            if os.path.exists(self.mute):
                os.remove(self.mute)
        # What was not answered for is sent again by the next sweep; that one counts.
        self.sweep()
        self.settle(record)

    # The end of opensm --------------------------------------------------------------------------

    def end_and_start(self):
        """SIGTERM; what may hang is ours or opensm's until it says that it exits, and ibsim's library after that."""
        self.sm.process.terminate()
        wait_for('the end of opensm', lambda: 'Exiting SM' in self.sm.log, 15)
        self.kill()
        self.sm = self.start()
        self.sm.wait_up(240)
        self.serve_sa()

    def do_stop(self, record):
        """SIGTERM at a random moment of a trap, a sweep or a drain."""
        kind = self.rng.choice(('trap', 'sweep'))
        record['do'] = self.faults(1, ('link',)) if kind == 'trap' else []
        if kind == 'sweep':
            self.sm.process.send_signal(signal.SIGHUP)
        time.sleep(self.rng.choice((0.003, 0.03, 0.3)) * self.rng.random())
        record['do'].append('SIGTERM after a ' + kind)
        self.n_faults += 1
        self.end_and_start()
        self.settle(record)

    def compare(self, record):
        """A new opensm sends all tables whatever it thinks. If it wants the same as the one before, all that it changes
        was wrong."""
        if (not self.parts or self.n_out or record['kind'] in ('handover', 'end') or
                record['kind'] not in SUSPECT and self.rng_compare.random() >= COMPARED):
            return
        # A sweep in which PortInfo was lost sends tables for ports that do not say how many lanes they have.
        self.sm.wait_quiet(120, 0.3)
        self.sweep()
        self.sm.wait_quiet(120, 0.3)
        tables = oracle.Tables(self.read_back())
        digest = self.sm.routed()[-1]['digest']
        self.end_and_start()
        self.rejoin()
        self.sm.wait_quiet(120, 0.3)
        now = oracle.Tables(self.read_back())
        if any(sweep['digest'] != digest for sweep in self.sm.routed()) or now.lids != tables.lids:
            return
        self.n_compared += 1
        record['compared'] = 1
        found = different(tables, now)
        expect(not found, 'a new opensm sends other tables: ' + (first(found) if found else ''))
