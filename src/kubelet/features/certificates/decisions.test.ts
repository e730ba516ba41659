import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { noNames } from '../../../pki/certificate-template.ts';
import type { CertificateFacts } from '../../../pki/key-pair.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { kubeconfigAfterBootstrap, kubeconfigFault } from './bootstrap-kubeconfig.ts';
import { certificateProblem } from './certificate-problem.ts';
import { newKey } from './client-certificate.ts';
import { decideRotation } from './decide-rotation.ts';
import { makeSelfSigned } from '../../../pki/self-signed.ts';
import { decideSelfSigned } from './self-signed.ts';
import { servingNames } from './serving-certificate.ts';

const day = 86_400_000;
const nowMs = Date.UTC(2026, 0, 1);

function issued(commonName: string, notAfterMs: number): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return writeCertificate(
    {
      subject: { commonName },
      publicKey: createPublicKey(privateKey),
      notBeforeMs: nowMs - day,
      notAfterMs,
      keyUsages: [],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    { selfSignedBy: privateKey },
  );
}

describe('when a certificate is rotated', () => {
  const wanted = {
    commonName: 'system:node:n1',
    organizations: ['system:nodes'],
    dnsNames: [],
    ipAddresses: ['fd00::1'],
  };
  const facts = (lifeMs: number): CertificateFacts => ({
    ...wanted,
    ipAddresses: ['fd00::1', '192.0.2.9'],
    notBeforeMs: nowMs,
    notAfterMs: nowMs + lifeMs,
  });

  it('is never before 70 % of its life nor after 90 %, whatever its life and chance', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1000, max: 400 * day }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (lifeMs, chance) => {
          const at = (share: number) =>
            decideRotation({ current: facts(lifeMs), wanted, chance, nowMs: nowMs + lifeMs * share }).kind;
          assert.deepEqual([at(0), at(0.699), at(0.901)], ['wait', 'wait', 'rotate']);
        },
      ),
    );
  });

  it('is at once for a missing name, not for an additional one, and never while the names are unknown', () => {
    assert.equal(decideRotation({ current: facts(day), wanted, chance: 0, nowMs }).kind, 'wait');
    assert.deepEqual(
      decideRotation({ current: facts(day), wanted: { ...wanted, ipAddresses: ['fd00::2'] }, chance: 0, nowMs }),
      { kind: 'rotate', why: 'it is not valid for fd00::2' },
    );
    assert.equal(
      decideRotation({ current: facts(day), wanted: { ...wanted, commonName: 'system:node:n2' }, chance: 0, nowMs })
        .kind,
      'rotate',
    );
    assert.equal(decideRotation({ current: undefined, wanted: undefined, chance: 0, nowMs }).kind, 'wait');
  });
});

describe('the kubeconfig of a node that joins', () => {
  it('makes the bootstrap unnecessary only with client certificates none of which has expired', () => {
    const good = issued('good', nowMs + day);
    assert.equal(kubeconfigFault(good, nowMs), undefined);
    assert.match(kubeconfigFault(good + issued('old', nowMs - 1000), nowMs) ?? '', /is expired/);
    assert.equal(kubeconfigFault(undefined, nowMs), 'it has no client certificate');
    assert.equal(kubeconfigFault('rubbish', nowMs), 'it has no client certificate');
    assert.equal(kubeconfigFault(good, 0), undefined, 'a clock that is far behind condemns nothing');
  });

  it('has the cluster of the bootstrap kubeconfig, and the certificate by its path', () => {
    const written = kubeconfigAfterBootstrap(
      {
        server: 'https://192.0.2.1:6443',
        authority: { pem: 'CA' },
        insecureSkipTlsVerify: false,
        tlsServerName: 'kubernetes',
      },
      '/pki/kubelet-client-current.pem',
    );
    assert.deepEqual(written, {
      apiVersion: 'v1',
      clusters: [
        {
          cluster: {
            'certificate-authority-data': 'Q0E=',
            server: 'https://192.0.2.1:6443',
            'tls-server-name': 'kubernetes',
          },
          name: 'default-cluster',
        },
      ],
      contexts: [
        {
          context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' },
          name: 'default-context',
        },
      ],
      'current-context': 'default-context',
      kind: 'Config',
      preferences: {},
      users: [
        {
          name: 'default-auth',
          user: {
            'client-certificate': '/pki/kubelet-client-current.pem',
            'client-key': '/pki/kubelet-client-current.pem',
          },
        },
      ],
    });
  });
});

describe('a self-signed certificate', () => {
  it('is replaced when a kubelet made it and it is no longer valid; one of another issuer is left alone', async () => {
    const own = await makeSelfSigned('n1', nowMs);
    assert.deepEqual(decideSelfSigned(own, 'n1', nowMs + 100 * day), { kind: 'keep' });
    assert.equal(decideSelfSigned(own, 'n1', nowMs + 400 * day).kind, 'make');
    assert.equal(decideSelfSigned(own, 'n2', nowMs).kind, 'make');
    assert.equal(decideSelfSigned({ certificate: undefined, key: undefined }, 'n1', nowMs).kind, 'make');
    assert.equal(decideSelfSigned({ certificate: own.certificate, key: newKey() }, 'n1', nowMs).kind, 'make');
    assert.equal(
      decideSelfSigned({ certificate: issued('bought', nowMs - 1000), key: newKey() }, 'n1', nowMs).kind,
      'warn',
    );
  });
});

describe('the names of a serving certificate', () => {
  it('are every name and address of the node, in one order, and none before it has an address', () => {
    const addresses = [
      { type: 'InternalIP', address: '192.0.2.2' },
      { type: 'Hostname', address: 'n1' },
      { type: 'ExternalDNS', address: 'a.example' },
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'Hostname', address: '192.0.2.1' },
    ];
    const names = servingNames('n1', addresses);
    assert.deepEqual(
      [names?.dnsNames, names?.ipAddresses],
      [
        ['a.example', 'n1'],
        ['192.0.2.1', '192.0.2.2', 'fd00::1'],
      ],
    );
    assert.deepEqual(servingNames('n1', [...addresses].reverse()), names);
    assert.equal(servingNames('n1', [{ type: 'Hostname', address: 'n1' }]), undefined);
    const named = servingNames('n1', [{ type: 'Hostname', address: 'n1' }], { dnsOnly: true });
    assert.deepEqual([named?.dnsNames, named?.ipAddresses], [['n1'], []], 'with AllowDNSOnlyNodeCSR');
    assert.equal(servingNames('n1', [], { dnsOnly: true }), undefined);
  });
});

describe('the report on a certificate', () => {
  const facts = {
    commonName: '',
    organizations: [],
    dnsNames: [],
    ipAddresses: [],
    notBeforeMs: nowMs,
    notAfterMs: nowMs + 100 * day,
  };
  const said = (last: CertificateFacts | undefined, atMs: number, failure?: string): string | undefined =>
    certificateProblem({ what: 'certificate', last, failure, nowMs: atMs })[0]?.message;

  it('is empty while all is well, and else contains the remaining time and the reason', () => {
    assert.equal(said(facts, nowMs + 50 * day), undefined);
    assert.equal(
      said(facts, nowMs + 95 * day, 'denied'),
      'the certificate expires in 5 days and was not rotated: denied',
    );
    assert.equal(said(facts, nowMs + 103 * day, 'denied'), 'the certificate has expired 3 days ago: denied');
    assert.equal(said(undefined, nowMs, 'no server'), 'there is no certificate yet: no server');
  });
});
