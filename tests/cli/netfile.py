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
    """Both ends of every cable between switches."""
    ends, kinds = read_net(path)
    return sorted({tuple(sorted(c)) for c in ends.items() if all(kinds[node] == 'Switch' for node, _ in c)})


def renamed(path, to, name):
    """Writes the net file with other descriptions: name(is a switch?, id), None for the old one."""
    with open(path) as plain, open(to, 'w', encoding='latin-1') as made:
        for line in plain:
            m = re.match(r'(Hca|Ca|Switch)\s+\d+\s+"([^"]+)"', line)
            text = m and name(m[1] == 'Switch', m[2])
            made.write('%s\t\t# "%s"\n' % (m[0], text) if text else line)
    return to
