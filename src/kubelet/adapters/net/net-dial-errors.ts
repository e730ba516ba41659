import { KubeletError } from '../../../base/errors.ts';

/** The kernel's errors, in the words of upstream's events. */
const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EHOSTDOWN: 'connect: host is down',
  ETIMEDOUT: 'connect: connection timed out',
};

const lookUps: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'Temporary failure in name resolution',
};

/** Failures of this process, which say nothing about the other side. */
const ownFailures: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

/** OpenSSL's errors for a response that is not TLS. */
const plainAnswer = /wrong version number|packet length too long|http request/i;

/**
 * Converts an errno, or an error of TLS or the HTTP parser. The kind is `Unavailable` for failures of the other side,
 * `Internal` if this process ran out of a resource, and `Invalid` if the answer to a TLS hello was plain HTTP.
 */
export function dialError(error: unknown, op: string, address: string): KubeletError {
  const { code = '', message = String(error) } = (typeof error === 'object' && error !== null ? error : {}) as {
    code?: string;
    message?: string;
  };
  const options = { op, cause: error };
  const before = op === '' ? '' : `${op}: `;
  if (ownFailures.has(code)) return new KubeletError('Internal', `${before}dial tcp ${address}: ${code}`, options);
  if (code in lookUps)
    return new KubeletError(
      'Unavailable',
      `${before}dial tcp: lookup ${address.replace(/:\d+$/, '')}: ${lookUps[code]}`,
      options,
    );
  if (code in causes) return new KubeletError('Unavailable', `${before}dial tcp ${address}: ${causes[code]}`, options);
  if (code === 'ECONNRESET')
    return new KubeletError(
      'Unavailable',
      `${before}${message === 'socket hang up' ? 'EOF' : 'read: connection reset by peer'}`,
      options,
    );
  if (plainAnswer.test(message) && (code === 'EPROTO' || code.startsWith('ERR_SSL')))
    return new KubeletError('Invalid', `${before}http: server gave HTTP response to HTTPS client`, options);
  if (code.startsWith('HPE_'))
    return new KubeletError('Unavailable', `${before}malformed HTTP response: ${message}`, options);
  return new KubeletError('Unavailable', `${before}${message}`, options);
}
