# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The dumps of one directory, as `osmroutes route --dump --ibdmchk` and opensm write them: read, changed, written
again, and handed to the oracle. All tests that judge tables offline read them here."""
import collections
import itertools
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'osm'))
import oracle	# noqa: E402
from oracle import is_cyclic	# noqa: E402,F401

MLID = 0xc001


class Dump:
    """The files of one directory, as plain dictionaries."""

    def __init__(self, folder):
        read = lambda name: open(os.path.join(folder, name), encoding='utf-8').read().splitlines()
        self.subnet = read('opensm-subnet.lst')
        self.cable, self.ends, self.n_ports, self.at = {}, {}, {}, {}
        for line in self.subnet:
            near, far = re.findall(r'\{ (SW|CA)\S* Ports:(\w+) .*?NodeGUID:(\w+) PortGUID:(\w+) .*?'
                                   r'LID:(\w+) PN:(\w+) \}', line)
            self.add(near, far)
        self.lft, self.lids_of = {}, collections.defaultdict(set)
        for line in read('opensm-lfts.dump'):
            if line.startswith('0x'):
                lid, port, _ = line.split(' ', 2)
                self.lft[sw, int(lid, 16)] = int(port)
                self.lids_of[line.partition(' portguid 0x')[2][:16]].add(int(lid, 16))
            elif head := re.match(r'Unicast lids .* guid 0x(\w+)', line):
                sw = int(head.group(1), 16)
        self.sl2vl, self.names, self.name_of, same = {}, {}, {}, {}
        for line in read('opensm-sl2vl.dump'):
            if line[:1].isdigit():
                pair, vls = line.split(':')
                i, o = pair.split()
                if vls not in same:
                    same[vls] = [int(vl) for vl in vls.split()]
                self.sl2vl[guid, int(i), int(o)] = same[vls]
            elif head := re.match(r'(?:Switch|Channel Adapter) 0x(\w+), base LID \w+, "(.*)"', line):
                guid = int(head.group(1), 16)
                self.names[head.group(2)], self.name_of[guid] = guid, head.group(2)
        # by (GUID of an end port, LID); in the short form, which is that of default, by (GUID of the senders' switch, LID).
        self.sl, self.by_switch = {}, False
        for line in read('opensm-path-sl.dump'):
            if line.startswith('0x'):
                lid, sls = line.split(' : ')
                for i, sl in enumerate(sls if self.by_switch else [sls]):
                    if sl != '-':
                        self.sl[guid, int(lid, 16) + i] = int(sl, 16 if self.by_switch else 10)
            elif head := re.match(r'(?:Switch|Channel Adapter|Senders on switch) 0x(\w+)', line):
                guid, self.by_switch = int(head.group(1), 16), line.startswith('Senders')
        # Of all LIDs; self.ends has first ones.
        self.lids = {lid: end for first, end in self.ends.items() for lid in self.lids_of['%016x' % end[2]] | {first}}
        self.groups = {}

    def add(self, near, far):
        (kind, ports, node, guid, lid, port), (kind2, _, node2, _, _, port2) = [
            (k, int(n, 16), int(g, 16), int(pg, 16), int(l, 16), int(p, 16))
            for k, n, g, pg, l, p in (near, far)]
        if kind == 'SW':
            self.n_ports[node] = ports
            self.ends[lid] = (node, 0, node)
            if kind2 == 'SW' and node != node2:
                self.cable[node, port] = (node2, port2)
        elif kind2 == 'SW':
            self.ends[lid] = (node2, port2, guid)
            self.at[node2, port2] = lid

    def multicast_tree(self, rng):
        """A group of some hosts on a breadth-first tree over all switches."""
        hosts = [l for l, e in self.ends.items() if e[1]]
        members = rng.sample(hosts, max(3, len(hosts) // 2))
        root = min(self.n_ports)
        self.groups = collections.defaultdict(set)
        seen, todo = {root}, [root]
        while todo:
            s = todo.pop(0)
            for (a, p), (b, q) in sorted(self.cable.items()):
                if a == s and b not in seen:
                    seen.add(b)
                    todo.append(b)
                    self.groups[a].add(p)
                    self.groups[b].add(q)
        for lid in members:
            sw, port, _ = self.ends[lid]
            self.groups[sw].add(port)

    def copy(self):
        other = object.__new__(Dump)
        other.__dict__.update({k: dict(v) if isinstance(v, dict) else v
                               for k, v in self.__dict__.items()})
        other.sl2vl = {k: list(v) for k, v in self.sl2vl.items()}
        other.groups = {k: set(v) for k, v in self.groups.items()}
        return other

    def write(self, folder):
        """Without path SLs no file of them."""
        os.makedirs(folder, exist_ok=True)

        def blocks(name, found, head, line, end=''):
            with open(os.path.join(folder, name), 'w') as f:
                for guid, rows in itertools.groupby(sorted(found.items()), lambda row: row[0][0]):
                    f.writelines([head(guid)] + [line(*key[1:], value) for key, value in rows] + [end])

        def node(guid):
            return '%s 0x%016x, base LID 1, "x"\n' % ('Switch' if guid in self.n_ports else 'Channel Adapter', guid)

        owner = {lid: guid for guid, lids in self.lids_of.items() for lid in lids if guid}
        with open(os.path.join(folder, 'opensm-subnet.lst'), 'w') as f:
            f.writelines(line + '\n' for line in self.subnet)
        blocks('opensm-lfts.dump', self.lft, lambda guid: "Unicast lids [0-99] of switch Lid 1 guid 0x%016x ('x'):\n" % guid,
               lambda lid, port: '0x%04x %03d # x%s\n' % (
                   lid, port, " portguid 0x%s: 'x'" % owner[lid] if lid in owner else ''), '99 lids dumped\n')
        blocks('opensm-sl2vl.dump', self.sl2vl, node, lambda i, o, vls: '%d %d : %s\n' % (i, o, ' '.join(map(str, vls))))
        blocks('opensm-path-sl.dump', self.sl or {}, node, lambda lid, sl: '0x%04x : %d\n' % (lid, sl))
        if self.sl is None:
            os.unlink(os.path.join(folder, 'opensm-path-sl.dump'))
        blocks('opensm.mcfdbs', {(s,): ports for s, ports in self.groups.items()},
               lambda guid: '\nSwitch 0x%016x\nLID    : Out Port(s)\n' % guid,
               lambda ports: '0x%04X :%s\n' % (MLID, ''.join(' 0x%03X ' % p for p in sorted(ports))))

    def tables(self, n_vls):
        """The oracle's Tables, with .rows of SLs, as if read out of switches whose links have so many VLs."""
        cables, lfts, own = (collections.defaultdict(list) for _ in range(3))
        for (guid, port), (far, far_port) in self.cable.items():
            cables[guid].append(dict(_port(port, 0, guid, n_vls), peer=_hex(far), peer_port=far_port))
        for (guid, lid), port in self.lft.items():
            lfts[guid].append((lid, port))
        digits = {i: ''.join('%x' % vl for vl in table) for i, table in {id(t): t for t in self.sl2vl.values()}.items()}
        for (guid, i, o), table in self.sl2vl.items():
            own[guid].append((i, o, digits[id(table)]))
        # By a pair of ports that has no table nothing goes on.
        for guid, n in self.n_ports.items():
            ports = [p for p in range(n + 1) if not p or (guid, p) in self.cable or (guid, p) in self.at]
            own[guid] += [(i, o, 'f' * 16) for i in ports for o in ports[1:] if i != o and (guid, i, o) not in self.sl2vl]
        nodes, top = [], 1 + max(to for _, to in self.lft)
        for lid, (switch, port, guid) in self.ends.items():
            # Two to the LMC are the LIDs with the GUID of its port.
            here = dict(_port(port and 1, lid, guid, n_vls), lmc=len(self.lids_of['%016x' % guid]).bit_length() - 1)
            node = {'guid': _hex(guid), 'name': self.name_of.get(guid, _hex(guid)), 'type': 'ca' if port else 'switch'}
            nodes.append(node)
            if port:
                node['ports'] = [dict(here, peer=_hex(switch), peer_port=port)]
                node['sl2vl'] = {'1': table for _, _, table in own[guid]}
                continue
            lft = bytearray([oracle.NO_PATH] * top)
            for to, out in lfts[guid]:
                lft[to] = out
            (common, _), = collections.Counter(table for _, _, table in own[guid]).most_common(1) or [('f' * 16, 0)]
            node.update(n_ports=self.n_ports[guid], ports=[here] + cables[guid], lft=lft.hex(), mft={MLID: self.groups.get(guid, ())},
                        sl2vl={'common': common, 'others': [row for row in own[guid] if row[2] != common]})
        tables, rows = oracle.Tables({'nodes': nodes}), {}
        for end in tables.ends:
            key = int(tables.switches[end.switch].guid if self.by_switch else end.guid, 16)
            if key not in rows:
                rows[key] = bytes(self.sl.get((key, to), 255) for to in tables.lids)
            tables.rows.update(dict.fromkeys(end.lids, rows[key]))
        return tables


def _hex(guid):
    return '0x%016x' % guid


def _port(number, lid, guid, n_vls):
    return {'port': number, 'guid': _hex(guid), 'lid': lid, 'lmc': 0, 'state': 4, 'op_vls': n_vls, 'smsl': 0}
