import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../base/errors.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { ServiceRoute } from './compute-routes.ts';
import { FlowCleaner } from './flow-cleaner.ts';
import type { FlowTable, UdpFlow } from './stale-flows.ts';
import { parseFlows, selectStaleFlows } from './stale-flows.ts';

const route = (endpoints: readonly string[], changes: Partial<ServiceRoute> = {}): ServiceRoute => ({
  name: 'kube-system/dns:53',
  protocol: 'udp',
  clusterIp: '10.96.0.10',
  port: 53,
  nodePort: 30_053,
  externalIps: [{ ip: '192.0.2.7' }],
  affinitySeconds: undefined,
  all: endpoints.map((ip) => ({ ip, port: 5353, local: false })),
  local: [],
  internalLocal: false,
  externalLocal: false,
  ...changes,
});
const flow = (to: string, from: string): UdpFlow => {
  const [[toIp = '', toPort = ''], [fromIp = '', fromPort = '']] = [to.split(' '), from.split(' ')];
  return { to: { ip: toIp, port: Number(toPort) }, from: { ip: fromIp, port: Number(fromPort) } };
};
const [OLD, NEW] = ['10.0.0.1 5353', '10.0.0.2 5353'];

describe('UDP flows', () => {
  it('are parsed from the output of conntrack, with any other fields; other lines are ignored', () => {
    const text = [
      'udp      17 29 src=10.0.0.9 dst=10.96.0.10 sport=4000 dport=53 [UNREPLIED] src=10.0.0.1 dst=10.0.0.9 sport=5353 dport=4000 mark=0 use=1',
      'udp      17 119 src=fd00::9 dst=fd00:96::a sport=4000 dport=53 src=fd00::1 dst=fd00::9 sport=5353 dport=4000 [ASSURED] mark=0 use=1',
      'udp      17 29 src=10.0.0.9 dst=10.96.0.10 sport=4000',
      'conntrack v1.4.7 (conntrack-tools): 2 flow entries have been shown.',
    ].join('\n');
    assert.deepEqual(parseFlows(text), [
      flow('10.96.0.10 53', OLD),
      { to: { ip: 'fd00:96::a', port: 53 }, from: { ip: 'fd00::1', port: 5353 } },
    ]);
  });

  it('are stale when they lead to an endpoint that is gone, by whatever address of the service', () => {
    for (const to of ['10.96.0.10 53', '192.0.2.7 53', '203.0.113.5 30053'])
      assert.deepEqual(selectStaleFlows([flow(to, OLD), flow(to, NEW)], [route(['10.0.0.2'])]), [flow(to, OLD)], to);
  });

  it('are stale when they led nowhere and there is an endpoint now, but not while there is none', () => {
    const nowhere = flow('10.96.0.10 53', '10.96.0.10 53');
    assert.deepEqual(selectStaleFlows([nowhere], [route(['10.0.0.2'])]), [nowhere]);
    assert.deepEqual(selectStaleFlows([nowhere], [route([])]), []);
  });

  it('of others are left alone: another port, TCP, the same port on another machine', () => {
    const others = [
      flow('10.96.0.10 54', OLD),
      flow('8.8.8.8 53', '8.8.8.8 53'),
      flow('8.8.8.8 30053', '8.8.8.8 30053'),
    ];
    assert.deepEqual(selectStaleFlows(others, [route(['10.0.0.2'])]), []);
    assert.deepEqual(selectStaleFlows([flow('10.96.0.10 53', OLD)], [route([], { protocol: 'tcp' })]), []);
  });

  it('of one pair of places are removed once', () => {
    const two = [flow('10.96.0.10 53', OLD), flow('10.96.0.10 53', OLD)];
    assert.equal(selectStaleFlows(two, [route(['10.0.0.2'])]).length, 1);
  });
});

class FakeFlows implements FlowTable {
  flows: readonly UdpFlow[] = [];
  lists = 0;
  failure: Error | undefined;

  list(): Promise<readonly UdpFlow[]> {
    this.lists += 1;
    return this.failure === undefined ? Promise.resolve(this.flows) : Promise.reject(this.failure);
  }

  remove(_family: string, gone: UdpFlow): Promise<void> {
    this.flows = this.flows.filter((each) => each !== gone);
    return Promise.resolve();
  }
}

describe('the cleaner of flows', () => {
  it('reads the table only when endpoints of UDP have changed', async () => {
    const table = new FakeFlows();
    const cleaner = new FlowCleaner(table, 'ipv4', recordingLog());
    table.flows = [flow('10.96.0.10 53', OLD), flow('10.96.0.10 53', NEW)];
    await cleaner.clean([route(['10.0.0.1', '10.0.0.2'])]);
    await cleaner.clean([route(['10.0.0.2', '10.0.0.1'])]);
    assert.deepEqual([table.lists, table.flows.length], [1, 2]);
    await cleaner.clean([route(['10.0.0.2'])]);
    assert.deepEqual([table.lists, table.flows], [2, [flow('10.96.0.10 53', NEW)]]);
  });

  it('tries again what failed, and gives up without the program', async () => {
    const table = new FakeFlows();
    const log = recordingLog();
    const cleaner = new FlowCleaner(table, 'ipv4', log);
    table.failure = new KubeletError('Timeout', 'too slow', {});
    await cleaner.clean([route(['10.0.0.1'])]);
    table.failure = new KubeletError('NotFound', 'conntrack is missing', {});
    await cleaner.clean([route(['10.0.0.1'])]);
    await cleaner.clean([route(['10.0.0.1'])]);
    assert.equal(table.lists, 2);
  });
});
