/**
 * Reads the subjects of certificates and requests (X.501 names). No other code does this. See
 * docs/adr/certificate-subjects.md.
 */
import { Buffer } from 'node:buffer';
import { derError, DerFields, derTags, readObjectId, readText } from './der-reader.ts';
import type { DerElement } from './der-reader.ts';

/**
 * The attributes that requests may contain: those that upstream's signers copy (Go's pkix.Name). Only the first two
 * identify the user.
 */
export const subjectAttributes = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  country: '2.5.4.6',
  organizationalUnit: '2.5.4.11',
  serialNumber: '2.5.4.5',
  locality: '2.5.4.7',
  province: '2.5.4.8',
  streetAddress: '2.5.4.9',
  postalCode: '2.5.4.17',
} as const;
export type SubjectAttributeName = keyof typeof subjectAttributes;

export interface SubjectAttribute {
  readonly name: SubjectAttributeName;
  readonly value: string;
}

/**
 * The limit of attributes in a request. Each one costs time when the certificate is written, and clients may request
 * certificates repeatedly.
 */
const MOST_REQUESTED = 128;
const namesById: ReadonlyMap<string, SubjectAttributeName> = new Map(
  Object.entries(subjectAttributes).map(([name, id]) => [id, name as SubjectAttributeName]),
);
/** The attribute with the uid of a user (upstream: authentication/request/x509). */
const USER_ID_ATTRIBUTE = '1.3.6.1.4.1.57683.2';

interface Attribute {
  /** The object identifier. */
  readonly type: string;
  readonly value: DerElement;
}

/**
 * The attributes of a request, in its order. Throws `Invalid` for unknown attributes, and for a second common name or
 * serial number.
 */
export function readRequestedSubject(name: DerElement): readonly SubjectAttribute[] {
  const attributes = readAttributes(name, MOST_REQUESTED).map(({ type, value }): SubjectAttribute => {
    const known = namesById.get(type);
    if (known === undefined) throw derError(`the subject has the attribute ${type}, which no certificate carries`);
    return { name: known, value: readText(value, `${known} of the subject`) };
  });
  for (const once of ['commonName', 'serialNumber'] as const) refuseSecond(valuesOf(attributes, once), once);
  return attributes;
}

/** The order of attributes in certificates that Go writes (upstream: crypto/x509/pkix Name.ToRDNSequence). */
const certificateOrder: readonly SubjectAttributeName[] = [
  'country',
  'organization',
  'organizationalUnit',
  'locality',
  'province',
  'streetAddress',
  'postalCode',
  'commonName',
  'serialNumber',
];

/** The attributes of a request in the order of a certificate. Attributes of the same type keep their order. */
export function inCertificateOrder(attributes: readonly SubjectAttribute[]): readonly SubjectAttribute[] {
  return certificateOrder.flatMap((wanted) => attributes.filter(({ name }) => name === wanted));
}

export const valuesOf = (attributes: readonly SubjectAttribute[], wanted: SubjectAttributeName): readonly string[] =>
  attributes.filter(({ name }) => name === wanted).map(({ value }) => value);

/** The user that a certificate names. */
export interface CertificateSubject {
  readonly commonName: string | undefined;
  readonly organizations: readonly string[];
  readonly uid: string | undefined;
}

/**
 * The user that a certificate of any authority names. Other attributes are ignored whatever they are, as upstream does,
 * but not in an RDN that also names the user.
 */
export function readCertificateSubject(name: DerElement): CertificateSubject {
  const attributes = readAttributes(name);
  const values = (wanted: string, what: string): readonly string[] =>
    attributes.filter(({ type }) => type === wanted).map(({ value }) => readText(value, `${what} of the subject`));
  const [commonNames, uids] = [values(subjectAttributes.commonName, 'commonName'), values(USER_ID_ATTRIBUTE, 'uid')];
  refuseSecond(commonNames, 'commonName');
  refuseSecond(uids, 'uid');
  return {
    commonName: commonNames[0],
    organizations: values(subjectAttributes.organization, 'organization'),
    uid: uids[0],
  };
}

function refuseSecond(values: readonly string[], what: string): void {
  if (values.length > 1) throw derError(`the subject has more than one ${what}`);
}

/** An RDN may have several values of one type: Go writes several organizations like that, and OpenSSL can. */
function readAttributes(name: DerElement, most = Infinity): Attribute[] {
  const attributes = new DerFields(name.content).all(derTags.set, 'an RDN of the subject').flatMap(({ content }) => {
    const elements = new DerFields(content).all(derTags.sequence, 'an attribute of the subject');
    if (elements.length === 0) throw derError('an RDN of the subject is empty');
    const isSorted = elements.every(
      ({ bytes }, index) => index === 0 || Buffer.compare(elements[index - 1]?.bytes ?? bytes, bytes) < 0,
    );
    if (!isSorted) throw derError('an RDN of the subject is not in the order of DER');
    const rdn = elements.map(readAttribute);
    if (rdn.some(({ type }) => type !== rdn[0]?.type))
      throw derError('an RDN of the subject has attributes of several types');
    return rdn;
  });
  if (attributes.length > most) throw derError(`the subject has more than ${most} attributes`);
  return attributes;
}

function readAttribute({ content }: DerElement): Attribute {
  const fields = new DerFields(content);
  const type = readObjectId(fields.take(derTags.objectId, 'the type of an attribute'));
  const value = fields.any('the value of an attribute');
  fields.end('an attribute of the subject');
  return { type, value };
}
