// The registry of `up`, attacked from the position of every local process and every pod with host network: its port on
// loopback, and its files.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { createServer as createTlsServer, request as httpsRequest } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { ensureAuthority } from '../../src/control-plane/pki/authority-files.ts';
import type { Issued } from '../../src/control-plane/pki/issued-files.ts';
import { ensureIssuedFiles } from '../../src/control-plane/pki/issued-files.ts';
import { extendedUsages, noNames } from '../../src/pki/certificate-template.ts';
import { privateKeyPem } from '../../src/pki/pem.ts';
import { writeCertificate } from '../../src/pki/x509-writer.ts';
import { freePort } from '../../src/up/agent.ts';
import { keepRunning } from '../../src/up/cluster/program.ts';
import type { ClusterRegistry } from '../../src/up/cluster/registry.ts';
import { prepareRegistry, publish, registryPidFile } from '../../src/up/cluster/registry.ts';
import type { OciImage } from '../../src/up/images/oci-image.ts';
import { buildImage, MANIFEST_MEDIA_TYPE } from '../../src/up/images/oci-image.ts';
import type { Instance } from '../../src/up/instance.ts';
import { deriveInstance } from '../../src/up/instance.ts';
import { readProcessFile, stopProcess } from '../../src/up/processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-up-registry-'));
const instance: Instance = deriveInstance(folder);
const imageOf = (text: string): OciImage =>
  buildImage({ reference: 'x', architecture: 'amd64', layers: [[{ kind: 'file', path: 'a', content: text }]] });
const [good, evil] = [imageOf('good'), imageOf('evil')];
const TAG = '/v2/library/nginx/manifests/latest';
const supervision = new AbortController();
let registry: ClusterRegistry;
let host = '';

before(async () => {
  // Other users can list this folder; its contents must protect themselves.
  chmodSync(folder, 0o755);
  mkdirSync(instance.runDir);
  host = `${instance.loopback}:${await freePort(0, instance.loopback)}`;
  registry = await prepareRegistry(instance, host);
  await keepRunning(registry.program, { clock: systemClock, signal: supervision.signal, say: () => undefined }).ready;
  await publish(registry.access, [{ image: good, repository: 'library/nginx', tag: 'latest' }]);
});

after(async () => {
  supervision.abort();
  await stopProcess(readProcessFile(registryPidFile(instance)), 2000);
  rmSync(folder, { recursive: true, force: true });
});

interface Attempt {
  readonly method: string;
  readonly path: string;
  readonly scheme?: 'http' | 'https';
  readonly client?: { readonly certificate: string; readonly key: string };
  readonly body?: Buffer;
}

