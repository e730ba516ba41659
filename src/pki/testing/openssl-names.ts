import type { X509Certificate } from 'node:crypto';

type Values = Readonly<Record<string, readonly string[]>>;

/** The subject as OpenSSL reads it: values by attribute, in order. */
export function opensslSubject(certificate: X509Certificate): Values {
  const subject = (certificate.toLegacyObject().subject ?? {}) as unknown as Readonly<
    Record<string, string | readonly string[]>
  >;
  return Object.fromEntries(Object.entries(subject).map(([name, value]) => [name, [value].flat()]));
}

/** The alternative names as OpenSSL reads them, such as `DNS:a`; without the quotes that Node adds to some. */
export function opensslNames(certificate: X509Certificate): readonly string[] {
  const text = certificate.subjectAltName ?? '';
  const names = [...text.matchAll(/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/g)];
  if (names.map(([whole]) => whole).join('') !== text) throw new Error(`names of an unknown form: ${text}`);
  return names.map(
    ([, kind = '', value = '']) => `${kind}:${value.startsWith('"') ? (JSON.parse(value) as string) : value}`,
  );
}
