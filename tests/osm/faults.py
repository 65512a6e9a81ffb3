# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Cables and switches go and come back while opensm runs; fabrics that are hardly one."""
import itertools
import os

import oracle
from judge import QOS, expect, judge, scenario
from metrics import both
from osmtest import Fabric, Opensm, running


def halves_net(workdir):
    """Two switches with two hosts each, and one cable between them."""
    net = os.path.join(workdir, 'halves.net')
    with open(net, 'w') as file:
        file.write('Switch 4 "left"\n[1] "a"[1]\n[2] "b"[1]\n[3] "right"[3]\n\n'
                   'Switch 4 "right"\n[1] "c"[1]\n[2] "d"[1]\n[3] "left"[3]\n\n' +
                   ''.join('Ca 1 "%s"\n[1] "%s"[%d]\n\n' % (h, s, p) for h, s, p in
                           (('a', 'left', 1), ('b', 'left', 2), ('c', 'right', 1),
                            ('d', 'right', 2))))
    return net


@scenario('fault.split')
def split(workdir):
    """avoid_throttled_links leaves two parts: each is routed, no path between them, both named in the log; where options say that
    osmroutes refuses, the next engine has the fabric. The metrics say what happened, why, and who routes now."""
    with Fabric(halves_net(workdir), workdir) as fabric:
        # One end enabled for more than the other: the link runs at what both do not enable, which OpenSM calls throttled.
        fabric.run(['ibportstate', '-t', '10000', '-D', '0,1', '3', 'speed', '7'])
        for outcome, conf, why, who in (('routed', '', '', 'dfsssp'), ('failed', 'on_split = refuse\n', 'on_split', 'minhop'),
                                        ('refused', 'on_error = refuse\nnonsense = 1\n', 'nonsense', 'minhop')):
            directory = os.path.join(workdir, outcome)
            os.makedirs(directory)
            with Opensm(fabric, 'dfsssp,minhop', plugin=True, options=dict(QOS, avoid_throttled_links='TRUE'), name='by-' + outcome,
                        plugin_conf='metrics_dir = %s\n' % directory + conf) as opensm:
                opensm.wait_up()
                data, tables = both(directory), fabric.tables()
            expect((data['outcome'], data['routed_by'], opensm.engine_used()) == (outcome, who, who) and why in data['message'],
                   '%s: %s' % (outcome, data))
            expect(data['check']['passed'] == ('load' in data) == (not why), 'numbers of nothing: %s' % data)
            expect(not why or any(why in l for l in opensm.errors()), 'the refusal gives no reason')
            if not why:
                expect(data['fabric']['parts'] == 2 and data['routes']['unreachable'] > 0, 'parts')
                named = [l for l in opensm.errors() if 'split into 2 parts' in l]
                expect(named and 'left' in named[0] and 'right' in named[0], 'the log does not name both parts')
                for s, (lid, e) in itertools.product(tables.switches, tables.end_of.items()):
                    here = e.name in ('ab' if s.name == 'left' else 'cd') or e.name == s.name
                    expect((s.forward(lid) != oracle.NO_PATH) == here, '%s sends LID %d of %s to port %d' % (
                        s.name, lid, e.name, s.forward(lid)))


@scenario('fault.back-to-back')
def back_to_back(workdir):
    """Two CAs and a cable: no switch, no engine is called, and the SA names the path."""
    net = os.path.join(workdir, 'pair.net')
    with open(net, 'w') as file:
        file.write('Ca 1 "a"\n[1] "b"[1]\n\nCa 1 "b"\n[1] "a"[1]\n')
    with running(workdir, net, 'dfsssp') as (fabric, opensm):
        data = fabric.read_back()
        lids = sorted(p['lid'] for n in data['nodes'] for p in n['ports'])
        expect(len(lids) == 2 and all(lids), 'LIDs are %s' % lids)
        sls = fabric.path_sls(lids, lids)
        expect(all(set(row) <= set('0123456789abcdef') for row in sls.values()),
               'no path between the two CAs: %s' % sls)
    opensm.check_log()
