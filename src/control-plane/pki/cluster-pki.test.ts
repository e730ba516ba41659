import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { connect, createServer } from 'node:tls';
import { parse } from 'yaml';
import { isKind } from '../../base/errors.ts';
import { silentLogger } from '../../base/log.ts';
import { ensureClusterPki } from './cluster-pki.ts';
import type { ClusterPkiOptions } from './cluster-pki.ts';

const root = mkdtempSync(path.join(tmpdir(), 'pki-test-'));
after(() => rmSync(root, { recursive: true }));
const day = 86_400_000;
const nowMs = Date.UTC(2026, 5, 1);
const openssl = (...args: string[]): string => execFileSync('openssl', args, { encoding: 'utf8' });

let folders = 0;
function setUp() {
  const folder = path.join(root, String(folders++));
  const options: ClusterPkiOptions = {
    folder,
    nowMs,
    log: silentLogger,
    serverUrl: 'https://127.0.0.1:6443',
    hostname: 'box',
    addresses: ['192.0.2.7', 'fd00::7'],
    serviceAddresses: ['10.96.0.1'],
  };
  const file = (name: string): string => path.join(folder, name);
  const read = (name: string): string => readFileSync(file(name), 'utf8');
  const ensure = (changes: Partial<ClusterPkiOptions> = {}) => ensureClusterPki({ ...options, ...changes });
  const fails = (pattern: RegExp, changes?: Partial<ClusterPkiOptions>) =>
    assert.rejects(ensure(changes), (error) => isKind(error, 'Invalid') && pattern.test((error as Error).message));
  return { file, read, ensure, fails };
}

describe('the cluster’s certificates', () => {
  it('stand in kubeadm’s layout, keys for their owner only, and OpenSSL believes them', async () => {
    const { file, read, ensure } = setUp();
    await ensure();
    const keys = [
      'pki/ca.key',
      'pki/apiserver.key',
      'pki/apiserver-kubelet-client.key',
      'pki/sa.key',
      'admin.conf',
      'super-admin.conf',
      'controller-manager.conf',
      'scheduler.conf',
    ];
    for (const name of keys) assert.equal(statSync(file(name)).mode & 0o777, 0o600, name);
    for (const name of ['pki/ca.crt', 'pki/apiserver.crt', 'pki/sa.pub'])
      assert.equal(statSync(file(name)).mode & 0o777, 0o644, name);
    assert.deepEqual(
      readdirSync(file('pki')).filter((name) => name.endsWith('.tmp')),
      [],
    );
    assert.match(
      openssl(
        'verify',
        '-attime',
        String(nowMs / 1000),
        '-purpose',
        'sslserver',
        '-CAfile',
        file('pki/ca.crt'),
        file('pki/apiserver.crt'),
      ),
      /OK/,
    );
    assert.match(
      openssl(
        'verify',
        '-attime',
        String(nowMs / 1000),
        '-purpose',
        'sslclient',
        '-CAfile',
        file('pki/ca.crt'),
        file('pki/apiserver-kubelet-client.crt'),
      ),
      /OK/,
    );
    const text = openssl('x509', '-noout', '-text', '-in', file('pki/apiserver.crt'));
    for (const name of [
      'kubernetes',
      'kubernetes.default',
      'kubernetes.default.svc',
      'kubernetes.default.svc.cluster.local',
      'localhost',
      'box',
    ])
      assert.match(text, new RegExp(`DNS:${name}(,|\n)`));
    for (const address of ['10.96.0.1', '192.0.2.7', 'FD00:0:0:0:0:0:0:7', '127.0.0.1'])
      assert.match(text, new RegExp(`IP Address:${address}`));
    const authority = openssl('x509', '-noout', '-text', '-in', file('pki/ca.crt'));
    assert.match(
      authority,
      /Key Usage: critical\s+Digital Signature, Key Encipherment, Certificate Sign\s+X509v3 Basic Constraints: critical\s+CA:TRUE/,
    );
    const client = new X509Certificate(read('pki/apiserver-kubelet-client.crt'));
    assert.equal(client.subject, 'O=kubeadm:cluster-admins\nCN=kube-apiserver-kubelet-client');
    openssl('pkey', '-in', file('pki/sa.key'), '-noout', '-check');
  });

  it('let a TLS client with the admin’s kubeconfig in', async () => {
    const { ensure, read } = setUp();
    const { serving, authority } = await ensure({ nowMs: Date.now() });
    const config = parse(read('admin.conf')) as {
      users: { name: string; user: Record<string, string> }[];
      clusters: { cluster: Record<string, string> }[];
    };
    const data = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString();
    const server = createServer(
      {
        cert: serving.certificatePem,
        key: serving.keyPem,
        ca: authority.certificatePem,
        requestCert: true,
        rejectUnauthorized: true,
      },
      (socket) => {
        const { subject } = socket.getPeerCertificate();
        socket.end(`${subject.O}/${subject.CN}`);
      },
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const credentials = {
      ca: data(config.clusters[0]?.cluster['certificate-authority-data']),
      cert: data(config.users[0]?.user['client-certificate-data']),
      key: data(config.users[0]?.user['client-key-data']),
    };
    const said = await new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', servername: 'kubernetes.default', ...credentials }, () =>
        assert.ok(socket.authorized),
      );
      socket.once('data', (chunk) => resolve(chunk.toString())).once('error', reject);
    });
    await new Promise((resolve) => server.close(resolve));
    assert.equal(said, 'kubeadm:cluster-admins/kubernetes-admin');
  });

  it('stay as they are from start to start', async () => {
    const { ensure, read } = setUp();
    const names = ['pki/ca.crt', 'pki/ca.key', 'pki/apiserver.crt', 'pki/sa.key', 'admin.conf'];
    await ensure();
    const before = names.map(read);
    await ensure({ nowMs: nowMs + 200 * day });
    assert.deepEqual(names.map(read), before);
  });

  it('are renewed when a fifth of their life is left, when they expired, and when the server gets another name; the keys stay', async () => {
    const { ensure, read } = setUp();
    await ensure();
    const [certificate, key, admin] = ['pki/apiserver.crt', 'pki/apiserver.key', 'admin.conf'].map(read);
    await ensure({ nowMs: nowMs + 300 * day });
    assert.notEqual(read('pki/apiserver.crt'), certificate);
    assert.equal(read('pki/apiserver.key'), key);
    assert.notEqual(read('admin.conf'), admin);
    await ensure({ nowMs: nowMs + 1000 * day, extraNames: ['api.example.com', '203.0.113.9'] });
    const renewed = new X509Certificate(read('pki/apiserver.crt'));
    assert.ok(renewed.validToDate.getTime() > nowMs + 1000 * day);
    assert.equal(renewed.checkHost('api.example.com'), 'api.example.com');
    assert.equal(renewed.checkIP('203.0.113.9'), '203.0.113.9');
    await ensure({
      nowMs: nowMs + 1000 * day,
      extraNames: ['api.example.com', '203.0.113.9'],
      serverUrl: 'https://127.0.0.1:7443',
    });
    assert.match(read('admin.conf'), /server: https:\/\/127\.0\.0\.1:7443\n/);
  });
});

