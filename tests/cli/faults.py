# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Every sub-command with input that ends before there is a first result, at every stage, in every form of output: it ends by
itself with code 2, or with 1 where an engine refuses, says why on standard error, and prints nothing else. `check --junit`
writes the reason into its XML. No file is left that looks like a result. scripts/check sanitize quick runs this with sanitizers."""
import itertools
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import xml.etree.ElementTree

from command import COMMAND, at, run, topology

RING = topology('ring-5')


def write(name, text):
    with open(at(name), 'w', encoding='utf-8') as file:
        file.write(text)
    return at(name)


def damaged(name, file, text):
    """A copy of the dumps with this text in one file; None: without that file."""
    shutil.copytree(at('dump'), at(name))
    os.unlink(at(name, file))
    if text is not None:
        write(os.path.join(name, file), text)
    return at(name)


# ---- inputs ----------------------------------------------------------------------------------------

run('route', '--dump', at('dump'), '--save', at('stored'), '--config=none', RING, code=0)
with open(RING, encoding='utf-8') as file:
    whole = file.read()
with open(at('dump/opensm-lfts.dump'), encoding='utf-8') as file:
    lfts = file.read()
with open(at('stored'), 'rb') as file:
    stored = file.read()
with open(at('cut.stored'), 'wb') as file:
    file.write(stored[:len(stored) // 2])
os.mkdir(at('folder'))
os.mkfifo(at('pipe'))
# Root may read what it may not.
closed = [] if not os.getuid() else [write('closed.net', whole)]
for path in closed:
    os.chmod(path, 0)

FABRICS = [at('missing.net'), write('empty.net', ''), write('cut.net', whole[:len(whole) // 2]),
           write('other.net', 'a letter to somebody\n'), at('folder'), write('bytes.net', whole[:200] + '\0\x01' * 99),
           write('hosts.net', 'Ca 1 "a"\n[1] "b"[1]\n\nCa 1 "b"\n[1] "a"[1]\n'), RING + '/beneath', ''] + closed
TABLES = [at('missing'), write('empty.lfts', ''), write('cut.lfts', lfts[:len(lfts) // 2 - 3]), write('other.lfts', 'nothing\n'),
          at('folder'), at('cut.stored'), 'live',
          damaged('no-lfts', 'opensm-lfts.dump', ''), damaged('bad-sl2vl', 'opensm-sl2vl.dump', 'nothing\n'),
          damaged('bad-sls', 'opensm-path-sl.dump', 'nothing\n'), damaged('bad-groups', 'opensm.mcfdbs', 'nothing\n')]
DUMPS = [damaged('no-fabric', 'opensm-subnet.lst', None), damaged('bad-fabric', 'opensm-subnet.lst', 'nothing\n')] + TABLES[-4:]
CONFIGS = ['--config=' + at('missing.conf'), '--config=' + at('folder'), '--config=' + write('bad.conf', '[dfsssp]\nroundz = 1\n'),
           '--opensm-conf=' + at('missing.conf'), '--opensm-conf=' + write('plain.conf', 'routing_engine dfsssp\n'),
           '--opensm-conf=' + write('stock.conf', 'event_plugin_name osmroutes\nrouting_engine updn\n')]
LISTS = [at('folder'), write('empty.list', ''), write('other.list', 'nobody\n')]
NOWHERE = [at('missing', 'file'), at('folder'), '/dev/full']


def valid(name):
    """The words of a command that does its work."""
    return {'path': ['h0', 'h1', RING], 'diff': [at('dump'), at('dump')], 'whatif': ['--links=1', RING],
            'order': [topology('tree-2')], 'generate': ['torus'], 'conf': [], 'status': [], 'drain': ['s-0'], 'undrain': ['s-0'],
            'key': ['status'], 'check': ['-e', 'dfsssp', RING]}.get(name, [RING])


def faults(name, options):
    """Words of a command that cannot do its work. options: those of its --help, {name: its value or ''}."""
    words = valid(name)
    yield ['--no-such-option'] + words
    yield ['-Z'] + words
    yield words + ['one', 'word', 'too', 'many']
    for option, value in options.items():
        if value and not value.startswith('[') and option != 'option':
            yield words + ['--' + option]
        if re.match(r'\[?(N|X|WORDS?|FORM|WHEN|WxSPEED|UID|MS)\b', value):
            yield ['--%s=no-such-value' % option] + words
    if 'engine' in options:
        yield ['-e', 'no-such-engine'] + words
        yield ['-e', 'minhop'] + words
        yield ['-o', 'no-such-option=1'] + words
        yield ['-o', 'nonsense'] + words
    for config in CONFIGS:
        if config[2:].partition('=')[0] in options and name != 'conf':
            yield ([config] + words) if 'stock' not in config else [config, RING if name != 'path' else 'h0', *words[1:]]
    if 'live' in options:
        yield [w for w in words if w != RING] + ['--live=no-such-device']
        yield words + ['--live=a:b:c:d']
    for option, lists in ('names', [at('missing.net'), at('other.net'), at('folder')]), ('tables', TABLES), ('previous', TABLES[:6]), ('old-fabric', FABRICS), ('fabric', FABRICS):
        for path in lists if option in options else ():
            yield ['--%s=%s' % (option, path)] + [w for w in words if w not in ('-e', 'dfsssp')]
    for option in 'html', 'junit', 'prom', 'dump', 'save', 'write', 'output', 'worst':
        for path in NOWHERE if option in options else ():
            if (option, path) not in (('dump', at('folder')), ('prom', '/dev/full')):
                yield ['--%s=%s' % (option, path)] + words
    if RING in words or topology('tree-2') in words:
        for path in FABRICS:
            yield words[:-1] + [path]
    if name == 'check':
        for path in DUMPS:
            yield [path]
    if name == 'diff':
        for path in DUMPS + TABLES[:3] + [RING]:
            yield [at('dump'), path]
            # The fabric of OLD may be that of NEW.
            if path != at('no-fabric'):
                yield [path, at('dump')]
        yield [at('dump')]
        for path in FABRICS:
            yield [RING, path]
            yield [path, RING]
    for path in LISTS if 'hosts' in options and name != 'key' else ():
        yield ['--hosts=' + path] + words[-1:] + (['--traffic=' + path] if name == 'route' else [])
    if name == 'conf':
        yield [at('missing.conf')]
        yield ['--opensm-conf=' + at('missing.conf')]
    if name == 'key':
        for path in [at('missing')] + LISTS:
            yield ['place', '--hosts=a,b', '--traffic=' + path]
            yield ['place', '--hosts=' + path, '--traffic=' + write('ring.traffic', 'ranks 2\n0 1\n')]
        yield from ([], ['place'], ['nonsense'], ['request', '1'], ['done', '1', 'x'])
    if 'socket' in options:
        for path in at('missing'), at('folder'), at('pipe'), *SOCKETS:
            yield ['--socket=' + path] + words


# ---- subnet managers that are none -----------------------------------------------------------------

SOCKETS = []


def serve(name, answer):
    """A control socket that gives every client this answer and closes; its path."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(at(name))
    server.listen(64)

    def loop():
        while True:
            client = server.accept()[0]
            try:
                client.recv(4096)
                client.sendall(answer)
            except OSError:
                pass
            client.close()

    threading.Thread(target=loop, daemon=True).start()
    return at(name)


