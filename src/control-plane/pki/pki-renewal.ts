import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import { broken, readCertificate, readKey } from './authority-files.ts';
import type { Issued } from './issued-files.ts';
import { WatchedFile } from '../../pki/watched-file.ts';

/**
 * The interval of checks. Certificates are renewed months before they expire, so two checks a day suffice, even after a
 * failure.
 */
const CHECK_MS = 12 * 3_600_000;

export interface PkiRenewalOptions {
  /** The folder of `apiserver.crt` and its key. */
  readonly folder: string;
  /** Calls `ensureClusterPki` with the options of the start, at the current time. */
  readonly ensure: () => Promise<unknown>;
  /** Called when the API server's certificate was renewed here or replaced manually. */
  readonly servingChanged: (pair: Issued) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Renews certificates while the server runs, and notices when its own was replaced. If a certificate cannot be renewed
 * or used, this is logged and the old one stays in use.
 */
export function createPkiRenewal(options: PkiRenewalOptions): { start(): void; stop(): Promise<void> } {
  const { folder, ensure, servingChanged, clock, random, log } = options;
  const [certificateFile, keyFile] = [path.join(folder, 'apiserver.crt'), path.join(folder, 'apiserver.key')];
  const parse = (certificatePem: string): Issued => {
    const keyPem = readFileSync(keyFile, 'utf8');
    if (!readCertificate(certificateFile, certificatePem).checkPrivateKey(readKey(keyFile, keyPem)))
      throw broken(certificateFile, `does not belong to ${keyFile}`, 'replace the other, too');
    return { certificatePem, keyPem };
  };
  const serving = new WatchedFile({ file: certificateFile, parse, clock, log });
  const loop = createLoop({
    name: 'certificate-renewal',
    clock,
    random,
    log,
    periodMs: CHECK_MS,
    jitterFactor: 0.2,
    pass: async () => {
      await ensure();
      serving.refresh();
    },
  });
  return {
    start: () => {
      serving.onChange(servingChanged);
      serving.start();
      loop.start();
    },
    stop: async () => {
      serving.stop();
      await loop.stop();
    },
  };
}
