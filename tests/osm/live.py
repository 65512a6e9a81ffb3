# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`osmroutes --live`: the fabric and its tables read by MADs while a real opensm runs it, and entries of switches
spoilt behind its back."""
import json
import os
import subprocess

from groups import join
from judge import QOS, Claims, expect, scenario
from osmtest import COMMAND, LOG_DUMPS, TOOLS, Fabric, find_fabric, Opensm, patience, running


def start(fabric, *words):
    """A command that finds the simulated fabric on its InfiniBand port."""
    return subprocess.run(['ibsim-run', COMMAND] + list(words) + ['--json'], env=dict(fabric.env),
                          capture_output=True, text=True, timeout=patience(120), cwd=fabric.dir)


def run(fabric, *words, code=0):
    """Its JSON."""
    done = start(fabric, *words)
    expect(done.returncode in (code if isinstance(code, tuple) else (code,)), '%s: exit code %d: %s%s' % (
        ' '.join(words), done.returncode, done.stderr[-300:], done.stdout[-600:]))
    return json.loads(done.stdout) if done.stdout else done.stderr


def spoil(fabric, guid, *words):
    fabric.run([os.path.join(TOOLS, 'osr-spoil'), guid] + [str(w) for w in words])


def good(fabric, *words):
    """Nothing is wrong, and nothing was left out."""
    report = run(fabric, 'check', '--live', *words)
    expect(report['verdict']['verdict'] == 'proven', 'check --live: %s' % report['verdict'])
    expect(report['tables'].get('path_sls') == 'the subnet administrator', report['tables'])
    expect(report['tables'].get('sl2vl') == 'the switches', report['tables'])
    return report


@scenario('live.check')
def check(workdir):
    """opensm routes, check agrees; one entry of each kind spoilt, check names it; put right, it agrees again."""
    with running(workdir, 'torus-4x4', 'dfsssp', log_flags=LOG_DUMPS) as (fabric, opensm):
        group, _ = [join(fabric, name) for name in ('h01', 'h06', 'h15')][0]
        opensm.wait_quiet()
        before = good(fabric)
        expect(before['tables'].get('groups') == 'the switches', before['tables'])
        good(fabric, '--sa=switches')
        in_dumps = run(fabric, 'check', opensm.dir)
        for key in ('entries', 'routes', 'max_hops', 'efi', 'faults'):
            expect(before['verdict'][key] == in_dumps['verdict'][key], '%s: %s, in the dumps %s'
                   % (key, before['verdict'][key], in_dumps['verdict'][key]))
        tables = fabric.tables()
        lid = tables.host_lids[0]
        s, port = next((s, p) for s in tables.switches for p in s.next if s.forward(lid) == p)
        t, out = next((t, p) for t in tables.switches for p in t.next if p in t.mft.get(group, ()))
        for switch, words, back, named in (
                (s, ('lft', lid, 255), ('lft', lid, port), dict(kind='hole', guid=s.guid, lid=lid)),
                (s, ('sl2vl', 0, port, 0, 15), ('sl2vl', 0, port, 0, 0), dict(guid=s.guid, out=port)),
                (t, ('mft', group, out), ('mft', group, out), None)):
            spoil(fabric, switch.guid, *words)
            found = run(fabric, 'check', '--live', code=1)
            expect(any(named.items() <= fault.items() for fault in found['faults']) if named else
                   found['verdict']['faults']['multicast_split'], '%s: %s, %s' % (words, found['faults'], found['verdict']))
            spoil(fabric, switch.guid, *back)
            good(fabric)


@scenario('live.commands')
def commands(workdir):
    """What is read live is what is in the file; every command that takes a FILE takes --live."""
    path = find_fabric('tree-2')
    with Fabric(path, workdir) as fabric:
        with Opensm(fabric, 'dfsssp', plugin=True, options=QOS) as opensm:
            opensm.wait_up()
            digest = Claims(opensm.log).digest
        one = run(fabric, 'route', '--live')
        expect(one['results'][0]['digest'] == digest, 'route --live is not what opensm has: %s, %s'
               % (one['results'][0]['digest'], digest))
        # opensm has ended and its tables are there: nothing answers for SLs, a comparison says so and goes on.
        words = 'route', '--live', '-e', 'dfsssp', '--tables=live', '--bisections=50'
        mine = run(fabric, *words)
        said = start(fabric, *words).stderr
        expect(said.count('\n') == 1 and 'warning: the subnet administrator' in said and 'unknown' in said, said)
        answers = [r['answers']['one_way'] for r in mine['results']]
        # Shortest paths of a tree go up and then down: no SL, known or not, has a credit loop.
        expect(answers == ['proven', 'proven'], 'free of credit loops on any SL: %s' % answers)
        efi = [r['efi'] for r in mine['results']]
        expect(len(efi) == 2 and efi[0] == efi[1], 'the tables in the switches: EFI %s' % efi)
        run(fabric, 'route', '--live', '--tables=live', '-e', 'dmodk', '--bisections=10')
        run(fabric, 'whatif', '--live', '--each=link')
        run(fabric, 'report', '--live', '--html', os.path.join(workdir, 'page.html'))
        said = run(fabric, 'check', '--live', code=2)
        expect('subnet administrator' in said and said.count('\n') == 1, said)
        run(fabric, 'check', '--live', '--sa=none')
        said = run(fabric, 'check', '--live', path, code=2)
        expect('either FILE or --live' in said, said)


# A device that stands for another: NAME CAPABILITIES STATE PHYS_STATE LINK_LAYER GUID-SUFFIX. 0x400 is IsSMDisabled.
DEVICES = {
    'mlx5_1': (0, '1: DOWN', '3: Disabled', 'InfiniBand', '0002'),
    'mlx5_2': (0x400, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0003'),
    'smi2': (0, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0003'),
    'mlx5_10': (0, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0004'),
    'mlx5_11': (0x400, '4: ACTIVE', '5: LinkUp', 'InfiniBand', '0005'),
}


@scenario('live.devices')
def devices(workdir):
    """A host with five InfiniBand devices and one of Ethernet, two of them the halves of one port (SMI and GSI): --live opens for each kind of packet
    the device that takes it, or the one behind --live=, and what cannot be used is named."""
    log = os.path.join(workdir, 'used')
    script = os.path.join(workdir, 'devices.sh')
    # What osr-devices runs when the simulation has made its one device.
    lines = ['cd "$1"', 'rm -r ibsim0/ports/1/pkeys/[2-9] ibsim0/ports/1/pkeys/??']
    for name, (mask, state, phys_state, layer, suffix) in DEVICES.items():
        lines += ['cp -r ibsim0 %s' % name, 'cd %s/ports/1' % name] + [
            "echo '%s' >%s" % (text, file) for file, text in (
                ('state', state), ('phys_state', phys_state), ('link_layer', layer), ('cap_mask', '0x%08x' % mask),
                ('gids/0', 'fe80:0000:0000:0000:0002:c903:0000:%s' % suffix))] + ['cd ../../..']
    with open(script, 'w') as file:
        file.write('\n'.join(lines + ['echo Ethernet >ibsim0/ports/1/link_layer', '']))
    # LD_PRELOAD takes no path with a blank in it.
    os.symlink(os.path.join(TOOLS, 'osr-devices.so'), os.path.join(workdir, 'osr-devices.so'))
    with running(workdir, 'tree-2', 'dfsssp') as (fabric, opensm):
        command = ['ibsim-run', 'sh', '-c', 'LD_PRELOAD="$LD_PRELOAD:$0" exec "$@"',
                   './osr-devices.so', COMMAND]

        def check(*words):
            """Exit code, what it said, and the devices that were opened for subnet management and for the rest."""
            with open(log, 'w'):
                pass
            done = subprocess.run(command + list(words), capture_output=True, text=True, timeout=patience(60), cwd=workdir,
                                  env=dict(fabric.env, OSR_DEVICES=script, OSR_DEVICES_LOG=log))
            with open(log) as file:
                used = [line.split() for line in file]
            smi = sorted({(u[0], u[1]) for u in used if u[2] == 'class' and u[3] in ('1', '129')})
            gsi = sorted({(u[0], u[1]) for u in used if u[2] == 'class' and u[3] == '3'})
            return done.returncode, done.stderr, smi, gsi, {u[3] for u in used if u[2] == 'pkey'}

        split = (0, '', [('smi2', '1')], [('mlx5_2', '1')], set())
        plain = (0, '', [('mlx5_10', '1')], [('mlx5_10', '1')], set())
        for port, expected in ((None, split), ('mlx5_2', split), ('smi2:1', split),
                                ('mlx5_10:1', plain)):
            got = check('check', '--live' if port is None else '--live=' + port)
            expect(got == expected, 'check --live %s: %s' % (port, got))
        got = check('check', '--live=::1')
        expect(got[0] == 0 and got[4] == {'1'}, 'P_Key index 1: %s' % (got,))
        tables = os.path.join(workdir, 'tables')
        got = check('route', '--live=mlx5_2', '--save=' + tables)
        expect(got[0] == 0 and got[2] == split[2], 'route: %s' % (got,))
        got = check('diff', tables, '--live=mlx5_2')
        expect(got[0] < 2 and got[2:4] == split[2:4], 'diff: %s' % (got,))
        for port, sentence in (
                ('mlx5_9', 'no InfiniBand port mlx5_9 that could be used; it has mlx5_1:1 (disabled), '
                 'mlx5_2:1, mlx5_10:1, mlx5_11:1 (no SMI has its port GUID), smi2:1'),
                ('ibsim0', 'no InfiniBand port ibsim0 that'),
                ('mlx5_10:2', 'no InfiniBand port mlx5_10:2 that'),
                ('mlx5_1', 'no InfiniBand port mlx5_1 that'),
                ('mlx5_11', 'no InfiniBand port mlx5_11 that'),
                ('::99', 'P_Key index 99: mlx5_2, port 1, has a table of 2 entries')):
            code, said, smi, gsi, _ = check('check', '--live=' + port)
            expect(code == 2 and sentence in said and said.count('\n') == 1 and not smi and not gsi,
                   '%s: exit code %d: %s %s %s' % (port, code, said, smi, gsi))
