/** A registry of the cluster's own on loopback, so that nodes pull images as they do elsewhere. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Instance } from '../instance.ts';
import { pushImage } from '../images/registry-push.ts';
import type { OciImage } from '../images/oci-image.ts';
import type { Program } from './program.ts';

/** What `image: nginx` means in full. */
const DOCKER_HUB = 'docker.io';

export const registryPidFile = (instance: Instance): string => join(instance.runDir, 'registry.json');

/** `host` is `ADDRESS:PORT`. Writes its configuration, and tells containerd to ask it before Docker Hub. */
export function prepareRegistry(instance: Instance, host: string): Program {
  const config = join(instance.registryDir, 'config.yml');
  mkdirSync(instance.registryDir, { recursive: true });
  writeFileSync(
    config,
    stringify({
      version: 0.1,
      log: { level: 'info', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(instance.registryDir, 'data') }, delete: { enabled: true } },
      http: { addr: host },
    }),
  );
  writeHosts(instance, DOCKER_HUB, 'https://registry-1.docker.io', host);
  writeHosts(instance, host, `http://${host}`, host);
  return {
    name: 'the registry',
    command: 'docker-registry',
    args: ['serve', config],
    log: instance.registryLog,
    pidFile: registryPidFile(instance),
    ready: 'listening on',
  };
}

/** Read by containerd at each pull. What our registry has not is asked of the one the name means. */
function writeHosts(instance: Instance, name: string, server: string, host: string): void {
  const folder = join(instance.registryCertsDir, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'hosts.toml'),
    `server = ${JSON.stringify(server)}\n\n[host."http://${host}"]\n  capabilities = ["pull", "resolve"]\n`,
  );
}

export interface Published {
  readonly image: OciImage;
  readonly repository: string;
  readonly tag: string;
}

/** Uploads what it does not have yet. */
export async function publish(host: string, images: readonly Published[]): Promise<void> {
  for (const { image, repository, tag } of images)
    await pushImage({ url: `http://${host}` }, image, { repository, tag });
}
