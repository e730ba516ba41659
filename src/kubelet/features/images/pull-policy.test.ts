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

  it("refuses invalid image names in upstream's words", () => {
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

  it('takes a tag before a digest for no reason to leave the name as it is, and the policy as given', () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const resolved = resolveImage(`app:1@${digest}`);
    assert.ok(resolved.ok);
    assert.equal(resolved.image, `app:1@${digest}`);
    const policyOf = (image: string, imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never'): string => {
      const result = resolveImage(image);
      assert.ok(result.ok);
      return pullPolicyOf({ name: 'app', image, imagePullPolicy } as Parameters<typeof pullPolicyOf>[0], result.name);
    };
    for (const policy of ['Always', 'IfNotPresent', 'Never'] as const) {
      assert.equal(policyOf('app:latest', policy), policy);
      assert.equal(policyOf('app:1', policy), policy);
    }
    assert.equal(policyOf(`app:latest@${digest}`), 'IfNotPresent');
  });

  it('calls an image id by its name only if it is one', () => {
    const messageOf = (image: string): string => {
      const result = resolveImage(image);
      return result.ok ? 'ok' : result.message;
    };
    assert.match(messageOf('f'.repeat(64)), /64-byte/);
    assert.equal(messageOf('f'.repeat(63)), 'ok');
    assert.equal(messageOf(`x${'f'.repeat(64)}`), 'ok');
    assert.doesNotMatch(messageOf('A B'), /lowercase/);
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
