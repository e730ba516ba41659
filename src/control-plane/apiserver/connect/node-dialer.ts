import { errnoOf } from '../../../base/errors.ts';
import { lookup } from 'node:dns/promises';
import { connect as connectTcp } from 'node:net';
import { lookupTable } from '../../../base/lookup.ts';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { badRequest } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import { formatIp, parseHostAddress, parseIp } from '../../../base/ip-address.ts';
import type { IpBytes } from '../../../base/ip-address.ts';
import type { DialTarget, Dialer } from '../options.ts';
import { isProxyableAddress } from './proxy-target.ts';

export interface NodeDialerOptions {
  readonly clock: Clock;
  /** Returns the addresses of a name in order of preference. The default is the system's resolver. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  /**
   * Returns the client certificate for kubelets (`--kubelet-client-certificate`, `--kubelet-client-key`) as PEM. It is
   * read for each connection, because certificates are renewed.
   */
  readonly clientPair?: () => { readonly cert: string; readonly key: string };
  /**
   * Returns `--kubelet-certificate-authority` as PEM, read for each connection. Without it, certificates of kubelets
   * are not verified, as by default in upstream.
   */
  readonly certificateAuthority?: () => string;
}

/** The maximum number of addresses that are tried for a name. */
const MOST_ADDRESSES = 4;

/**
 * Creates connections over the network. The client certificate is sent only to kubelets. It rejects with address and
 * reason, in the format of Go's `net`.
 */
export function nodeDialer(options: NodeDialerOptions): Dialer {
  return {
    dial: async (target, timeoutMs) => {
      const { host } = target;
      const deadlineMs = options.clock.monotonicMs() + timeoutMs;
      const leftMs = (): number => Math.max(1, deadlineMs - options.clock.monotonicMs());
      const addresses = await addressesOf(target, options, leftMs());
      // If one address is local, all are refused: whoever controls the name also controls the order.
      if (target.mayBeLocal !== true && !addresses.every(isProxyableAddress)) throw badRequest('address not allowed');
      let failure: Error | undefined;
      for (const address of addresses.slice(0, MOST_ADDRESSES)) {
        try {
          return await dialAddress(formatIp(address), target, options, leftMs());
        } catch (error) {
          failure ??= error as Error;
        }
      }
      throw failure ?? new Error(`dial tcp: lookup ${host}: no such host`);
    },
  };
}

async function addressesOf(
  { host }: DialTarget,
  { clock, resolve = lookUp }: NodeDialerOptions,
  timeoutMs: number,
): Promise<readonly IpBytes[]> {
  const given = parseHostAddress(host);
  if (given !== undefined) return [given];
  const late = Promise.withResolvers<never>();
  const timer = clock.setTimer(timeoutMs, () => late.reject(new Error(`dial tcp: lookup ${host}: i/o timeout`)));
  try {
    const found = await Promise.race([resolve(host), late.promise]);
    return found.map((text) => parseIp(text.split('%', 1)[0] ?? '')).filter((address) => address !== undefined);
  } catch (error) {
    const known = words[errnoOf(error) ?? ''];
    throw known === undefined ? error : new Error(`dial tcp: lookup ${host}: ${known}`, { cause: error });
  } finally {
    timer.cancel();
  }
}

async function lookUp(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

function dialAddress(
  address: string,
  target: DialTarget,
  options: NodeDialerOptions,
  timeoutMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = open(address, target, options);
    const fail = (why: string): void => {
      timer.cancel();
      socket.destroy();
      reject(new Error(`dial tcp ${address.includes(':') ? `[${address}]` : address}:${target.port}: ${why}`));
    };
    const timer = options.clock.setTimer(timeoutMs, () => fail('i/o timeout'));
    const onError = (error: NodeJS.ErrnoException): void => fail(words[error.code ?? ''] ?? error.message);
    socket.once('error', onError);
    socket.once(target.security === 'none' ? 'connect' : 'secureConnect', () => {
      timer.cancel();
      socket.off('error', onError);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 30_000);
      resolve(socket);
    });
  });
}

const words: Readonly<Record<string, string>> = lookupTable({
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'connect: connection reset by peer',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'server misbehaving',
});

/**
 * Opens a connection to the checked `address`, so that the name is not looked up twice. The certificate is verified for
 * the name.
 */
function open(
  address: string,
  { host, port, security }: DialTarget,
  { clientPair, certificateAuthority }: NodeDialerOptions,
): Socket {
  const where = { host: address, port };
  if (security === 'none') return connectTcp(where);
  const servername = parseHostAddress(host) === undefined ? host : undefined;
  if (security === 'tls-insecure')
    return connectTls({ ...where, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  const isChecked = certificateAuthority !== undefined && security === 'kubelet';
  return connectTls({
    ...where,
    servername,
    ...clientPair?.(),
    ca: certificateAuthority?.(),
    rejectUnauthorized: isChecked,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
  });
}
