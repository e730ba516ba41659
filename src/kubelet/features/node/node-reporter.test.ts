import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { NodeFacts } from './compute-node.ts';
import { computeNode } from './compute-node.ts';
import type { NodeReporterSettings } from './node-reporter.ts';
import { NodeReporter } from './node-reporter.ts';
import { NodeStartup } from './node-startup.ts';
import type { NodeWatch } from './node-watch.ts';
import { createNodeWatch } from './node-watch.ts';
import { bareNode, nodeFacts, nodeIdentity } from './testing/node-builder.ts';

const key = { namespace: '', name: 'n1' };
const MINUTE_MS = 60_000;
const away = (): ApiStatusError => new ApiStatusError('ServiceUnavailable', 'away');

interface Bench {
  readonly clock: FakeClock;
  readonly api: FakeApiClient;
  readonly facts: Partial<NodeFacts>;
  readonly undetermined: boolean;
  readonly events: string[];
  readonly reported: Node[];
  readonly startup: NodeStartup;
  readonly watch: NodeWatch;
  readonly reporter: NodeReporter;
  readonly log: RecordingLog;
  node(): Node | undefined;
  ready(): string | undefined;
  /** Returns the writes of the node since the last call. */
  writes(): string[];
}

/** `hurry` is the share of their time by which timers fire early. */
function bench(settings: Partial<NodeReporterSettings> = {}, existing?: Node, hurry = 0): Bench {
  const clock = new FakeClock();
  const hasty: Clock = {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer: (delayMs, fire) => clock.setTimer(delayMs * (1 - hurry), fire),
  };
  const api = new FakeApiClient({ clock });
  if (existing !== undefined) api.seed(nodes, existing);
  const random = seededRandom(1);
  const log = recordingLog();
  const watch = createNodeWatch({ client: api, clock, random, log, nodeName: 'n1' });
  const events: string[] = [];
  const reported: Node[] = [];
  const startup = new NodeStartup(clock);
  let read = 0;
  const made: Bench = {
    clock,
    api,
    facts: {},
    undetermined: false,
    events,
    reported,
    startup,
    watch,
    log,
    reporter: new NodeReporter({
      client: api,
      watch,
      source: {
        initial: () => bareNode(),
        compute: (before) => computeNode(before, nodeIdentity(), nodeFacts({ nowMs: clock.nowMs(), ...made.facts })),
        isUndetermined: () => made.undetermined,
        resetExtended: () => Promise.resolve(true),
      },
      settings: {
        nodeName: 'n1',
        register: true,
        getOnExistsOnly: false,
        updatePeriodMs: 10_000,
        reportPeriodMs: 5 * MINUTE_MS,
        ...settings,
      },
      recorder: { nodeEvent: (_, reason) => events.push(reason) },
      startup,
      onReported: (node) => reported.push(node),
      time: { clock: hasty, random, log },
    }),
    node: () => api.peek(nodes, key),
    ready: () => api.peek(nodes, key)?.status?.conditions?.find(({ type }) => type === 'Ready')?.status,
    writes: () => {
      const all = [...api.writes];
      const fresh = all.slice(read);
      read = all.length;
      return fresh;
    },
  };
  watch.start();
  made.reporter.start();
  return made;
}

