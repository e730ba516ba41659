import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { goJson } from '../../api/go-json.ts';
import {
  compareRevisions,
  hashRevision,
  isRevisionOf,
  nextRevision,
  revisionName,
  templatePatch,
} from './template-revision.ts';

const template = {
  metadata: { labels: { zone: 'a', app: 'web' } },
  spec: {
    restartPolicy: 'Always' as const,
    initContainers: [{ name: 'setup', image: 'busybox:1', resources: { limits: { cpu: '1' } } }],
    containers: [{ name: 'main', image: 'nginx', command: ['sh', '-c', 'a && b <c'] }],
    volumes: [{ name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { accessModes: [] } } } }],
  },
};

it('holds a template in the bytes of upstream: keys in order, empty structures, Go’s escapes', () => {
  assert.equal(
    goJson(templatePatch(template)),
    '{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"app":"web","zone":"a"}},"spec":{' +
      '"containers":[{"command":["sh","-c","a \\u0026\\u0026 b \\u003cc"],"image":"nginx","name":"main","resources":{}}],' +
      '"initContainers":[{"image":"busybox:1","name":"setup","resources":{"limits":{"cpu":"1"}}}],' +
      '"restartPolicy":"Always",' +
      '"volumes":[{"ephemeral":{"volumeClaimTemplate":{"metadata":{},"spec":{"accessModes":[],"resources":{}}}},"name":"scratch"}]' +
      '}}}}',
  );
});

it('hashes as upstream does: FNV-1 over the bytes and the count of collisions, in safe letters', () => {
  // Written again with big numbers, which need no care for the sign.
  const fnv1 = (text: string): number =>
    [...Buffer.from(text)].reduce(
      (hash, byte) => Number((BigInt(hash) * 0x01000193n) & 0xffffffffn) ^ byte,
      0x811c9dc5,
    ) >>> 0;
  const letters = (value: number): string =>
    [...String(value)].map((digit) => 'bcdfghjklmnpqrstvwxz2456789'[digit.charCodeAt(0) % 27]).join('');
  assert.equal(hashRevision({}, 0), letters(fnv1('{}0')));
  assert.equal(hashRevision({ a: 'ü<' }, 12), letters(fnv1('{"a":"ü\\u003c"}12')));
  assert.notEqual(hashRevision({}, 0), hashRevision({}, 1));
  assert.equal(revisionName('x'.repeat(300), 'h'), `${'x'.repeat(223)}-h`);
});

it('recognises its own data, also as earlier versions wrote it, and no other', () => {
  const revision = (data: unknown): Parameters<typeof isRevisionOf>[1] => ({
    metadata: { name: 'a', namespace: 'b', uid: 'c' },
    data,
    revision: 1,
  });
  assert.ok(isRevisionOf(template, revision(JSON.parse(JSON.stringify(templatePatch(template))))));
  assert.ok(isRevisionOf(template, revision({ spec: { template: { ...template, $patch: 'replace' } } })));
  assert.ok(!isRevisionOf(template, revision({ spec: { template: { ...template, spec: buildPod().spec } } })));
});

it('orders and counts revisions exactly, also beyond what a number holds', () => {
  const great = [3546343826724305833n, 7, 3546343826724305832n].map((revision) => ({ revision }));
  assert.deepEqual(
    great.toSorted(compareRevisions).map(({ revision }) => revision),
    [7, 3546343826724305832n, 3546343826724305833n],
  );
  assert.deepEqual(
    [nextRevision([]), nextRevision([{ revision: 7 }]), nextRevision(great), nextRevision([{ revision: 2 ** 53 - 1 }])],
    [1, 8, 3546343826724305834n, 9007199254740992n],
  );
  assert.equal(nextRevision([{ revision: 9223372036854775807n }]), 9223372036854775807n);
});
