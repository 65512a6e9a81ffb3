# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""opensm with the plugin under valgrind: no error in, and no block lost by, the plugin. Inside arenas valgrind sees
nothing (mmap): AddressSanitizer and endurance.memory look there."""
import glob
import os
import re
import shutil

from footprint import Places, live
from judge import expect, judge, scenario
from osmtest import PRELOAD, ROOT, Fabric, Skip, find_fabric

MISTAKES = ('Invalid', 'uninitialised', 'lost', 'Mismatched', 'Source and dest')


@scenario('memory.life')
def life(workdir):
    """A life: a fault, its return, keys, metrics, stored tables; and a second one that starts from these."""
    if not shutil.which('valgrind'):
        raise Skip('valgrind is not installed')
    if PRELOAD:
        raise Skip('built with a sanitizer')
    places = Places(workdir)
    # Complaints with a line of the plugin's sources in their trace; OpenSM and ibsim's library have some of their own.
    sources = '|'.join(re.escape(os.path.basename(path)) for room in ('src', 'engines')
                       for path in glob.glob(os.path.join(ROOT, room, '**', '*.c'), recursive=True))
    ours = re.compile(r'\((?:%s):\d+\)|libosmroutes\S*\)' % sources)
    # The end of opensm has to be awaited: SIGTERM ends it as at the terminal.
    with Fabric(find_fabric('tree-2'), workdir) as fabric:
        for name in ('first', 'second'):
            report = os.path.join(workdir, 'valgrind-' + name)
            memcheck = ['valgrind', '--leak-check=full', '--show-leak-kinds=definite', '--num-callers=30',
                        '--keep-debuginfo=yes', '--fair-sched=yes', '--log-file=' + report]
            with places.opensm(fabric, options={'sweep_interval': 10}, wrapper=memcheck, name=name) as opensm:
                if name == 'first':
                    live(fabric, opensm, places)
                else:
                    opensm.wait_up(120)
                    judge(fabric, opensm, ours='dmodk')
                    expect('tables of the last run read' in opensm.log, 'the store was not read')
                    opensm.resweep(120)
            with open(report) as file:
                text = file.read()
            expect('LEAK SUMMARY' in text or 'no leaks are possible' in text, 'valgrind did not come to its end')
            bad = [b for b in text.split('== \n') if ours.search(b) and any(w in b for w in MISTAKES)]
            expect(not bad, 'valgrind: ' + (bad or [''])[0][:600])
