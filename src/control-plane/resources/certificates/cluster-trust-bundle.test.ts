import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import test from 'node:test';
import type { ClusterTrustBundle } from '../../../api/certificates/cluster-trust-bundle.ts';
import { issue, makeAuthority, makeKey } from '../../../pki/testing/pod-certificates.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

const validity = { notBeforeMs: nowMs, notAfterMs: nowMs + 3_600_000 };
const [one, two] = ['one', 'two'].map((name) => makeAuthority(name, validity).certificate);
const bundles = new RulesFixture<ClusterTrustBundle>('certificates.k8s.io/v1beta1', 'ClusterTrustBundle', {
  spec: { trustBundle: `words\n${one}${two}` },
});
const at = 'spec.trustBundle: Invalid value: "<value omitted>": ';

test('a bundle has the name of its signer in front of its own, with colons', () => {
  const signed = { 'spec.signerName': 'example.com/foo', 'metadata.name': 'example.com:foo:v1' };
  assert.deepEqual([bundles.refusals(), bundles.refusals(signed)], [[], []]);
  assert.deepEqual(bundles.refusals({ 'spec.signerName': 'example.com/foo' }), [
    'metadata.name: Invalid value: "web": ClusterTrustBundle for signerName example.com/foo must be named with prefix example.com:foo:',
  ]);
  assert.deepEqual(bundles.refusals({ 'metadata.name': 'example.com:foo:v1' }), [
    'metadata.name: Invalid value: "example.com:foo:v1": ClusterTrustBundle without signer name must not have ":" in its name',
  ]);
  assert.match(bundles.refusals({ ...signed, 'metadata.name': 'example.com:foo:V_1' }).join(), /RFC 1123 subdomain/);
  assert.match(bundles.refusals({ 'spec.signerName': 'foo' }).join(), /must be a fully qualified domain and path/);
});

test('a bundle has certificates of authorities, each once, and nothing else in PEM', () => {
  for (const [text, ...problems] of [
    ['nothing', 'at least one trust anchor must be provided'],
    [`${one}${two}${one}`, 'duplicate trust anchor (indices [0 2])'],
    ['-----BEGIN X-----\nMQ==\n-----END X-----\n', 'entry 0 has bad block type: X'],
    [`${one}-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n`, 'entry 1 does not parse as X.509'],
    [(one ?? '').replace('\n', '\na: b\n\n'), 'entry 0 has PEM block headers'],
  ] as const)
    assert.deepEqual(
      bundles.refusals({ 'spec.trustBundle': text }),
      problems.map((problem) => at + problem),
    );
  assert.deepEqual(bundles.refusals({ 'spec.trustBundle': 'x'.repeat(1024 * 1024 + 1) }), [
    'spec.trustBundle: Too long: may not be more than 1048576 bytes',
  ]);
});

test('a certificate of no authority is refused', () => {
  const leaf = issue(makeAuthority('ca', validity), createPublicKey(makeKey()), validity);
  assert.deepEqual(bundles.refusals({ 'spec.trustBundle': leaf }), [`${at}entry 0 does not have the CA bit set`]);
});

test('the signer stays, and certificates that stay are not read again', () => {
  const old = { 'spec.trustBundle': 'nothing' };
  assert.deepEqual(bundles.updateRefusals({ 'metadata.labels': { a: 'b' } }, old), []);
  assert.deepEqual(bundles.updateRefusals({ 'spec.trustBundle': 'other' }, old), [
    `${at}at least one trust anchor must be provided`,
  ]);
  const signed = { 'spec.signerName': 'example.com/foo', 'metadata.name': 'example.com:foo:v1' };
  assert.match(
    bundles.updateRefusals({ 'spec.signerName': 'example.com/bar' }, signed).join(),
    /spec\.signerName: Invalid value: "example.com\/bar": field is immutable/,
  );
});

test('its table has the signer and no age, and the signer can be selected', () => {
  assert.deepEqual(bundles.cells(), { SignerName: '<none>' });
  assert.deepEqual(bundles.definition.selectableFields?.(bundles.given()), { 'spec.signerName': '' });
  assert.equal(bundles.definition.hasNoAge, true);
});
