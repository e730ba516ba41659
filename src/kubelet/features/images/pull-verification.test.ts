import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccessProof, PulledRecord, PulledWith, PulledWithSecret } from './pull-verification.ts';
import { mergeRecord, needsVerification, proveAccess } from './pull-verification.ts';

const secret = (name: string, credentialHash: string, more: Partial<PulledWithSecret> = {}): PulledWithSecret => ({
  uid: `uid-${name}`,
  namespace: 'default',
  name,
  credentialHash,
  ...more,
});
const withSecrets = (...secrets: PulledWithSecret[]): PulledWith => ({ nodePodsAccessible: false, secrets });
const proves = (pulledWith: PulledWith | undefined, secrets: readonly PulledWithSecret[]): AccessProof =>
  proveAccess(pulledWith, { secrets, accounts: [] });
const open: PulledWith = { nodePodsAccessible: true, secrets: [] };

describe('a proof that a pod may use an image', () => {
  const known = secret('a', 'h1');

  it('a pull record does not exist for an image that was never pulled by this name', () => {
    assert.deepEqual(proves(undefined, [known]), { kind: 'denied' });
  });

  it('a pull record is not needed where all pods of the node may use it', () => {
    assert.deepEqual(proves(open, []), { kind: 'granted' });
  });

  it('a pull record is the same secret, which changes nothing in the record', () => {
    assert.deepEqual(proves(withSecrets(known), [known]), { kind: 'granted' });
  });

  it('a pull record is the same content elsewhere or the same secret with new content, and both are recorded', () => {
    for (const mine of [secret('b', 'h1'), secret('a', 'h2')])
      assert.deepEqual(proves(withSecrets(known), [mine]), { kind: 'granted', learned: mine });
  });

  it('a pull record is no secret that differs in content and in any part of its place', () => {
    for (const more of [{ uid: 'other' }, { namespace: 'other' }, { name: 'other' }])
      assert.deepEqual(proves(withSecrets(known), [secret('a', 'h2', more)]), { kind: 'denied' });
  });

  it('is not that two contents are unknown', () => {
    assert.deepEqual(proves(withSecrets(secret('a', '')), [secret('b', '')]), { kind: 'denied' });
  });

  it('a pull record by name alone ends when a record has a hundred secrets: it could not be recorded', () => {
    const many = Array.from({ length: 100 }, (_, index) => secret(`s${index}`, `h${index}`));
    const renewed = secret('s7', 'new');
    assert.deepEqual(proves(withSecrets(...many), [renewed]), { kind: 'denied' });
    assert.equal(proves(withSecrets(...many.slice(0, 99)), [renewed]).kind, 'granted');
    assert.deepEqual(proves(withSecrets(...many), [secret('x', 'h7')]), { kind: 'granted' }, 'by content it goes on');
  });

  it('a pull record is found among several secrets of the pod', () => {
    assert.equal(proves(withSecrets(known), [secret('x', 'hx'), known]).kind, 'granted');
    assert.equal(proves(withSecrets(known), []).kind, 'denied');
  });
});

