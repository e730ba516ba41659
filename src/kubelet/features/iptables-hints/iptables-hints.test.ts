import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { Iptables } from '../../ports/iptables.ts';
import { IptablesHints } from './iptables-hints.ts';

/** A fake of iptables: chains and rules by table, with the answers of the real program. */
class FakeTables implements Iptables {
  readonly family: Iptables['family'];
  readonly chains = new Map<string, string[]>();
  calls = 0;
  refuse: number | 'absent' | undefined;

  constructor(family: Iptables['family']) {
    this.family = family;
    this.flush();
  }

  flush(): void {
    this.chains.clear();
    for (const builtIn of ['filter INPUT', 'filter OUTPUT', 'nat POSTROUTING']) this.chains.set(builtIn, []);
  }

  run(args: readonly string[]): Promise<{ exitCode: number; stderr: string }> {
    this.calls += 1;
    if (this.refuse === 'absent') return Promise.reject(new KubeletError('Unavailable', 'no such program'));
    const [, table = '', verb = '', chain = '', ...rule] = args;
    if (this.refuse !== undefined && verb !== '-S')
      return Promise.resolve({ exitCode: this.refuse, stderr: 'refused' });
    const rules = this.chains.get(`${table} ${chain}`);
    return Promise.resolve({
      exitCode: this.#answer({ verb, key: `${table} ${chain}`, rules, rule: rule.join(' ') }),
      stderr: '',
    });
  }

  #answer({
    verb,
    key,
    rules,
    rule,
  }: {
    verb: string;
    key: string;
    rules: string[] | undefined;
    rule: string;
  }): number {
    if (verb === '-N') {
      if (rules !== undefined) return 1;
      this.chains.set(key, []);
      return 0;
    }
    if (rules === undefined) return verb === '-S' || verb === '-C' ? 1 : 2;
    if (verb === '-C') return rules.includes(rule) ? 0 : 1;
    if (verb === '-I') rules.unshift(rule);
    if (verb === '-A') rules.push(rule);
    return 0;
  }
}

function setUp() {
  const clock = new FakeClock();
  const log = recordingLog();
  const [v4, v6] = [new FakeTables('IPv4'), new FakeTables('IPv6')];
  const make = (): IptablesHints => new IptablesHints({ families: [v4, v6], clock, random: seededRandom(1), log });
  return { clock, log, v4, v6, make };
}

const expected4 = {
  'filter INPUT': ['-j KUBE-FIREWALL'],
  'filter KUBE-FIREWALL': [
    '-m comment --comment block incoming localnet connections --dst 127.0.0.0/8 ! --src 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
  ],
  'filter KUBE-KUBELET-CANARY': [],
  'filter OUTPUT': ['-j KUBE-FIREWALL'],
  'mangle KUBE-IPTABLES-HINT': [],
  'mangle KUBE-KUBELET-CANARY': [],
  'nat KUBE-KUBELET-CANARY': [],
  'nat POSTROUTING': [],
};
const tablesOf = ({ chains }: FakeTables): object =>
  Object.fromEntries([...chains].sort(([a], [b]) => (a < b ? -1 : 1)));

describe('chains for other programs', () => {
  it('chains are created as upstream does, and martian packets to the loopback address are dropped (CVE-2020-8558)', async () => {
    const { clock, v4, v6, make } = setUp();
    const hints = make();
    hints.start();
    await clock.advance(1);
    assert.deepEqual(tablesOf(v4), expected4);
    assert.deepEqual(
      [...v6.chains.keys()].filter((name) => name.includes('KUBE')),
      [
        'mangle KUBE-IPTABLES-HINT',
        'mangle KUBE-KUBELET-CANARY',
        'nat KUBE-KUBELET-CANARY',
        'filter KUBE-KUBELET-CANARY',
      ],
    );
    await hints.stop();
    assert.deepEqual(tablesOf(v4), expected4, 'they outlive the agent');
  });

  it('chains are created once, however often the agent starts and whichever program made some of them before', async () => {
    const { clock, v4, make } = setUp();
    v4.chains.set('filter KUBE-FIREWALL', [...expected4['filter KUBE-FIREWALL'], '-j other-program']);
    for (let start = 0; start < 3; start += 1) {
      const hints = make();
      hints.start();
      await clock.advance(1);
      await hints.stop();
    }
    assert.deepEqual(tablesOf(v4), {
      ...expected4,
      'filter KUBE-FIREWALL': [...expected4['filter KUBE-FIREWALL'], '-j other-program'],
    });
  });

  it('chains come back within a minute after the tables were flushed; until then a check costs one command', async () => {
    const { clock, v4, make } = setUp();
    const hints = make();
    hints.start();
    await clock.advance(1);
    const before = v4.calls;
    await clock.advance(60_000);
    assert.equal(v4.calls - before, 1);
    v4.flush();
    await clock.advance(60_000);
    assert.deepEqual(tablesOf(v4), expected4);
    await hints.stop();
  });

  it('chains are not missed on a machine without iptables, which is logged once and checked once', async () => {
    const { clock, log, v4, v6, make } = setUp();
    v4.refuse = v6.refuse = 'absent';
    const hints = make();
    hints.start();
    await clock.advance(600_000);
    assert.deepEqual(
      log.lines.map(({ level, message }) => [level, message]),
      [['info', 'No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain']],
    );
    assert.equal(v4.calls, 1);
    await hints.stop();
  });

  it('chains that are refused are retried, and a family does not wait for the other', async () => {
    const { clock, log, v4, v6, make } = setUp();
    v4.refuse = 4;
    const hints = make();
    hints.start();
    await clock.advance(120_001);
    assert.ok(v6.chains.has('mangle KUBE-IPTABLES-HINT'));
    assert.equal(log.lines.filter(({ message }) => message.startsWith('Failed to initialize')).length, 1);
    v4.refuse = undefined;
    await clock.advance(60_000);
    assert.deepEqual(tablesOf(v4), expected4);
    await hints.stop();
  });
});
