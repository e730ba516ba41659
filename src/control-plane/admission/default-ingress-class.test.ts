import assert from 'node:assert/strict';
import test from 'node:test';
import { ingressClasses, ingresses } from '../../api/client/resource-types.ts';
import type { Ingress } from '../../api/networking/ingress.ts';
import type { IngressClass } from '../../api/networking/ingress-class.ts';
import { createDefaultIngressClass } from './default-ingress-class.ts';
import { AdmissionFixture } from './testing/admission-fixture.ts';

const classOf = (name: string, creationTimestamp: string, isDefault: string): IngressClass => ({
  metadata: {
    name,
    namespace: '',
    uid: '',
    creationTimestamp,
    annotations: { 'ingressclass.kubernetes.io/is-default-class': isDefault },
  },
  spec: { controller: 'example.com/x' },
});

const ingress = (spec: Ingress['spec'], annotations?: Record<string, string>): Ingress => ({
  metadata: { name: 'web', namespace: 'default', uid: '', ...(annotations !== undefined && { annotations }) },
  spec,
});

test('an Ingress without a class gets the newest default class', async () => {
  const fixture = new AdmissionFixture();
  const plugin = createDefaultIngressClass(fixture.reader);
  const classAfter = async (object: Ingress): Promise<string | undefined> =>
    (await fixture.write(plugin, ingresses, { object })).object?.spec.ingressClassName;
  assert.equal(await classAfter(ingress({})), undefined);
  fixture.reader.put(
    ingressClasses,
    classOf('old', '2025-01-01T00:00:00Z', 'true'),
    classOf('b', '2026-01-01T00:00:00Z', 'true'),
    classOf('a', '2026-01-01T00:00:00Z', 'true'),
    classOf('no', '2027-01-01T00:00:00Z', 'false'),
  );
  assert.equal(await classAfter(ingress({})), 'a');
  assert.equal(await classAfter(ingress({ ingressClassName: 'old' })), 'old');
  assert.equal(await classAfter(ingress({}, { 'kubernetes.io/ingress.class': 'x' })), undefined);
});