describe('invalid certificate files', () => {
  it('are never replaced: the error says which and what to do', async () => {
    const { ensure, fails, file, read } = setUp();
    await ensure();
    const other = setUp();
    await other.ensure();
    const damage = async (
      name: string,
      content: string | undefined,
      pattern: RegExp,
      changes?: Partial<ClusterPkiOptions>,
    ): Promise<void> => {
      const good = read(name);
      if (content === undefined) rmSync(file(name));
      else writeFileSync(file(name), content);
      await fails(pattern, changes);
      if (content !== undefined) assert.equal(read(name), content);
      writeFileSync(file(name), good);
    };
    await damage('pki/ca.crt', 'rubbish', /pki\/ca\.crt is not a readable certificate .*; restore it from a backup$/);
    await damage('pki/ca.crt', undefined, /pki\/ca\.crt is missing, but its key .*; restore it from a backup/);
    await damage('pki/ca.key', other.read('pki/ca.key'), /pki\/ca\.key does not belong to .*ca\.crt; restore/);
    await damage('pki/ca.key', read('pki/ca.key').slice(0, 100), /pki\/ca\.key is not a readable private key/);
    await damage('pki/ca.crt', other.read('pki/apiserver.crt'), /pki\/ca\.crt is not the certificate of an authority/);
    await damage(
      'pki/apiserver.crt',
      other.read('pki/apiserver.crt'),
      /pki\/apiserver\.crt cannot be used: the certificate and the key do not belong together/,
    );
    await damage('pki/apiserver.key', undefined, /pki\/apiserver\.key is missing, but .*apiserver\.crt is there/);
    await damage('pki/sa.pub', other.read('pki/sa.pub'), /pki\/sa\.pub does not belong to/);
    await damage('pki/sa.key', undefined, /pki\/sa\.key is missing/);
    await damage(
      'admin.conf',
      other.read('admin.conf'),
      /admin\.conf cannot be used: the certificate was not issued by the authority/,
    );
    await fails(/pki\/ca\.crt expired at/, { nowMs: nowMs + 4000 * day });
    await ensure();
  });

  it('of another CA differ from broken ones', async () => {
    const { ensure, file, fails } = setUp();
    await ensure();
    const other = setUp();
    await other.ensure();
    for (const name of ['pki/apiserver.crt', 'pki/apiserver.key']) writeFileSync(file(name), other.read(name));
    await fails(/apiserver\.crt cannot be used: the certificate was not issued by the authority in ca\.crt/);
  });

  it('left by a start that died are gone on with', async () => {
    const { ensure, file, read } = setUp();
    await ensure();
    const [authorityKey, servingKey] = ['pki/ca.key', 'pki/apiserver.key'].map(read);
    rmSync(file('pki/apiserver.crt'));
    await ensure();
    assert.equal(read('pki/apiserver.key'), servingKey);
    rmSync(file(''), { recursive: true });
    mkdirSync(file('pki'), { recursive: true });
    writeFileSync(file('pki/ca.key'), authorityKey ?? '');
    await ensure();
    assert.equal(read('pki/ca.key'), authorityKey);
    rmSync(file('pki/sa.pub'));
    await ensure();
    assert.match(read('pki/sa.pub'), /BEGIN PUBLIC KEY/);
  });

  it('without the authority’s key serve until something has to be signed', async () => {
    const { ensure, file, fails } = setUp();
    await ensure();
    rmSync(file('pki/ca.key'));
    assert.equal((await ensure()).authorityKeyPem, undefined);
    await fails(/must be created, but ca\.key, which signs it, is missing/, { nowMs: nowMs + 360 * day });
  });

  it('leave a kubeconfig alone that holds no certificate', async () => {
    const { ensure, file, read } = setUp();
    await ensure();
    writeFileSync(file('scheduler.conf'), 'users:\n- name: x\n  user:\n    token: abc\n');
    await ensure({ serverUrl: 'https://other:6443' });
    assert.match(read('scheduler.conf'), /token: abc/);
  });
});
