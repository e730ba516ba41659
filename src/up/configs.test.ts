import { hasSysResource } from '../base/capabilities.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { checkSocketPaths, deriveInstance } from './instance.ts';
import { renderKubeletConfig } from './kubelet-config.ts';
import { parseContainerdVersion, renderCniConfig, renderContainerdConfig } from './runtime-config.ts';
import { chooseSubnet, isSubnetFree } from './subnet.ts';

const instance = deriveInstance('/data/a');
const facts = {
  majorVersion: 1,
  minorVersion: 6,
  maySetOomScore: false,
  snapshotter: 'overlayfs',
  cniBinDir: '/usr/lib/cni',
  sandboxImage: 'localhost/p:1',
} as const;

test('two data folders share no name, and a bridge name fits the kernel', () => {
  const other = deriveInstance('/data/b');
  for (const key of ['id', 'bridge', 'cgroupRoot', 'networkName', 'iptablesChain', 'containerdSocket'] as const)
    assert.notEqual(instance[key], other[key]);
  assert.ok(instance.bridge.length <= 15);
});

test('a data folder that cannot work is refused before anything is created', () => {
  assert.throws(() => deriveInstance('relative'), /absolute/);
  assert.throws(() => deriveInstance('/'), /absolute/);
  assert.throws(() => checkSocketPaths(deriveInstance(`/${'x'.repeat(90)}`)), /too long/);
});

test('the subnet is chosen by the seed, and ranges with routes are skipped', () => {
  const first = chooseSubnet('00000000', [], 'br');
  assert.deepEqual(first, { cidr: '10.84.0.0/22', gateway: '10.84.0.1', prefixLength: 22 });
  assert.equal(chooseSubnet('00000001', [], 'br').cidr, '10.84.0.0/22');
  assert.equal(chooseSubnet('00000100', [], 'br').cidr, '10.84.4.0/22');
  assert.equal(
    chooseSubnet('00000000', [{ dst: 'default' }, { dst: '10.84.2.7', dev: 'x' }], 'br').cidr,
    '10.84.4.0/22',
  );
  assert.equal(
    chooseSubnet('00000000', [{ dst: '10.84.0.0/14', dev: 'x' }, { dst: 'fd00::/64' }].slice(1), 'br').cidr,
    '10.84.0.0/22',
  );
});

test('a route of our own bridge is no conflict; routes to all candidates are an error', () => {
  const route = { dst: '10.84.0.0/22', dev: 'br' };
  assert.equal(chooseSubnet('0', [route], 'br').cidr, '10.84.0.0/22');
  assert.equal(isSubnetFree(chooseSubnet('0', [], 'br'), [{ ...route, dev: 'vpn' }], 'br'), false);
  assert.equal(isSubnetFree(chooseSubnet('0', [], 'br'), [route, { dst: '10.0.0.0/16', dev: 'vpn' }], 'br'), true);
  assert.throws(() => chooseSubnet('0', [{ dst: '10.0.0.0/8', dev: 'vpn' }], 'br'), /overlaps/);
});

test("containerd's version is read from the output of upstream's and Debian's builds", () => {
  assert.deepEqual(
    parseContainerdVersion('containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3'),
    { majorVersion: 1, minorVersion: 6 },
  );
  assert.deepEqual(parseContainerdVersion('containerd containerd.io v2.1.4 75cb2b7193e4'), {
    majorVersion: 2,
    minorVersion: 1,
  });
  assert.throws(() => parseContainerdVersion('containerd x 1.5.9 y'), /too old/);
});

test('CAP_SYS_RESOURCE is bit 24 of the effective set', () => {
  assert.equal(hasSysResource('CapPrm:\tx\nCapEff:\t000001fffeffffff\n'), false);
  assert.equal(hasSysResource('CapEff:\t000001ffffffffff\n'), true);
});

test('containerd 1.x gets a version 2 file with everything below the data folder', () => {
  const text = renderContainerdConfig(instance, facts);
  assert.match(text, /^version = 2$/m);
  assert.match(text, /^restrict_oom_score_adj = true$/m);
  assert.match(
    text,
    /\[plugins\."io\.containerd\.grpc\.v1\.cri"\.containerd\.runtimes\.runc\.options\]\nSystemdCgroup = false\nRoot = "\/data\/a\/containerd\/state\/runc"/,
  );
  for (const path of text.matchAll(/= "(\/[^"]*)"/g)) assert.match(path[1] ?? '', /^(\/data\/a\/|\/usr\/lib\/cni)/);
});

test('the cgroup driver systemd reaches containerd and the agent alike', () => {
  for (const majorVersion of [1, 2])
    assert.match(
      renderContainerdConfig(instance, { ...facts, majorVersion, cgroupDriver: 'systemd' }),
      /^SystemdCgroup = true$/m,
    );
  assert.equal(
    (
      parse(
        renderKubeletConfig(instance, {
          runtimeEndpoint: 'unix:///x',
          port: 1,
          healthzPort: 2,
          cgroupDriver: 'systemd',
        }),
      ) as Record<string, unknown>
    )['cgroupDriver'],
    'systemd',
  );
  assert.equal(instance.cgroupSlice, `${instance.cgroupRoot.slice(1).replaceAll('-', '_')}.slice`);
});

test('containerd 2.x gets a version 3 file with the renamed plugins', () => {
  const text = renderContainerdConfig(instance, { ...facts, majorVersion: 2, minorVersion: 1, maySetOomScore: true });
  assert.match(text, /^version = 3$/m);
  assert.match(text, /\[plugins\.'io\.containerd\.cri\.v1\.images'\.pinned_images\]\nsandbox = "localhost\/p:1"/);
  assert.match(text, /^bin_dirs = \["\/usr\/lib\/cni"\]$/m);
  assert.match(text, /^restrict_oom_score_adj = false$/m);
  assert.match(renderContainerdConfig(instance, { ...facts, majorVersion: 2, minorVersion: 0 }), /^bin_dir = "/m);
});

test("the CNI network keeps its addresses in the data folder and has the instance's name", () => {
  const config = JSON.parse(renderCniConfig(instance, [chooseSubnet('0', [], 'br')])) as {
    name: string;
    plugins: { ipam?: { dataDir: string } }[];
  };
  assert.equal(config.name, instance.networkName);
  assert.equal(config.plugins[0]?.ipam?.dataDir, '/data/a/cni/ipam');
});

test("the agent's configuration closes the network port and collects unused images before pods are evicted", () => {
  const config = parse(
    renderKubeletConfig(instance, { runtimeEndpoint: 'unix:///x', port: 1, healthzPort: 2 }),
  ) as Record<string, unknown>;
  assert.equal(config['address'], '127.0.0.1');
  assert.deepEqual([config['imageGCHighThresholdPercent'], config['imageGCLowThresholdPercent']], [92, 90]);
  assert.equal('resolvConf' in config, false);
});
