import { readFileSync } from 'node:fs';
import { readKeyPair } from '../../../pki/key-pair.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { LateFile } from './late-file.ts';

export interface WatchedPairOptions {
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Whether the pair is reloaded when its files change (feature gate ReloadKubeletServerCertificateFile). */
  readonly follows: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * A certificate and a key, each in a file, that are reloaded when they change (upstream:
 * ReloadKubeletServerCertificateFile). If a new pair does not match, the previous one stays in use.
 */
export function watchPair({ certificateFile, keyFile, follows, clock, log }: WatchedPairOptions): LateFile<KeyPair> {
  return new LateFile({
    file: certificateFile,
    parse: (certificate) => readKeyPair(certificate, readFileSync(keyFile, 'utf8')),
    follows,
    clock,
    log,
  });
}
