import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { recordingLog } from '../base/testing/recording-log.ts';
import type { RecordingLog } from '../base/testing/recording-log.ts';
import { openTracer } from './open-tracer.ts';
import type { OpenTracer } from './tracer-options.ts';
import { startTraceCollector } from './testing/trace-collector.ts';
import type { TraceCollector } from './testing/trace-collector.ts';

interface Fixture {
  readonly tracer: OpenTracer;
  readonly collector: TraceCollector;
  readonly log: RecordingLog;
}

async function world(t: TestContext, samplingRatePerMillion = 1_000_000): Promise<Fixture> {
  const collector = await startTraceCollector();
  t.after(() => collector.close());
  const log = recordingLog();
  const tracer = await openTracer({
    endpoint: collector.endpoint,
    samplingRatePerMillion,
    service: 'kubelet',
    hostName: 'node-1',
    clock: systemClock,
    log,
  });
  assert.ok(tracer !== undefined);
  return { tracer, collector, log };
}

const caller = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };

describe('traces', () => {
  test('reach the collector with the name of the service and the node, parents and children joined', async (t) => {
    const { tracer, collector } = await world(t);
    let carried: Readonly<Record<string, string>> = {};
    await tracer.during({ name: 'syncPod', scope: 'pods', attributes: { 'k8s.pod.name': 'web' } }, async () => {
      const call = tracer.begin({ name: 'RunPodSandbox', scope: 'cri', kind: 'client' });
      await Promise.resolve();
      call.set({ 'rpc.response.status_code': 'OK' });
      carried = call.headers();
      call.end();
      call.end();
    });
    await tracer.close();
    const [call, pass] = collector.spans;
    assert.deepEqual(
      [call?.name, call?.kind, call?.scope, call?.attributes, call?.parentId, call?.traceId],
      ['RunPodSandbox', 3, 'cri', { 'rpc.response.status_code': 'OK' }, pass?.spanId, pass?.traceId],
    );
    assert.deepEqual(
      [pass?.name, pass?.kind, pass?.parentId, pass?.attributes, pass?.resource],
      ['syncPod', 1, '', { 'k8s.pod.name': 'web' }, { 'service.name': 'kubelet', 'host.name': 'node-1' }],
    );
    assert.equal(carried['traceparent'], `00-${call?.traceId}-${call?.spanId}-01`);
    assert.equal(collector.spans.length, 2);
  });

  test('say which span failed and why, and the failure goes on to the caller', async (t) => {
    const { tracer, collector } = await world(t);
    const failure = new Error('no such image');
    await assert.rejects(
      tracer.during({ name: 'syncPod', scope: 'pods' }, () => Promise.reject(failure)),
      failure,
    );
    await tracer.close();
    assert.deepEqual(
      collector.spans.map(({ failed, message }) => [failed, message]),
      [[true, 'no such image']],
    );
  });

  test('are as rare as samplingRatePerMillion says, unless the caller of a request is traced', async (t) => {
    const { tracer, collector } = await world(t, 0);
    tracer.begin({ name: 'own', scope: 'x' }).end();
    tracer.begin({ name: 'continued', scope: 'x', kind: 'server', incoming: caller }).end();
    tracer
      .begin({ name: 'not traced', scope: 'x', incoming: { traceparent: caller.traceparent.replace(/1$/, '0') } })
      .end();
    tracer.begin({ name: 'hostile', scope: 'x', incoming: { traceparent: `00-${'0'.repeat(9999)}` } }).end();
    tracer.begin({ name: 'public', scope: 'x', incoming: caller, isPublic: true }).end();
    await tracer.close();
    assert.deepEqual(
      collector.spans.map(({ name, traceId, parentId }) => [name, traceId, parentId]),
      [['continued', '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']],
    );
  });

  test('of requests of unknown clients are their own, and linked to those of the client', async (t) => {
    const { tracer, collector } = await world(t);
    tracer.begin({ name: 'public', scope: 'x', incoming: caller, isPublic: true }).end();
    await tracer.close();
    const [span] = collector.spans;
    assert.deepEqual([span?.parentId, span?.links, span?.traceId === caller.traceparent.slice(3, 35)], ['', 1, false]);
  });

  test('of work that goes on after its span ended are traces of their own', async (t) => {
    const { tracer, collector } = await world(t);
    const later = Promise.withResolvers<void>();
    let goesOn = Promise.resolve();
    await tracer.during({ name: 'pass', scope: 'x' }, async () => {
      goesOn = later.promise.then(() => tracer.begin({ name: 'probe', scope: 'x' }).end());
      await Promise.resolve();
    });
    later.resolve();
    await goesOn;
    await tracer.close();
    assert.deepEqual(
      collector.spans.map(({ name, parentId }) => [name, parentId]),
      [
        ['pass', ''],
        ['probe', ''],
      ],
    );
  });
});

describe('without a collector', () => {
  test('that accepts them, traces are dropped, and the log says so once', async (t) => {
    const { tracer, collector, log } = await world(t);
    collector.refuse();
    tracer.begin({ name: 'lost', scope: 'x' }).end();
    await tracer.close();
    assert.deepEqual(
      log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message),
      ['traces cannot be sent'],
    );
  });

  test('that listens, the work succeeds, and the end does not wait for it', async () => {
    const tracer = await openTracer({
      endpoint: 'unix:///nowhere/at/all.sock',
      samplingRatePerMillion: 1_000_000,
      service: 'kubelet',
      clock: systemClock,
      log: recordingLog(),
    });
    assert.equal(await tracer?.during({ name: 'x', scope: 'x' }, () => Promise.resolve(7)), 7);
    await tracer?.close();
  });

  test('at an address that Node can connect to, there is no tracer', async () => {
    const log = recordingLog();
    const options = { samplingRatePerMillion: 1, service: 'kubelet', clock: systemClock, log };
    assert.equal(await openTracer({ ...options, endpoint: 'unix-abstract://otel' }), undefined);
    assert.equal(log.lines[0]?.message, 'traces are not sent: this kind of address is not supported');
  });
});
