import { isRecord } from '../../../base/json-record.ts';
import { createHash } from 'node:crypto';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { AccountSource } from './credentials/keyring.ts';
import type { PulledRecord, PulledWith, PulledWithSecret } from './pull-verification.ts';

const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
const LIMIT_BYTES = 4 * 1024 * 1024;
const fileNamePattern = /^sha256-[0-9a-f]{64}$/;

/**
 * Reads and writes upstream's record files: `<root>/image_manager/pulling/sha256-…` before a pull and `pulled/sha256-…`
 * after it. They have upstream's format, so that either agent can read the other's files
 * (pullmanager/fs_pullrecords.go). Only this process writes them.
 */
export class PullRecordFiles {
  readonly #files: HostFiles;
  readonly #log: Logger;
  readonly #pulling: string;
  readonly #pulled: string;

  constructor(options: { files: HostFiles; log: Logger; rootDir: string }) {
    this.#files = options.files;
    this.#log = options.log;
    this.#pulling = `${options.rootDir}/image_manager/pulling`;
    this.#pulled = `${options.rootDir}/image_manager/pulled`;
  }

  async makeFolders(): Promise<void> {
    await this.#files.makeDirectory(this.#pulling, 0o700);
    await this.#files.makeDirectory(this.#pulled, 0o700);
  }

  /** Returns the intents. Invalid files are logged by name and skipped. */
  async intents(): Promise<string[]> {
    return this.#readAll(this.#pulling, intentOf);
  }

  async records(): Promise<PulledRecord[]> {
    return this.#readAll(this.#pulled, recordOf);
  }

  async writeIntent(image: string): Promise<void> {
    await this.#write(this.#pulling, image, { kind: 'ImagePullIntent', apiVersion: API_VERSION, image });
  }

  async removeIntent(image: string): Promise<void> {
    await this.#files.remove(`${this.#pulling}/${fileName(image)}`);
  }

  async writeRecord(record: PulledRecord): Promise<void> {
    await this.#write(this.#pulled, record.imageRef, formatRecord(record));
  }

  async removeRecord(imageRef: string): Promise<void> {
    await this.#files.remove(`${this.#pulled}/${fileName(imageRef)}`);
  }

  async #write(folder: string, key: string, value: unknown): Promise<void> {
    const path = `${folder}/${fileName(key)}`;
    try {
      await this.#files.writeFileAtomic(path, `${JSON.stringify(value)}\n`, 0o600);
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      await this.makeFolders();
      await this.#files.writeFileAtomic(path, `${JSON.stringify(value)}\n`, 0o600);
    }
  }

  async #readAll<T>(folder: string, parse: (value: unknown) => T | undefined): Promise<T[]> {
    const found: T[] = [];
    for (const name of await this.#files.list(folder)) {
      if (!fileNamePattern.test(name)) continue;
      try {
        const value = parse(JSON.parse(await this.#files.readText(`${folder}/${name}`, LIMIT_BYTES)));
        if (value === undefined)
          this.#log.warn('an image pull record is invalid and counts as absent', { path: `${folder}/${name}` });
        else found.push(value);
      } catch (error) {
        this.#log.warn('an image pull record cannot be read and counts as absent', {
          path: `${folder}/${name}`,
          error: isKind(error, 'Internal') ? 'not valid JSON' : errorMessage(error),
        });
      }
    }
    return found;
  }
}

function fileName(key: string): string {
  return `sha256-${createHash('sha256').update(key).digest('hex')}`;
}

function isOurs(value: unknown, kind: string): value is Record<string, unknown> {
  return (
    isRecord(value) &&
    value.kind === kind &&
    typeof value.apiVersion === 'string' &&
    value.apiVersion.startsWith('kubelet.config.k8s.io/')
  );
}

function intentOf(value: unknown): string | undefined {
  return isOurs(value, 'ImagePullIntent') && typeof value.image === 'string' ? value.image : undefined;
}

function recordOf(value: unknown): PulledRecord | undefined {
  if (!isOurs(value, 'ImagePulledRecord') || typeof value.imageRef !== 'string') return undefined;
  const credentials: Record<string, PulledWith> = {};
  for (const [image, access] of Object.entries(isRecord(value.credentialMapping) ? value.credentialMapping : {}))
    if (isRecord(access)) credentials[image] = accessOf(access);
  const lastUpdatedMs = Date.parse(typeof value.lastUpdatedTime === 'string' ? value.lastUpdatedTime : '');
  return { imageRef: value.imageRef, lastUpdatedMs: Number.isNaN(lastUpdatedMs) ? 0 : lastUpdatedMs, credentials };
}

function accessOf(access: Record<string, unknown>): PulledWith {
  const secrets: PulledWithSecret[] = recordsIn(access.kubernetesSecrets).flatMap((entry) => {
    const place = placeOf(entry);
    const { credentialHash = '' } = entry;
    return place === undefined || typeof credentialHash !== 'string' ? [] : [{ ...place, credentialHash }];
  });
  const accounts = recordsIn(access.kubernetesServiceAccounts).flatMap((entry) => placeOf(entry) ?? []);
  const nodePodsAccessible = access.nodePodsAccessible === true;
  return { nodePodsAccessible, secrets, ...(accounts.length > 0 ? { accounts } : {}) };
}

const recordsIn = (list: unknown): Record<string, unknown>[] =>
  (Array.isArray(list) ? (list as unknown[]) : []).filter(isRecord);

function placeOf({ uid, namespace, name }: Record<string, unknown>): AccountSource | undefined {
  return typeof uid === 'string' && typeof namespace === 'string' && typeof name === 'string'
    ? { uid, namespace, name }
    : undefined;
}

function formatRecord(record: PulledRecord): unknown {
  const mapping = Object.entries(record.credentials).map(([image, { nodePodsAccessible, secrets, accounts = [] }]) => {
    const kubernetesSecrets = secrets.map(({ uid, namespace, name, credentialHash }) => ({
      uid,
      namespace,
      name,
      credentialHash,
    }));
    const kubernetesServiceAccounts = accounts.map(({ uid, namespace, name }) => ({ uid, namespace, name }));
    return [
      image,
      {
        ...(secrets.length > 0 ? { kubernetesSecrets } : {}),
        ...(accounts.length > 0 ? { kubernetesServiceAccounts } : {}),
        ...(nodePodsAccessible ? { nodePodsAccessible } : {}),
      },
    ] as const;
  });
  const lastUpdatedTime = new Date(record.lastUpdatedMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    kind: 'ImagePulledRecord',
    apiVersion: API_VERSION,
    lastUpdatedTime,
    imageRef: record.imageRef,
    credentialMapping: Object.fromEntries(mapping),
  };
}
