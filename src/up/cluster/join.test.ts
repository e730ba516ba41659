import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import type { Secret } from '../../api/core/secret.ts';
import { deriveInstance } from '../instance.ts';
import type { WantedObject } from './cluster-objects.ts';
import { authorityOf } from './discover-cluster.ts';
import type { JoinFacts, JoinFiles } from './join-facts.ts';
import { joinObjects, readJoinSecret } from './join-facts.ts';
import { checkOwnAddress, machineNetworkArguments, overlayNumber } from './machine-network.ts';
import { firewallLines } from './offer-join.ts';

const facts: JoinFacts = {
  podRange: '10.112.0.0/16',
  serviceRange: '10.96.0.0/16',
  clusterDns: ['10.96.0.10'],
  overlayNumber: 7,
  registry: '192.0.2.1:5000',
  serviceRouting: true,
  networkPolicy: false,
  storage: true,
};
const files: JoinFiles = {
  'node-network.conf': 'n',
  'node-storage.conf': 's',
  'registry-ca.crt': 'a',
  'registry-client.cert': 'c',
  'registry-client.key': 'k',
};
const secretOf = ([first]: readonly WantedObject[]): Secret => first?.object as Secret;

describe('the facts for a joining machine', () => {
  it('are what the cluster wrote', () => {
    assert.deepEqual(readJoinSecret(secretOf(joinObjects(facts, files))), { facts, files });
  });

  it('can be read by joining machines and by nodes, and only by name', () => {
    const [, role, binding] = joinObjects(facts, files).map(
      ({ object }) => object as unknown as Record<string, unknown>,
    );
    assert.deepEqual(role?.['rules'], [
      { apiGroups: [''], resources: ['secrets'], resourceNames: ['kubelet-ts-join'], verbs: ['get'] },
    ]);
    assert.deepEqual(
      (binding?.['subjects'] as { name: string }[]).map(({ name }) => name),
      ['system:bootstrappers:kubeadm:default-node-token', 'system:nodes'],
    );
  });

  it('are rejected when a file is missing or a fact has the wrong form', () => {
    const { data = {} } = secretOf(joinObjects(facts, files));
    const { 'registry-ca.crt': _, ...rest } = data;
    assert.throws(() => readJoinSecret({ data: rest }), /has no registry-ca.crt/);
    for (const wrong of [{ ...facts, registry: 'x; rm' }, { ...facts, clusterDns: 'x' }, {}]) {
      const text = Buffer.from(JSON.stringify(wrong)).toString('base64');
      assert.throws(() => readJoinSecret({ data: { ...data, 'facts.json': text } }), /another version/);
    }
  });
});

describe('the authority that a cluster publishes', () => {
  it('is undefined for anything that is not a cluster-info', () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const info = (data: unknown): string =>
      JSON.stringify({
        data: { kubeconfig: JSON.stringify({ clusters: [{ cluster: { 'certificate-authority-data': data } }] }) },
      });
    for (const body of ['', 'null', '{}', '[]', info(7), info('%%'), info(Buffer.from(pem).toString('base64'))])
      assert.equal(authorityOf(body), undefined, body.slice(0, 60));
  });
});

describe('the network of a machine', () => {
  const instance = deriveInstance('/var/lib/kubelet-ts');

  it('has names that the kernel accepts, different for each cluster', () => {
    assert.ok(`flannel.${overlayNumber({ ...instance, id: 'ffffffff' })}`.length <= 15);
    assert.ok(overlayNumber({ ...instance, id: '00000000' }) >= 1);
    assert.ok(machineNetworkArguments(instance, 7).includes(`--overlay-chain-prefix=KTO-${instance.id}`));
  });

  it("is reached at an address of the machine; the error lists the machine's addresses", () => {
    const own = { internal: false, netmask: '', mac: '', cidr: null, family: 'IPv4' as const };
    const interfaces = {
      eth0: [{ ...own, address: '192.0.2.1' }],
      lo: [{ ...own, address: '127.0.0.1', internal: true }],
    };
    assert.doesNotThrow(() => checkOwnAddress('192.0.2.1', interfaces));
    for (const other of ['192.0.2.2', '127.0.0.1'])
      assert.throws(() => checkOwnAddress(other, interfaces), /It has 192\.0\.2\.1$/);
  });

  it('uses ports that a firewall must allow', () => {
    const lines = firewallLines({ addresses: ['192.0.2.1'], apiPort: 6443, registryPort: 5000, dnsPort: 10_053 }).join(
      '\n',
    );
    for (const port of ['6443/tcp', '5000/tcp', '10053/udp', '8472/udp', '10250/tcp']) assert.ok(lines.includes(port));
  });
});
