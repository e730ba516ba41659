import assert from 'node:assert/strict';
import { createPublicKey, sign } from 'node:crypto';
import test from 'node:test';
import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { formatTime } from '../../../api/time.ts';
import { issue, makeAuthority, makeKey, makeRsaKey, makeStub } from '../../../pki/testing/pod-certificates.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

const HOUR_MS = 3_600_000;
const key = makeKey();
const spec = {
  signerName: 'example.com/foo',
  podName: 'p',
  podUID: 'pod-1',
  serviceAccountName: 'default',
  serviceAccountUID: 'account-1',
  nodeName: 'n1',
  nodeUID: 'node-1',
  stubPKCS10Request: makeStub(key),
};
const requests = new RulesFixture<PodCertificateRequest>('certificates.k8s.io/v1beta1', 'PodCertificateRequest', {
  spec,
});
const validity = { notBeforeMs: nowMs, notAfterMs: nowMs + 24 * HOUR_MS };
const authority = makeAuthority('ca', validity);
const leaf = issue(authority, createPublicKey(key), validity);
const condition = (type: string, status = 'True'): object => ({
  type,
  status,
  reason: 'Because',
  message: '',
  lastTransitionTime: formatTime(nowMs),
});
const issued = (changes: object = {}): object => ({
  conditions: [condition('Issued')],
  certificateChain: leaf + authority.certificate,
  notBefore: formatTime(validity.notBeforeMs),
  beginRefreshAt: formatTime(nowMs + HOUR_MS),
  notAfter: formatTime(validity.notAfterMs),
  ...changes,
});

test('a new request is for a day, and has no answer', () => {
  const { spec: created, status } = requests.created({ status: issued() });
  assert.deepEqual([created.maxExpirationSeconds, status], [86_400, {}]);
  assert.deepEqual(requests.refusals(), []);
});

test('invalid signer names, object names, UIDs and lifetimes are rejected', () => {
  for (const [path, value, why] of [
    ['spec.signerName', '', /Required value/],
    ['spec.podName', 'A B', /RFC 1123/],
    ['spec.podUID', '', /Invalid value: "": must not be empty/],
    ['spec.nodeUID', 'x'.repeat(129), /Too long: may not be more than 128 bytes/],
    ['spec.maxExpirationSeconds', 3599, /must be in the range \[3600, 7862400\]/],
    ['spec.unverifiedUserAnnotations', { plain: 'x' }, /must be a domain-prefixed key/],
    ['spec.stubPKCS10Request', 'A'.repeat(16_000), /Too long: may not be more than 10240 bytes/],
    ['spec.stubPKCS10Request', '', /exactly one of \(stubPKCS10Request\) or/],
  ] as const) {
    const [refusal = '', ...more] = requests.refusals({ [path]: value });
    assert.match(refusal, why);
    assert.ok(refusal.startsWith(path === 'spec.stubPKCS10Request' && value === '' ? 'spec: ' : `${path}: `), refusal);
    assert.deepEqual(more, []);
  }
  const ofKubernetes = { 'spec.signerName': 'kubernetes.io/x', 'spec.maxExpirationSeconds': 86_401 };
  assert.match(requests.refusals(ofKubernetes).join(), /must be in the range \[3600, 86400\]/);
});

test('a request of the old form proves that it has the key', () => {
  const legacy = (own = key, content = spec.podUID) => ({
    'spec.stubPKCS10Request': '',
    'spec.pkixPublicKey': createPublicKey(own).export({ type: 'spki', format: 'der' }).toString('base64'),
    'spec.proofOfPossession': sign('sha256', Buffer.from(content), key).toString('base64'),
  });
  assert.deepEqual(requests.refusals(legacy()), []);
  const refused = ['spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature'];
  assert.deepEqual(requests.refusals(legacy(key, 'other')), refused);
  assert.deepEqual(requests.refusals(legacy(makeKey())), refused);
  assert.match(requests.refusals(legacy(makeKey('secp256k1'))).join(), /must use curve P256, P384, or P521/);
  assert.match(requests.refusals(legacy(makeRsaKey(2048))).join(), /"2048-bit modulus": RSA keys must have modulus/);
  assert.match(
    requests.refusals({ ...legacy(), 'spec.pkixPublicKey': 'MQ==' }).join(),
    /must be a valid PKIX-serialized public key/,
  );
});

