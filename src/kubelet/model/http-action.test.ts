import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpActionRequest, resolvePort } from './http-action.ts';

const container = { ports: [{ name: 'web', containerPort: 8080 }] };

test("a port is a number, a name of the container's, or a number in quotes", () => {
  assert.deepEqual(
    [resolvePort(81, container), resolvePort('web', container), resolvePort('82', container)],
    [81, 8080, 82],
  );
  for (const port of ['none', 0, 70_000, '0']) assert.throws(() => resolvePort(port, container), { kind: 'Invalid' });
});

test('a request goes to the pod unless the action names a host, and has a User-Agent unless the pod sets one', () => {
  assert.deepEqual(
    httpActionRequest({ port: 'web', path: '/x' }, container, { podIp: '10.0.0.1', purpose: 'lifecycle' }),
    {
      scheme: 'http',
      host: '10.0.0.1',
      port: 8080,
      path: '/x',
      headers: [
        { name: 'User-Agent', value: 'kube-lifecycle/1.36' },
        { name: 'Accept', value: '*/*' },
      ],
    },
  );
  const own = httpActionRequest(
    {
      port: 1,
      host: 'h',
      scheme: 'HTTPS',
      httpHeaders: [
        { name: 'user-agent', value: 'me' },
        { name: 'accept', value: '' },
      ],
    },
    container,
    { podIp: 'x', purpose: 'probe' },
  );
  assert.deepEqual([own.scheme, own.host, own.headers], ['https', 'h', [{ name: 'user-agent', value: 'me' }]]);
});
