import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { FlowSchema as FlowSchemaObject } from '../../../api/flowcontrol/flow-schema.ts';
import type { PriorityLevelConfiguration } from '../../../api/flowcontrol/priority-level-configuration.ts';
import type { Exchange } from '../path/exchange.ts';
import { parseRequestInfo } from '../path/request-info.ts';
import { splitPath } from '../path/split-path.ts';
import { computeFlowConfig, standardFlowConfig } from './flow-config.ts';
import type { FlowConfig } from './flow-config.ts';
import { FlowControl } from './priority-and-fairness.ts';

const level = (name: string, limited: object): PriorityLevelConfiguration => ({
  metadata: { name, namespace: '', uid: `level-${name}` },
  spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' }, ...limited } },
});
const schema = (name: string, to: string, matchingPrecedence: number): FlowSchemaObject => ({
  metadata: { name, namespace: '', uid: `schema-${name}` },
  spec: {
    priorityLevelConfiguration: { name: to },
    matchingPrecedence,
    rules: [
      {
        subjects: [{ kind: 'User', user: { name: 'me' } }],
        resourceRules: [{ verbs: ['list'], apiGroups: [''], resources: ['pods'], namespaces: ['*'] }],
      },
    ],
  },
});

describe('the flow control configuration', () => {
  it('always contains mandatory objects, and ignores a schema without its level', () => {
    const { levels, schemas } = computeFlowConfig(
      [level('mine', { nominalConcurrencyShares: 3 })],
      [schema('b', 'mine', 5), schema('a', 'mine', 5), schema('lost', 'nothing', 1)],
    );
    assert.deepEqual(levels.map(({ name, shares }) => `${name} ${shares}`).sort(), [
      'catch-all 5',
      'exempt 0',
      'mine 3',
    ]);
    assert.deepEqual(
      schemas.map(({ name }) => name),
      ['exempt', 'a', 'b', 'catch-all'],
    );
    assert.equal(standardFlowConfig.schemas.length, 11);
  });

  it('limits the number of queues', () => {
    const queuing = { queues: 10_000_000, handSize: 2, queueLengthLimit: 50 };
    const { levels } = computeFlowConfig([level('mine', { limitResponse: { type: 'Queue', queuing } })], []);
    assert.deepEqual(levels.find(({ name }) => name === 'mine')?.limit, { queues: 1024, handSize: 2, queueLength: 50 });
  });

  function exchangeOf(user: string): { exchange: Exchange; headers: Record<string, string> } {
    const url = '/api/v1/namespaces/a/pods';
    const info = parseRequestInfo('GET', splitPath(url), new URLSearchParams());
    const headers: Record<string, string> = {};
    const exchange = { user: { name: user, groups: [] }, info, headers, http: { onFinished: () => undefined } };
    return { exchange: exchange as unknown as Exchange, headers };
  }

  const one: FlowConfig = computeFlowConfig([level('mine', { nominalConcurrencyShares: 1 })], [schema('s', 'mine', 5)]);

  it('appears in response headers, and changes take effect at once', async () => {
    const flow = new FlowControl({ clock: new FakeClock(), seats: 6, maxWaitMs: 1000 });
    flow.configure(one);
    const { exchange, headers } = exchangeOf('me');
    const first = await flow.admit(exchange);
    assert.equal(first.admitted, true);
    assert.deepEqual(
      [headers['x-kubernetes-pf-flowschema-uid'], headers['x-kubernetes-pf-prioritylevel-uid']],
      ['schema-s', 'level-mine'],
    );
    assert.equal((await flow.admit(exchange)).admitted, false);
    flow.configure(computeFlowConfig([level('mine', { nominalConcurrencyShares: 50 })], [schema('s', 'mine', 5)]));
    assert.equal((await flow.admit(exchange)).admitted, true);
  });

  it('a waiting request is served although its level was deleted', async () => {
    const flow = new FlowControl({ clock: new FakeClock(), seats: 6, maxWaitMs: 1000 });
    const queuing = { queues: 1, handSize: 1, queueLengthLimit: 5 };
    const queued = level('mine', { nominalConcurrencyShares: 1, limitResponse: { type: 'Queue', queuing } });
    flow.configure(computeFlowConfig([queued], [schema('s', 'mine', 5)]));
    const { exchange } = exchangeOf('me');
    const first = await flow.admit(exchange);
    const second = flow.admit(exchange);
    flow.configure(computeFlowConfig([level('other', {})], []));
    assert.deepEqual(flow.states.map(({ name }) => name).sort(), ['catch-all', 'exempt', 'other']);
    if (first.admitted) first.release();
    assert.equal((await second).admitted, true);
  });
});
