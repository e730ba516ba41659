import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Protocol } from '../../cri/generated/cri-v1.ts';
import { chooseNetwork, parseNetwork } from './network-config.ts';
import { addressesOf, pluginCall, pluginError } from './plugin-call.ts';

const list = (name: string): string => JSON.stringify({ name, cniVersion: '1.0.0', plugins: [{ type: 'bridge' }] });

describe('the network of a machine', () => {
  it('comes from the first valid file in alphabetical order', () => {
    const files = [
      { name: '20-b.conflist', text: list('b') },
      { name: '00-readme.txt', text: list('no') },
      { name: '10-a.conf', text: '{' },
    ];
    const chosen = chooseNetwork(files);
    assert.equal(chosen.kind === 'found' && chosen.network.name, 'b');
  });

  it('is missing, and the error says why', () => {
    assert.deepEqual(chooseNetwork([]), { kind: 'none', why: 'no file with the ending .conf, .conflist or .json' });
    const chosen = chooseNetwork([{ name: 'a.conf', text: '[]' }]);
    assert.deepEqual(chosen, { kind: 'none', why: 'a.conf: not a JSON object' });
  });

  it('may be one plugin without a list', () => {
    const { name, plugins } = parseNetwork(JSON.stringify({ name: 'n', type: 'bridge', mtu: 1400 }));
    assert.equal(name, 'n');
    assert.equal(plugins[0]?.config['mtu'], 1400);
  });

  for (const [what, config] of [
    ['no name', { plugins: [{ type: 'a' }] }],
    ['no plugins', { name: 'n', plugins: [] }],
    ['a plugin outside of the folder', { name: 'n', plugins: [{ type: '../../bin/sh' }] }],
    ['a plugin without a type', { name: 'n', plugins: [{}] }],
    ['a plugin that is no object', { name: 'n', plugins: ['bridge'] }],
    ['a name with a slash', { name: '../n', plugins: [{ type: 'a' }] }],
  ] as const)
    it(`is refused with ${what}`, () => assert.throws(() => parseNetwork(JSON.stringify(config)), { kind: 'Invalid' }));
});

describe('the call of a plugin', () => {
  const network = parseNetwork(
    JSON.stringify({
      name: 'n',
      cniVersion: '1.0.0',
      plugins: [{ type: 'portmap', capabilities: { portMappings: true, dns: false } }],
    }),
  );
  const [plugin] = network.plugins;
  assert.ok(plugin);
  const attachment = {
    containerId: 'box',
    netns: '/proc/5/ns/net',
    pod: { name: 'web', namespace: 'ns', uid: 'u' },
    portMappings: [
      { protocol: Protocol.UDP, containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1' },
      { protocol: Protocol.TCP, containerPort: 80, hostPort: 0, hostIp: '' },
    ],
    dns: { servers: ['10.0.0.10'], searches: [] },
  };
  const call = (previous: unknown): ReturnType<typeof pluginCall> =>
    pluginCall('ADD', { network, plugin, attachment, previous, pluginPath: '/cni' });

  it('has the environment that the specification requires', () => {
    assert.deepEqual(call(undefined).environment, {
      CNI_COMMAND: 'ADD',
      CNI_CONTAINERID: 'box',
      CNI_NETNS: '/proc/5/ns/net',
      CNI_IFNAME: 'eth0',
      CNI_PATH: '/cni',
      CNI_ARGS: 'IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_NAME=web;K8S_POD_INFRA_CONTAINER_ID=box;K8S_POD_UID=u',
    });
  });

  it('has the host ports for a plugin that supports them, and the previous result', () => {
    assert.deepEqual(JSON.parse(call({ ips: [] }).input), {
      type: 'portmap',
      name: 'n',
      cniVersion: '1.0.0',
      runtimeConfig: { portMappings: [{ hostPort: 5353, containerPort: 53, protocol: 'udp', hostIP: '127.0.0.1' }] },
      prevResult: { ips: [] },
    });
    assert.equal('prevResult' in JSON.parse(call(undefined).input), false);
  });

  it('gives addresses in every version of the specification', () => {
    assert.deepEqual(addressesOf({ ips: [{ address: '10.0.0.1/24' }, { address: 'fd00::1/64' }, {}] }), [
      '10.0.0.1',
      'fd00::1',
    ]);
    assert.deepEqual(addressesOf({ ip4: { ip: '10.0.0.1/24' } }), ['10.0.0.1']);
    for (const odd of [undefined, 'x', {}, { ips: 5 }]) assert.deepEqual(addressesOf(odd), []);
  });

  it("fails with the plugin's error message", () => {
    const output = { stdout: '', stderr: 'panic\n' };
    assert.equal(pluginError(output, { msg: 'no address', details: 'range is full' }), 'no address; range is full');
    assert.equal(pluginError(output, undefined), 'panic');
    assert.equal(pluginError({ stdout: '', stderr: '' }, undefined), 'it wrote nothing');
  });
});
