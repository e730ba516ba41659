import type { SecureContextOptions, SecureVersion } from 'node:tls';

/** The TLS settings of the configuration, with Go's names. */
export interface TlsConfig {
  readonly cipherSuites: readonly string[];
  /** The minimum version; empty means 1.2. */
  readonly minVersion: string;
  /** The curves by Go's numbers; empty means all that both sides support, the best first. */
  readonly curvePreferences: readonly number[];
}

const versions: Readonly<Record<string, SecureVersion>> = {
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
};

/** The suites of TLS 1.3. As in Go, they cannot be configured. */
const always = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/**
 * The default suites of TLS 1.2: with forward secrecy and authenticated encryption (CIS 4.2.12). Go's default also has
 * CBC suites.
 */
export const strongCipherSuites: readonly string[] = [
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
];

const curves: Readonly<Record<number, string>> = {
  23: 'P-256',
  24: 'P-384',
  25: 'P-521',
  29: 'X25519',
  4588: 'X25519MLKEM768',
};

/** Returns the options for Node's TLS. OpenSSL ignores suites that it does not have. */
export function tlsSettings({
  cipherSuites,
  minVersion,
  curvePreferences,
}: TlsConfig): Pick<SecureContextOptions, 'ciphers' | 'minVersion' | 'ecdhCurve'> {
  const chosen = (cipherSuites.length === 0 ? strongCipherSuites : cipherSuites)
    .filter((suite) => !always.includes(suite))
    .map(openSslName);
  const isOld = minVersion === 'VersionTLS10' || minVersion === 'VersionTLS11';
  const named = curvePreferences.flatMap((id) => curves[id] ?? []);
  return {
    ciphers: [...always, ...chosen, ...(isOld ? ['@SECLEVEL=0'] : [])].join(':'),
    minVersion: versions[minVersion] ?? 'TLSv1.2',
    ...(named.length > 0 && { ecdhCurve: named.join(':') }),
  };
}

/** Converts a name to OpenSSL's: `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is `ECDHE-RSA-AES128-GCM-SHA256` there. */
function openSslName(suite: string): string {
  const [, exchange = '', cipher = ''] = /^TLS_(.+?)_WITH_(.+)$/s.exec(suite) ?? [];
  const name = cipher
    .replace(/^AES_(\d+)_CBC_/, 'AES$1-')
    .replace(/^AES_(\d+)_GCM_/, 'AES$1-GCM-')
    .replace(/^CHACHA20_POLY1305.*$/, 'CHACHA20-POLY1305')
    .replace('3DES_EDE_CBC_SHA', 'DES-CBC3-SHA')
    .replace('RC4_128_SHA', 'RC4-SHA');
  return exchange === 'RSA' ? name : `${exchange.replace('_', '-')}-${name}`;
}
