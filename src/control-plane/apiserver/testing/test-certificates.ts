import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface TestCertificates {
  readonly key: string;
  readonly cert: string;
  readonly clientCa: string;
  readonly client: { readonly key: string; readonly cert: string };
  /** A client certificate of an unknown CA. */
  readonly stranger: { readonly key: string; readonly cert: string };
}

/** Creates certificates for a test with openssl, because this folder may not import `src/pki`. */
export function makeTestCertificates(): TestCertificates {
  const folder = mkdtempSync(path.join(tmpdir(), 'certificates-'));
  const at = (name: string): string => path.join(folder, name);
  const openssl = (...words: readonly string[]): void => void execFileSync('openssl', words, { stdio: 'ignore' });
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  try {
    const self = (name: string, subject: string): void =>
      openssl('req', '-x509', ...ec, '-keyout', at(`${name}.key`), '-out', at(`${name}.crt`), '-subj', subject);
    self('ca', '/CN=ca');
    self('server', '/CN=localhost');
    self('stranger', '/CN=stranger');
    openssl('req', ...ec.slice(0, 5), '-keyout', at('client.key'), '-out', at('client.csr'), '-subj', '/O=dev/CN=jane');
    writeFileSync(at('ext'), 'extendedKeyUsage=clientAuth\n');
    openssl(
      'x509',
      '-req',
      '-in',
      at('client.csr'),
      '-CA',
      at('ca.crt'),
      '-CAkey',
      at('ca.key'),
      '-CAcreateserial',
      '-days',
      '2',
      '-out',
      at('client.crt'),
      '-extfile',
      at('ext'),
    );
    const read = (name: string): { key: string; cert: string } => ({
      key: readFileSync(at(`${name}.key`), 'utf8'),
      cert: readFileSync(at(`${name}.crt`), 'utf8'),
    });
    return {
      ...read('server'),
      clientCa: readFileSync(at('ca.crt'), 'utf8'),
      client: read('client'),
      stranger: read('stranger'),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
