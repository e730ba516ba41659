import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bodyText, fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import type { FakeRequest } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';
import type { Fixture } from '../testing/fixtures.ts';
import { classifyFlow, dealHand } from './classify-flow.ts';
import { FairQueues } from './fair-queues.ts';
import { standardFlowConfig } from './flow-config.ts';
import { parseRequestInfo } from '../path/request-info.ts';
import { splitPath } from '../path/split-path.ts';

const maps = '/api/v1/namespaces/default/configmaps';

/** Makes the registry delay its responses until `answer`. */
function slow(each: Fixture): { answer: () => void } {
  const waiting: (() => void)[] = [];
  const list = each.registry.list.bind(each.registry);
  each.registry.list = async (...given) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return list(...given);
  };
  return { answer: () => waiting.splice(0).forEach((resolve) => resolve()) };
}

async function begin(
  each: Fixture,
  { target = maps, as = 'jane', method = 'GET' } = {},
): Promise<{
  status: () => number | undefined;
  request: FakeRequest;
  done: Promise<number>;
  text: () => string;
  header: (name: string) => unknown;
}> {
  const request = fakeRequest(method, target, {
    headers: { authorization: `Bearer ${as}` },
    body: { metadata: { name: `n${Math.trunc(each.clock.monotonicMs())}` } },
  });
  let status: number | undefined;
  let text = '';
  let header = (_name: string): unknown => undefined;
  const done = each.server.handle(request).then((reply) => {
    status = reply.status;
    text = reply.kind === 'body' ? bodyText(reply) : '';
    header = (name) => headerOfReply(reply, name);
    return reply.status;
  });
  await each.clock.settle();
  return { status: () => status, request, done, text: () => text, header: (name) => header(name) };
}

describe('requests in flight', () => {
  const limits = { priorityAndFairness: false, maxRequestsInflight: 1, maxMutatingRequestsInflight: 1 };

  it('are limited separately for reads and writes, and release their seat when their work is done', async () => {
    const each = fixture({ limits });
    const { answer } = slow(each);
    const first = await begin(each);
    const second = await begin(each);
    assert.deepEqual(
      [first.status(), second.status(), second.header('retry-after'), second.text()],
      [undefined, 429, '1', 'Too many requests, please try again later.\n'],
    );
    assert.equal((await begin(each, { method: 'POST' })).status(), 201);
    first.request.finish();
    assert.equal((await begin(each)).status(), 429, 'the work goes on');
    answer();
    await first.done;
    const unread = await begin(each);
    answer();
    assert.equal(await unread.done, 200);
    const next = await begin(each);
    answer();
    assert.equal(await next.done, 200);
  });

  it('exclude administrators, watches and logs', async () => {
    const each = fixture({ limits });
    slow(each);
    await begin(each);
    const admin = await begin(each, { as: 'root/system:masters' });
    const watch = await begin(each, { target: `${maps}?watch=1` });
    assert.deepEqual([admin.status(), watch.status()], [undefined, 200]);
  });
});

describe('the client rate limit', () => {
  it('permits bursts, then a number of requests per second, and does not affect other clients', async () => {
    const each = fixture({ limits: { clientQps: 2, clientBurst: 3 } });
    const burst = [];
    for (let index = 0; index < 4; index++) burst.push((await begin(each)).status());
    const other = (await begin(each, { as: 'john' })).status();
    await each.clock.advance(500);
    assert.deepEqual(
      [burst, other, (await begin(each)).status(), (await begin(each)).status()],
      [[200, 200, 200, 429], 200, 200, 429],
    );
  });
});

