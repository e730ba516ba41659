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

function ground(classes: Record<string, RuntimeClass> = {}) {
  const told: string[] = [];
  const setSource = (source: string, pods: readonly Pod[], report?: { complete: boolean }): void =>
    void told.push(
      `${source}${report?.complete === false ? ' (incomplete)' : ''}: ${pods.map((each) => `${each.metadata.name}=${each.spec.overhead?.['memory'] ?? '-'}`).join(' ')}`,
    );
  return {
    classes,
    told,
    admission: new RuntimeClassAdmission({ lookup: (name) => classes[name], setSource, log: silentLogger }),
  };
}

test('a pod gets its overhead with its class, at once or when the class appears', () => {
  const { admission, classes, told } = ground();
  const pods = [pod('a', { runtimeClassName: 'r' }), pod('b')];
  admission.setPods('file', pods, { complete: false });
  classes['r'] = classOf('1Mi');
  admission.classChanged('other');
  admission.classChanged('r');
  assert.deepEqual(told, ['file (incomplete): a=- b=-', 'file (incomplete): a=1Mi b=-']);
});

test('a pod keeps what its class said at first; its successor gets what it says now', () => {
  const { admission, classes, told } = ground({ r: classOf('1Mi') });
  const first = pod('a', { runtimeClassName: 'r' });
  admission.setPods('file', [first]);
  classes['r'] = classOf('2Mi');
  admission.classChanged('r');
  admission.setPods('file', [first]);
  admission.setPods('file', [pod('b', { runtimeClassName: 'r' })]);
  assert.deepEqual(told, ['file: a=1Mi', 'file: a=1Mi', 'file: b=2Mi']);
});

test('a pod that contradicts its class goes on as it is, and the reason is known', () => {
  const { admission, told } = ground({ r: classOf('1Mi') });
  admission.setPods('http', [pod('a', { runtimeClassName: 'r', overhead: { memory: '5Mi' } })]);
  assert.deepEqual(
    [told, admission.refusal('a'), admission.refusal('b')],
    [['http: a=5Mi'], "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead", undefined],
  );
});
