/** Answers one DNS message from a given view of the cluster. */
import type { Answer, Packet, Question } from 'dns-packet';
import {
  decode,
  encode,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
  AUTHORITATIVE_ANSWER,
} from 'dns-packet';
import { KubeletError } from '../../base/errors.ts';
import type { ClusterView, DnsRecord } from './cluster-names.ts';
import { answerClusterName } from './cluster-names.ts';
import { messageEnd } from './message-bounds.ts';

/** kubeadm's time to live for names of the cluster. */
const TTL_SECONDS = 30;
const responseCodes = { formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 } as const;
/** The UDP limit of a client without EDNS, and the limit of this server. */
const PLAIN_UDP_BYTES = 512;
const MAX_UDP_BYTES = 1232;
const HEADER_BYTES = 12;
/** The size limit of a query. It has a name of at most 255 bytes and little else. */
export const MAX_QUERY_BYTES = 4096;
/** One for EDNS, one for a signature. */
const MAX_ADDITIONALS = 2;
/** Recursion desired, authentic data, checking disabled: the flags that a client may set. */
const FORWARDED_FLAGS = 0x0130;
/** A root name, type, class, time to live and length. */
const SHORTEST_RECORD_BYTES = 11;

export interface Query {
  readonly packet: Packet;
  readonly question: Question;
  /** The client's UDP limit. */
  readonly udpBytes: number;
}

export type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  /** The answer is sent back unchanged. */
  | { readonly kind: 'refused'; readonly answer: Buffer }
  /** The message is not a query, or is one without a response. */
  | { readonly kind: 'ignored' };

export function readQuery(message: Buffer): ReadQuery {
  if (message.length < HEADER_BYTES || (message.readUInt16BE(2) & 0x8000) !== 0) return { kind: 'ignored' };
  const id = message.readUInt16BE(0);
  const refused = (rcode: number): ReadQuery => ({
    kind: 'refused',
    answer: encode({ type: 'response', id, flags: rcode }),
  });
  if (((message.readUInt16BE(2) >> 11) & 0xf) !== 0) return refused(responseCodes.notImplemented);
  if (!hasFormOfQuery(message)) return refused(responseCodes.formatError);
  try {
    const packet = decode(message);
    const [question] = packet.questions ?? [];
    if (question === undefined || !isAsWritten(question, message)) return refused(responseCodes.formatError);
    if (question.class !== 'IN') return refused(responseCodes.refused);
    const extension = packet.additionals?.find((record) => record.type === 'OPT');
    const offered = extension?.type === 'OPT' ? extension.udpPayloadSize : PLAIN_UDP_BYTES;
    return {
      kind: 'query',
      query: { packet, question, udpBytes: Math.min(Math.max(offered, PLAIN_UDP_BYTES), MAX_UDP_BYTES) },
    };
  } catch {
    // The library throws for every truncated message and for circular names; such a query is answered with an error.
    return refused(responseCodes.formatError);
  }
}

function hasFormOfQuery(message: Buffer): boolean {
  const [questions, answers, authorities, additionals] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at)) as [
    number,
    number,
    number,
    number,
  ];
  return (
    message.length <= MAX_QUERY_BYTES &&
    questions === 1 &&
    answers === 0 &&
    authorities === 0 &&
    additionals <= MAX_ADDITIONALS
  );
}

/**
 * Whether the name is unambiguous. A label may contain any byte, even a dot. Such a name would be checked as one name
 * and forwarded as another.
 */
function isAsWritten(question: Question, message: Buffer): boolean {
  const bytes = encode({ type: 'query', questions: [question] }).subarray(HEADER_BYTES);
  return bytes.equals(message.subarray(HEADER_BYTES, HEADER_BYTES + bytes.length));
}

/**
 * Builds the query for other name servers from the parsed one, so that nothing else of the client's message is
 * forwarded.
 */
export function forwardedQuery({ packet, question, udpBytes }: Query): Buffer {
  const additionals = hasExtension(packet) ? [extensionOf(udpBytes)] : [];
  return encode({
    type: 'query',
    id: packet.id ?? 0,
    flags: (packet.flags ?? 0) & FORWARDED_FLAGS,
    questions: [question],
    additionals,
  });
}

/**
 * Returns the bytes of another server's response. Throws `Invalid` if it is incomplete or has circular names. Its
 * records are not changed, because they may be of unknown types.
 */
export function wholeAnswer(answer: Buffer): Buffer {
  const end = messageEnd(answer);
  if (end === undefined)
    throw new KubeletError('Invalid', 'the answer of a name server is malformed', { op: 'forward' });
  return answer.subarray(0, end);
}

/** Returns the response for the client, truncated (TC) if it is too long. */
export function handedOn(query: Query, answer: Buffer, limitBytes: number): Buffer {
  const whole = wholeAnswer(answer);
  return whole.length <= limitBytes
    ? whole
    : encode({ ...response(query, {}), flags: whole.readUInt16BE(2) | TRUNCATED_RESPONSE });
}

