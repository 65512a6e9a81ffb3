# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Judges the tables of a fabric from what was read out of its switches, and from nothing else.

This is the second opinion on the project's own checker: another language, another data model, no
shared code. A Tables object holds the fabric; verdicts are computed on demand:

    t = Tables(fabric.read_back())
    t.routes()                      reach, loops, dead ends, hops against breadth-first distances
    t.edge_forwarding_index()       the most loaded channel
    rows = t.ask_sls(fabric)        SLs by PathRecord queries
    t.cycles(rows, replies=True)    credit loops on (channel, VL)

A channel is one direction of a cable between two switches, named by (switch, port it leaves by).
"""
import random

NO_PATH = 255
ALL_SLS = 0xffff


class Failure(Exception):
    """Something that must not happen under test did."""


class Verdict:
    """What routes() found. Problems are sentences; none means every LID is reached."""

    def __init__(self):
        self.problems = []
        self.n_routes = self.n_longer = self.n_no_path = self.max_hops = 0


class Switch:
    def __init__(self, node):
        self.guid = node['guid']
        self.name = node['name']
        self.n_ports = node['n_ports']
        self.lft = bytes.fromhex(node.get('lft', ''))
        self.mft = {int(k): set(v) for k, v in node.get('mft', {}).items()}
        self.next = {}		# port -> (switch, port there), cables that are up
        self.hosts = {}		# port -> (node, port there): CAs and routers
        self.sl2vl = node.get('sl2vl')
        self.enhanced = node.get('enhanced_sp0', False)
        self.others = {}
        if self.sl2vl:
            self.common = _nibbles(self.sl2vl['common'])
            self.others = {(i, o): _nibbles(t) for i, o, t in self.sl2vl['others']}

    def table(self, i, o):
        return self.others.get((i, o), self.common)

    def forward(self, lid):
        return self.lft[lid] if lid < len(self.lft) else NO_PATH


class End:
    """One end port: of a CA or router, or port 0 of a switch."""

    def __init__(self, node, port, switch, switch_port):
        self.name = node['name']
        self.type = node['type']
        self.lid, self.lmc = port['lid'], port['lmc']
        self.guid = port['guid']
        self.op_vls = port['op_vls']
        self.switch, self.port = switch, switch_port

    @property
    def lids(self):
        return range(self.lid, self.lid + (1 << self.lmc))

    @property
    def host(self):
        return self.type != 'switch'


def _nibbles(text):
    return tuple(int(c, 16) for c in text)


class Tables:
    def __init__(self, data):
        self.data = data
        self.nodes = {n['guid']: n for n in data['nodes']}
        self.rows = {}		# what ask_sls() found, once asked
        self._trees = []
        guids = sorted(g for g, n in self.nodes.items() if n['type'] == 'switch')
        self.switches = [Switch(self.nodes[g]) for g in guids]
        self.index = {g: i for i, g in enumerate(guids)}
        self.ends = []
        for n in data['nodes']:
            for p in n['ports']:
                if n['type'] == 'switch' and p['port'] == 0:
                    self.ends.append(End(n, p, self.index[n['guid']], 0))
                elif 'peer' in p and p['state'] == 4:
                    self._cable(n, p)
        self.end_of = {}
        for e in self.ends:
            for lid in e.lids:
                if lid in self.end_of:
                    raise Failure('LID %d belongs to %s and to %s' %
                                  (lid, e.name, self.end_of[lid].name))
                self.end_of[lid] = e
        self.lids = sorted(self.end_of)
        self.host_lids = [l for l in self.lids if self.end_of[l].host]
        self._distances()

    def _cable(self, node, p):
        peer = self.index.get(p['peer'])
        me = self.index.get(node['guid'])
        if me is None and peer is not None:
            self.switches[peer].hosts[p['peer_port']] = (node['guid'], p['port'])
            if p['lid']:
                self.ends.append(End(node, p, peer, p['peer_port']))
        elif me is not None and peer is not None and me != peer:
            self.switches[me].next[p['port']] = (peer, p['peer_port'])

    # Distances and components -----------------------------------------------------------------

    def _distances(self):
        n = len(self.switches)
        around = [sorted({u for u, _ in s.next.values()}) for s in self.switches]
        self.dist = []
        for root in range(n):
            dist = [-1] * n
            dist[root] = 0
            level = [root]
            while level:
                following = []
                for v in level:
                    for u in around[v]:
                        if dist[u] < 0:
                            dist[u] = dist[v] + 1
                            following.append(u)
                level = following
            self.dist.append(dist)

    # Routes -----------------------------------------------------------------------------------

    def tree(self, lid, problems=None):
        """[next switch or None], [port], [hops] for one LID; hops -1 where nothing arrives."""
        end = self.end_of[lid]
        n = len(self.switches)
        nexts, ports, hops = [None] * n, [NO_PATH] * n, [-1] * n
        for v, s in enumerate(self.switches):
            port = ports[v] = s.forward(lid)
            if v == end.switch:
                if port == end.port:
                    hops[v] = 0
                elif problems is not None:
                    problems.append('%s sends LID %d of %s, which hangs on its port %d, to port %d' %
                                    (s.name, lid, end.name, end.port, port))
            elif port in s.next:
                nexts[v] = s.next[port][0]
            elif port != NO_PATH and problems is not None:
                problems.append('%s sends LID %d of %s to port %d, where no switch is' %
                                (s.name, lid, end.name, port))
        # Every switch is followed to the root; what runs into a loop or dead end keeps -1.
        dead = set()
        for v in range(n):
            walk, u = {}, v
            while hops[u] < 0 and u not in dead and u not in walk:
                walk[u] = None
                if nexts[u] is None:
                    break
                u = nexts[u]
            if hops[u] < 0:
                dead.update(walk)
                continue
            for w in reversed(walk):
                hops[w] = hops[nexts[w]] + 1
        return nexts, ports, hops

    def routes(self, lids=None):
        verdict, walked = Verdict(), []
        for lid in self.lids if lids is None else lids:
            end = self.end_of[lid]
            nexts, ports, hops = self.tree(lid, verdict.problems)
            dist = self.dist[end.switch]
            for v, s in enumerate(self.switches):
                if dist[v] < 0:
                    verdict.n_no_path += 1
                    if ports[v] != NO_PATH:
                        verdict.problems.append('%s has port %d for LID %d, which is in another part' %
                                                (s.name, ports[v], lid))
                elif hops[v] < 0:
                    verdict.problems.append('LID %d of %s is not reached from %s' % (lid, end.name, s.name))
                else:
                    verdict.n_routes += v != end.switch
                    verdict.n_longer += hops[v] > dist[v]
                    verdict.max_hops = max(verdict.max_hops, hops[v])
            from_far = sorted((v for v in range(len(hops)) if hops[v] > 0), key=lambda v: -hops[v])
            walked.append((lid, nexts, ports, from_far))
        if lids is None:
            self._trees = walked
        return verdict

    def way(self, a, b, offset=0, forward=Switch.forward):
        """[(switch, port)] from an end port to a LID of another, the last one to this port; None if nothing arrives."""
        v, passed = a.switch, []
        while len(passed) < len(self.switches):
            s = self.switches[v]
            port = forward(s, b.lid + offset)
            passed.append((v, port))
            if passed[-1] == (b.switch, b.port):
                return passed
            if port not in s.next:
                break
            v = s.next[port][0]
        return None

    def trees(self):
        """Per LID: (LID, nexts, ports, switches from far to near); computed once."""
        if not self._trees:
            self.routes()
        return self._trees

    # Balance ----------------------------------------------------------------------------------

    def cables(self):
        """(switch name, port, other switch's name), each cable between switches once."""
        return [(s.name, p, self.switches[u].name) for v, s in enumerate(self.switches)
                for p, (u, _) in sorted(s.next.items()) if v < u]

    def channels(self):
        return [(v, p) for v, s in enumerate(self.switches) for p in s.next]

    def edge_forwarding_index(self, all_lids=False):
        """(most routes on one channel, mean over channels): from CA and router ports to first, or all, LIDs of CA and
        router ports."""
        load = {c: 0 for c in self.channels()}
        sources = [0] * len(self.switches)
        for e in self.ends:
            sources[e.switch] += e.host
        for lid, nexts, ports, order in self.trees():
            if not self.end_of[lid].host or not (all_lids or lid == self.end_of[lid].lid):
                continue
            count = sources[:]
            for v in order:
                load[(v, ports[v])] += count[v]
                count[nexts[v]] += count[v]
        if not load:
            return 0, 0.0
        return max(load.values()), sum(load.values()) / len(load)

    def least_load(self):
        """Of the busiest channel in any routing: the cables of a switch share the routes of its hosts, from them and to
        them, all channels share all hops, and cables that alone join two parts share what crosses between these."""
        n = range(len(self.switches))
        sources, lids, links = [0] * len(n), [0] * len(n), [len(s.next) for s in self.switches]
        for e in self.ends:
            sources[e.switch] += e.host
            lids[e.switch] += e.host
        hops, leave, enter = 0, [0] * len(n), [0] * len(n)
        for s in n:
            for t in n:
                if self.dist[s][t] > 0:
                    hops += sources[s] * lids[t] * self.dist[s][t]
                    leave[s] += sources[s] * lids[t]
                    enter[t] += sources[s] * lids[t]
        shares = [(hops, sum(links))] + list(zip(leave, links)) + list(zip(enter, links))
        # A cable that alone joins its ends is the only way of one of them towards any switch, such as the first of its part.
        for s in n:
            first = self.dist[next(v for v in n if self.dist[s][v] >= 0)]
            above = {t for t, _ in self.switches[s].next.values() if first[t] < first[s]}
            shares += [share for t in above for ends in ((s, t), (t, s)) if len(above) == 1
                       for share in self._share_between(*ends, sources, lids)]
        return max(-(-routes // among) for routes, among in shares if among) if sum(links) else 0

    def _share_between(self, s, t, sources, lids):
        """What crosses from s to t, and their cables, if nothing else joins the part of s with that of t: s is left by all
        other cables, one breadth after the other."""
        part, breadth = {s}, {s}
        while breadth:
            breadth = {v for u in breadth for v, _ in self.switches[u].next.values() if (u, v) != (s, t)} - part
            part |= breadth
            if t in part:
                return []
        cables = sum(v == t for v, _ in self.switches[s].next.values())
        return [(sum(sources[v] for v in part) * sum(n for v, n in enumerate(lids) if v not in part and self.dist[s][v] > 0),
                 cables)]

    # Service levels ---------------------------------------------------------------------------

    def ask_sls(self, fabric, limit=50000, any_sl=False):
        """{source LID: bytes of SLs by self.lids} by PathRecord queries; 255 where the SA has none.

        All pairs where they are few; otherwise one source of every switch. That speaks for the
        others only if SLs depend on the source's switch, so some others are asked too and a
        difference is a failure. any_sl: what SLs packets have is of no weight in a proof; as many
        sources as the limit allows show that there are paths."""
        sources = sorted(self.end_of)
        rng = random.Random(1)
        if len(sources) * len(self.lids) <= limit:
            return self._ask(fabric, sources)
        if any_sl:
            return self._ask(fabric, sorted(rng.sample(sources, limit // len(self.lids))))
        by_switch = {}
        for lid, e in sorted(self.end_of.items()):
            by_switch.setdefault((e.switch, e.host), []).append(lid)
        asked = {k: {lids[0], rng.choice(lids)} for k, lids in by_switch.items()}
        got = self._ask(fabric, sorted(set().union(*asked.values())))
        rows = {}
        for k, lids in by_switch.items():
            row = got[lids[0]]
            for other in asked[k]:
                for lid, a, b in zip(self.lids, row, got[other]):
                    if a != b and self.end_of[lid].switch != k[0]:
                        raise Failure('SLs of LIDs %d and %d, on one switch, differ towards LID %d: too many pairs to ask for each' %
                                      (lids[0], other, lid))
            rows.update(dict.fromkeys(lids, row))
        return rows

    def _ask(self, fabric, sources):
        rows = {}
        for slid, text in fabric.path_sls(sources, self.lids).items():
            if '!' in text:
                raise Failure('no answer from the SA for a path from LID %d' % slid)
            rows[slid] = bytes(255 if c == '-' else int(c, 16) for c in text)
        return rows

    def unanswered(self, rows):
        """Pairs that are connected, and for which the SA named no path."""
        column = {lid: k for k, lid in enumerate(self.lids)}
        return [(a, b) for a, row in rows.items() for b, k in column.items()
                if row[k] == 255 and self.dist[self.end_of[a].switch][self.end_of[b].switch] >= 0]

    # Credit loops -----------------------------------------------------------------------------

    def cycles(self, rows=None, replies=False, scope='all', multicast=()):
        """Virtual lanes on which channel dependencies close a cycle: [] if deadlock-free.

        rows: SLs from ask_sls(); None: any packet may use any SL. replies: packets from b to a may
        also use SL(a, b). multicast: (MLID, SL) to include. scope: 'hosts' looks at packets between
        CAs and routers; 'all' adds those between them and the port 0 of switches, which is all that management
        sends. Port 0 asks nobody, so nobody replies to it: a row of its own counts for what it sends, not for
        what would come back.
        """
        deps = Dependencies(self)
        masks = SlMasks(self, rows, replies, scope)
        for k, (lid, nexts, ports, order) in enumerate(self.trees()):
            deps.add_tree(nexts, ports, order, masks.towards(k, lid))
        for mlid, sl in multicast:
            deps.add_multicast(mlid, sl)
        return deps.cyclic_vls()

    # Multicast --------------------------------------------------------------------------------

    def multicast_problems(self, mlid, members):
        """Members (end ports) must all be reached from each other, once."""
        problems = []
        at = {(e.switch, e.port) for e in members}
        for v, port in sorted(at):
            reached = self._spread(mlid, v, port, problems)
            parts = {m for m in at if self.dist[v][m[0]] >= 0} - {(v, port)}
            for w, p in sorted(parts - reached):
                problems.append('MLID 0x%x from %s does not reach port %d of %s' %
                                (mlid, self.switches[v].name, p, self.switches[w].name))
        return problems

    def _spread(self, mlid, switch, port, problems):
        seen, reached = {switch}, set()
        todo = [(switch, port)]
        while todo:
            v, came = todo.pop()
            s = self.switches[v]
            for p in sorted(s.mft.get(mlid, set()) - {came}):
                if p not in s.next:
                    reached.add((v, p))
                    continue
                u, q = s.next[p]
                if u in seen:
                    problems.append('MLID 0x%x: a packet comes to %s a second time, from %s' %
                                    (mlid, self.switches[u].name, s.name))
                    return reached
                seen.add(u)
                todo.append((u, q))
        return reached

    # SL2VL ------------------------------------------------------------------------------------

    def sl2vl_problems(self, sls):
        """Used SLs must be mapped to a VL that works, on every end port and switch port in use."""
        problems = []
        for n in self.data['nodes']:
            ports = {p['port']: p for p in n['ports']}
            for where, o, table in self._tables_of(n):
                for sl in sls:
                    vls = ports[o]['op_vls'] if o in ports and o else 16
                    if table[sl] == 15 or table[sl] >= vls:
                        problems.append('%s %s maps SL %d to VL %d, and %d VLs work' %
                                        (n['name'], where, sl, table[sl], vls))
        return problems

    def _tables_of(self, n):
        if n['type'] != 'switch':
            for port, text in n['sl2vl'].items():
                yield 'port ' + port, int(port), _nibbles(text)
            return
        s = self.switches[self.index[n['guid']]]
        ports = sorted(set(s.next) | set(s.hosts))
        for i in ports + [0]:
            for o in ports:
                if i != o:
                    yield 'port %d to %d' % (i, o), o, s.table(i, o)

    def vlarb_problems(self, vls):
        """Every used VL needs a weight above 0 on every port that is up."""
        problems = []
        for n in self.data['nodes']:
            for p in n['ports']:
                if p['state'] != 4 or 'arb_low' not in p:
                    continue
                served = {vl for vl, weight in p['arb_low'] + p['arb_high'] if weight}
                missing = [vl for vl in vls if vl not in served and vl < p['op_vls']]
                if missing:
                    problems.append('%s port %d gives VL %d no weight' %
                                    (n['name'], p['port'], missing[0]))
        return problems

    # Identity ---------------------------------------------------------------------------------

    def changed(self, after):
        """(switch GUID, LID) of all LIDs of before that other tables of these switches send elsewhere."""
        now = {s.guid: s for s in after.switches}
        return {(s.guid, lid) for s in self.switches if s.guid in now for lid in self.lids
                if s.forward(lid) != now[s.guid].forward(lid)}

    def blocks_changed(self, after):
        """The same by blocks of 64 LIDs: what the subnet manager has to send."""
        return {(guid, lid // 64) for guid, lid in self.changed(after)}

    def turns(self, v):
        """Pairs of ports of a switch that unicast takes, from another switch or from anywhere."""
        s, came = self.switches[v], [0] + sorted(self.switches[v].hosts)
        outs = {lid: s.forward(lid) for lid in self.lids}
        yield from ((i, o) for i in came for o in set(outs.values()))
        for i, (u, p) in s.next.items():
            yield from {(i, o) for lid, o in outs.items() if self.switches[u].forward(lid) == p}

    def bytes_of_tables(self, multicast=True):
        """All that determines where a packet goes, for comparing two sweeps. Multicast trees do not move when
        a part returns, for two whole ones make a ring while they mix; nor do lanes of turns that only they take."""
        sl2vl = [s.sl2vl if multicast or not s.sl2vl else sorted((t, s.table(*t)) for t in set(self.turns(v)))
                 for v, s in enumerate(self.switches)]
        return repr([(s.guid, [s.forward(lid) for lid in self.lids], sl2vl[v],
                      sorted((k, sorted(v)) for k, v in s.mft.items() if multicast))
                     for v, s in enumerate(self.switches)]).encode()


class SlMasks:
    """Per destination: which SLs packets carry that enter the fabric at each switch."""

    def __init__(self, tables, rows, replies, scope):
        self.t = tables
        self.rows = rows or {}
        self.any_sl = rows is None
        self.replies = replies
        self.scope = scope
        hosts = [e for e in tables.ends if e.host]
        ends = hosts if scope == 'hosts' else tables.ends
        # Who sends to a host, and who sends to port 0 of a switch.
        self.to_host = self._sources(ends)
        self.to_switch = self._sources(hosts)
        self.reply_cache = {}

    def _sources(self, ends):
        """Per switch, the different rows of the end ports on it."""
        found = [{} for _ in self.t.switches]
        for e in ends:
            if self.any_sl:
                found[e.switch][0] = None
            for lid in e.lids:
                if lid in self.rows:
                    found[e.switch][id(self.rows[lid])] = self.rows[lid]
        return [list(d.values()) for d in found]

    def towards(self, k, lid):
        host = self.t.end_of[lid].host
        sources = self.to_host if host else self.to_switch
        if not host and self.scope == 'hosts':
            return [0] * len(sources)
        if self.any_sl:
            return [ALL_SLS if s else 0 for s in sources]
        masks = [0] * len(sources)
        for v, rows in enumerate(sources):
            for row in rows:
                if row[k] != 255:
                    masks[v] |= 1 << row[k]
        if self.replies and host and lid in self.rows:
            masks = [a | b for a, b in zip(masks, self._replies_to(self.rows[lid], host))]
        return masks

    def _replies_to(self, row, host):
        """Packets sent to the owner of this row use the SLs of its own requests."""
        key = (id(row), host)
        found = self.reply_cache.get(key)
        if found is None:
            found = [0] * len(self.t.switches)
            for sl, lid in zip(row, self.t.lids):
                e = self.t.end_of[lid]
                sends = e.host or (host and self.scope == 'all')
                if sl != 255 and sends:
                    found[e.switch] |= 1 << sl
            self.reply_cache[key] = found
        return found


class Dependencies:
    """Channel dependencies on (channel, VL).

    What travels on a channel towards one destination is a 256-bit set of (SL, VL): bit SL * 16 + VL.
    A dependency collects a 256-bit set of (VL before, VL after).
    """

    def __init__(self, tables):
        self.t = tables
        self.deps = {}		# ((switch, port), (switch, port)) -> pairs of VLs
        self.entered = {}	# memo of enter()
        self.injected = {}	# memo of _injected()
        self.moved = {}		# memo of move()

    def enter(self, table, sls):
        """Packets with these SLs leave their first switch: the VL is the table's."""
        key = (table, sls)
        state = self.entered.get(key)
        if state is None:
            state = 0
            for sl in range(16):
                if sls >> sl & 1 and table[sl] != 15:
                    state |= 1 << (sl * 16 + table[sl])
            self.entered[key] = state
        return state

    def move(self, table, state):
        """A set of (SL, VL) passes a switch: the new set, and the pairs of VLs before and after."""
        key = (table, state)
        found = self.moved.get(key)
        if found is None:
            after = pairs = 0
            rest = state
            while rest:
                low = rest & -rest
                rest ^= low
                sl, vl = divmod(low.bit_length() - 1, 16)
                if table[sl] != 15:
                    after |= 1 << (sl * 16 + table[sl])
                    pairs |= 1 << (vl * 16 + table[sl])
            found = self.moved[key] = (after, pairs)
        return found

    def _injected(self, v, out, sls):
        key = (v, out, sls)
        state = self.injected.get(key)
        if state is None:
            s = self.t.switches[v]
            state = 0
            for i in list(s.hosts) + [0]:
                state |= self.enter(s.table(i, out), sls)
            self.injected[key] = state
        return state

    def add_tree(self, nexts, ports, order, sls):
        """order: from far to near, so that all that flows into a switch is known when it is met."""
        switches = self.t.switches
        state = {}
        for v in order:
            carried = state.get(v, 0)
            if sls[v]:
                carried |= self._injected(v, ports[v], sls[v])
            u = nexts[v]
            if not carried or nexts[u] is None:
                continue
            s = switches[u]
            came = switches[v].next[ports[v]][1]
            after, pairs = self.move(s.table(came, ports[u]), carried)
            c = ((v, ports[v]), (u, ports[u]))
            self.deps[c] = self.deps.get(c, 0) | pairs
            state[u] = state.get(u, 0) | after

    def add_multicast(self, mlid, sl):
        for v, s in enumerate(self.t.switches):
            for p in s.mft.get(mlid, ()):
                if p not in s.next:
                    continue
                u, q = s.next[p]
                there = self.t.switches[u]
                came = [i for i, (w, o) in s.next.items() if o in self.t.switches[w].mft.get(mlid, ())]
                before = {s.table(i, p)[sl] for i in came + list(s.hosts) + [0] if i != p} - {15}
                for o in there.mft.get(mlid, ()):
                    after = there.table(q, o)[sl]
                    for vl in before if o in there.next and o != q and after != 15 else ():
                        c = ((v, p), (u, o))
                        self.deps[c] = self.deps.get(c, 0) | 1 << (vl * 16 + after)

    def edges(self):
        """Vertices are numbers: channel * 16 + VL."""
        number = {}
        for (a, b), pairs in self.deps.items():
            a, b = (16 * number.setdefault(c, len(number)) for c in (a, b))
            while pairs:
                low = pairs & -pairs
                pairs ^= low
                before, after = divmod(low.bit_length() - 1, 16)
                yield a + before, b + after

    def cyclic_vls(self):
        """Strips vertices without predecessors, then without successors: what is left lies on
        cycles or between them."""
        edges = list(self.edges())
        left = _strip(edges)
        left = _strip([(b, a) for a, b in edges if a in left and b in left])
        return sorted({vertex % 16 for vertex in left})


def is_cyclic(edges):
    """Whether pairs (before, after) close a cycle."""
    return bool(_strip(edges))


def _strip(edges):
    """Takes away what nothing leads to, as long as there is something."""
    forward, degree = {}, {}
    for a, b in edges:
        forward.setdefault(a, []).append(b)
        degree[b] = degree.get(b, 0) + 1
    free = [v for v in forward if v not in degree]
    while free:
        for u in forward.get(free.pop(), ()):
            degree[u] -= 1
            if not degree[u]:
                free.append(u)
    return {v for v, n in degree.items() if n}
