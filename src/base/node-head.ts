import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Duplex } from 'node:stream';
import { readRequestHead } from './request-head.ts';
import type { HeadReading, SentHead } from './request-head.ts';

const readings = new WeakMap<object, HeadReading>();
/**
 * HTTP/1 connections on which a head was refused. The end of that request is uncertain, so no later data is treated as
 * a request.
 */
const spoilt = new WeakSet<Duplex>();

/** The head of a request of Node's servers. It is parsed once: the same request returns the same value. */
export function readNodeHead(request: IncomingMessage | Http2ServerRequest): HeadReading {
  const known = readings.get(request);
  if (known !== undefined) return known;
  const connection = 'stream' in request ? undefined : request.socket;
  const reading =
    connection !== undefined && spoilt.has(connection)
      ? ({ outcome: 'refused', status: 400, why: 'it follows a malformed request' } as const)
      : readRequestHead(sentHead(request));
  if (reading.outcome === 'refused' && connection !== undefined) spoilt.add(connection);
  readings.set(request, reading);
  return reading;
}

function sentHead(request: IncomingMessage | Http2ServerRequest): SentHead {
  const { method = '', url = '', httpVersion, rawHeaders } = request;
  return {
    method,
    target: url,
    version: httpVersion as SentHead['version'],
    rawHeaders,
    endsWithHead: 'stream' in request && request.stream.endAfterHeaders,
  };
}