/**
 * Returns the records of an alias's target. Only those of the target's name are used, because only this server answers
 * for names of the cluster.
 */
export function recordsOf(name: string, answer: Packet, domain: string): Answer[] {
  const isOurs = (text: string): boolean => text === domain || text.endsWith(`.${domain}`);
  const records = answer.answers ?? [];
  const found: Answer[] = [];
  const followed = new Set<string>();
  for (let at: string | undefined = name.toLowerCase(); at !== undefined && !followed.has(at) && !isOurs(at); ) {
    const current: string = at;
    followed.add(current);
    const own = records.filter((record) => record.name.toLowerCase() === current);
    const alias = own.find((record) => record.type === 'CNAME' && !isOurs(record.data.toLowerCase()));
    found.push(...own.filter((record) => record.type !== 'CNAME' || record === alias));
    at = alias?.type === 'CNAME' ? alias.data.toLowerCase() : undefined;
  }
  return found;
}

/**
 * Answers from the view; undefined for a name outside of the cluster. `alias` is the name of another host, whose
 * address must still be queried.
 */
export function answerFromCluster(
  query: Query,
  view: ClusterView,
): { readonly answer: Packet; readonly alias?: string } | undefined {
  const { question } = query;
  const known = answerClusterName(question.name.replace(/\.$/, ''), question.type, view);
  if (known.kind === 'elsewhere') return undefined;
  const soa: Answer[] = [soaRecord(view.domain)];
  if (known.kind === 'no-such-name')
    return { answer: response(query, { rcode: responseCodes.noSuchName, authoritative: true, authorities: soa }) };
  const answers = known.answers.map((record) => toAnswer(record, view.domain));
  const alias = known.answers.find((record) => record.type === 'CNAME' && question.type !== 'CNAME');
  const additionals = known.additionals.map((record) => toAnswer(record, view.domain));
  const answer = response(query, {
    authoritative: true,
    answers,
    additionals,
    ...(answers.length === 0 && { authorities: soa }),
  });
  return alias?.type === 'CNAME' ? { answer, alias: alias.data } : { answer };
}

export const serverFailure = (query: Query): Packet => response(query, { rcode: responseCodes.serverFailure });

interface ResponseParts {
  readonly rcode?: number;
  readonly authoritative?: boolean;
  readonly answers?: Answer[];
  readonly authorities?: Answer[];
  readonly additionals?: Answer[];
}

function response(
  { packet, question }: Query,
  { rcode = 0, authoritative = false, answers = [], authorities = [], additionals = [] }: ResponseParts,
): Packet {
  return {
    type: 'response',
    id: packet.id ?? 0,
    flags:
      ((packet.flags ?? 0) & RECURSION_DESIRED) |
      RECURSION_AVAILABLE |
      (authoritative ? AUTHORITATIVE_ANSWER : 0) |
      rcode,
    questions: [question],
    answers,
    authorities,
    additionals: hasExtension(packet) ? [...additionals, extensionOf(MAX_UDP_BYTES)] : additionals,
  };
}

const hasExtension = ({ additionals }: Packet): boolean =>
  additionals?.some((record) => record.type === 'OPT') === true;
const extensionOf = (udpPayloadSize: number): Answer => ({
  type: 'OPT',
  name: '.',
  udpPayloadSize,
  extendedRcode: 0,
  ednsVersion: 0,
  flags: 0,
  flag_do: false,
  options: [],
});

/**
 * Encodes the response. If it exceeds the client's UDP limit, first the additional records and then the answers are
 * dropped, and TC is set, so that the client retries over TCP.
 */
export function writeAnswer(answer: Packet, limitBytes: number): Buffer {
  const extension = (answer.additionals ?? []).filter((record) => record.type === 'OPT');
  for (const additionals of [answer.additionals ?? [], extension]) {
    // A response that is certainly too long is not encoded, because a short query may request a service with thousands
    // of endpoints.
    if (((answer.answers ?? []).length + additionals.length) * SHORTEST_RECORD_BYTES > limitBytes) continue;
    const bytes = encode({ ...answer, additionals });
    if (bytes.length <= limitBytes) return bytes;
  }
  return encode({
    ...answer,
    answers: [],
    authorities: [],
    additionals: extension,
    flags: (answer.flags ?? 0) | TRUNCATED_RESPONSE,
  });
}

function soaRecord(domain: string): Answer {
  return {
    type: 'SOA',
    name: domain,
    ttl: TTL_SECONDS,
    data: {
      mname: `ns.dns.${domain}`,
      rname: `hostmaster.${domain}`,
      serial: 1,
      refresh: 7200,
      retry: 1800,
      expire: 86400,
      minimum: TTL_SECONDS,
    },
  };
}

function toAnswer(record: DnsRecord, domain: string): Answer {
  if (record.type === 'SOA') return { ...soaRecord(domain), name: record.name } as Answer;
  return { ttl: TTL_SECONDS, ...record } as Answer;
}
