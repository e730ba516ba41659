/** One DNS message in, one out. Pure but for the view it is given. */
import {
  type Answer,
  decode,
  encode,
  type Packet,
  type Question,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  TRUNCATED_RESPONSE,
  AUTHORITATIVE_ANSWER,
} from 'dns-packet';
import { answerClusterName, type ClusterView, type DnsRecord } from './cluster-names.ts';

/** kubeadm's time to live for names of the cluster. */
export const TTL_SECONDS = 30;
const RCODE = { formatError: 1, serverFailure: 2, noSuchName: 3, notImplemented: 4, refused: 5 } as const;
/** What a client without EDNS takes over UDP, and what we take ourselves. */
const PLAIN_UDP_BYTES = 512;
export const MAX_UDP_BYTES = 1232;
const HEADER_BYTES = 12;

export interface Query {
  readonly packet: Packet;
  readonly question: Question;
  /** The longest answer the client takes over UDP. */
  readonly udpBytes: number;
}

export type ReadQuery =
  | { readonly kind: 'query'; readonly query: Query }
  /** To be sent back as it is. */
  | { readonly kind: 'refused'; readonly answer: Buffer }
  /** No question at all, or not worth an answer. */
  | { readonly kind: 'ignored' };

export function readQuery(message: Buffer): ReadQuery {
  if (message.length < HEADER_BYTES || (message.readUInt16BE(2) & 0x8000) !== 0) return { kind: 'ignored' };
  const id = message.readUInt16BE(0);
  const refused = (rcode: number): ReadQuery => ({
    kind: 'refused',
    answer: encode({ type: 'response', id, flags: rcode }),
  });
  if (((message.readUInt16BE(2) >> 11) & 0xf) !== 0) return refused(RCODE.notImplemented);
  try {
    const packet = decode(message);
    const [question, ...more] = packet.questions ?? [];
    if (question === undefined || more.length > 0) return refused(RCODE.formatError);
    if (question.class !== 'IN') return refused(RCODE.refused);
    const extension = packet.additionals?.find((record) => record.type === 'OPT');
    const offered = extension?.type === 'OPT' ? extension.udpPayloadSize : PLAIN_UDP_BYTES;
    return {
      kind: 'query',
      query: { packet, question, udpBytes: Math.min(Math.max(offered, PLAIN_UDP_BYTES), MAX_UDP_BYTES) },
    };
  } catch {
    // What cannot be read is said so, once: the library throws on every message cut short or led in a circle.
    return refused(RCODE.formatError);
  }
}

/** Undefined: others know. `alias`: the name is another's, whose address is still to be asked for. */
export function answerFromCluster(
  query: Query,
  view: ClusterView,
): { readonly answer: Packet; readonly alias?: string } | undefined {
  const { question } = query;
  const known = answerClusterName(question.name.replace(/\.$/, ''), question.type, view);
  if (known.kind === 'elsewhere') return undefined;
  const soa: Answer[] = [soaRecord(view.domain)];
  if (known.kind === 'no-such-name')
    return { answer: response(query, { rcode: RCODE.noSuchName, authoritative: true, authorities: soa }) };
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

export const serverFailure = (query: Query): Packet => response(query, { rcode: RCODE.serverFailure });

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
  const hasExtension = packet.additionals?.some((record) => record.type === 'OPT') === true;
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
    additionals: hasExtension
      ? [
          ...additionals,
          {
            type: 'OPT',
            name: '.',
            udpPayloadSize: MAX_UDP_BYTES,
            extendedRcode: 0,
            ednsVersion: 0,
            flags: 0,
            flag_do: false,
            options: [],
          },
        ]
      : additionals,
  };
}

/** Bytes for the wire. What is too long for the client's UDP loses first its additions, then its answers, and says so: the client asks again over TCP. */
export function writeAnswer(answer: Packet, limitBytes: number): Buffer {
  const whole = encode(answer);
  if (whole.length <= limitBytes) return whole;
  const extension = (answer.additionals ?? []).filter((record) => record.type === 'OPT');
  const short = encode({ ...answer, additionals: extension });
  if (short.length <= limitBytes) return short;
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
