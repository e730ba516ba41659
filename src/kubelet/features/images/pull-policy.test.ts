import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { classifyPullFailure, decidePull, pullPolicyOf, resolveImage } from './pull-policy.ts';

describe('pull policy', () => {
  it('appends :latest to a bare name and leaves everything else as written', () => {
    const resolved = ['busybox', 'busybox:1.36', 'registry.local:5000/team/app', `app@sha256:${'a'.repeat(64)}`].map(
      (image) => {
        const result = resolveImage(image);
        return result.ok ? `${result.image} ${result.name.repository}` : result.message;
      },
    );
    assert.deepEqual(resolved, [
      'busybox:latest docker.io/library/busybox',
      'busybox:1.36 docker.io/library/busybox',
      'registry.local:5000/team/app:latest registry.local:5000/team/app',
      `app@sha256:${'a'.repeat(64)} docker.io/library/app`,
    ]);
  });

  it("refuses what is no image name in upstream's words", () => {
    const messageOf = (image: string): string => {
      const result = resolveImage(image);
      return result.ok ? 'ok' : result.message;
    };
    assert.equal(
      messageOf('MyApp:1'),
      `Failed to apply default image tag "MyApp:1": couldn't parse image name "MyApp:1": invalid reference format: repository name must be lowercase`,
    );
    assert.equal(
      messageOf('a b'),
      `Failed to apply default image tag "a b": couldn't parse image name "a b": invalid reference format`,
    );
    assert.match(messageOf('f'.repeat(64)), /cannot specify 64-byte hexadecimal strings/);
  });

  it('decides by policy and presence', () => {
    const table = (['Always', 'IfNotPresent', 'Never'] as const).map((policy) => [
      decidePull(policy, true),
      decidePull(policy, false),
    ]);
    assert.deepEqual(table, [
      ['pull', 'pull'],
      ['verify', 'pull'],
      ['verify', 'refuse'],
    ]);
  });

  it('takes Always for latest and IfNotPresent otherwise when a pod was never defaulted', () => {
    const policyOf = (image: string): string => {
      const [container] = buildPod({ 'spec.containers[0].image': image }, { defaulted: false }).spec.containers;
      const resolved = resolveImage(image);
      assert.ok(container !== undefined && resolved.ok);
      return pullPolicyOf(container, resolved.name);
    };
    assert.deepEqual(['busybox', 'busybox:latest', 'busybox:1', `busybox@sha256:${'a'.repeat(64)}`].map(policyOf), [
      'Always',
      'Always',
      'IfNotPresent',
      'IfNotPresent',
    ]);
  });

  it("reads the reason from the first word of the runtime's message", () => {
    assert.deepEqual(classifyPullFailure('x', 'RegistryUnavailable: down'), {
      reason: 'RegistryUnavailable',
      message: 'image pull failed for x because the registry is unavailable: down',
    });
    assert.deepEqual(classifyPullFailure('x', 'rpc error: code = Unknown desc = SignatureValidationFailed: bad'), {
      reason: 'SignatureValidationFailed',
      message: 'image pull failed for x because the signature validation failed: bad',
    });
    assert.deepEqual(classifyPullFailure('x', 'not found'), { reason: 'ErrImagePull', message: 'not found' });
  });
});
