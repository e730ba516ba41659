import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { nextTurn } from '../../../base/turn.ts';
import { cadvisorChunks } from './cadvisor-text.ts';
import { TEXT_TYPE } from './exposition.ts';
import type { ListingEntry } from './cadvisor-text.ts';
import type { ResourceSamples } from './resource-text.ts';
import { resourceText } from './resource-text.ts';
import type { Summary } from './summary-types.ts';
import type { MachineIdentity } from '../../ports/stats.ts';

/** A request, as the endpoint interface of the servers defines it. */
export interface StatsRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  readonly acceptEncoding: string;
}

export interface StatsAnswer {
  readonly status: 200 | 500;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

export interface StatsEndpointParts {
  readonly stats: {
    summary(): Promise<Summary>;
    cpuAndMemory(): Promise<Summary>;
    resources(): Promise<ResourceSamples>;
    listing(): Promise<ListingEntry[]>;
  };
  readonly machine: MachineIdentity;
  readonly nowMs: () => number;
  /** Compresses piece by piece, so that a large response is never in memory uncompressed. */
  readonly gzip: (pieces: AsyncIterable<string> | Iterable<string>) => Promise<Uint8Array<ArrayBuffer>>;
  readonly log: Logger;
}

/** The number of families that are rendered before other work runs: about 2 ms with 100 pods. */
const FAMILIES_AT_ONCE = 8;

export function statsEndpoints(
  parts: StatsEndpointParts,
): Map<string, (request: StatsRequest) => Promise<StatsAnswer>> {
  const summary = (request: StatsRequest): Promise<StatsAnswer> => summaryAnswer(parts, request);
  return new Map([
    ['GET /stats/summary', summary],
    ['POST /stats/summary', summary],
    [
      'GET /metrics/resource',
      async (request) =>
        compressedAnswer(
          parts.gzip,
          request,
          resourceText(await parts.stats.resources().catch((error: unknown) => noSummary(parts, error))),
        ),
    ],
    ['GET /metrics/cadvisor', (request) => compressedAnswer(parts.gzip, request, listingPieces(parts))],
  ]);
}

function noSummary({ log }: StatsEndpointParts, error: unknown): undefined {
  log.error('the statistics for /metrics/resource cannot be read', { error: errorMessage(error) });
  return undefined;
}

async function summaryAnswer(parts: StatsEndpointParts, request: StatsRequest): Promise<StatsAnswer> {
  const only = request.query.getAll('only_cpu_and_memory');
  const isShort = only.length === 1 && only[0] === 'true';
  try {
    const summary = isShort ? await parts.stats.cpuAndMemory() : await parts.stats.summary();
    // As upstream, the indent is one space.
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(summary, undefined, 1),
    };
  } catch (error) {
    parts.log.error('the statistics for /stats/summary cannot be read', { error: errorMessage(error) });
    return {
      status: 500,
      headers: { 'Content-Type': 'text/plain; charset=utf-8' },
      body: `Internal Error: ${errorMessage(error)}`,
    };
  }
}

async function* listingPieces({ stats, machine, nowMs }: StatsEndpointParts): AsyncGenerator<string> {
  const entries = await stats.listing();
  let families = 0;
  for (const piece of cadvisorChunks(machine, entries, nowMs())) {
    if (piece !== '') yield piece;
    if (++families % FAMILIES_AT_ONCE === 0) await nextTurn();
  }
}

/** Returns the text format, compressed for clients that accept it, as in upstream. */
export async function compressedAnswer(
  gzip: StatsEndpointParts['gzip'],
  { acceptEncoding }: Pick<StatsRequest, 'acceptEncoding'>,
  text: string | AsyncIterable<string>,
): Promise<StatsAnswer & { status: 200 }> {
  const headers = { 'Content-Type': TEXT_TYPE };
  if (takesGzip(acceptEncoding))
    return {
      status: 200,
      headers: { ...headers, 'Content-Encoding': 'gzip' },
      body: await gzip(typeof text === 'string' ? [text] : text),
    };
  return { status: 200, headers, body: typeof text === 'string' ? text : await joined(text) };
}

/**
 * Joins the pieces as bytes, because strings of millions of characters would stay in the heap until the next garbage
 * collection.
 */
async function joined(pieces: AsyncIterable<string>): Promise<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const bytes = encoder.encode(piece);
    parts.push(bytes);
    length += bytes.length;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function takesGzip(acceptEncoding: string): boolean {
  return acceptEncoding.split(',').some((each) => {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
