import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import test from 'node:test';
import type { ClusterTrustBundle } from '../../api/certificates/cluster-trust-bundle.ts';
import type { PodCertificateRequest } from '../../api/certificates/pod-certificate-request.ts';
import { clusterTrustBundles, podCertificateRequests } from '../../api/client/resource-types.ts';
import { formatTime } from '../../api/time.ts';
import { issue, makeAuthority, makeKey, makeStub } from '../../pki/testing/pod-certificates.ts';
import type { Authorizer } from '../model/user-info.ts';
import { createClusterTrustBundleAttest, createPodCertificateContents } from './pod-certificates.ts';
import { AdmissionFixture } from './testing/admission-fixture.ts';

const allowing = (...rights: string[]): Authorizer => ({
  name: 'fake',
  authorize: ({ verb, resource, apiGroup, name }) => ({
    decision: rights.includes(`${verb} ${resource}.${apiGroup} ${name}`) ? 'allow' : 'noOpinion',
    reason: '',
  }),
});
const cluster = new AdmissionFixture();

test('writing a trust bundle of a signer requires the right to attest for it', async () => {
  const bundle = (trustBundle: string, signerName = 'example.com/foo', metadata = {}): ClusterTrustBundle => ({
    metadata: { name: 'example.com:foo:a', namespace: '', uid: '', ...metadata },
    spec: { signerName, trustBundle },
  });
  const write = async (authorizer: Authorizer, object: ClusterTrustBundle, old?: ClusterTrustBundle): Promise<string> =>
    (
      await cluster.write(createClusterTrustBundleAttest(authorizer), clusterTrustBundles, {
        object,
        ...(old !== undefined && { old }),
      })
    ).refusal;
  const refused =
    'clustertrustbundles.certificates.k8s.io "example.com:foo:a" is forbidden: user not permitted to attest for signerName "example.com/foo"';
  assert.equal(await write(allowing(), bundle('x')), refused);
  assert.equal(await write(allowing('sign signers.certificates.k8s.io example.com/foo'), bundle('x')), refused);
  assert.equal(await write(allowing('attest signers.certificates.k8s.io example.com/foo'), bundle('x')), '');
  assert.equal(await write(allowing('attest signers.certificates.k8s.io example.com/*'), bundle('x')), '');
  assert.equal(await write(allowing(), bundle('x', '')), '');
  assert.equal(await write(allowing(), bundle('y'), bundle('x')), refused);
  assert.equal(await write(allowing(), bundle('x', undefined, { finalizers: ['a/b'] }), bundle('x')), '');
});

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const [key, otherKey] = [makeKey(), makeKey()];
const validity = { notBeforeMs: nowMs, notAfterMs: nowMs + 3_600_000 };
const authority = makeAuthority('ca', validity);
const plugin = (authorizer: Authorizer, atMs = nowMs) =>
  createPodCertificateContents({
    authorizer,
    readStubKey: (der) => {
      if (der.length < 9) throw new Error('too short');
      // The reader has its own tests. Here only the key that it finds matters.
      return createPublicKey(Buffer.compare(Buffer.from(makeStubOnce), der) === 0 ? key : weak);
    },
    nowMs: () => atMs,
  });
const makeStubOnce = Buffer.from(makeStub(key), 'base64');
const weak = makeKey('secp256k1');
const request = (stub = makeStubOnce.toString('base64'), status = {}): PodCertificateRequest => ({
  metadata: { name: 'r', namespace: 'default', uid: '' },
  spec: {
    signerName: 'example.com/foo',
    podName: 'p',
    podUID: 'u',
    serviceAccountName: 'default',
    serviceAccountUID: 'u',
    nodeName: 'n',
    nodeUID: 'u',
    stubPKCS10Request: stub,
  },
  status,
});
const invalid = 'PodCertificateRequest.certificates.k8s.io "r" is invalid: ';

test('a request must be signed by its own key, of a kind that pods may have', async () => {
  const create = async (object: PodCertificateRequest): Promise<string> =>
    (await cluster.write(plugin(allowing()), podCertificateRequests, { object })).refusal;
  assert.equal(await create(request()), '');
  assert.equal(
    await create(request('MQ==')),
    `${invalid}spec.stubPKCS10Request: Invalid value: must be a valid PKCS#10 CSR: too short`,
  );
  assert.equal(
    await create(request(makeStub(weak))),
    `${invalid}spec.stubPKCS10Request: Invalid value: "curve secp256k1": elliptic public keys must use curve P256, P384, or P521`,
  );
});

test('only a user with the right to sign for the signer may answer, with a certificate for the requested key that is valid from now', async () => {
  const condition = { type: 'Issued', status: 'True', reason: 'x', message: '', lastTransitionTime: formatTime(nowMs) };
  const answer = (own = key): object => ({
    conditions: [condition],
    certificateChain: issue(authority, createPublicKey(own), validity),
    notBefore: formatTime(nowMs),
  });
  const signer = allowing('sign signers.certificates.k8s.io example.com/foo');
  const write = async (authorizer: Authorizer, status: object, atMs = nowMs): Promise<string> =>
    (
      await cluster.write(plugin(authorizer, atMs), podCertificateRequests, {
        object: request(undefined, status),
        old: request(),
        subresource: 'status',
      })
    ).refusal;
  assert.equal(await write(signer, answer()), '');
  assert.equal(await write(allowing(), {}), '');
  assert.equal(
    await write(allowing(), answer()),
    `${invalid}spec.signerName: Forbidden: User "jane" is not permitted to "sign" for signer "example.com/foo"`,
  );
  assert.match(await write(signer, answer(otherKey)), /leaf certificate was not issued to the requested public key$/);
  assert.deepEqual(
    [await write(signer, answer(), nowMs + 299_999), await write(signer, answer(), nowMs - 299_999)],
    ['', ''],
  );
  assert.match(await write(signer, answer(), nowMs - 300_000), /must be set to within 5 minutes of kube-apiserver/);
  assert.match(await write(signer, answer(), nowMs + 300_001), /must be set to within 5 minutes of kube-apiserver/);
});

test('each of the plugins judges only the writes that it is for', () => {
  const bundle = { metadata: { name: 'b', namespace: '', uid: '' }, spec: { trustBundle: '' } } as ClusterTrustBundle;
  const attest = createClusterTrustBundleAttest(allowing());
  const contents = plugin(allowing());
  const bundles = (write: object): boolean => attest.handles(cluster.attributes(clusterTrustBundles, write));
  const requests = (write: object): boolean => contents.handles(cluster.attributes(podCertificateRequests, write));
  assert.deepEqual(
    [
      bundles({ object: bundle }),
      bundles({ object: bundle, old: bundle }),
      bundles({ old: bundle }),
      attest.handles(cluster.attributes(podCertificateRequests, { object: request() })),
      requests({ object: request() }),
      requests({ object: request(), old: request(), subresource: 'status' }),
      requests({ object: request(), old: request() }),
      requests({ object: request(), subresource: 'status' }),
      requests({ old: request() }),
    ],
    [true, true, false, false, true, true, false, false, false],
  );
});
