import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../api/core/node.ts';
import { renderCniConfig, renderSubnetFile } from './node-files.ts';
import { ownAnnotations, peerOf, rangeOf } from './overlay-node.ts';

const node = (annotations: Record<string, string>, podCIDRs = ['10.244.2.0/24', 'fd00:0:0:2::/64']): Node => ({
  metadata: { name: 'two', namespace: '', uid: 'u', annotations },
  spec: { podCIDRs },
});
const key = (name: string): string => `flannel.alpha.coreos.com/${name}`;
const flannel = {
  [key('kube-subnet-manager')]: 'true',
  [key('backend-type')]: 'vxlan',
  [key('backend-data')]: '{"VNI":1,"VtepMAC":"4A:38:2f:00:11:22"}',
  [key('public-ip')]: '192.168.0.2',
};

describe('nodes of the network', () => {
  it('nodes are read from the annotations that flannel writes', () => {
    assert.deepEqual(peerOf(node(flannel)), {
      name: 'two',
      since: '',
      backend: 'vxlan',
      ipv4: { range: '10.244.2.0/24', publicIp: '192.168.0.2', mac: '4a:38:2f:00:11:22' },
    });
    assert.equal(peerOf(node({ ...flannel, [key('kube-subnet-manager')]: 'false' })), undefined);
  });

  it('nodes that name nonsense are not reached by it', () => {
    for (const data of [
      'null',
      '{',
      '[]',
      '{"VtepMAC":"00:00:00:00:00:00"}',
      '{"VtepMAC":"01:00:5e:00:00:01"}',
      '{"VtepMAC":"02:00:00:00:00:02 nud"}',
    ])
      assert.equal(peerOf(node({ ...flannel, [key('backend-data')]: data }))?.ipv4?.mac, undefined, data);
    for (const ip of ['', '10.0.0', '192.168.0.2\nroute del default', 'fd00::1'])
      assert.equal(peerOf(node({ ...flannel, [key('public-ip')]: ip }))?.ipv4, undefined, ip);
    assert.equal(peerOf(node(flannel, ['nonsense']))?.ipv4, undefined);
    assert.equal(rangeOf(['fd00::/64', '10.244.2.9/24'], 'ipv4'), '10.244.2.0/24');
  });

  it('nodes announce themselves as flannel does, in both families', () => {
    const endpoints = {
      ipv4: { range: '10.244.2.0/24', publicIp: '192.168.0.2', mac: '02:00:00:00:00:02' },
    };
    assert.deepEqual(ownAnnotations({ backend: 'vxlan', vni: 1, endpoints }), {
      [key('kube-subnet-manager')]: 'true',
      [key('backend-type')]: 'vxlan',
      [key('backend-data')]: '{"VNI":1,"VtepMAC":"02:00:00:00:00:02"}',
      [key('public-ip')]: '192.168.0.2',
      [key('backend-v6-data')]: null,
      [key('public-ipv6')]: null,
    });
    assert.equal(ownAnnotations({ backend: 'host-gw', vni: 1, endpoints })[key('backend-data')], 'null');
  });

  it('nodes have flannel’s subnet file, and a bridge with their own range', () => {
    const facts = { networks: { ipv4: '10.244.0.0/16' }, ranges: { ipv4: '10.244.2.0/24' }, mtu: 1450 };
    assert.equal(
      renderSubnetFile(facts),
      'FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n',
    );
    const cni = JSON.parse(renderCniConfig(facts, { networkName: 'cbr0', bridge: 'cni0', dataDir: undefined })) as {
      plugins: { bridge?: string; mtu?: number; ipam?: object }[];
    };
    assert.deepEqual(cni.plugins[0]?.ipam, {
      type: 'host-local',
      ranges: [[{ subnet: '10.244.2.0/24' }]],
      routes: [{ dst: '0.0.0.0/0' }],
    });
    assert.deepEqual([cni.plugins[0]?.bridge, cni.plugins[0]?.mtu], ['cni0', 1450]);
  });
});