test('nothing but metadata can be changed', () => {
  assert.deepEqual(requests.updateRefusals({ 'metadata.labels': { a: 'b' } }), []);
  assert.match(requests.updateRefusals({ 'spec.podName': 'q' }).join(), /^spec: Invalid value: .*field is immutable$/);
});

test('an answer is one verdict, and stays', () => {
  assert.deepEqual(requests.statusRefusals(issued()), []);
  assert.deepEqual(requests.statusRefusals({ conditions: [condition('Denied')] }), []);
  for (const [status, why, before] of [
    [{ conditions: [condition('Issued', 'False')] }, /status: Unsupported value: "False"/],
    [{ conditions: [condition('Denied'), condition('Failed')] }, /There may be at most one condition with type/],
    [{ conditions: [condition('Other')] }, /supported values: "Issued", "Denied", "Failed"/],
    [issued({ conditions: [condition('Failed')] }), /non-condition status fields must be empty when denying/],
    [{ notBefore: formatTime(nowMs) }, /status is immutable unless transitioning to/],
    [{}, /immutable after PodCertificateRequest is issued, denied, or failed/, issued()],
  ] as const)
    assert.match(requests.statusRefusals(status, before).join(), why);
});

test('the times of an issued certificate are as it says, and leave time to renew it', () => {
  const minutes = (count: number): string => formatTime(nowMs + count * 60_000);
  const short = { notBeforeMs: nowMs, notAfterMs: nowMs + HOUR_MS - 1000 };
  const other = issue(authority, createPublicKey(key), short);
  for (const [changes, why] of [
    [{ certificateChain: 'none' }, /must contain at least one certificate/],
    [{ certificateChain: 'x'.repeat(100 * 1024 + 1) }, /Too long/],
    [{ certificateChain: '-----BEGIN X-----\nMQ==\n-----END X-----\n' }, /must consist entirely of CERTIFICATE PEM/],
    [{ certificateChain: `${leaf}-----BEGIN X-----\nMQ==\n-----END X-----\n` }, /entirely of CERTFICATE PEM blocks/],
    [
      { certificateChain: '-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n' },
      /leaf certificate does not parse/,
    ],
    [{ notAfter: undefined }, /^status\.notAfter: Required value: must be present and consistent/],
    [{ notBefore: minutes(1) }, /must be set to the NotBefore time/],
    [{ notAfter: minutes(1) }, /must be set to the NotAfter time/],
    [{ beginRefreshAt: minutes(9) }, /at least 10 minutes after status\.notBefore/],
    [{ beginRefreshAt: minutes(24 * 60 - 9) }, /at least 10 minutes before status\.notAfter/],
    [{ certificateChain: other, notAfter: formatTime(short.notAfterMs) }, /lifetime must be >= 1 hour/],
  ] as const)
    assert.match(requests.statusRefusals(issued(changes)).join(), why);
  const hour = { 'spec.maxExpirationSeconds': 3600 };
  assert.match(
    requests.statusRefusals(issued(), undefined, hour).join(),
    /must be <= spec.maxExpirationSeconds \(3600\)/,
  );
});

test('its table shows pod, node, signer and state', () => {
  const cells = { PodName: 'p', ServiceAccountName: 'default', NodeName: 'n1', SignerName: 'example.com/foo' };
  const none = { UnverifiedUserAnnotations: '<none>' };
  assert.deepEqual(requests.cells(), { ...cells, State: 'Pending', ...none });
  assert.equal(requests.cells({ status: issued() })['State'], 'Issued');
  assert.deepEqual(requests.definition.selectableFields?.(requests.given()), {
    'spec.signerName': 'example.com/foo',
    'spec.podName': 'p',
    'spec.nodeName': 'n1',
  });
});