describe('priority and fairness', () => {
  it('classifies requests as upstream’s configuration does', () => {
    const schema = (name: string, groups: readonly string[], method: string, path: string): string | undefined => {
      const info = parseRequestInfo(method, splitPath(path), new URLSearchParams());
      return info === undefined
        ? undefined
        : classifyFlow(standardFlowConfig.schemas, { name, groups: [...groups, 'system:authenticated'] }, info)?.schema
            .name;
    };
    const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n';
    const account = 'system:serviceaccount:kube-system:gc';
    assert.deepEqual(
      [
        schema('root', ['system:masters'], 'GET', maps),
        schema('system:anonymous', ['system:unauthenticated'], 'GET', '/healthz'),
        schema('system:kube-scheduler', [], 'PUT', lease),
        schema('system:kube-scheduler', [], 'GET', maps),
        schema('system:node:n', ['system:nodes'], 'PATCH', '/api/v1/nodes/n/status'),
        schema('system:node:n', ['system:nodes'], 'PUT', lease),
        schema('system:node:n', ['system:nodes'], 'GET', maps),
        schema(account, ['system:serviceaccounts'], 'GET', maps),
        schema('system:serviceaccount:x:y', ['system:serviceaccounts'], 'GET', maps),
        schema('jane', [], 'GET', maps),
      ],
      [
        'exempt',
        'probes',
        'system-leader-election',
        'kube-scheduler',
        'system-node-high',
        'system-node-high',
        'system-nodes',
        'kube-system-service-accounts',
        'service-accounts',
        'global-default',
      ],
    );
  });

  it('reports schema and level in headers, the same each time', async () => {
    const first = await begin(fixture());
    const second = await begin(fixture());
    const admin = await begin(fixture(), { as: 'root/system:masters' });
    const uids = (each: { header: (name: string) => unknown }): unknown[] => [
      each.header('x-kubernetes-pf-flowschema-uid'),
      each.header('x-kubernetes-pf-prioritylevel-uid'),
    ];
    assert.match(String(uids(first)[0]), /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    assert.deepEqual([uids(first), uids(first)[0] === uids(admin)[0]], [uids(second), false]);
  });

  // There are 10 seats. global-default has 1 of its own (20 of 245 shares) and may borrow from other levels.
  const few = { maxRequestsInflight: 5, maxMutatingRequestsInflight: 5 };

  it('lets a priority level borrow idle seats, queues requests beyond that, and serves the queue when a request ends', async () => {
    const each = fixture({ limits: few });
    const { answer } = slow(each);
    const all = [];
    for (let index = 0; index < 12; index++) all.push(await begin(each));
    const admin = await begin(each, { as: 'root/system:masters', method: 'POST' });
    const waiting = await begin(each, { as: 'john' });
    assert.deepEqual([admin.status(), waiting.status()], [201, undefined]);
    answer();
    for (const one of all) one.request.finish();
    await each.clock.settle();
    answer();
    assert.equal(await waiting.done, 200);
  });

  it('rejects a request that waited a quarter of the request timeout; a cancelled request frees its place in the queue', async () => {
    const each = fixture({ limits: few });
    slow(each);
    for (let index = 0; index < 12; index++) await begin(each);
    const patient = await begin(each, { as: 'patient' });
    const gone = await begin(each, { as: 'gone' });
    gone.request.finish();
    await each.clock.advance(15_000);
    assert.deepEqual([patient.status(), gone.status()], [429, 429]);
  });

  it('rejects requests of a flow whose queues are full, without effect on other flows', async () => {
    const each = fixture({ limits: few });
    slow(each);
    const greedy = [];
    for (let index = 0; index < 400; index++) greedy.push(await begin(each, { as: 'greedy' }));
    const modest = await begin(each, { as: 'modest' });
    assert.deepEqual([greedy.at(-1)?.status(), modest.status()], [429, undefined]);
  });

  it('deals every flow a hand of different queues, the same each time', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom([128, 6], [64, 6], [16, 4]), (flow, [deck = 1, size = 1]) => {
        const hand = dealHand(flow, deck, size);
        assert.ok(new Set(hand).size === size && hand.every((card) => card >= 0 && card < deck));
        assert.deepEqual(hand, dealHand(flow, deck, size));
      }),
    );
  });

  it('serves flows in turn: one with few requests finishes before one with many', () => {
    const queues = new FairQueues({ queues: 64, handSize: 1, queueLength: 100 });
    const order: string[] = [];
    const put = (flow: string): void => void queues.add(flow, { seats: 1, start: () => order.push(flow) });
    for (let index = 0; index < 50; index++) put('many');
    for (let index = 0; index < 3; index++) put('few');
    while (queues.length > 0) queues.take()?.start();
    assert.ok(order.lastIndexOf('few') < 8, order.slice(0, 10).join(' '));
  });

  it('gives an idle flow no credit', () => {
    const queues = new FairQueues({ queues: 64, handSize: 1, queueLength: 100 });
    const order: string[] = [];
    const put = (flow: string): void => void queues.add(flow, { seats: 1, start: () => order.push(flow) });
    for (let index = 0; index < 20; index++) put('busy');
    for (let index = 0; index < 20; index++) queues.take()?.start();
    order.length = 0;
    for (let index = 0; index < 5; index++) put('busy');
    for (let index = 0; index < 5; index++) put('late');
    while (queues.length > 0) queues.take()?.start();
    assert.ok(order.indexOf('busy') < 4, order.join(' '));
  });

  it('reports its state', async () => {
    const each = fixture();
    await begin(each);
    const { status, text } = await begin(each, { target: '/metrics' });
    assert.equal(status(), 200);
    assert.match(
      text(),
      /apiserver_flowcontrol_dispatched_requests_total\{priority_level="global-default",flow_schema="global-default"\} 2/,
    );
    assert.match(text(), /apiserver_flowcontrol_nominal_limit_seats\{priority_level="workload-low"\} 245/);
  });
});
