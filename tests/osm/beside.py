# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Beside others: plugins that wrap engines, the plugin listed twice, and an OpenSM that is laid out otherwise."""
import os
import subprocess

from judge import QOS, expect, judge, scenario
from options import stock_lfts
from osmtest import COMMAND, TOOLS, Fabric, Opensm, find_fabric, running

SHIFTED = os.path.join(TOOLS, 'shifted')

# One layer; several layers on SL2VL options that agree and that do not; an engine under a name of its own.
WRAPPED = (
    ('random-12', 'dfsssp', {}),
    ('random-12', 'dfsssp', {'use_optimized_slvl': 'TRUE'}),
    ('random-12', 'dfsssp', {'qos_sl2vl': '0,' * 15 + '0', 'qos_vlarb_low': '0:4'}),
    ('random-12', 'dfsssp', {'qos_sl2vl': '0,' * 15 + '0', 'use_optimized_slvl': 'TRUE'}),
    ('tree-3', 'osmroutes-dmodk', {}),
    ('ring-5', 'sssp', {}),
)


def wrapped(workdir, at, plugins):
    """Tables come, go and come back, with groups, and every callback gets the context it belongs to."""
    for i, (netfile, engine, options) in enumerate(WRAPPED):
        with running(os.path.join(workdir, str(i)), netfile, engine, options=dict(QOS, event_plugin_name=plugins, **options),
                     env={'OSR_WRAP_AT': at}) as (fabric, opensm):
            judge(fabric, opensm, ours=engine.replace('osmroutes-', ''))
            opensm.resweep()
            opensm.resweep()
            judge(fabric, opensm, ours=engine.replace('osmroutes-', ''))
            opensm.stop()
        with open(os.path.join(opensm.dir, 'output')) as file:
            said = file.read()
        calls = [int(l.split()[-2]) for l in said.splitlines() if l.startswith('osrprobe:')]
        expect(calls and max(calls) > 6, 'the wrapper was not called: ' + said[-300:])
        opensm.check_own_log()


# Before the first routing: what a result needs must be there by then. And before osmroutes has seen the list: the engine
# it takes over is then the wrapper's.
for _name, *_words in (('start', 'start', 'osmroutes osrprobe'), ('done', 'done', 'osmroutes osrprobe'),
                       ('first', 'done', 'osrprobe osmroutes')):
    scenario('beside.wrapper-' + _name)(lambda workdir, words=_words: wrapped(workdir, *words))


@scenario('beside.in-place')
def in_place(workdir):
    """A plugin that stands in ours' place in OpenSM's list (osrtimer): a registered engine is found by its name."""
    with running(workdir, 'tree-3', 'osmroutes-dmodk', options=dict(QOS, event_plugin_name='osmroutes osrtimer'),
                 env={'OSR_TIMER_ENGINE': 'dmodk', 'OSR_TIMER_OUT': os.path.join(workdir, 'timer')}) as (fabric, opensm):
        judge(fabric, opensm, ours='dmodk')


@scenario('beside.twice')
def twice(workdir):
    """event_plugin_name with osmroutes in it twice: one line, and one of them."""
    with running(workdir, 'random-12', options=dict(QOS, event_plugin_name='osmroutes osmroutes')) as (fabric, opensm):
        opensm.resweep()
        judge(fabric, opensm, ours='dfsssp')
        lines = [l for l in opensm.errors() if 'osmroutes' in l]
    expect(len([l for l in lines if 'OR17' in l and 'twice' in l]) == 1 and len(lines) == 2,
           'not one line about it, and one of OpenSM: %s' % lines)
    expect(opensm.log.count('is served by osmroutes') == 1, 'taken over more than once')
    opensm.check_own_log(expected=('OR17', 'cannot load plugin'))


@scenario('beside.shifted')
def shifted(workdir):
    """Plugins built with headers that are not quite those of this OpenSM, of the same version: each is
    refused with a sentence in every try, and OpenSM routes by itself."""
    variants = sorted(set(os.listdir(SHIFTED)) - {'version'})
    expect(len(variants) >= 9, 'only %s were built' % variants)
    stock = stock_lfts('ring-5', 'updn')
    with Fabric(find_fabric('ring-5'), workdir) as fabric:
        for i in range(3 * len(variants)):
            variant = variants[i % len(variants)]
            path = os.path.join(SHIFTED, variant) + ':' + os.environ.get('LD_LIBRARY_PATH', '')
            with Opensm(fabric, 'updn', plugin=True, options=QOS, once=True, name='opensm',
                        env={'LD_LIBRARY_PATH': path}) as opensm:
                opensm.wait_end()
                with open(os.path.join(opensm.dir, 'output')) as file:
                    said = file.read()
            where = '%s, try %d: ' % (variant, i)
            expect('osmroutes is not loaded: this OpenSM ' in said, where + 'not refused: ' + said[-300:])
            expect(len([l for l in opensm.log.splitlines() if 'osmroutes' in l]) == 1 and
                   "cannot load plugin 'osmroutes'" in opensm.log, where + 'touched OpenSM')
            expect([s.lft for s in fabric.tables('lft').switches] == stock,
                   where + 'OpenSM routed otherwise')


@scenario('beside.version')
def version(workdir):
    """A plugin built for another version of OpenSM is refused by OpenSM in a sentence, and its own engines route."""
    path = os.path.join(SHIFTED, 'version') + ':' + os.environ.get('LD_LIBRARY_PATH', '')
    # Nothing of ours is there to flush the log.
    with running(workdir, 'ring-5', options=dict(QOS, force_log_flush='TRUE'), env={'LD_LIBRARY_PATH': path}) as (_, opensm):
        pass
    checked = subprocess.run([COMMAND, 'conf', '--check', '--opensm-conf', opensm.conf],
                             capture_output=True, text=True, cwd=opensm.dir, env=dict(os.environ, LD_LIBRARY_PATH=path))
    expect(checked.returncode == 1 and 'libosmroutes.so is built for OpenSM 3.3.99 and not loaded by' in checked.stdout,
           'conf --check: ' + checked.stdout + checked.stderr)
    said = [l for l in opensm.log.splitlines() if 'osmroutes' in l and 'version mismatch' in l]
    expect(said and '3.3.99' in said[0], 'not refused: ' + opensm.log[-500:])
    expect('digest' not in opensm.log and opensm.engine_used() == 'dfsssp', 'who routed?')
