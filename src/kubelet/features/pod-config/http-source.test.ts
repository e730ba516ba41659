import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeNetDial, hang } from '../../ports/testing/fake-net-dial.ts';
import { HttpSource } from './http-source.ts';

const URL_ = 'http://config.test/pods';
const PERIOD_MS = 20_000;
const podText = (name: string, image = 'a'): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},"spec":{"containers":[{"name":"c","image":"${image}"}]}}`;

function bench(): {
  clock: FakeClock;
  dial: FakeNetDial;
  log: RecordingLog;
  source: HttpSource;
  emitted: string[];
  serve: (body: string, status?: number) => void;
} {
  const clock = new FakeClock();
  const dial = new FakeNetDial(clock);
  const log = recordingLog();
  const emitted: string[] = [];
  const source = new HttpSource({
    url: URL_,
    headers: [],
    periodMs: PERIOD_MS,
    rules: {
      nodeName: 'n',
      standalone: true,
      validate: (pod) => (pod.spec.containers[0]?.image === 'BAD' ? [{ field: 'spec', message: 'Invalid' }] : []),
    },
    dial,
    clock,
    random: seededRandom(1),
    log,
    setPods: (pods) =>
      emitted.push(pods.map((pod) => `${pod.metadata.name}=${pod.spec.containers[0]?.image}`).join(' ')),
  });
  return {
    clock,
    dial,
    log,
    source,
    emitted,
    serve: (body, status = 200) => dial.page(URL_, () => ({ status, body })),
  };
}

test('one pod, then a list of pods, is accepted; an unchanged body is not reported again', async () => {
  const made = bench();
  made.serve(podText('a'));
  made.source.start();
  await made.clock.advance(PERIOD_MS * 3);
  made.serve(`{"apiVersion":"v1","kind":"PodList","items":[${podText('a')},${podText('b')}]}`);
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual([made.emitted, made.dial.calls.length], [['a-n=a', 'a-n=a b-n=a'], 5]);
});

test('an unreachable server reports nothing at all, so that nothing is removed because of it', async () => {
  const made = bench();
  made.source.start();
  await made.clock.advance(PERIOD_MS * 10);
  assert.deepEqual(made.emitted, []);
  assert.deepEqual(
    made.log.lines.map((line) => line.fields['problem']),
    [`${URL_}: cannot be read: Get "${URL_}": dial tcp config.test: connect: connection refused`],
  );
});

test('failures keep the last state and are logged once, as is their end', async () => {
  const made = bench();
  made.serve(podText('a'));
  made.source.start();
  await made.clock.settle();
  made.serve('gone', 503);
  await made.clock.advance(PERIOD_MS * 5);
  assert.equal(made.source.problems()[0]?.message, 'cannot be read: HTTP status 503');
  made.serve(podText('a', 'b'));
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual([made.emitted, made.source.problems()], [['a-n=a', 'a-n=b'], []]);
  assert.deepEqual(
    made.log.lines.map((line) => line.level),
    ['error', 'info'],
  );
});

test('an invalid body is ignored completely', async () => {
  const made = bench();
  made.serve(podText('a'));
  made.source.start();
  await made.clock.settle();
  made.serve(`{"apiVersion":"v1","kind":"PodList","items":[${podText('a', 'new')},${podText('b', 'BAD')}]}`);
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual(made.emitted, ['a-n=a']);
  assert.match(made.source.problems()[0]?.message ?? '', /pod default\/b: Invalid/);
});

test('an empty answer means no pods', async () => {
  const made = bench();
  made.serve(podText('a'));
  made.source.start();
  await made.clock.settle();
  made.serve('');
  await made.clock.advance(PERIOD_MS * 2);
  made.serve(podText('a'));
  await made.clock.advance(PERIOD_MS);
  assert.deepEqual(made.emitted, ['a-n=a', '', 'a-n=a']);
});

test('a request without a response times out after ten seconds', async () => {
  const made = bench();
  made.dial.page(URL_, () => hang());
  made.source.start();
  await made.clock.advance(10_000);
  assert.match(made.source.problems()[0]?.message ?? '', /took longer than 10000 ms/);
});

test('a password in the URL is in no problem and no log line', async () => {
  const { clock, dial, log } = bench();
  const secret = 'https://me:s3cret@config.test/pods';
  const source = new HttpSource({
    url: secret,
    headers: [],
    periodMs: PERIOD_MS,
    rules: { nodeName: 'n', standalone: true, validate: () => [] },
    dial,
    clock,
    random: seededRandom(1),
    log,
    setPods: () => undefined,
  });
  source.start();
  await clock.settle();
  assert.equal(source.problems().length, 1);
  dial.page(secret, () => ({ status: 200, body: 'kind: [' }));
  await clock.advance(PERIOD_MS * 2);
  assert.ok(source.problems().length > 0);
  assert.doesNotMatch(JSON.stringify([source.problems(), log.lines]), /s3cret/);
  await source.stop();
});