SOCKETS += [serve('closes', b''), serve('babbles', b'nothing of this is JSON\n'), serve('cuts', b'{"ok": tr'),
            serve('refuses', b'{"ok": false, "error": "it is busy"}\n'), serve('null', b'null\n')]
# Answers of another version may have members of other kinds.
STRANGE = [serve('strange-%d' % i, b'{"ok": true, "id": 1, %s}\n' % members) for i, members in enumerate((
    b'"parts": [{}, 7, {"state": null}], "sm": 3', b'"sm": {}', b'"parts": {"state": "asked"}, "sm": [1], "apps": [1, {"keys": 5}]',
    b'"apps": "none", "sm": {"warnings": 7, "check": [], "time": "now"}, "hosts": 7, "offsets": {}, "app": "x"'))]

# ---- runs ------------------------------------------------------------------------------------------

n_runs, wrong = 0, []


def start(name, words, stdout=subprocess.PIPE):
    """Exit code, what it prints, and what it says."""
    global n_runs
    n_runs += 1
    done = subprocess.run([COMMAND, name, *words], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, timeout=120,
                          cwd=at('cwd'), env=dict(os.environ, OSMROUTES_KEYS=at('missing')))
    return done.returncode, (done.stdout or b'').decode(errors='replace'), done.stderr.decode(errors='replace')


