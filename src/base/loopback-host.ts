import { isIP } from 'node:net';

/** Whether a host, in lower case and without brackets, is this machine to itself. Names other than `localhost` are not looked up. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
