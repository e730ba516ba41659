import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { containerName, parseDockerName, sandboxName } from './docker-names.ts';
import { imageRef, parseImageName, stripImagePrefix } from './image-names.ts';

const pod = { name: 'web-0', namespace: 'default', uid: '0a1b', attempt: 2 };

describe('Docker container names', () => {
  it('are those of cri-dockerd', () => {
    assert.equal(sandboxName(pod), 'k8s_POD_web-0_default_0a1b_2');
    assert.equal(containerName({ name: 'app', attempt: 3 }, pod), 'k8s_app_web-0_default_0a1b_3');
  });

  it('can be parsed into their parts again', () => {
    const part = fc.stringMatching(/^[a-z0-9.-]{1,20}$/);
    fc.assert(
      fc.property(part, part, part, part, fc.nat(), (name, podName, namespace, uid, attempt) => {
        const written = containerName({ name, attempt }, { name: podName, namespace, uid, attempt: 0 });
        const read = parseDockerName(`/${written}`);
        if (String(attempt).length > 9) return assert.equal(read, undefined);
        assert.deepEqual(read, { container: name, attempt, pod: { name: podName, namespace, uid, attempt: 0 } });
      }),
    );
  });

  it('contain the attempt of the sandbox in the pod', () => {
    assert.equal(parseDockerName('/k8s_POD_web-0_default_0a1b_2')?.pod.attempt, 2);
  });

  it('may have a suffix: cri-dockerd adds one when a name is taken', () => {
    assert.equal(parseDockerName('/k8s_app_web-0_default_0a1b_3_5f2e')?.attempt, 3);
  });

  for (const name of ['/redis', '/k8s_app_web', '/k8s_app_web-0_default_0a1b_x', '/k9s_a_b_c_d_1', ''])
    it(`of other containers are not parsed: ${JSON.stringify(name)}`, () =>
      assert.equal(parseDockerName(name), undefined));
});

describe('names of images', () => {
  for (const [name, parts] of [
    ['nginx', { repository: 'nginx', tag: 'latest' }],
    ['host:5000/a/b', { repository: 'host:5000/a/b', tag: 'latest' }],
    ['host:5000/a/b:1.2', { repository: 'host:5000/a/b', tag: '1.2' }],
    ['a@sha256:ab', { repository: 'a', digest: 'sha256:ab' }],
    ['host:1/a:t@sha256:ab', { repository: 'host:1/a', tag: 't', digest: 'sha256:ab' }],
  ] as const)
    it(`${name} is parsed`, () => assert.deepEqual(parseImageName(name), parts));

  it("show the registry's digest, else the id", () => {
    assert.equal(imageRef('sha256:1', ['a@sha256:2', 'b@sha256:2']), 'docker-pullable://a@sha256:2');
    assert.equal(imageRef('sha256:1', []), 'docker://sha256:1');
  });

  it('lose the prefix of statuses', () => {
    assert.equal(stripImagePrefix('docker://sha256:1'), 'sha256:1');
    assert.equal(stripImagePrefix('docker-pullable://a@sha256:2'), 'a@sha256:2');
    assert.equal(stripImagePrefix('a:1'), 'a:1');
  });
});