def judge(name, words, form):
    code, out, said = start(name, form + words)
    called = 'osmroutes %s' % ' '.join([name, *form, *words]).replace(at(), '.')
    refused = 'osmroutes: angara' in said or 'it is busy' in said
    bad = []
    if code != (1 if refused else 2):
        bad.append('exit code %d' % code)
    if not said.startswith('osmroutes: ') or 'Sanitizer' in said or 'runtime error' in said or len(said.splitlines()) > 3:
        bad.append('it says: ' + said[-2000:])
    if out:
        bad.append('it prints: ' + out[:300])
    if '--junit=' + at('junit.xml') in form:
        bad += judge_junit(said)
    for left in os.listdir(at('cwd')):
        bad.append('it leaves ' + left)
        os.unlink(at('cwd', left))
    if bad:
        wrong.append('%s: %s' % (called, '; '.join(bad)))


def judge_junit(said):
    try:
        suite = xml.etree.ElementTree.parse(at('junit.xml')).getroot().find('testsuite')
        error = suite.find('testcase/error').get('message')
    except (OSError, AttributeError, xml.etree.ElementTree.ParseError) as failed:
        return ['--junit: %s' % failed]
    finally:
        if os.path.exists(at('junit.xml')):
            os.unlink(at('junit.xml'))
    counts = [suite.get(key) for key in ('tests', 'failures', 'errors')]
    return [] if counts == ['0', '0', '1'] or counts == ['1', '0', '1'] and 'osmroutes: ' + error in said else [
        '--junit: %s, %s' % (counts, error)]


def judge_full(name, form):
    """Standard output that takes nothing."""
    more = {'generate': [] if not form else ['-o', at('out.net')], 'report': [] if not form else ['--html=' + at('out.html')]}
    with open('/dev/full', 'wb') as full:
        code, _, said = start(name, form + valid(name) + more.get(name, []), full)
    if code != 2 or not re.search(r'^osmroutes: standard output: ', said, re.M):
        wrong.append('%s %s > /dev/full: exit code %d, %s' % (name, ' '.join(form), code, said[-300:]))


def main():
    os.mkdir(at('cwd'))
    listed = re.findall(r'^  ([a-z]+) ', run('--help', code=0).stdout, re.M)
    for name in listed:
        page = run(name, '--help', code=0).stdout
        options = dict(re.findall(r'^ +(?:-\w, )?--([a-z][a-z-]*)(?:=|(?=\[)|(?= |$))(\[?=?[A-Za-z:|%=\[\]]*)', page, re.M))
        forms = [[], ['--json'], ['--csv']]
        if name == 'check':
            forms += [['--junit=' + at('junit.xml')], ['--prom=' + at('cwd', 'new.prom')]]
        for form, words in itertools.product(forms, list(faults(name, options))):
            given = [w.partition('=')[0] for w in words]
            # An option that is given twice is another fault. --prom has its file before --junit.
            if not set(w.partition('=')[0] for w in form) & set(given) and not ('--junit' in given and '--prom' in str(form)):
                judge(name, words, form)
        for form in forms[:3]:
            if 'socket' not in options:
                judge_full(name, form)
            for path in STRANGE if 'socket' in options else ():
                code, _, said = start(name, form + ['--wait=0'] * ('wait' in options) + ['--socket=' + path] + valid(name))
                if code not in (0, 1, 2) or 'Sanitizer' in said:
                    wrong.append('%s %s, an answer that is none: exit code %d, %s' % (name, ' '.join(form), code, said[-2000:]))
    print('%d runs, %d wrong' % (n_runs, len(wrong)))
    if wrong:
        sys.exit('\n'.join(wrong[:20]))


main()