describe('an image pulled for a service account', () => {
  const robot = { uid: 'uid-robot', namespace: 'default', name: 'robot' };
  const pulledWith: PulledWith = { nodePodsAccessible: false, secrets: [], accounts: [robot] };

  it('is for pods of that account, and not of one that was made again or is elsewhere', () => {
    const proof = (account: Partial<typeof robot>): string =>
      proveAccess(pulledWith, { secrets: [], accounts: [{ ...robot, ...account }] }).kind;
    assert.deepEqual([{}, { uid: 'other' }, { namespace: 'other' }, { name: 'other' }].map(proof), [
      'granted',
      'denied',
      'denied',
      'denied',
    ]);
    assert.equal(proveAccess(pulledWith, { secrets: [], accounts: [] }).kind, 'denied');
    assert.equal(proveAccess(open, { secrets: [], accounts: [] }).kind, 'granted');
  });

  it('keeps its accounts in the record beside secrets, each once and in order', () => {
    const other = { ...robot, name: 'a-first' };
    const first = mergeRecord(undefined, { imageRef: 'sha256:1', image: 'r.local/app:1', pulledWith }, 1);
    const again = mergeRecord(first, { imageRef: 'sha256:1', image: 'r.local/app:1', pulledWith }, 2);
    assert.equal(again, first);
    const more = mergeRecord(
      first,
      {
        imageRef: 'sha256:1',
        image: 'r.local/app:1',
        pulledWith: { nodePodsAccessible: false, secrets: [secret('a', 'h')], accounts: [other] },
      },
      3,
    );
    assert.deepEqual(more.credentials['r.local/app'], {
      nodePodsAccessible: false,
      secrets: [secret('a', 'h')],
      accounts: [other, robot],
    });
  });
});

describe('the record of a pull', () => {
  const add = (pulledWith: PulledWith | undefined, image = 'r.local/app:1') => ({
    imageRef: 'sha256:1',
    image,
    pulledWith,
  });
  const recordOf = (pulledWith: PulledWith): PulledRecord => ({
    imageRef: 'sha256:1',
    lastUpdatedMs: 1,
    credentials: { 'r.local/app': pulledWith },
  });

  it('begins with what the image was pulled with, by its name without tag', () => {
    assert.deepEqual(mergeRecord(undefined, add(open), 1), recordOf(open));
    assert.deepEqual(mergeRecord(undefined, add(undefined), 1).credentials, {});
  });

  it('stays the same object when nothing changes', () => {
    const record = recordOf(withSecrets(secret('a', 'h1')));
    for (const pulledWith of [undefined, withSecrets(), withSecrets(secret('a', 'h1'))])
      assert.equal(mergeRecord(record, add(pulledWith), 2), record);
    const free = recordOf(open);
    assert.equal(mergeRecord(free, add(withSecrets(secret('a', 'h1'))), 2), free, 'access for all stays');
  });

  it('gets new secrets, sorted, and the time', () => {
    const record = recordOf(withSecrets(secret('b', 'h1')));
    const [a, c] = [secret('a', 'h2'), secret('c', 'h3')];
    assert.deepEqual(mergeRecord(record, add(withSecrets(c, a)), 2), {
      imageRef: 'sha256:1',
      lastUpdatedMs: 2,
      credentials: { 'r.local/app': withSecrets(a, secret('b', 'h1'), c) },
    });
    const renewed = secret('b', 'new');
    assert.deepEqual(
      mergeRecord(record, add(withSecrets(renewed)), 2).credentials['r.local/app'],
      withSecrets(renewed),
    );
  });

  it('needs no secrets any more once all pods may use the image', () => {
    const record = recordOf(withSecrets(secret('a', 'h1')));
    assert.deepEqual(mergeRecord(record, add(open), 2), { ...recordOf(open), lastUpdatedMs: 2 });
  });

  it('keeps the names of one image apart', () => {
    const record = recordOf(withSecrets(secret('a', 'h1')));
    const both = mergeRecord(record, add(open, 'other.local/app:2'), 2);
    assert.deepEqual(both.credentials, { ...record.credentials, 'other.local/app': open });
  });
});

describe('the list of images that need no proof', () => {
  it('names one image, or all below a path', () => {
    const isFree = (pattern: string, image: string): boolean =>
      !needsVerification('NeverVerifyAllowlistedImages', [pattern], image, true);
    assert.deepEqual(
      [isFree('r.local/a', 'r.local/a:1'), isFree('r.local/a', 'r.local/b'), isFree('r.local/a', 'r.local/a/b')],
      [true, false, false],
    );
    assert.deepEqual([isFree('r.local/*', 'r.local/a/b:1'), isFree('r.local/*', 'r.local.evil/a')], [true, false]);
  });
});
