# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Net files as tests read and change them; shared by all, and with nothing of the project."""
import re


def read_net(path):
    """{(node, port): (node, port)}, {node: kind}; nodes are named by their description."""
    cables, kinds, names, node = [], {}, {}, None
    for line in open(path):
        m = re.match(r'(Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"(?:\s*#\s*"([^"]*)")?', line)
        if m:
            node = m.group(2)
            names[node] = m.group(3) or node
            kinds[names[node]] = m.group(1)
            continue
        m = re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)
        if m:
            cables.append((node, int(m.group(1)), m.group(2), int(m.group(3))))
    return {(names[a], i): (names[b], j) for a, i, b, j in cables}, kinds


def strike_out(path, ends):
    """The net file without the cable that has these two ends."""
    node, lines = None, []
    for line in open(path):
        m = re.match(r'(?:Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"', line)
        node = m.group(1) if m else node
        m = re.match(r'\[(\d+)\]', line)
        if m and (node, int(m.group(1))) in ends:
            continue
        lines.append(line)
    return ''.join(lines)


def cables(path):
    """Both ends, by id, of every cable between switches."""
    node, found = None, set()
    for line in open(path):
        m = re.match(r'(Switch|Hca|Ca|Rt)\s+\d+\s+"([^"]+)"', line)
        if m:
            kind, node = m.groups()
        m = re.match(r'\[(\d+)\](?:\([^)]*\))?\s+"([^"]+)"\[(\d+)\]', line)
        if m and kind == 'Switch':
            found.add(frozenset([(node, int(m.group(1))), (m.group(2), int(m.group(3)))]))
    switches = set(re.findall(r'^Switch\s+\d+\s+"([^"]+)"', open(path).read(), re.M))
    return sorted(sorted(c) for c in found if all(end[0] in switches for end in c))
