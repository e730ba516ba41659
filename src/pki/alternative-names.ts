/** Reads subject alternative names and extensions strictly; see der-reader.ts. */
import { Buffer } from 'node:buffer';
import { canonicalAddress } from './canonical-address.ts';
import { noNames } from './certificate-template.ts';
import type { AltNames } from './certificate-template.ts';
import { derError, DerFields, derTags, readObjectId, readOnly } from './der-reader.ts';
import type { DerElement } from './der-reader.ts';

export const SUBJECT_ALT_NAME_ID = '2.5.29.17';
/** The limit for a request; see `readRequestedSubject`. */
const MOST_REQUESTED = 256;

/** The values of extensions by object identifier. Throws `Invalid` for a duplicate. */
export function readExtensions(extensions: DerElement): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  for (const { content } of new DerFields(extensions.content).all(derTags.sequence, 'an extension')) {
    const fields = new DerFields(content);
    const id = readObjectId(fields.take(derTags.objectId, 'the type of an extension'));
    const critical = fields.optional(derTags.boolean, 'critical');
    if (critical !== undefined && (critical.content.length !== 1 || critical.content[0] !== 0xff))
      throw derError('critical of an extension is not as in DER');
    const value = fields.take(derTags.octetString, 'the value of an extension');
    fields.end('an extension');
    if (found.has(id)) throw derError(`the extension ${id} occurs twice`);
    found.set(id, value.content);
  }
  return found;
}

interface KnownKind {
  readonly kind: keyof AltNames;
  readonly what: string;
  /** Returns undefined for a malformed name. */
  readonly read: (content: Uint8Array) => string | undefined;
}

/** The supported kinds of names, by their tags in GeneralName. */
const kinds: ReadonlyMap<number, KnownKind> = new Map<number, KnownKind>([
  [0x81, { kind: 'emailAddresses', what: 'an email address', read: (content) => matching(content, /^[!-~]{1,254}$/) }],
  [0x82, { kind: 'dnsNames', what: 'a DNS name', read: (content) => matching(content, /^[A-Za-z0-9_*.-]{1,253}$/) }],
  [0x86, { kind: 'uris', what: 'a URI', read: (content) => matching(content, /^[!-~]{1,2048}$/) }],
  [0x87, { kind: 'ipAddresses', what: 'an IP address', read: readAddress }],
]);

/**
 * The names among extensions. Throws `Invalid` for a malformed name. Names of kinds that are never issued, such as
 * directory names, are rejected in a request and ignored in a certificate.
 */
export function altNamesOf(extensions: ReadonlyMap<string, Uint8Array>, where: 'request' | 'certificate'): AltNames {
  const value = extensions.get(SUBJECT_ALT_NAME_ID);
  if (value === undefined) return noNames;
  const found: Record<keyof AltNames, string[]> = { dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] };
  const fields = new DerFields(readOnly(value, derTags.sequence, 'the subject alternative names').content);
  if (fields.isEmpty) throw derError('the subject alternative names are empty');
  for (let count = 1; !fields.isEmpty; count++) {
    if (where === 'request' && count > MOST_REQUESTED)
      throw derError(`there are more than ${MOST_REQUESTED} subject alternative names`);
    const { tag, content } = fields.any('a subject alternative name');
    const known = kinds.get(tag);
    if (known === undefined) {
      if (where === 'request')
        throw derError(
          `a subject alternative name is of a kind that no certificate carries (tag 0x${tag.toString(16)})`,
        );
      continue;
    }
    const name = known.read(content);
    if (name === undefined) throw derError(`${known.what} of the subject alternative names is not well-formed`);
    found[known.kind].push(name);
  }
  return found;
}

function matching(content: Uint8Array, pattern: RegExp): string | undefined {
  const text = Buffer.from(content).toString('latin1');
  return pattern.test(text) ? text : undefined;
}

function readAddress(content: Uint8Array): string | undefined {
  const bytes = Buffer.from(content);
  if (bytes.length === 4) return bytes.join('.');
  return bytes.length === 16 ? canonicalAddress(bytes.toString('hex').replaceAll(/(.{4})(?!$)/g, '$1:')) : undefined;
}
