import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/core/pod.ts';
import type { PodSpec } from '../../api/core/pod-spec.ts';
import type { AppArmorProfile } from '../../api/core/security-context.ts';
import { checkAppArmor, effectiveAppArmor } from './security-checks.ts';

const key = (name: string): string => `container.apparmor.security.beta.kubernetes.io/${name}`;
const podWith = (spec: Partial<PodSpec>, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u', annotations },
  spec: { containers: [{ name: 'app' }], ...spec },
});
const on = { appArmorEnabled: true };
const off = { appArmorEnabled: false };
const refused = { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };

describe('AppArmor', () => {
  const confined: AppArmorProfile = { type: 'RuntimeDefault' };
  const own = { name: 'x', securityContext: { appArmorProfile: confined } };

  test('a pod with a profile in any container is rejected by a host without AppArmor', () => {
    for (const spec of [
      { securityContext: { appArmorProfile: confined } },
      { containers: [own] },
      { initContainers: [own] },
      { ephemeralContainers: [own] },
    ]) {
      assert.deepEqual(checkAppArmor(podWith(spec), off), refused, JSON.stringify(spec));
      assert.equal(checkAppArmor(podWith(spec), on), undefined);
    }
    assert.deepEqual(checkAppArmor(podWith({}, { [key('app')]: 'runtime/default' }), off), refused);
  });

  test('a pod without a profile, or with Unconfined, runs anywhere', () => {
    assert.equal(checkAppArmor(podWith({}), off), undefined);
    assert.equal(
      checkAppArmor(
        podWith({ securityContext: { appArmorProfile: { type: 'Unconfined' } } }, { [key('app')]: 'unconfined' }),
        off,
      ),
      undefined,
    );
  });

  test('an empty profile name is rejected', () => {
    assert.equal(
      checkAppArmor(podWith({}, { [key('app')]: 'localhost/' }), on)?.message,
      'Cannot enforce AppArmor: invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:*,}"',
    );
  });

  test('the field of the container takes precedence over the annotation, and the annotation over the field of the pod', () => {
    const pod = podWith(
      {
        securityContext: { appArmorProfile: confined },
        containers: [
          { name: 'app' },
          { name: 'own', securityContext: { appArmorProfile: { type: 'Unconfined' } } },
          { name: 'bare' },
          { name: 'odd' },
        ],
      },
      { [key('app')]: 'localhost/mine', [key('own')]: 'localhost/mine', [key('odd')]: '' },
    );
    assert.deepEqual(
      pod.spec.containers.map((container) => effectiveAppArmor(pod, container)),
      [{ type: 'Localhost', localhostProfile: 'mine' }, { type: 'Unconfined' }, confined, confined],
    );
  });
});
