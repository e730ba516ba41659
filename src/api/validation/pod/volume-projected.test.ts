import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProjectedVolumeSource, VolumeProjection } from '../../core/volume-source.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { FieldErrors, formatFieldError } from '../field-error.ts';
import { hasStrayTokenPath, validateProjected } from './volume-projected.ts';

type Context = Parameters<typeof validateProjected>[3];
const context = { hadBefore: () => false, policy: permissivePolicy } as unknown as Context;

/** The errors of a projected volume `v`, without `v.sources`. */
function faults(
  sources: readonly VolumeProjection[],
  more: Partial<ProjectedVolumeSource> = {},
  of = context,
): string[] {
  const errors = new FieldErrors();
  validateProjected(errors, 'v', { sources: [...sources], ...more }, of);
  return errors.list.map((error) => formatFieldError(error).replace('v.sources', ''));
}
const duplicate = (shown: string): string => `v: Invalid value: "${shown}": conflicting duplicate paths`;
const MODE = 'must be a number between 0 and 0777 (octal), both inclusive';

describe('projected files', () => {
  const secret = (name: string, ...paths: string[]): VolumeProjection => ({
    secret: { name, items: paths.map((path) => ({ key: 'k', path })) },
  });
  const downward = (...paths: string[]): VolumeProjection => ({
    downwardAPI: { items: paths.map((path) => ({ path, fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } })) },
  });

  it('may be of several sources', () => {
    assert.deepEqual(
      faults([secret('a', 'p'), { configMap: { name: 'b' } }, downward('q')], { defaultMode: 0o777 }),
      [],
    );
    assert.deepEqual(faults([]), []);
  });

  it('have a mode', () => {
    assert.deepEqual(faults([], { defaultMode: 512 }), [`v.defaultMode: Invalid value: 512: ${MODE}`]);
    const items = [{ key: 'k', path: 'p', mode: 512 }];
    assert.deepEqual(faults([{ configMap: { name: 'a', items } }]), [
      `[0].configMap.items[0].mode: Invalid value: 512: ${MODE}`,
    ]);
  });

  it('may not be written twice', () => {
    assert.deepEqual(faults([secret('a', 'p'), secret('b', 'p')]), [duplicate('b')]);
    assert.deepEqual(faults([secret('a', 'p', 'p')]), [duplicate('a')]);
    assert.deepEqual(faults([downward('p'), downward('p')]), [duplicate('p')]);
    const bundle: VolumeProjection = { clusterTrustBundle: { name: 'b', path: 'p' } };
    assert.deepEqual(faults([downward('p'), bundle]), [duplicate('p')]);
    assert.equal(
      faults([{ clusterTrustBundle: { name: 'b', path: '' } }, { clusterTrustBundle: { name: 'b', path: '' } }]).length,
      2,
    );
  });

  it('are of one kind in each source', () => {
    const both = { secret: { name: 'a' }, configMap: { name: 'b' } };
    assert.deepEqual(faults([{ secret: { name: 'a' } }, both]), [
      '[1]: Forbidden: may not specify more than 1 volume type per source',
    ]);
  });

  it('of secrets and config maps need a name, a key and a path', () => {
    for (const kind of ['secret', 'configMap'] as const) {
      assert.deepEqual(faults([{ [kind]: { name: '' } }]), [`[0].${kind}.name: Required value`]);
      const items = [
        { key: 'k', path: 'p' },
        { key: '', path: '' },
      ];
      assert.deepEqual(faults([{ [kind]: { name: 'a', items } }]), [
        `[0].${kind}.items[1].key: Required value`,
        `[0].${kind}.items[1].path: Required value`,
      ]);
    }
  });

  it('of the downward API name a field', () => {
    assert.deepEqual(faults([{ downwardAPI: { items: [{ path: 'p' }] } }]), [
      '[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required',
    ]);
  });
});

describe('a token', () => {
  const token = (expirationSeconds: number | undefined, path = 't', of = context): string[] =>
    faults([{ serviceAccountToken: { path, ...(expirationSeconds !== undefined && { expirationSeconds }) } }], {}, of);

  it('lives from ten minutes to 2^32 seconds', () => {
    const at = '[0].serviceAccountToken.expirationSeconds: Invalid value:';
    assert.deepEqual([token(600), token(2 ** 32)], [[], []]);
    assert.deepEqual(token(599), [`${at} 599: may not specify a duration less than 10 minutes`]);
    assert.deepEqual(token(undefined), [`${at} 0: may not specify a duration less than 10 minutes`]);
    assert.deepEqual(token(2 ** 32 + 1), [`${at} 4294967297: may not specify a duration larger than 2^32 seconds`]);
  });

  it('has a path within the volume; one that an earlier version let pass may stay', () => {
    assert.deepEqual(token(600, ''), ['v.path: Required value']);
    assert.deepEqual(token(600, '/t'), ['v.path: Invalid value: "/t": must be a relative path']);
    const before = { ...context, hadBefore: (what: string) => what === 'tokenPath' } as Context;
    assert.deepEqual(token(600, '/t', before), []);
    assert.deepEqual(token(600, '', before), ['v.path: Required value']);
  });

  it('is looked for in all volumes', () => {
    const volume = (path: string): Parameters<typeof hasStrayTokenPath>[0][number] => ({
      name: 'v',
      projected: { sources: [{ secret: { name: 's' } }, { serviceAccountToken: { path } }] },
    });
    assert.equal(hasStrayTokenPath([]), false);
    assert.equal(hasStrayTokenPath([{ name: 'x', emptyDir: {} }, volume('t')]), false);
    assert.equal(hasStrayTokenPath([volume('t'), volume('../t')]), true);
  });
});

