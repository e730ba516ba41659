/** Answers queries for the cluster's names from the view, and forwards all others to the node's name servers. */
import { decode } from 'dns-packet';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Query } from './answer-query.ts';
import {
  answerFromCluster,
  forwardedQuery,
  handedOn,
  readQuery,
  recordsOf,
  serverFailure,
  wholeAnswer,
  writeAnswer,
} from './answer-query.ts';
import type { ClusterView } from './cluster-names.ts';
import { RepeatedQuestions } from './repeated-questions.ts';

export interface Forwarder {
  /**
   * Returns the answer of one of the node's name servers, with the id of the query. Throws when no server answers in
   * time, or when too many queries are in progress.
   */
  ask(question: Buffer, transport: Transport): Promise<Buffer>;
  /** Whether `ask` sent this query and still waits for the answer: it is a forwarding loop. */
  isOwn(message: Buffer): boolean;
}

export type Transport = 'udp' | 'tcp';
const TCP_BYTES = 65_535;

export interface NameServiceOptions {
  /** Returns the view; undefined until everything was listed, because an incomplete view would deny existing names. */
  readonly view: () => ClusterView | undefined;
  readonly forwarder: Forwarder;
  readonly log: Logger;
}

/** Answers a message; undefined means that no response is sent. It never throws. */
export type NameService = (message: Buffer, transport: Transport) => Promise<Buffer | undefined>;

export function createNameService({ view, forwarder, log }: NameServiceOptions): NameService {
  /** Adds the address of an alias's target to the answer. */
  const followAlias = async (
    query: Query,
    answer: NonNullable<ReturnType<typeof answerFromCluster>>,
    cluster: ClusterView,
  ): Promise<void> => {
    const name = answer.alias;
    if (name === undefined) return;
    const question = { ...query.question, name };
    const own = answerFromCluster({ ...query, question }, cluster);
    const further =
      own?.answer.answers ??
      recordsOf(
        name,
        decode(wholeAnswer(await forwarder.ask(forwardedQuery({ ...query, question }), 'tcp'))),
        cluster.domain,
      );
    answer.answer.answers = [...(answer.answer.answers ?? []), ...further];
  };
  const repeated = { udp: new RepeatedQuestions(), tcp: new RepeatedQuestions() };
  return async (message, transport) => {
    const now = view();
    const version = now?.version() ?? -1;
    const again = now === undefined ? undefined : repeated[transport].find(message, version);
    if (again !== undefined) return again;
    const read = readQuery(message);
    if (read.kind === 'ignored') return undefined;
    if (read.kind === 'refused') return read.answer;
    const { query } = read;
    const limit = transport === 'udp' ? query.udpBytes : TCP_BYTES;
    try {
      const cluster = now;
      if (cluster === undefined) return writeAnswer(serverFailure(query), limit);
      const own = answerFromCluster(query, cluster);
      if (own === undefined) {
        if (forwarder.isOwn(message)) return writeAnswer(serverFailure(query), limit);
        return handedOn(query, await forwarder.ask(forwardedQuery(query), transport), limit);
      }
      if (own.alias === undefined) {
        const answer = writeAnswer(own.answer, limit);
        repeated[transport].store(message, answer, version);
        return answer;
      }
      // An alias without a known address is still the answer: the client may query further.
      await followAlias(query, own, cluster).catch((error: unknown) =>
        log.debug(4, 'an alias could not be followed', { alias: own.alias, error: errorMessage(error) }),
      );
      return writeAnswer(own.answer, limit);
    } catch (error) {
      log.debug(4, 'a question could not be answered', { name: query.question.name, error: errorMessage(error) });
      return writeAnswer(serverFailure(query), limit);
    }
  };
}
