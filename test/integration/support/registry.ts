// Debian's docker-registry on loopback, with or without password and TLS, for tests of image pulls.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { freePort } from '../../../src/up/agent.ts';
import { machineEnvironment, runCommand } from '../../../src/up/commands.ts';
import type { OciImage } from '../../../src/up/images/oci-image.ts';
import { pushImage } from '../../../src/up/images/registry-push.ts';
import type { Instance } from '../../../src/up/instance.ts';
import { describeProcess, signalProcess, stopProcess } from '../../../src/up/processes.ts';
import { testsOnDocker } from './containerd.ts';
import { waitUntil } from './patience.ts';
import { endWithThisProcess } from './test-child.ts';

export interface TestRegistryOptions {
  readonly credentials?: { username: string; password: string };
  /** Uses a certificate of its own authority. */
  readonly tls?: boolean;
}

export interface TestRegistry {
  /** `127.0.0.1:PORT`: the prefix of image references. */
  readonly host: string;
  readonly url: string;
  /** PEM, with TLS. */
  readonly ca: string | undefined;
  /** Pushes the image and returns its full reference, `HOST/REPOSITORY:TAG`. */
  push(image: OciImage, repository: string, tag?: string): Promise<string>;
  /** Allows this containerd to pull from here. The configuration is read at each pull, without a restart. */
  allowIn(instance: Instance): void;
  /** Sends SIGSTOP: pulls hang until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** The access log so far. */
  log(): string;
  stop(): Promise<void>;
}

export async function startRegistry(options: TestRegistryOptions = {}): Promise<TestRegistry> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-registry-'));
  const host = `127.0.0.1:${await freePort(0)}`;
  const url = `${options.tls === true ? 'https' : 'http'}://${host}`;
  const logFile = join(folder, 'registry.log');
  const ca = options.tls === true ? await makeCertificate(folder) : undefined;
  writeFileSync(
    join(folder, 'config.yml'),
    stringify({
      version: 0.1,
      log: { level: 'info', accesslog: { disabled: false } },
      storage: { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } },
      http: {
        addr: host,
        ...(ca === undefined
          ? {}
          : { tls: { certificate: join(folder, 'server.pem'), key: join(folder, 'server.key') } }),
      },
      ...(options.credentials === undefined
        ? {}
        : { auth: { htpasswd: { realm: 'test', path: await writePasswordFile(folder, options.credentials) } } }),
    }),
  );
  const log = openSync(logFile, 'a');
  const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], {
    stdio: ['ignore', log, log],
    env: machineEnvironment(),
  });
  closeSync(log);
  endWithThisProcess(child);
  let failure: string | undefined;
  child.on('error', (error) => (failure = error.message));
  child.on('exit', (code) => (failure = `exit ${code}`));
  const record = child.pid === undefined ? undefined : describeProcess(child.pid);
  const stop = async (): Promise<void> => {
    if (record !== undefined) signalProcess(record, 'SIGCONT');
    await stopProcess(record, 2000);
    if (testsOnDocker) rmSync(join(DOCKER_CERTS, host), { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  };
  const up = await waitUntil(
    () => failure !== undefined || readFileSync(logFile, 'utf8').includes('listening on'),
    10_000,
  );
  if (!up || failure !== undefined) {
    const words = readFileSync(logFile, 'utf8');
    await stop();
    throw new Error(`docker-registry did not start (${failure ?? 'no answer'}): ${words}`);
  }
  return {
    host,
    url,
    ca,
    push: async (image, repository, tag = '1') => {
      await pushImage({ url, ca, ...options.credentials }, image, { repository, tag });
      return `${host}/${repository}:${tag}`;
    },
    allowIn: (instance) => {
      if (testsOnDocker) writeDockerAuthority(host, ca);
      else writeHostsFile(instance, { host, url, ca });
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    log: () => readFileSync(logFile, 'utf8'),
    stop,
  };
}

/** Docker has one such folder for all engines of a machine. For loopback it uses HTTP if TLS fails. */
const DOCKER_CERTS = '/etc/docker/certs.d';

function writeDockerAuthority(host: string, ca: string | undefined): void {
  if (ca === undefined) return;
  mkdirSync(join(DOCKER_CERTS, host), { recursive: true });
  writeFileSync(join(DOCKER_CERTS, host, 'ca.crt'), ca);
}

/** containerd uses TLS for all hosts but localhost, unless a hosts.toml says otherwise. */
function writeHostsFile(instance: Instance, registry: { host: string; url: string; ca: string | undefined }): void {
  const folder = join(instance.registryCertsDir, registry.host);
  mkdirSync(folder, { recursive: true });
  const caLine = registry.ca === undefined ? '' : `  ca = ${JSON.stringify(join(folder, 'ca.crt'))}\n`;
  if (registry.ca !== undefined) writeFileSync(join(folder, 'ca.crt'), registry.ca);
  writeFileSync(
    join(folder, 'hosts.toml'),
    `server = ${JSON.stringify(registry.url)}\n\n[host.${JSON.stringify(registry.url)}]\n  capabilities = ["pull", "resolve"]\n${caLine}`,
  );
}

async function writePasswordFile(folder: string, credentials: { username: string; password: string }): Promise<string> {
  const path = join(folder, 'htpasswd');
  // The registry only accepts bcrypt; the lowest cost is fast enough for tests. The password is passed on standard
  // input.
  writeFileSync(
    path,
    await runCommand(['htpasswd', '-niBC', '4', credentials.username], Buffer.from(credentials.password)),
  );
  return path;
}

/** Creates an authority and a server certificate for 127.0.0.1. Returns the authority's certificate. */
async function makeCertificate(folder: string): Promise<string> {
  const at = (name: string): string => join(folder, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await runCommand([
    'openssl',
    'req',
    '-x509',
    ...key,
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
    '-days',
    '2',
    '-subj',
    '/CN=kubelet-ts test authority',
  ]);
  await runCommand([
    'openssl',
    'req',
    ...key,
    '-keyout',
    at('server.key'),
    '-out',
    at('server.csr'),
    '-subj',
    '/CN=127.0.0.1',
  ]);
  writeFileSync(at('san.cnf'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n');
  await runCommand([
    'openssl',
    'x509',
    '-req',
    '-in',
    at('server.csr'),
    '-CA',
    at('ca.pem'),
    '-CAkey',
    at('ca.key'),
    '-CAcreateserial',
    '-out',
    at('server.pem'),
    '-days',
    '2',
    '-extfile',
    at('san.cnf'),
  ]);
  return readFileSync(at('ca.pem'), 'utf8');
}
