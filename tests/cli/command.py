# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The command under test, the first word of each script here, and how it is asked."""
import json
import os
import subprocess
import sys
import tempfile

COMMAND = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_folder = tempfile.TemporaryDirectory()


def at(*names):
    """A path in a directory of the test's own."""
    return os.path.join(_folder.name, *names)


def topology(name):
    return os.path.join(ROOT, 'topologies', name + '.net')


def run(*words, code=(0, 1), **more):
    """A run that ends with one of these codes; 1: tables that can deadlock, or lose packets."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, **more)
    if done.returncode not in (code if isinstance(code, tuple) else (code,)):
        sys.exit('%s: exit code %d, not %s:\n%s%s' % (' '.join(map(str, words)), done.returncode, code, done.stdout, done.stderr))
    return done


def ask(*words, **more):
    """What --json says."""
    return json.loads(run(*words, '--json', **more).stdout)


def generate(*words, name='fabric.net'):
    run('generate', '-o', at(name), *words, code=0)
    return at(name)


def same(what, got, want):
    if got != want:
        sys.exit('%s: the command says %s, by hand it is %s' % (what, got, want))


def same_keys(what, got, want):
    for key, value in want.items():
        same('%s: %s' % (what, key), got.get(key), value)
