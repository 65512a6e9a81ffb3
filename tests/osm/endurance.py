# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Many sweeps in one life of opensm: its memory does not grow, and what returns brings its tables back.
OSR_SWEEPS says how many; the test does few, the long run is the same command with more. OSR_POOLS=own leaves
every thread its own pool of malloc(), as in operation."""
import os
import re
from statistics import median

from judge import expect, judge, scenario
from osmtest import running

SETTLED, LONG = 10, 1000	# sweeps after which memory counts, and from which on it may grow by a hundredth
# One pool for all threads. With one for each, which is free to keep what another lacks, stock OpenSM alone grows
# by so many kB in a thousand sweeps of 12 switches (89 measured).
OWN_POOLS = os.environ.get('OSR_POOLS') == 'own'
POOLS = {} if OWN_POOLS else {'MALLOC_ARENA_MAX': '1'}
POOLS_KB = 128 if OWN_POOLS else 0


@scenario('endurance.memory')
def memory(workdir):
    """Every sweep finds the fabric as it was, or a cable less, or one that has come back."""
    n_sweeps = int(os.environ.get('OSR_SWEEPS', 60))
    with running(workdir, 'random-12', 'dfsssp', env=POOLS) as (fabric, opensm):
        whole = judge(fabric, opensm, ours='dfsssp')
        cables = whole.cables()
        memory = []
        down = None
        for i in range(1, n_sweeps + 1):
            if i % 3 == 1:
                down = cables[i // 3 % len(cables)]
                fabric.console(fabric.unlink(*down[:2]))
            elif i % 3 == 2:
                fabric.console(fabric.relink(*down[:2]))
            opensm.resweep()
            with open('/proc/%d/status' % opensm.process.pid) as file:
                memory.append(int(re.search(r'RssAnon:\s+(\d+)', file.read()).group(1)))
        opensm.wait_quiet()
        expect(opensm.sweeps() > n_sweeps, 'too few sweeps')
        # Anonymous memory after each sweep goes up and down with what a fault needs, as work may not have ended, and with
        # the pools of malloc(); so medians over a tenth of the sweeps are compared, the first with the last.
        kb, limit = memory[SETTLED:], 1.01 if n_sweeps >= LONG else 1.05
        window = max(15, len(kb) // 10)
        early, late = median(kb[:window]), median(kb[-window:])
        print('%.0f kB, the median of the first %d of %d sweeps, %.0f over the last (%+.2f %%), %d to %d in all' %
              (early, window, len(kb), late, (late / early - 1) * 100, min(kb), max(kb)))
        expect(late <= early * limit + POOLS_KB, 'memory grew from %.0f to %.0f kB' % (early, late))
        after = judge(fabric, opensm, ours='dfsssp')
        # The fabric is whole on one lane; idle lanes that repairs took stay in use until the next full route.
        expect(i % 3 == 1 or (not whole.changed(after) and after.rows == whole.rows), 'the first tables have not come back')
    opensm.check_own_log()
