/** The web page of the node: its port, and its login token. */
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from './agent.ts';
import type { Instance } from './instance.ts';
import { hostPort } from './ip-families.ts';

/** cAdvisor's. */
const PAGE_PORT = 4194;
const TOKEN_BYTES = 24;

const pageTokenFile = (instance: Instance): string => join(instance.nodeDir, 'page-token');

export interface NodePageFacts {
  readonly url: string;
  readonly port: number;
  readonly tokenFile: string;
  /** For the agent. */
  readonly args: readonly string[];
}

/**
 * On an address that only this machine reaches, at another port if the default one is taken. The token does not change.
 */
export async function prepareNodePage(instance: Instance, address: string): Promise<NodePageFacts> {
  const tokenFile = pageTokenFile(instance);
  mkdirSync(instance.nodeDir, { recursive: true, mode: 0o700 });
  if (!existsSync(tokenFile))
    writeFileSync(tokenFile, `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  chmodSync(tokenFile, 0o600);
  const port = await freePort(PAGE_PORT, address);
  return {
    url: `https://${hostPort(address, port)}/`,
    port,
    tokenFile,
    args: [`--cadvisor-port=${port}`, `--cadvisor-token-file=${tokenFile}`],
  };
}
