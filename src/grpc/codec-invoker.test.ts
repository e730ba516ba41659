import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { KubeletError } from '../base/errors.ts';
import { RecordingTracer } from '../base/testing/recording-tracer.ts';
import { CodecInvoker } from './codec-invoker.ts';
import type { RawCall } from './grpc-channel.ts';

const text = {
  encode: (message: unknown) => ({ finish: () => new TextEncoder().encode(String(message)) }),
  decode: (bytes: Uint8Array): unknown => new TextDecoder().decode(bytes),
  fromPartial: (message: unknown) => message,
};
const method = { name: 'Version', requestType: text, responseType: text, responseStream: false };
const PATH = '/runtime.v1.RuntimeService/Version';

test('a call is a span with upstream name and attributes, a child of the work it is made in, carried to the server', async () => {
  const calls: RawCall[] = [];
  const channel = {
    unary: (call: RawCall) => {
      calls.push(call);
      return calls.length === 1
        ? Promise.resolve(call.request)
        : Promise.reject(new KubeletError('Timeout', 'context deadline exceeded'));
    },
    async *stream(call: RawCall) {
      calls.push(call);
      await Promise.resolve();
      yield call.request;
    },
  };
  const tracer = new RecordingTracer();
  const invoker = new CodecInvoker(channel, { clock: new FakeClock(), timeoutMs: () => 1000, tracer });
  await tracer.during({ name: 'syncPod', scope: 'x' }, () => invoker.unary(PATH, method, {}, {}));
  await assert.rejects(invoker.unary(PATH, method, {}, {}));
  for await (const message of invoker.stream(PATH, method, {}, {})) assert.ok(message);
  const name = 'runtime.v1.RuntimeService/Version';
  const facts = { 'rpc.method': name, 'rpc.system.name': 'grpc' };
  assert.deepEqual(
    tracer.spans
      .slice(1)
      .map(({ name: of, parent, kind, attributes, error, ended }) => [of, parent, kind, attributes, error, ended]),
    [
      [name, 'syncPod', 'client', { ...facts, 'rpc.response.status_code': 'OK' }, undefined, true],
      [
        name,
        undefined,
        'client',
        { ...facts, 'rpc.response.status_code': 'DeadlineExceeded' },
        'context deadline exceeded',
        true,
      ],
      [name, undefined, 'client', { ...facts, 'rpc.response.status_code': 'OK' }, undefined, true],
    ],
  );
  assert.deepEqual(
    calls.map(({ metadata }) => metadata),
    calls.map(() => ({ traceparent: name })),
  );
});
