# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""scripts.py PROJECT BUILD: every script says how it is called, with --help and where it is called wrongly, and then does nothing
else: no traceback, no build, no run of everything. scripts/check layers says file, symbol and reason; new-engine names tests that exist."""
import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.join(sys.argv[1], 'scripts')
# What they cannot do without, or may not be given.
WRONG = {'build-for': ([], ['/nowhere']), 'check': ([], ['no-such-check']), 'check docs': ([], ['/nowhere']), 'check hardening': ([],),
         'check mass': ([], ['/nowhere']), 'check layers': (['/nowhere.a'],), 'check names': (['one'],), 'check text': (['/nowhere'],),
         'check mutate': ([], ['no-such-group']), 'check sanitize': ([], ['no-such-kind']), 'check anywhere': (['ring'],),
         'new-engine': ([], ['one', 'two']), 'study': ([], ['no-such-study']), 'test': (['ring'],), 'fuzz': (['-Z'],)}
bad = []


def programs(folder):
    """Names of the executable files of a folder of the project."""
    folder = os.path.join(sys.argv[1], folder)
    return sorted(n for n in os.listdir(folder) if os.access(os.path.join(folder, n), os.X_OK))


names = programs('scripts') + ['check ' + n for n in programs('tests/checks')] + \
    ['study ' + n for n in ('experiments', 'bench', 'figures', 'campaign', 'load')]
with open(os.path.join(FOLDER, 'check')) as file:
    head = file.read()
bad += ['scripts/check does not say what %s is' % n for n in programs('tests/checks') if not re.search(r'^#\t%s\t+\w' % n, head, re.M)]


def call(name, *words):
    script, *first = name.split()
    try:
        done = subprocess.run([os.path.join(FOLDER, script), *first, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, 'it has not ended'


for name in names:
    for words in [['--help'], ['--no-such-option'], *WRONG.get(name, ())]:
        code, said = call(name, *words)
        if code != (0 if words == ['--help'] else 2) or not re.search(r'scripts/%s\b|usage: (?:scripts/)?%s\b' % (name, name.split()[-1]), said) or \
                'Traceback' in said or 'Building in' in said:
            bad.append('scripts/%s %s: exit code %s: %s' % (name, ' '.join(words), code, said[-600:]))
# A library whose file is called as a function of the C library does no harm; one that calls it, or keeps something, does.
with tempfile.TemporaryDirectory() as folder:
    def layers(name, text):
        source, library = os.path.join(folder, name), os.path.join(folder, 'lib.a')
        with open(source, 'w') as file:
            file.write(text)
        subprocess.run(['cc', '-c', '-o', source + '.o', source], check=True)
        subprocess.run(['ar', 'rc', library, source + '.o'], check=True)
        said = call('check layers', library)
        os.unlink(library)
        return said

    for name, text, expected in (
            ('random-minimal.c', 'int random_minimal(void) { return 1; }\n', None),
            ('clock.c', '#include <time.h>\nlong when(void) { return time(0); }\n', 'reads a clock.*:\n\tclock\\.c\\.o: time\\(\\)'),
            ('kept.c', 'static int kept;\nint count(void) { return kept++; }\n', 'data that can change.*:\n\tkept\\.c\\.o: kept in \\.bss')):
        code, said = layers(name, text)
        if code != bool(expected) or expected and not re.search(expected, said):
            bad.append('check layers of %s: exit code %s: %s' % (name, code, said))
with open(os.path.join(FOLDER, 'new-engine')) as file:
    wanted = re.search(r"-R '\^\((.*)\)\\\$'", file.read())[1].replace('\\', '').split('|')
listed = subprocess.run(['ctest', '--test-dir', sys.argv[2], '-N'], stdout=subprocess.PIPE, text=True).stdout
bad += ['new-engine names the test %s, which does not exist' % w for w in wanted if not re.search(r': %s$' % re.escape(w), listed, re.M)]
print('\n'.join(bad + ['%d scripts, %d mistakes' % (len(names), len(bad))]))
sys.exit(bool(bad) or len(names) < 20)
