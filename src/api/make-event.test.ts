import assert from 'node:assert/strict';
import { it } from 'node:test';
import { makeEvent } from './make-event.ts';

const object = { kind: 'Pod', apiVersion: 'v1', namespace: 'default', name: 'web', uid: 'u' };
const said = { type: 'Normal', reason: 'Said', message: 'text' } as const;
const nameOf = (component: string, serial: number, host = ''): string | undefined =>
  makeEvent(object, said, { nowMs: 1_700_000_000_000, serial, component, host }).metadata.name;

it('events of several components about one object in one millisecond have different names', () => {
  const components = ['kubelet', 'deployment-controller', 'default-scheduler', 'persistentvolume-controller'];
  const names = components.flatMap((component) => [0, 1, 2].map((serial) => nameOf(component, serial)));
  assert.equal(new Set(names).size, names.length);
  assert.notEqual(nameOf('kubelet', 0, 'node-1'), nameOf('kubelet', 0, 'node-2'));
});

it('the name of an event begins with the object and ends with its time in hexadecimal nanoseconds', () => {
  const [object = '', nanos = ''] = nameOf('kubelet', 999_999)?.split('.') ?? [];
  assert.equal(object, 'web');
  assert.equal(BigInt(`0x${nanos}`) / 1_000_000n, 1_700_000_000_000n);
});