describe('a cluster trust bundle', () => {
  const bundle = (source: object): string[] =>
    faults([{ clusterTrustBundle: { path: 'p', ...source } }]).map((text) =>
      text.replace('[0].clusterTrustBundle', 'b'),
    );
  const LABEL = { matchLabels: { a: 'b' } };

  it('is named, or selected by its signer and labels', () => {
    assert.deepEqual(bundle({ name: 'a' }), []);
    assert.deepEqual(bundle({ name: 'example.com:signer:a' }), []);
    assert.deepEqual(bundle({ signerName: 'example.com/a' }), []);
    assert.deepEqual(bundle({ signerName: 'example.com/a', labelSelector: LABEL }), []);
  });

  it('is not both, and not neither', () => {
    assert.deepEqual(bundle({}), ['b: Required value: either name or signerName must be specified']);
    const [both = '', ...more] = bundle({ name: 'a', signerName: 'example.com/a' });
    assert.match(both, /^b: Invalid value: .*: only one of name and signerName may be used$/);
    assert.deepEqual(more, []);
  });

  it('has a name that is one, and no labels beside it', () => {
    assert.match(
      bundle({ name: 'A' })[0] ?? '',
      /^b\.name: Invalid value: "A": not a valid clustertrustbundlename: a lowercase RFC 1123/,
    );
    assert.match(bundle({ name: 'x:A' })[0] ?? '', /^b\.name: Invalid value: "x:A": not a valid/);
    assert.deepEqual(bundle({ name: '' })[0], 'b.name: Required value: must be a valid object name');
    assert.match(
      bundle({ name: 'a', labelSelector: LABEL })[0] ?? '',
      /^b\.labelSelector: Invalid value: .*: labelSelector must be unset if name is specified$/,
    );
  });

  it('has a signer that is one, and labels that are some', () => {
    assert.deepEqual(bundle({ signerName: '' }), [
      'b.signerName: Required value: must be a valid signer name',
      'b.signerName: Required value',
    ]);
    assert.match(
      bundle({ signerName: 'a' })[0] ?? '',
      /^b\.signerName: Invalid value: "a": must be a fully qualified domain/,
    );
    assert.match(
      bundle({ signerName: 'example.com/a', labelSelector: { matchLabels: { 'a b': 'c' } } })[0] ?? '',
      /^b\.labelSelector\.matchLabels: Invalid value/,
    );
  });

  it('has a path within the volume', () => {
    assert.deepEqual(bundle({ name: 'a', path: '' }), ['b.path: Required value']);
    assert.deepEqual(bundle({ name: 'a', path: '/p' }), ['b.path: Invalid value: "/p": must be a relative path']);
  });
});

describe('a pod certificate', () => {
  const certificate = (source: object): string[] =>
    faults([
      { podCertificate: { signerName: 'example.com/a', keyType: 'ED25519', credentialBundlePath: 'p', ...source } },
    ]).map((text) => text.replace('[0].podCertificate', 'c'));

  it('has a signer and a kind of key', () => {
    for (const keyType of ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'])
      assert.deepEqual(certificate({ keyType }), [], keyType);
    assert.deepEqual(certificate({ signerName: '' }), ['c.signerName: Required value']);
    assert.deepEqual(certificate({ keyType: 'RSA' }), [
      'c.keyType: Unsupported value: "RSA": supported values: "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"',
    ]);
    assert.deepEqual(certificate({ keyType: undefined }).length, 1);
  });

  it('lives from an hour to 91 days, or to a day where a signer of Kubernetes issues it', () => {
    const seconds = (maxExpirationSeconds: number, signerName = 'example.com/a'): string[] =>
      certificate({ maxExpirationSeconds, signerName });
    const at = 'c.maxExpirationSeconds: Invalid value:';
    assert.deepEqual([seconds(3_600), seconds(7_862_400)], [[], []]);
    assert.deepEqual(seconds(3_599), [`${at} 3599: if provided, maxExpirationSeconds must be >= 3600`]);
    assert.deepEqual(seconds(7_862_401), [`${at} 7862401: if provided, maxExpirationSeconds must be <= 7862400`]);
    assert.deepEqual(seconds(86_400, 'kubernetes.io/a'), []);
    assert.deepEqual(seconds(86_401, 'kubernetes.io/a'), [
      `${at} 86401: if provided, maxExpirationSeconds must be <= 86400`,
    ]);
  });

  it('is written to one path at least, and to each once', () => {
    const paths = (credentialBundlePath?: string, keyPath?: string, certificateChainPath?: string): string[] =>
      certificate({ credentialBundlePath, keyPath, certificateChainPath });
    assert.deepEqual(
      [paths('a'), paths(undefined, 'a'), paths(undefined, undefined, 'a'), paths('a', 'b', 'c')],
      [[], [], [], []],
    );
    assert.deepEqual(paths(''), [
      'c: Required value: specify at least one of credentialBundlePath, keyPath, and certificateChainPath',
    ]);
    assert.deepEqual(paths('a', 'a'), [duplicate('a')]);
    assert.deepEqual(paths(undefined, '/k', '../c'), [
      'c.keyPath: Invalid value: "/k": must be a relative path',
      `c.certificateChainPath: Invalid value: "../c": must not contain '..'`,
    ]);
  });

  it('takes annotations with a domain', () => {
    assert.deepEqual(certificate({ userAnnotations: { 'example.com/a': 'x' } }), []);
    assert.deepEqual(certificate({ userAnnotations: { a: 'x' } }), [
      'c.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as "acme.io/foo")',
    ]);
  });
});
