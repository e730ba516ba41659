import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { noNames } from '../../../pki/certificate-template.ts';
import { writeCertificate } from '../../../pki/x509-writer.ts';
import { pendingKeyFile, PemStore } from './pem-store.ts';

function pair(commonName: string): { certificate: string; key: string } {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificate = writeCertificate(
    {
      subject: { commonName },
      publicKey: createPublicKey(privateKey),
      notBeforeMs: 0,
      notAfterMs: 1e12,
      keyUsages: [],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    { selfSignedBy: privateKey },
  );
  return { certificate, key: privateKey.export({ type: 'sec1', format: 'pem' }).toString() };
}

describe('certificate files', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'pem-store-'));
  after(() => rmSync(root, { recursive: true }));
  let count = 0;

  function setUp(fallback?: { certificateFile: string; keyFile: string }) {
    const folder = path.join(root, String((count += 1)), 'pki');
    const time = { nowMs: new Date(2026, 0, 31, 23, 59, 58).getTime() };
    const store = new PemStore({
      folder,
      prefix: 'kubelet-client',
      nowMs: () => time.nowMs,
      log: silentLogger,
      ...(fallback !== undefined && { fallback }),
    });
    return { folder, time, store };
  }

  it('have upstream’s names, both in one file for root only, and a link to the current one', async () => {
    const { folder, store } = setUp();
    assert.equal(await store.current(), undefined);
    await store.update(pair('one'));
    assert.deepEqual(readdirSync(folder).sort(), [
      'kubelet-client-2026-01-31-23-59-58.pem',
      'kubelet-client-current.pem',
    ]);
    assert.equal(readlinkSync(store.currentPath), path.join(folder, 'kubelet-client-2026-01-31-23-59-58.pem'));
    assert.equal(statSync(store.currentPath).mode & 0o777, 0o600);
    assert.equal(statSync(folder).mode & 0o777, 0o755);
    assert.match(
      readFileSync(store.currentPath, 'utf8'),
      /^-----BEGIN CERTIFICATE-----[\s\S]*-----BEGIN EC PRIVATE KEY-----/,
    );
    assert.equal((await store.current())?.facts.commonName, 'one');
  });

  it('are replaced atomically; of the older ones the last is kept', async () => {
    const { folder, store, time } = setUp();
    for (const name of ['one', 'two', 'three']) {
      await store.update(pair(name));
      assert.equal((await store.current())?.facts.commonName, name);
      time.nowMs += 1000;
    }
    await store.update(pair('four'));
    await store.update(pair('within the same second'));
    assert.equal((await store.current())?.facts.commonName, 'within the same second');
    assert.equal(readdirSync(folder).filter((name) => /\d\.pem$/.test(name)).length, 1, 'no unused key is left');
  });

  it('of an interrupted replacement are repaired', async () => {
    const { folder, store } = setUp();
    await store.update(pair('one'));
    renameSync(store.currentPath, path.join(folder, 'kubelet-client-updated.pem'));
    assert.equal((await store.current())?.facts.commonName, 'one');
    assert.ok(readdirSync(folder).includes('kubelet-client-current.pem'));
  });

  it('that are broken count as missing', async () => {
    const { folder, store } = setUp();
    await store.update(pair('one'));
    const text = readFileSync(store.currentPath, 'utf8');
    for (const broken of ['', text.slice(0, text.length / 2), `${pair('two').certificate}${pair('three').key}`]) {
      writeFileSync(store.currentPath, broken);
      assert.equal(await store.current(), undefined);
    }
    await store.update(pair('four'));
    assert.equal((await store.current())?.facts.commonName, 'four');
    rmSync(store.currentPath);
    symlinkSync('nowhere', store.currentPath);
    assert.equal(await store.current(), undefined);
    assert.ok(readdirSync(folder).length > 0);
  });

  it('may be other programs’, until the agent has its own', async () => {
    const files = { certificateFile: path.join(root, 'own.crt'), keyFile: path.join(root, 'own.key') };
    const { certificate, key } = pair('given');
    writeFileSync(files.certificateFile, certificate);
    writeFileSync(files.keyFile, key);
    const { store } = setUp(files);
    assert.equal((await store.current())?.facts.commonName, 'given');
    await store.update(pair('own'));
    assert.equal((await store.current())?.facts.commonName, 'own');
  });

  it('never replace anything but a link', async () => {
    const { folder, store } = setUp();
    mkdirSync(folder, { recursive: true });
    const { certificate, key } = pair('another’s');
    writeFileSync(store.currentPath, certificate + key);
    assert.equal((await store.current())?.facts.commonName, 'another’s');
    await assert.rejects(store.update(pair('two')), /to be a symlink but it is a file/);
  });

  it('include the key of a pending request, for root only', async () => {
    const folder = path.join(root, 'pending');
    const file = pendingKeyFile(folder);
    assert.equal(await file.read(), undefined);
    await file.write('key');
    assert.deepEqual(
      [await file.read(), statSync(path.join(folder, 'kubelet-client.key.tmp')).mode & 0o777],
      ['key', 0o600],
    );
    await file.remove();
    assert.equal(await file.read(), undefined);
  });
});
