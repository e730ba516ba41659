import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from '../pod-runtime/testing/builders.ts';
import { resizeMessage } from './resize-messages.ts';

const summaryOf = (...args: Parameters<typeof resizeMessage>): unknown =>
  JSON.parse(resizeMessage(...args).replace(/^Pod resize [a-z]+: /, ''));

test('the message of a resize has the resources of all containers, sorted, and the generation', () => {
  const pod = aPod({
    initContainers: [aContainer('init', { resources: { limits: { memory: '1Gi', cpu: '1' } } })],
    containers: [
      aContainer('app', { resources: { requests: { memory: '2Gi', cpu: '2' }, claims: [{ name: 'gpu' }] } }),
    ],
  });
  assert.equal(
    resizeMessage('started', pod, { generation: 7 }),
    'Pod resize started: {"initContainers":[{"name":"init","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}],' +
      '"containers":[{"name":"app","resources":{"requests":{"cpu":"2","memory":"2Gi"},"claims":[{"name":"gpu"}]}}],"generation":7}',
  );
});

test('it leaves out what is empty', () => {
  const bare = aPod({ containers: [aContainer('app', { resources: { limits: {}, requests: {}, claims: [] } })] });
  assert.deepEqual(summaryOf('completed', bare, { generation: 0, error: '' }), {
    containers: [{ name: 'app', resources: {} }],
    generation: 0,
  });
  assert.deepEqual(summaryOf('completed', aPod({ containers: [] }), { generation: 0 }), { generation: 0 });
  assert.deepEqual(summaryOf('completed', aPod(), { generation: 1 }), {
    containers: [{ name: 'app', resources: {} }],
    generation: 1,
  });
});

test('it carries the error, with the characters escaped that Go escapes', () => {
  const message = resizeMessage('error', aPod(), { generation: 1, error: 'a < b' });
  assert.match(message, /"error":"a \\u003c b"/);
});
