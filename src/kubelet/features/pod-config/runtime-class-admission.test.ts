import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { RuntimeClass } from '../../../api/node/runtime-class.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { RuntimeClassAdmission } from './runtime-class-admission.ts';

const pod = (name: string, spec: Record<string, unknown> = {}): Pod =>
  buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    ...Object.fromEntries(Object.entries(spec).map(([key, value]) => [`spec.${key}`, value])),
  });
const classOf = (memory: string): RuntimeClass => ({
  metadata: { name: 'r', namespace: '', uid: '' },
  handler: 'h',
  overhead: { podFixed: { memory } },
});

function fixture(classes: Record<string, RuntimeClass> = {}) {
  const delivered: string[] = [];
  const setSource = (source: string, pods: readonly Pod[], report?: { complete: boolean }): void =>
    void delivered.push(
      `${source}${report?.complete === false ? ' (incomplete)' : ''}: ${pods.map((each) => `${each.metadata.name}=${each.spec.overhead?.['memory'] ?? '-'}`).join(' ')}`,
    );
  return {
    classes,
    delivered,
    admission: new RuntimeClassAdmission({ lookup: (name) => classes[name], setSource, log: silentLogger }),
  };
}

test('a pod gets the overhead of its class, at once or when the class appears', () => {
  const { admission, classes, delivered } = fixture();
  const pods = [pod('a', { runtimeClassName: 'r' }), pod('b')];
  admission.setPods('file', pods);
  classes['r'] = classOf('1Mi');
  admission.classChanged('other');
  admission.classChanged('r');
  assert.deepEqual(delivered, ['file: a=- b=-', 'file: a=1Mi b=-']);
});

test('a pod waits until its RuntimeClass can be read', () => {
  const { admission, classes, delivered } = fixture();
  const pods = [pod('a', { runtimeClassName: 'r' }), pod('b'), pod('c', { runtimeClassName: 'none' })];
  admission.setPods('file', pods, { complete: false });
  classes['r'] = classOf('1Mi');
  admission.classChanged('r');
  admission.setPods('file', pods, { complete: true });
  assert.deepEqual(delivered, ['file (incomplete): b=-', 'file (incomplete): a=1Mi b=-', 'file: a=1Mi b=- c=-']);
});

test('a pod keeps the first values of its class; its successor gets the current ones', () => {
  const { admission, classes, delivered } = fixture({ r: classOf('1Mi') });
  const first = pod('a', { runtimeClassName: 'r' });
  admission.setPods('file', [first]);
  classes['r'] = classOf('2Mi');
  admission.classChanged('r');
  admission.setPods('file', [first]);
  admission.setPods('file', [pod('b', { runtimeClassName: 'r' })]);
  assert.deepEqual(delivered, ['file: a=1Mi', 'file: a=1Mi', 'file: b=2Mi']);
});

test('a pod that contradicts its class keeps running, and the reason is reported', () => {
  const { admission, delivered } = fixture({ r: classOf('1Mi') });
  admission.setPods('http', [pod('a', { runtimeClassName: 'r', overhead: { memory: '5Mi' } })]);
  assert.deepEqual(
    [delivered, admission.refusal('a'), admission.refusal('b')],
    [['http: a=5Mi'], "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead", undefined],
  );
});
