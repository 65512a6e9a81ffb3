#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Fabrics of full size by the command: the rows of "Full size" in docs/results/benchmarks.md, with the revision that made them.
See scripts/study bench --offline."""
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, '..', room) for room in ('osm', 'cli')]
from osmtest import COMMAND, ROOT  # noqa: E402

FABRICS = [
    ('tree, 972 switches', 'tree m=18,18,36 w=1,18,18'),
    ('tree, 3,840 switches', 'tree m=32,32,44 w=1,32,32'),
    ('dragonfly, 2,064 switches', 'dragonfly a=16 h=8 p=16 g=129'),
    ('Slim Fly, 1,922 switches', 'slimfly q=31 p=24'),
    ('Jellyfish, 3,400 switches', 'random switches=3400 links=40800 hosts=13 seed=7'),
]
REPETITIONS = 3


def run(path):
    """Seconds of CPU and on the wall, and MB, of one process; what it said."""
    out, into = os.pipe()
    start = time.monotonic()
    child = subprocess.Popen([COMMAND, 'route', '--json', '-e', 'dfsssp', path], stdout=into, stderr=subprocess.DEVNULL)
    os.close(into)
    with os.fdopen(out) as file:
        said = json.load(file)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit('%s: exit status %d' % (path, child.returncode))
    return used.ru_utime + used.ru_stime, time.monotonic() - start, used.ru_maxrss / 1024, said


def main():
    revision = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], capture_output=True, text=True).stdout.strip()
    print('Revision %s, %s, load %.1f when it began.\n' % (revision, time.strftime('%Y-%m-%d', time.gmtime()), os.getloadavg()[0]))
    print('| fabric | hosts | LIDs | process, s: CPU | wall | of it routing | checks | bandwidth | memory, MB | EFI | over the bound | eBB | digest |')
    print('|---' * 13 + '|')
    with tempfile.TemporaryDirectory(prefix='osr-offline-') as folder:
        for name, words in FABRICS:
            path = os.path.join(folder, 'fabric.net')
            subprocess.run([COMMAND, 'generate', '-o', path] + words.split(), check=True, timeout=300)
            runs = [run(path) for _ in range(REPETITIONS)]
            said = runs[0][3]
            results = [r[3]['results'][0] for r in runs]
            if len({r['digest'] for r in results}) != 1:
                sys.exit('%s: tables differ from run to run' % name)

            def middle(values):
                return '%.2f' % statistics.median(values)

            def seconds(key):
                return middle([r[key]['cpu'] / 1000 for r in results])
            r = results[0]
            print('| %s | %s | %s | %s | %s | %s | %s | %s | %.0f | %s | %.3f | %.4f | %s |' % (
                name, format(said['terminals'] - said['switches'], ','), format(said['lids'], ','), middle([x[0] for x in runs]), middle([x[1] for x in runs]),
                seconds('route_ms'), seconds('check_ms'), middle([x['bandwidth_ms'] / 1000 for x in results]),
                statistics.median([x[2] for x in runs]), format(r['efi'], ','), r['efi'] / r['efi_bound'], r['ebb'], r['digest']), flush=True)



if __name__ == '__main__':
    sys.exit(main())
