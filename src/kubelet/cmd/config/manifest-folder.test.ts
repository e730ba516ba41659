import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigFiles } from './config-file.ts';
import { loadKubeletConfig } from './config-load.ts';

const CONFIG = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

/** A machine with one folder of manifests. */
const machineWith = (manifests: string): ConfigFiles => ({
  readFile: (path) => {
    if (path === '/k.yaml') return CONFIG;
    throw new Error(`EISDIR: illegal operation on a directory, read '${path}'`);
  },
  listDir: (path) => {
    if (path === manifests) return [{ name: 'pod.yaml', isFolder: false }];
    throw new Error(`ENOENT: no such file or directory, scandir '${path}'`);
  },
});

function load(argv: readonly string[], manifests: string): { path: string; warnings: readonly string[] } {
  const result = loadKubeletConfig(argv, machineWith(manifests));
  assert.ok(result.kind === 'run', JSON.stringify(result));
  return { path: result.config.sources.staticPodPath, warnings: result.warnings };
}

test('an agent without flags runs the manifests in the folder that kubeadm makes, and says so', () => {
  const { path, warnings } = load([], '/etc/kubernetes/manifests');
  assert.equal(path, '/etc/kubernetes/manifests');
  assert.ok(warnings.some((line) => /manifests in \/etc\/kubernetes\/manifests are run/.test(line)));
});

test('without that folder there are no static pods', () => {
  assert.equal(load([], '/elsewhere').path, '');
});

test('a configuration file without staticPodPath means no static pods, as upstream has it', () => {
  assert.equal(load(['--config=/k.yaml'], '/etc/kubernetes/manifests').path, '');
});

test('a folder given by the flag counts, and an empty one turns static pods off', () => {
  assert.equal(load(['--pod-manifest-path=/mine'], '/etc/kubernetes/manifests').path, '/mine');
  assert.equal(load(['--pod-manifest-path='], '/etc/kubernetes/manifests').path, '');
});

test('--config with a folder runs its manifests, as it did until 1.8, and names the flag of today', () => {
  const { path, warnings } = load(['--config=/etc/pods', '--v=2'], '/etc/pods');
  assert.equal(path, '/etc/pods');
  assert.ok(warnings.some((line) => /Write --pod-manifest-path=\/etc\/pods/.test(line)));
});
