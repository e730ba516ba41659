import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readDockerFlags } from './docker-flags.ts';

const read = (given: Readonly<Record<string, string>>): ReturnType<typeof readDockerFlags> =>
  readDockerFlags({ values: new Map(Object.entries(given)) });

describe('the flags of Docker', () => {
  it('are off unless asked for', () => {
    assert.deepEqual(read({}), { docker: undefined, errors: [] });
    assert.deepEqual(read({ 'container-runtime': 'remote' }), { docker: undefined, errors: [] });
  });

  it('are those that the documents start the kubelet with', () => {
    const { docker, errors } = read({
      'container-runtime': 'docker',
      'docker-endpoint': 'unix:///run/docker.sock',
      'network-plugin': 'cni',
      'cni-conf-dir': '/etc/cni/net.d',
      'cni-bin-dir': '/opt/cni/bin',
      'pod-infra-container-image': 'pause:1',
    });
    assert.deepEqual(errors, []);
    assert.deepEqual(docker, {
      dockerEndpoint: 'unix:///run/docker.sock',
      pauseImage: 'pause:1',
      cniConfigFolder: '/etc/cni/net.d',
      cniPluginFolders: ['/opt/cni/bin'],
    });
  });

  for (const [given, flag, words] of [
    [{ 'container-runtime': 'rkt' }, 'container-runtime', /rkt was discontinued/],
    [{ 'container-runtime': 'podman' }, 'container-runtime', /accepted are "remote".*"docker"/],
    [{ 'cni-bin-dir': '/opt/cni/bin' }, 'cni-bin-dir', /needs --container-runtime=docker/],
    [
      { 'container-runtime': 'docker', 'network-plugin': 'kubenet' },
      'network-plugin',
      /bridge, host-local and portmap/,
    ],
    [{ 'container-runtime': 'docker', 'docker-endpoint': 'tcp://a:2375' }, 'docker-endpoint', /unix socket/],
    [{ 'container-runtime': 'docker', 'cni-bin-dir': '/a,b' }, 'cni-bin-dir', /"b" must be an absolute path/],
    [{ 'container-runtime': 'docker', 'pod-infra-container-image': '' }, 'pod-infra-container-image', /needs an image/],
  ] as const)
    it(`explain ${JSON.stringify(given)}`, () => {
      const [error, ...more] = read(given).errors;
      assert.deepEqual(more, []);
      assert.equal(error?.flag, flag);
      assert.match(error?.message ?? '', words);
    });
});
