# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""readers.py OSMROUTES own|field

What is read of files, and what is said of what they do not say. Every fabric of the project, or from the field, is spoilt
as people spoil files: a foreign line between two others, or marks of diff, mail, cat -n and grep -n before one. The command
refuses the file with the number of that line; it reads the same fabric only where blanks came before a line. And a fabric
that is dumped and read again has the same tables. (unit.io_lines does so with each kind of file, at every line.)
"""
import glob
import json
import os
import random
import re
import sys

from command import ask, at, generate, run, same, same_keys, topology
from netfile import write_net
import dump	# noqa: F401 -- finds the folder of osmtest
from osmtest import real_fabrics

KIND = sys.argv[2]
FOREIGN = ('hello', '[1]', '[0] "S-0002c902004885b8"[3]', '@@ -1,7 +1,7 @@', 'numports = 24', '</pre>', 'Killed',
           'ibnetdiscover: iberror: failed: discover failed', 'Switch', '12', '{', '-- More --')
MARKS = ('+', '-', '> ', '< ', '| ', '12:', '     12\t', '* ', '\u00a0')
BLANKS = (' ', '\t', '        ')


def write(name, text):
    with open(at(name), 'w', encoding='utf-8') as file:
        file.write(text)
    return at(name)


def fabric_of(path):
    """All that is read of it: nodes, names and cables; GUIDs, LIDs, rates and VLs, which the tables follow from."""
    done = run('generate', '--format=dot', path, code=0)
    said = ask('route', '--bisections=0', path)
    return done.stdout, said['results'][0]['digest'], said['vls_available'], said['lids']


def spoil(path, n_places):
    """Returns how many spoilt files were tried."""
    with open(path, encoding='utf-8') as file:
        lines = file.read().splitlines(keepends=True)
    right, rng, n = fabric_of(path), random.Random(os.path.basename(path)), 0
    for i in sorted(rng.sample(range(len(lines)), min(n_places, len(lines)))):
        for mark in rng.sample(MARKS, 3) + rng.sample(FOREIGN, 3) + rng.sample(BLANKS, 1):
            whole = mark in FOREIGN
            spoilt = write('spoilt', ''.join(lines[:i]) + mark + ('\n' if whole else '') + ''.join(lines[i:]))
            if mark in BLANKS:
                same('%s:%d behind blanks' % (path, i + 1), fabric_of(spoilt), right)
                continue
            said = run('route', '--bisections=0', spoilt, code=2).stderr
            if not said.startswith('osmroutes: %s:%d: ' % (spoilt, i + 1)):
                sys.exit('%s:%d, %r: another line is named: %s' % (path, i + 1, mark, said))
            n += 1
    return n


def dump_again(path):
    """False if LIDs of several of a port are lost, for opensm-subnet.lst has no LMC."""
    tables = run('route', '--bisections=0', '--dump', at('dumped'), path, code=0).stdout
    again = run('route', '--bisections=0', at('dumped', 'opensm-subnet.lst'), code=0)
    if 'has no LMC' in again.stdout:
        return False
    kept = re.compile('^(digest|  scaled by link speed) .*$', re.M)
    same('%s, dumped and read again' % path, [m[0] for m in kept.finditer(again.stdout)],
         [m[0] for m in kept.finditer(tables)])
    return True


# ---- what is assumed is said ---------------------------------------------------------------------------

def tell_assumed(path):
    """The numbers in the sentence are those of lines that are not in the file."""
    with open(path, encoding='utf-8') as file:
        text = file.read()
    nodes = re.split(r'\n\s*\n', re.sub(r'^\s*#.*\n', '', text, flags=re.M))
    nodes = [node for node in nodes if re.search(r'^(Switch|Ca|Hca|Rt)\s', node, re.M)]
    guids = sum(not re.search(r'^(switch|ca|rt)guid=', node, re.M) for node in nodes)
    id_guids = sum(not re.search(r'^(switch|ca|rt)guid=', node, re.M) and bool(re.search(r'"[SHR]-[0-9a-f]{16}"', node.split('\n')[0]))
                   for node in nodes)
    switches = {re.search(r'"([^"]*)"', node)[1] for node in nodes if re.search('^Switch', node, re.M)}
    lids = rates = cables = 0
    for node in nodes:
        own = re.search(r'^(Switch|Ca|Hca|Rt)\s+\d+\s+"([^"]*)"(.*)', node, re.M)
        ports = re.findall(r'^\[(\d+)\](?:\S*)\s*"([^"]*)"\[(\d+)\](.*)', node, re.M)
        lids += not re.search(r' lid [1-9]', own[3]) if own[1] == 'Switch' else sum(not re.search(r'# lid [1-9]', p[3]) for p in ports)
        for number, far, far_port, rest in ports:
            if own[1] == 'Switch' and far in switches and (own[2], int(number)) < (far, int(far_port)) and far != own[2]:
                cables += 1
                rates += not re.search(r'\d+x[SDQFEHNX]DR', rest)
    said = ask('check', '-e', 'sssp', path)
    same_keys(path, said['assumed'], {'lids': lids, 'guids': guids - id_guids, 'rates': rates})
    sentence = run('check', '-e', 'sssp', path).stdout
    wanted = ['LIDs of %d end port' % lids] * bool(lids) + ['GUIDs of %d node' % (guids - id_guids)] * (guids > id_guids) + \
        ['rates of %d of %d cables between switches' % (rates, cables)] * bool(rates)
    same('%s: a sentence' % path, 'assumed, because %s does not say it' % path in sentence, bool(wanted or id_guids))
    for words in wanted:
        same('%s: "%s"' % (path, words), words in sentence, True)


# ---- rates and VLs -------------------------------------------------------------------------------------

SPEEDS = {'HDR': '50', 'NDR': '100', 'XDR': '200'}


def two_spines(slow, fast):
    """Two leaves of nine hosts, two spines of different rates: of nine routes the least load is three over the slow one."""
    cables = [(('s-l%d' % leaf, 1 + i), ('h-%d-%d' % (leaf, i), 1), '4x' + slow) for leaf in range(2) for i in range(9)]
    cables += [(('s-l%d' % leaf, 10 + i), ('s-s%d' % i, 1 + leaf), '4x' + rate) for leaf in range(2) for i, rate in enumerate((slow, fast))]
    return write_net(at('spines.net'), cables, ['s-l0', 's-l1', 's-s0', 's-s1'])


def over_spines(path, folder):
    """Entries of the first leaf for hosts of the other, by the port they leave through."""
    run('route', '--bisections=0', '--dump', folder, path, code=0)
    table = open(os.path.join(folder, 'opensm-lfts.dump')).read().split('lids dumped')[0]
    n = [0, 0]
    for port, name in re.findall(r"^0x\w+ 0(10|11) # Channel Adapter portguid \w+: '(\S+)'", table, re.M):
        n[int(port) - 10] += name.startswith('h-1-')
    return n


def rates():
    for slow, fast in (('HDR', 'NDR'), ('NDR', 'XDR')):
        path = two_spines(slow, fast)
        same('routes over 4x%s and 4x%s' % (slow, fast), over_spines(path, at('rates')), [3, 6])
        with open(at('rates', 'opensm-subnet.lst'), encoding='utf-8') as file:
            text = file.read()
        same('speeds', set(re.findall(r'SPD=(\S+)', text)), {SPEEDS[slow], SPEEDS[fast]})
        same('routes of the dump', over_spines(write('rates.lst', text), at('again')), [3, 6])
        # What ibdiagnet and other versions of OpenSM write: words that are none count as unknown, and are counted.
        known = 'PHY=4x LOG=ACT SPD=' + SPEEDS[fast]
        for word in 'PHY=4x LOG=ACT SPD=??', 'PHY=4x LOG=ACT SPD=UNKNOWN', 'PHY=?? LOG=ACT SPD=' + SPEEDS[fast]:
            path = write('rates.lst', text.replace(known, word))
            same(word, ask('route', '--bisections=0', path)['assumed']['rates'], 2)
            dump_again(path)
        said = run('route', write('rates.lst', text.replace('SPD=' + SPEEDS[fast], 'SPD=' + SPEEDS[fast] + ' 5', 1)), code=2).stderr
        same('a word behind SPD', 'expected PHY=WIDTH' in said, True)
    # One cable without a rate, dumped: it stays unknown, and does not become the slowest.
    path = two_spines('HDR', 'NDR')
    with open(path, encoding='utf-8') as file:
        text = file.read()
    path = write('unknown.net', text.replace('4xNDR', '4x???'))
    same('unknown rates', ask('route', '--bisections=0', path)['assumed']['rates'], 2)
    dump_again(path)


def ring(*codes):
    """Five switches in a ring, as ibnetdiscover -f prints it, VLCap codes of the cables in turn; 0: not said."""
    text = '#\n# Topology file: generated on Sat Nov 28 06:24:31 2026\n#\n\n'
    for s in range(5):
        text += 'switchguid=0x%x(%x)\nSwitch\t3 "S-%016x"\t\t# "s-%d" base port 0 lid %d lmc 0\n' % (s + 1, s + 1, s + 1, s, s + 1)
        for port, far, far_port, code in (2, (s + 1) % 5, 3, codes[s]), (3, (s - 1) % 5, 2, codes[s - 1]):
            text += '[%d]\t"S-%016x"[%d]\t\t# "s-%d" lid %d 4xSDR%s\n' % (port, far + 1, far_port, far, far + 1,
                                                                       ' s=1 w=2 v=%d' % code if code else '')
        text += '[1]\t"H-%016x"[1](%x) \t\t# "h%d" lid %d 4xSDR s=1 w=2 v=1\n\n' % (s + 17, s + 17, s, s + 6)
        text += 'caguid=0x%x\nCa\t1 "H-%016x"\t\t# "h%d"\n' % (s + 17, s + 17, s)
        text += '[1](%x) \t"S-%016x"[1]\t\t# lid %d lmc 0 "s-%d" lid %d 4xSDR s=1 w=2 v=1\n\n' % (s + 17, s + 1, s + 6, s, s + 1)
    return write('ring.topo', text)


def lanes():
    """VLs of cables between switches count, those to hosts do not."""
    for codes, vls, why in (((4, 4, 4, 4, 4), 8, 'limited by the VLCap of s-0 port 2'), ((3, 4, 4, 1, 4), 1, 'limited by the VLCap of s-3 port 2'),
                            ((5, 5, 5, 5, 2), 2, 'limited by the VLCap of s-0 port 3'),
                            ((0, 3, 0, 4, 4), 4, 'limited by the VLCap of s-1 port 2'),
                            ((0, 5, 5, 5, 5), 8, 'assumed for 1 of 5 cables between switches, of which the file does not say it'),
                            ((0, 0, 0, 0, 0), 8, 'assumed, because the file does not say what the links have')):
        said = ask('route', '--bisections=0', ring(*codes))
        same('VLs of %s' % (codes,), (said['vls_available'], said['vls_why']), (vls, why))
        told = ask('route', '--bisections=0', '--vls=%d' % vls, ring(0, 0, 0, 0, 0))
        same('tables on %d VLs' % vls, said['results'][0]['digest'], told['results'][0]['digest'])
    # They are in what is made from such a file.
    run('whatif', '--link=s-0:1', '--write=%s' % at('less.net'), ring(2, 2, 2, 2, 2))
    same('VLs of what is left', ask('route', '--bisections=0', at('less.net'))['vls_available'], 2)


# ---- words -----------------------------------------------------------------------------------------------

def words():
    right = ring(4, 4, 4, 4, 4)
    with open(right, encoding='utf-8') as file:
        text = file.read()
    # A discovery to which ports did not answer is no silent proof.
    failed = 'src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad status 110; Connection timed out\n'
    spoilt = write('failed.topo', failed + text.replace('\nCa\t', '\nibwarn: [12] _do_madrpc: recv failed: Connection timed out\nCa\t', 1))
    done = run('check', '-e', 'dfsssp', '--json', spoilt, code=0)
    same('lines without an answer', json.loads(done.stdout)['discovery_errors'], 2)
    same('a warning', 'warning: %s:1: "src/query_smp.c:195;' % spoilt in done.stderr and '(2 such lines): it may lack' in done.stderr, True)
    same('and none', run('check', '-e', 'dfsssp', right, code=0).stderr, '')
    # GUIDs are in the ids of nodes: tables of the fabric are its own, and nodes are found.
    ids = write('ids.topo', re.sub(r'^\w+guid=.*\n', '', text, flags=re.M))
    run('route', '--bisections=0', '--dump', at('guids'), right, code=0)
    same('tables beside a file without GUID lines', ask('check', '--tables', at('guids'), ids)['verdict']['verdict'], 'proven')
    run('path', '0x11', '0x2', ids, code=0)
    # Entries are those of forwarding tables: ten switches and hosts, five tables. UNREACHABLE is none.
    with open(at('guids', 'opensm.fdbs'), 'a', encoding='utf-8') as file:
        file.write('0x0777 : UNREACHABLE\n')
    for name in 'opensm-lfts.dump', 'opensm.fdbs':
        said = ask('check', '--tables', at('guids', name), '--sl=0', right)
        same_keys(name, said['tables'], {'entries': 50, 'foreign': 0})
    same('of a directory', ask('check', at('guids'))['tables']['entries'], 50)
    with open(at('guids', 'opensm.fdbs'), encoding='utf-8') as file:
        table = re.sub(r'^(0x0007 :).*', r'\1 UNREACHABLE', file.read(), count=1, flags=re.M)
    same('one is missing', ask('check', '--tables', write('hole.fdbs', table), '--sl=0', right)['tables']['entries'], 49)
    # Names for nodes of another fabric.
    done = run('path', '--names', write('names', '0x99 "elsewhere"\n'), 'h0', 'h1', right, code=0)
    same('names of nobody', 'of 1 GUIDs none is the GUID of a node' in done.stderr, True)
    for line in '0x1 "a" "b"', '0x1 "a', '0x1 a', '0x1 "a"x', '1 "a"', '0x1 "a"\n0x1 "b"':
        n = line.count('\n') + 1
        done = run('path', '--names', write('names', line + '\n'), 'h0', 'h1', right, code=2)
        same('names: %r' % line, done.stderr.startswith('osmroutes: %s:%d: ' % (at('names'), n)), True)
    # Lines of opensm.conf that mean nothing to OpenSM, or something else than they seem to.
    conf = 'event_plugin_name osmroutes\nrouting_engine dfsssp\nqos TRUE\n'
    for more, said in (('+max_op_vls 1\n', ':4: "+max_op_vls" is no option: OpenSM passes over the line (1 such line)'),
                       ('qos true\n', ':4: "qos true": to OpenSM all but TRUE is FALSE (1 such line)'),
                       ('max_op_vls two\nmax_op_vls\n', ':4: "max_op_vls two": no number for OpenSM (2 such lines)'),
                       ('io_guid_file a\ncn_guid_file b\n', 'this command ignores the files of cn_guid_file, io_guid_file; the plugin reads them'),
                       ('partition_config_file %s\n' % write('partitions', 'Default=0x7fff: ALL=full;\n> sl=3\n'),
                        'partitions:2: no partition is defined here: OpenSM takes nothing of the file'),
                       ('qos_policy_file %s\n' % write('policy', 'qos-ulps\n+ipoib : 1\nend-qos-ulps\n'),
                        'policy:2: "+ipoib : 1": no line of a QoS policy begins so')):
        for command in ('route', '--bisections=0', '--config=none', '--opensm-conf', write('opensm.conf', conf + more), right), \
                       ('conf', '--check', '--opensm-conf', at('opensm.conf')):
            done = run(*command)
            same('%r, %s' % (more, command[0]), said in done.stderr + done.stdout or 'guid_file' in more and command[0] == 'conf', True)


def main():
    if KIND == 'own':
        paths = sorted(glob.glob(topology('*')))
        rates()
        lanes()
        words()
    elif real_fabrics():
        paths = sorted(glob.glob(os.path.join(real_fabrics(), '*.topo')) + glob.glob(os.path.join(real_fabrics(), '*.lst')) +
                       glob.glob(os.path.join(real_fabrics(), 'ibutils', '*[0-9].net')))
    else:
        print('skipped: no directory of real fabrics beside the project (OSR_FABRICS may name one)')
        sys.exit(77)
    n = n_dumped = 0
    for path in paths:
        large = os.path.getsize(path) > 300000
        n += spoil(path, 2 if large else 6)
        n_dumped += dump_again(path)
        if not path.endswith('.lst') and not large:
            tell_assumed(path)
    print('%d fabrics, %d spoilt files, %d dumped and read again' % (len(paths), n, n_dumped))


main()
