# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts/demo on a fabric without LIDs, and on one with LIDs that no fresh OpenSM would give, as ibnetdiscover writes
them: its figures are those of `osmroutes route`, and of tables read back out of the switches."""
import os
import re

import demo
from judge import expect, scenario
from osmtest import find_fabric, osmroutes, running


@scenario('script.demo')
def script(workdir):
    demo.OUT = workdir
    renumbered = os.path.join(workdir, 'renumbered.topo')
    for net in find_fabric('torus-4x4'), renumbered:
        cells = demo.side_by_side(net)
        ours = osmroutes('route', '-e', 'dfsssp', net)['results'][0]
        expect(cells[1:4:2] == ['%d' % ours['efi'], '%.3f' % ours['ebb']] and cells[4] == cells[6] == 'yes', 'the demo says %s' % cells)
        with running(os.path.join(workdir, 'minhop'), net, 'minhop', plugin=False) as (fabric, opensm):
            tables = fabric.tables('lft')
        said = demo.column(net, workdir, 'minhop', False)
        expect(said[1] == '%d' % tables.edge_forwarding_index()[0], 'the demo says %s of minhop' % said)
        if net != renumbered:
            with open(os.path.join(workdir, 'torus-4x4', 'ours-dfsssp.topo')) as file:
                text = re.sub(r'\blid (\d+)', lambda m: 'lid %d' % (300 - 7 * int(m[1])), file.read())
            with open(renumbered, 'w') as file:
                file.write(text)
    expect(max(tables.lids) == 293, 'the highest LID is %d' % max(tables.lids))
