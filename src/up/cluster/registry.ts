/** The cluster's own registry on the loopback address, so that nodes pull images as usual. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { ensureAuthority } from '../../control-plane/pki/authority-files.ts';
import { ensureIssuedFiles } from '../../control-plane/pki/issued-files.ts';
import { tryCommand } from '../commands.ts';
import type { Instance } from '../instance.ts';
import { parseContainerdVersion } from '../runtime-config.ts';
import type { Registry } from '../images/registry-push.ts';
import { pushImage } from '../images/registry-push.ts';
import type { OciImage } from '../images/oci-image.ts';
import type { Program } from './program.ts';

/** The full name of `image: nginx`. */
const DOCKER_HUB = 'docker.io';

export const registryPidFile = (instance: Instance): string => join(instance.runDir, 'registry.json');
/** The files that a client of the registry needs, with the names that docker, podman and skopeo expect. */
export const registryClientDir = (instance: Instance): string => join(instance.registryDir, 'client');

export interface ClusterRegistry {
  readonly program: Program;
  /** These include the right to write. */
  readonly access: Registry;
}

/**
 * `host` is `ADDRESS:PORT`. Writes the registry's configuration, and configures containerd to try it before Docker Hub.
 *
 * Every process of this machine reaches a port on loopback, pods with host network too. The registry serves only TLS
 * clients that present a certificate of its own authority, whose key only root can read: nothing else can replace what
 * a tag names. A client checks the registry in turn, so a process that takes the port while the registry is down serves
 * no images.
 */
export async function prepareRegistry(instance: Instance, host: string): Promise<ClusterRegistry> {
  makePrivateFolder(instance.registryDir);
  const { authority, server, client } = await ensureRegistryCertificates(instance, host);
  const config = join(instance.registryDir, 'config.yml');
  writeFileSync(
    config,
    stringify({
      version: 0.1,
      log: { level: 'info', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(instance.registryDir, 'data') }, delete: { enabled: false } },
      http: {
        addr: host,
        tls: { certificate: server.certificate, key: server.key, clientcas: [authority.file], minimumtls: 'tls1.2' },
      },
    }),
    { mode: 0o600 },
  );
  await writeAllHosts(instance, host);
  return {
    program: {
      name: 'the registry',
      command: 'docker-registry',
      args: ['serve', config],
      log: instance.registryLog,
      pidFile: registryPidFile(instance),
      ready: 'listening on',
    },
    access: { url: `https://${host}`, ca: authority.pem, client },
  };
}

/** On a machine that joined: with what it got from the cluster. */
export async function prepareRegistryClient(
  instance: Instance,
  { host, ca, certificate, key }: Record<'host' | 'ca' | 'certificate' | 'key', string>,
): Promise<void> {
  makePrivateFolder(instance.registryDir);
  writeClientFiles(instance, { ca, certificate, key });
  await writeAllHosts(instance, host);
}

function writeClientFiles(instance: Instance, pem: Record<'ca' | 'certificate' | 'key', string>): void {
  const folder = registryClientDir(instance);
  makePrivateFolder(folder);
  for (const [name, text] of [
    ['ca.crt', pem.ca],
    ['client.cert', pem.certificate],
    ['client.key', pem.key],
  ] as const)
    writeFileSync(join(folder, name), text, { mode: 0o600 });
}

async function writeAllHosts(instance: Instance, host: string): Promise<void> {
  // containerd 1 takes the bracket of an IPv6 address for the end of a table's name; containerd 2 reads only tables.
  const asKeys = host.startsWith('[') && (await runsContainerd1());
  writeHosts(instance, {
    name: DOCKER_HUB,
    server: 'https://registry-1.docker.io',
    host,
    capabilities: ['pull', 'resolve'],
    asKeys,
  });
  const capabilities = ['pull', 'resolve', 'push'];
  writeHosts(instance, { name: host, server: `https://${host}`, host, capabilities, asKeys });
}

async function runsContainerd1(): Promise<boolean> {
  const { code, stdout } = await tryCommand(['containerd', '--version']).catch(() => ({ code: 1, stdout: '' }));
  return code === 0 && parseContainerdVersion(stdout).majorVersion === 1;
}

/** Also corrects a folder that an earlier version made readable for everyone. */
function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
}

interface RegistryCertificates {
  readonly authority: { readonly file: string; readonly pem: string };
  /** File names. */
  readonly server: { readonly certificate: string; readonly key: string };
  /** PEM. */
  readonly client: { readonly certificate: string; readonly key: string };
}

/**
 * This authority is not the cluster's: a certificate that the cluster signed for a node or a user gives no access here.
 */
async function ensureRegistryCertificates(instance: Instance, host: string): Promise<RegistryCertificates> {
  const folder = join(instance.registryDir, 'pki');
  const nowMs = systemClock.nowMs();
  const authority = await ensureAuthority(folder, nowMs);
  const context = { authority, nowMs, log: silentLogger };
  await ensureIssuedFiles(
    folder,
    'server',
    {
      commonName: 'registry',
      organizations: [],
      purpose: 'server',
      dnsNames: [],
      ipAddresses: [host.slice(0, host.lastIndexOf(':')).replaceAll(/[[\]]/g, '')],
    },
    context,
  );
  const client = await ensureIssuedFiles(
    folder,
    'client',
    { commonName: 'registry-writer', organizations: [], purpose: 'client', dnsNames: [], ipAddresses: [] },
    context,
  );
  writeClientFiles(instance, {
    ca: authority.certificatePem,
    certificate: client.certificatePem,
    key: client.keyPem,
  });
  return {
    authority: { file: join(folder, 'ca.crt'), pem: authority.certificatePem },
    server: { certificate: join(folder, 'server.crt'), key: join(folder, 'server.key') },
    client: { certificate: client.certificatePem, key: client.keyPem },
  };
}

interface HostsFile {
  /** The registry that an image name refers to. */
  readonly name: string;
  /** Tried after `host`. */
  readonly server: string;
  readonly host: string;
  readonly capabilities: readonly string[];
  /** Dotted keys instead of a table. */
  readonly asKeys: boolean;
}

/**
 * containerd reads this with each pull. Images that our registry does not have are pulled from the registry in the
 * name.
 */
function writeHosts(instance: Instance, { name, server, host, capabilities, asKeys }: HostsFile): void {
  const folder = join(instance.registryCertsDir, name);
  const at = (file: string): string => JSON.stringify(join(registryClientDir(instance), file));
  mkdirSync(folder, { recursive: true });
  const key = `host.${JSON.stringify(`https://${host}`)}`;
  const values = [
    `capabilities = ${JSON.stringify(capabilities)}`,
    `ca = ${at('ca.crt')}`,
    `client = [[${at('client.cert')}, ${at('client.key')}]]`,
  ];
  const body = asKeys ? values.map((value) => `${key}.${value}`) : [`[${key}]`, ...values.map((value) => `  ${value}`)];
  const lines = [`server = ${JSON.stringify(server)}`, '', ...body, ''];
  writeFileSync(join(folder, 'hosts.toml'), lines.join('\n'));
}

export interface Published {
  readonly image: OciImage;
  readonly repository: string;
  readonly tag: string;
}

/** Uploads missing blobs. */
export async function publish(access: Registry, images: readonly Published[]): Promise<void> {
  for (const { image, repository, tag } of images) await pushImage(access, image, { repository, tag });
}