/** The status, or the error code of the connection. */
function attempt({ method, path, scheme = 'https', client, body }: Attempt): Promise<number | string> {
  return new Promise((resolve) => {
    const headers = {
      'content-type': MANIFEST_MEDIA_TYPE,
      accept: MANIFEST_MEDIA_TYPE,
      'content-length': body?.length ?? 0,
    };
    const url = `${scheme}://${host}${path}`;
    const tls = { rejectUnauthorized: false, cert: client?.certificate, key: client?.key };
    const call =
      scheme === 'http'
        ? httpRequest(url, { method, headers, agent: false })
        : httpsRequest(url, { method, headers, agent: false, ...tls });
    call.on('response', (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    call.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    call.end(body);
  });
}

const writes: readonly Attempt[] = [
  { method: 'PUT', path: TAG, body: evil.manifest.content },
  { method: 'POST', path: '/v2/library/nginx/blobs/uploads/' },
  { method: 'POST', path: `/v2/library/nginx/blobs/uploads/?digest=${evil.config.digest}`, body: evil.config.content },
  {
    method: 'PATCH',
    path: '/v2/library/nginx/blobs/uploads/00000000-0000-0000-0000-000000000000',
    body: evil.config.content,
  },
  { method: 'DELETE', path: `/v2/library/nginx/manifests/${good.manifest.digest}` },
  { method: 'DELETE', path: `/v2/library/nginx/blobs/${good.config.digest}` },
];

const isServed = (outcome: number | string): boolean => typeof outcome === 'number' && outcome < 400;

async function servedWith(how: Omit<Attempt, 'method' | 'path'>): Promise<string[]> {
  const served: string[] = [];
  for (const each of [...writes, { method: 'GET', path: TAG }, { method: 'GET', path: '/v2/_catalog' }]) {
    const outcome = await attempt({ ...each, ...how });
    if (isServed(outcome)) served.push(`${each.method} ${each.path}: ${outcome}`);
  }
  return served;
}

/** A client certificate of the attacker's authority, whose name is that of the registry's authority. */
async function lookalike(): Promise<Issued> {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const dates = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
  const certificate = writeCertificate(
    {
      subject: { commonName: 'kubernetes' },
      publicKey: authority.publicKey,
      ...dates,
      isAuthority: true,
      keyUsages: ['certSign'],
      extendedKeyUsages: [],
      altNames: noNames,
    },
    { selfSignedBy: authority.privateKey },
  );
  const client = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const certificatePem = writeCertificate(
    {
      subject: { commonName: 'registry-writer' },
      publicKey: client.publicKey,
      ...dates,
      keyUsages: ['digitalSignature'],
      extendedKeyUsages: [extendedUsages.clientAuth],
      altNames: noNames,
    },
    { certificate, key: authority.privateKey },
  );
  return { certificatePem, keyPem: privateKeyPem(client.privateKey) };
}

describe('the registry of up', () => {
  it('serves the holder of its client certificate', async () => {
    assert.equal(await attempt({ method: 'GET', path: TAG, client: registry.access.client }), 200);
  });

  it('refuses every write and read over plain HTTP', async () => {
    assert.deepEqual(await servedWith({ scheme: 'http' }), []);
  });

  it('refuses every write and read without a client certificate', async () => {
    assert.deepEqual(await servedWith({}), []);
  });

  it('refuses a client certificate of the cluster, of system:masters too', async () => {
    const cluster = join(instance.controlPlaneDir, 'pki');
    const context = { authority: await ensureAuthority(cluster, Date.now()), nowMs: Date.now(), log: silentLogger };
    const { certificatePem, keyPem } = await ensureIssuedFiles(
      cluster,
      'admin',
      {
        commonName: 'registry-writer',
        organizations: ['system:masters'],
        purpose: 'client',
        dnsNames: [],
        ipAddresses: [],
      },
      context,
    );
    assert.deepEqual(await servedWith({ client: { certificate: certificatePem, key: keyPem } }), []);
  });

  it('refuses a client certificate of another authority with the same name', async () => {
    const { certificatePem, keyPem } = await lookalike();
    assert.deepEqual(await servedWith({ client: { certificate: certificatePem, key: keyPem } }), []);
  });

  it('does not take its own server certificate for a client’s', async () => {
    const [certificate, key] = ['server.crt', 'server.key'].map((name) =>
      readFileSync(join(instance.registryDir, 'pki', name), 'utf8'),
    ) as [string, string];
    assert.deepEqual(await servedWith({ client: { certificate, key } }), []);
  });

  it('deletes nothing for any client', async () => {
    for (const each of writes.filter(({ method }) => method === 'DELETE')) {
      assert.equal(await attempt({ ...each, client: registry.access.client }), 405, each.path);
    }
  });

  it('another user of the machine reads neither the key nor the store, and writes to neither', () => {
    const files = globSync('**', { cwd: instance.registryDir }).map((name) => join(instance.registryDir, name));
    assert.deepEqual(
      files.filter((file) => (statSync(file).mode & 0o022) !== 0),
      [],
    );
    const asUser = (...command: string[]): number | null =>
      spawnSync(command[0] ?? '', command.slice(1), { uid: 65534, gid: 65534, cwd: '/' }).status;
    assert.equal(asUser('cat', '/etc/passwd'), 0);
    const key = join(instance.registryDir, 'client', 'client.key');
    for (const command of [
      ['cat', key],
      ['ls', instance.registryDir],
      ['ls', join(instance.registryDir, 'data')],
      ['touch', join(instance.registryDir, 'data', 'x')],
    ]) {
      assert.notEqual(asUser(...command), 0, command.join(' '));
    }
  });

  it('containerd is given the authority and the client certificate for each name that leads here', () => {
    for (const name of ['docker.io', host]) {
      const text = readFileSync(join(instance.registryCertsDir, name, 'hosts.toml'), 'utf8');
      assert.match(text, new RegExp(`\\[host."https://${host.replaceAll('.', '\\.')}"\\]`));
      assert.match(text, /ca = ".*ca\.crt"\n {2}client = \[\[".*client\.cert", ".*client\.key"\]\]/);
      assert.doesNotMatch(text, /http:|skip_verify/);
    }
  });

  it('after all that the tag names what up published', async () => {
    const manifest = await new Promise<string>((resolve, reject) => {
      const { ca, client } = registry.access;
      httpsRequest(
        `https://${host}${TAG}`,
        { ca, cert: client?.certificate, key: client?.key, agent: false, headers: { accept: MANIFEST_MEDIA_TYPE } },
        (answer) => {
          answer.resume();
          resolve(String(answer.headers['docker-content-digest']));
        },
      )
        .on('error', reject)
        .end();
    });
    assert.equal(manifest, good.manifest.digest);
  });
});

describe('a process that takes the port of the registry', () => {
  it('is pushed nothing, in plain text or with a certificate of its own', async () => {
    const seen: string[] = [];
    const plain = createServer((socket) =>
      socket
        .on('error', () => undefined)
        .once(
          'data',
          (bytes) => (seen.push(bytes.toString('latin1')), socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')),
        ),
    );
    const { certificatePem, keyPem } = await lookalike();
    const tls = createTlsServer(
      { cert: certificatePem, key: keyPem },
      (incoming, answer) => (seen.push(`${incoming.method} ${incoming.url}`), answer.end()),
    );
    for (const server of [plain, tls]) {
      await new Promise<void>((resolve) => server.listen(0, instance.loopback, resolve));
      const address = server.address();
      const port = typeof address === 'object' ? address?.port : 0;
      await assert.rejects(
        publish({ ...registry.access, url: `https://${instance.loopback}:${port}` }, [
          { image: good, repository: 'library/nginx', tag: 'latest' },
        ]),
      );
      await new Promise((resolve) => server.close(resolve));
    }
    assert.deepEqual(
      seen.filter((text) => /HEAD|POST|PUT|library/.test(text)),
      [],
    );
  });
});

describe('the folder of the registry', () => {
  it('is closed also where an earlier version left it open, and keeps its certificates', async () => {
    const other = deriveInstance(join(folder, 'older'));
    mkdirSync(join(other.registryDir, 'data'), { recursive: true, mode: 0o755 });
    writeFileSync(join(other.registryDir, 'config.yml'), 'http: {}\n', { mode: 0o644 });
    const first = await prepareRegistry(other, `${other.loopback}:1`);
    assert.equal(statSync(other.registryDir).mode & 0o777, 0o700);
    assert.deepEqual((await prepareRegistry(other, `${other.loopback}:1`)).access, first.access);
  });
});