describe('a node', () => {
  it('is registered with its whole status, and updated only when something changed', async () => {
    const { clock, writes, events, facts, reporter, ready, startup } = bench();
    await clock.settle();
    assert.deepEqual([writes(), ready()], [['create nodes n1', 'patch nodes/status n1'], 'True']);
    assert.deepEqual(events, ['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID']);
    await clock.advance(2 * MINUTE_MS);
    assert.deepEqual(writes(), []);
    facts.problems = ['container runtime is down'];
    reporter.wake();
    await clock.settle();
    assert.deepEqual([writes(), ready(), events.at(-1)], [['patch nodes/status n1'], 'False', 'NodeNotReady']);
    facts.problems = [];
    reporter.wake();
    await clock.settle();
    assert.deepEqual([ready(), events.at(-1)], ['True', 'NodeReady']);
    assert.deepEqual(startup.times, {
      startedAtMs: Date.UTC(2026, 0, 1),
      firstAttemptAtMs: Date.UTC(2026, 0, 1),
      registeredAtMs: Date.UTC(2026, 0, 1),
      readyAtMs: Date.UTC(2026, 0, 1),
    });
    await reporter.stop();
  });

  it('follows changes by others, though the answer to an earlier write comes later', async () => {
    const { clock, api, events, facts, reporter } = bench();
    await clock.advance(2000);
    const patch = api.patch.bind(api);
    api.patch = (async (...given: Parameters<typeof patch>) => {
      const answered = await patch(...given);
      await new Promise<void>((resolve) => clock.setTimer(100, resolve));
      return answered;
    }) as typeof patch;
    facts.problems = ['container runtime is down'];
    reporter.wake();
    await clock.advance(50);
    api.change(nodes, key, (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    await clock.advance(5000);
    assert.equal(events.at(-1), 'NodeNotSchedulable');
    await reporter.stop();
  });

  it('is updated once a report period when nothing changes, the first time at a random moment around it', async () => {
    const { clock, writes, reporter } = bench();
    await clock.settle();
    writes();
    assert.equal(await clock.advanceUntil(() => writes().length > 0, 8 * MINUTE_MS), true);
    const firstMs = clock.monotonicMs();
    assert.ok(firstMs >= 2.5 * MINUTE_MS && firstMs <= 7.7 * MINUTE_MS);
    assert.equal(await clock.advanceUntil(() => writes().length > 0, 8 * MINUTE_MS), true);
    assert.ok(Math.abs(clock.monotonicMs() - firstMs - 5 * MINUTE_MS) < 15_000);
    await reporter.stop();
  });

  it('is registered when the API server can be reached, however long that takes, with pauses of up to 7 s', async () => {
    const { clock, api, reporter, node, log } = bench({}, undefined);
    const end = api.script((call) => (call.plural === 'nodes' ? away() : undefined));
    await clock.advance(10 * MINUTE_MS);
    const attempts = api.writes.length;
    assert.ok(attempts > (10 * MINUTE_MS) / 7500 && attempts < (10 * MINUTE_MS) / 4000, String(attempts));
    assert.equal(
      log.lines.filter(
        ({ level, message }) => level === 'error' && message === 'Unable to register node with API server',
      ).length,
      1,
    );
    end();
    assert.equal(await clock.advanceUntil(() => node() !== undefined, 8000), true);
    await reporter.stop();
  });

  it('is not created where that is not wanted, but updated when it exists', async () => {
    const { clock, api, writes, ready, reporter } = bench({ register: false });
    await clock.advance(MINUTE_MS);
    assert.deepEqual(writes(), []);
    api.seed(nodes, bareNode());
    await clock.settle();
    assert.deepEqual([writes(), ready()], [['patch nodes/status n1'], 'True']);
    await reporter.stop();
  });

  it('is created again at once when it is deleted', async () => {
    const { clock, api, node, reporter, writes, ready } = bench();
    await clock.settle();
    const { uid } = node()?.metadata ?? {};
    writes();
    api.remove(nodes, key);
    await clock.settle();
    assert.deepEqual([writes(), ready()], [['create nodes n1'], 'True']);
    assert.notEqual(node()?.metadata.uid, uid);
    assert.equal(reporter.uid, node()?.metadata.uid);
    await reporter.stop();
  });

  it('is created again also when a write reveals its deletion', async () => {
    const { clock, api, node, reporter, facts } = bench();
    await clock.settle();
    api.muteWatches();
    api.remove(nodes, key);
    facts.problems = ['x'];
    reporter.wake();
    await clock.settle();
    assert.ok(node() !== undefined);
    await reporter.stop();
  });

  it("keeps what others write, and corrects the kubelet's own fields", async () => {
    const { clock, api, node, reporter, ready, writes } = bench();
    await clock.advance(5000);
    writes();
    api.change(
      nodes,
      key,
      (found): Node => ({
        ...found,
        metadata: { ...found.metadata, labels: { ...found.metadata.labels, team: 'x' } },
        spec: { taints: [{ key: 't', effect: 'NoSchedule' }] },
        status: {
          ...found.status,
          conditions: found.status?.conditions?.map((each) => ({ ...each, status: 'Unknown' })) ?? [],
        },
      }),
    );
    await clock.settle();
    assert.deepEqual(
      [ready(), node()?.metadata.labels?.['team'], node()?.spec?.taints?.length, writes()],
      ['True', 'x', 1, ['patch nodes/status n1']],
    );
    await reporter.stop();
  });

  it('is not driven by another agent of its name', async () => {
    const { clock, api, reporter, writes } = bench();
    await clock.settle();
    writes();
    const spoil = (): void =>
      void api.change(nodes, key, (found) => ({
        ...found,
        status: { ...found.status, images: [{ names: [String(clock.monotonicMs())], sizeBytes: 1 }] },
      }));
    for (let at = 0; at < 100; at++) {
      spoil();
      await clock.advance(100);
    }
    const answers = writes().length;
    assert.ok(answers >= 5 && answers <= 12, String(answers));
    await reporter.stop();
  });

  it('gets the newest state after a conflict, from a new read', async () => {
    const { clock, api, reporter, facts, ready } = bench();
    await clock.settle();
    api.fail('patch', 'nodes', new ApiStatusError('Conflict', 'stale'), 3);
    facts.problems = ['x'];
    reporter.wake();
    await clock.settle();
    assert.equal(ready(), 'False');
    assert.deepEqual(
      api.calls.slice(-7).map(({ verb }) => verb),
      ['patch', 'get', 'patch', 'get', 'patch', 'get', 'patch'],
    );
    await reporter.stop();
  });

  it('retries five times, then again later', async () => {
    const { clock, api, reporter, facts, ready, writes } = bench();
    await clock.settle();
    writes();
    api.fail('patch', 'nodes', new ApiStatusError('InternalError', 'broken'), 7);
    facts.problems = ['x'];
    reporter.wake();
    await clock.settle();
    assert.equal(writes().length, 5);
    await clock.advance(150);
    assert.deepEqual([ready(), writes().length], ['False', 3]);
    await reporter.stop();
  });

  it('records an event of a change once, however often the update fails', async () => {
    const { clock, api, reporter, facts, events } = bench();
    await clock.settle();
    const end = api.script((call) => (call.verb === 'patch' ? away() : undefined));
    facts.problems = ['x'];
    reporter.wake();
    await clock.advance(MINUTE_MS);
    assert.deepEqual(events.filter((reason) => reason === 'NodeNotReady').length, 1);
    end();
    await reporter.stop();
  });

  it('records an event when it is cordoned', async () => {
    const { clock, api, reporter, events } = bench();
    await clock.advance(2000);
    for (const unschedulable of [true, false]) {
      api.change(nodes, key, (found) => ({ ...found, spec: { unschedulable } }));
      await clock.settle();
    }
    assert.deepEqual(events.slice(-2), ['NodeNotSchedulable', 'NodeSchedulable']);
    await reporter.stop();
  });

  it('is back within seconds after an outage of days, in which nothing accumulates', async () => {
    const { clock, api, reporter, facts, ready, log } = bench();
    await clock.settle();
    const end = api.script(() => away());
    api.endWatches(away());
    facts.problems = ['x'];
    reporter.wake();
    await clock.advance(3_600_000);
    const timers = clock.armedTimers;
    const errors = log.lines.filter(({ level }) => level === 'error').length;
    await clock.advance(6 * 3_600_000);
    assert.deepEqual([clock.armedTimers, log.lines.filter(({ level }) => level === 'error').length], [timers, errors]);
    end();
    assert.equal(await clock.advanceUntil(() => ready() === 'False', 8000), true);
    await reporter.stop();
  });

  it('is ready again as soon as the server is back, though no watch has reported yet that others marked it unreachable', async () => {
    const { clock, api, reporter, ready } = bench();
    await clock.settle();
    const end = api.script((call) => (call.verb === 'watch' || call.verb === 'list' ? away() : undefined));
    api.endWatches(away());
    await clock.advance(MINUTE_MS);
    api.change(nodes, key, (node) => ({
      ...node,
      status: {
        ...node.status,
        conditions: node.status?.conditions?.map((each) => ({ ...each, status: 'Unknown' as const })) ?? [],
      },
    }));
    reporter.retryNow();
    await clock.settle();
    assert.equal(ready(), 'True');
    end();
    await reporter.stop();
  });

  it('keeps working where timers are early', async () => {
    const { clock, api, reporter, node } = bench({}, undefined, 0.6);
    api.fail('create', 'nodes', away(), 3);
    await clock.advance(5000);
    assert.ok(node() !== undefined);
    await reporter.stop();
  });

  it('does not wait on when the API server is known to be back', async () => {
    const { clock, api, reporter, facts, ready } = bench();
    await clock.settle();
    const end = api.script(() => away());
    facts.problems = ['x'];
    reporter.wake();
    await clock.advance(MINUTE_MS);
    end();
    reporter.retryNow();
    await clock.settle();
    assert.equal(ready(), 'False');
    await reporter.stop();
  });

  it('keeps its pace when the wall clock is stepped', async () => {
    const { clock, reporter, writes, node } = bench();
    await clock.settle();
    writes();
    clock.stepWall(-50 * 365 * 86_400_000);
    await clock.advance(MINUTE_MS);
    assert.deepEqual(writes(), []);
    clock.stepWall(100 * 365 * 86_400_000);
    await clock.advance(8 * MINUTE_MS);
    assert.ok(writes().length <= 3);
    assert.match(node()?.status?.conditions?.at(-1)?.lastHeartbeatTime ?? '', /^20[78]/);
    await reporter.stop();
  });
});

describe('an agent that restarts on a ready node', () => {
  const ready = computeNode(
    { ...bareNode(), metadata: { ...bareNode().metadata, uid: 'u1' } },
    nodeIdentity(),
    nodeFacts(),
  ).node;

  it('does not report it as not ready before it can know', async () => {
    const made = bench({}, ready);
    Object.assign(made, {
      undetermined: true,
      facts: { problems: ['container runtime status check may not have completed yet'] },
    });
    await made.clock.advance(5000);
    assert.equal(made.ready(), 'True');
    assert.equal(made.events.includes('NodeNotReady'), false);
    Object.assign(made, { undetermined: false, facts: {} });
    made.reporter.wake();
    await made.clock.settle();
    assert.deepEqual([made.ready(), made.events], ['True', []]);
    await made.reporter.stop();
  });

  it('reports it as not ready when its state is unknown for half a minute, or known', async () => {
    const made = bench({}, ready);
    Object.assign(made, { undetermined: true, facts: { problems: ['unknown'] } });
    await made.clock.advance(45_000);
    assert.equal(made.ready(), 'False');
    await made.reporter.stop();
    const known = bench({}, ready);
    Object.assign(known, { facts: { problems: ['container runtime network not ready'] } });
    await known.clock.settle();
    assert.equal(known.ready(), 'False');
    await known.reporter.stop();
  });
});
