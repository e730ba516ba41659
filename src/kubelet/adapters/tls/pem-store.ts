import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf, errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { syncFolder } from '../../../base/write-file-atomic.ts';
import { readKeyPair } from '../../../pki/key-pair.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import { readIfThere, writeSecretFile } from '../../../pki/pki-files.ts';

export interface PemStoreOptions {
  readonly folder: string;
  /** For example `kubelet-client`. */
  readonly prefix: string;
  /** Files of other programs that are read if there is no current pair. */
  readonly fallback?: { readonly certificateFile: string; readonly keyFile: string };
  readonly nowMs: () => number;
  readonly log: Logger;
}

/**
 * Stores pairs of certificate and key in upstream's layout: `PREFIX-DATE.pem` has both, and the link
 * `PREFIX-current.pem` points to the current one (upstream: client-go util/certificate fileStore). The link is replaced
 * atomically; upstream has a moment without it.
 */
export class PemStore {
  readonly #options: PemStoreOptions;

  constructor(options: PemStoreOptions) {
    this.#options = options;
  }

  get currentPath(): string {
    return path.resolve(this.#options.folder, `${this.#options.prefix}-current.pem`);
  }

  /** Returns the current pair. An unusable pair is logged and counts as missing, so that a new one replaces it. */
  async current(): Promise<KeyPair | undefined> {
    const { folder, prefix, fallback } = this.#options;
    await this.#recover();
    const own = { certificateFile: path.join(folder, `${prefix}.crt`), keyFile: path.join(folder, `${prefix}.key`) };
    return (
      (await this.#read(this.currentPath, this.currentPath)) ??
      (fallback === undefined ? undefined : await this.#read(fallback.certificateFile, fallback.keyFile)) ??
      (await this.#read(own.certificateFile, own.keyFile))
    );
  }

  async update({ certificate, key }: Pick<KeyPair, 'certificate' | 'key'>): Promise<KeyPair> {
    const pair = readKeyPair(certificate, key);
    const { folder, prefix, nowMs } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const link = await linkTarget(this.currentPath);
    if (link === 'file')
      throw new KubeletError('Invalid', `expected "${this.currentPath}" to be a symlink but it is a file`);
    const file = path.resolve(folder, `${prefix}-${stamp(nowMs())}.pem`);
    await writeSecretFile(file, pair.certificate + pair.key);
    const updated = path.resolve(folder, `.${prefix}-${randomBytes(4).toString('hex')}.link`);
    await symlink(file, updated);
    await rename(updated, this.currentPath);
    await syncFolder(folder);
    await this.#forget(new Set([file, link]));
    return pair;
  }

  /** Completes a replacement by upstream that was interrupted between its two steps. */
  async #recover(): Promise<void> {
    const updated = path.resolve(this.#options.folder, `${this.#options.prefix}-updated.pem`);
    if ((await linkTarget(this.currentPath)) !== undefined) return;
    const target = await linkTarget(updated);
    if (target !== undefined && target !== 'file') await rename(updated, this.currentPath);
  }

  async #read(certificateFile: string, keyFile: string): Promise<KeyPair | undefined> {
    try {
      const certificate = await readIfThere(certificateFile);
      const key = certificateFile === keyFile ? certificate : await readIfThere(keyFile);
      return certificate === undefined || key === undefined ? undefined : readKeyPair(certificate, key);
    } catch (error) {
      this.#options.log.error('a certificate and its key cannot be used', {
        certificateFile,
        keyFile,
        error: errorMessage(error),
      });
      return undefined;
    }
  }

  /** Removes older pairs except the last one, so that old keys do not accumulate. */
  async #forget(kept: ReadonlySet<string | undefined>): Promise<void> {
    const { folder, prefix, log } = this.#options;
    const isOurs = new RegExp(`^${prefix}-\\d{4}(-\\d{2}){5}\\.pem$`);
    try {
      for (const name of await readdir(folder)) {
        const file = path.resolve(folder, name);
        if (isOurs.test(name) && !kept.has(file)) await rm(file, { force: true });
      }
    } catch (error) {
      log.warn('old certificates could not be removed', { folder, error: errorMessage(error) });
    }
  }
}

/** Returns the full target of a link, `file` if it is not a link, or undefined if nothing exists. */
async function linkTarget(file: string): Promise<string | undefined> {
  try {
    if (!(await lstat(file)).isSymbolicLink()) return 'file';
    return path.resolve(path.dirname(file), await readlink(file));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Formats a time as upstream does, in local time: `2026-01-31-23-59-59`. */
function stamp(ms: number): string {
  const date = new Date(ms);
  return [
    date.getFullYear(),
    date.getMonth() + 1,
    date.getDate(),
    date.getHours(),
    date.getMinutes(),
    date.getSeconds(),
  ]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');
}

/** Reads and writes `kubelet-client.key.tmp`, the key of a pending request. */
export function pendingKeyFile(folder: string): {
  read(): Promise<string | undefined>;
  write(key: string): Promise<void>;
  remove(): Promise<void>;
} {
  const file = path.join(folder, 'kubelet-client.key.tmp');
  return {
    read: () => readIfThere(file),
    write: (key) => writeSecretFile(file, key),
    remove: () => rm(file, { force: true }),
  };
}
