import { seededRandom } from '../random.ts';
import type { Random } from '../random.ts';

/** A request head as it is sent, with the parts it was made of. */
export interface OddRequest {
  readonly id: number;
  readonly method: string;
  readonly target: string;
  readonly hosts: readonly string[];
  /** Latin-1. */
  readonly head: string;
}

const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const oddMethods = ['TRACE', 'CONNECT', 'PURGE', 'get', 'Get', 'constructor', '__proto__', 'M-SEARCH'];
const plainHosts = ['n', 'node.example:10250', '10.0.0.1:10250', '[fd00::1]:10250'];
const oddHosts = [
  '\u00fc.\u00fc/pods?x=&aaa',
  'n/pods',
  'n/pods?x=',
  'n?x=/pods',
  'n#',
  '#/pods',
  'user@n',
  'n\\pods',
  '',
  ' ',
  'n m',
  '%2fpods',
  'n%2fpods',
  'n, m',
  'http://n/pods',
  '[::1/pods',
  'n:1:2',
  '..',
  '.',
  'n/../pods',
  'n;x',
  "n'",
  'n"',
  'xn--',
  'x'.repeat(300),
  '\u00ff',
  '2130706433',
  '0x7f.1',
  'n/exec/ns/p/c?',
  'n/containerLogs/ns/p/c#',
  'constructor',
  '*',
  '/',
  '//n',
  '[',
  ']',
  '[v1.x]',
  'n:port',
  'n\tm',
];
/** Characters in a path that all parsers read the same way. */
const tame = [
  ';',
  ';x=y',
  '%3b',
  '@',
  ':',
  '|',
  '^',
  '`',
  '"',
  '{',
  '}',
  '[',
  ']',
  '<',
  '>',
  '%20',
  '+',
  '~',
  '*',
  '$',
  '!',
  "'",
  '&',
  '=',
  ',',
  '%e2%80%ae',
  '%7e',
  '%2c',
  '%C3%BC',
  '..x',
  '.',
  '/pods',
  '/metrics',
  '/exec',
  'x',
];
const fierce = [
  '%2f',
  '%2F',
  '%2e',
  '%2E%2e',
  '..',
  '/..',
  '/../',
  '/./',
  '//',
  '%3f',
  '#',
  '%23',
  '%25',
  '%252f',
  '%25252e',
  '\\',
  '%5c',
  '%00',
  '%0d%0a',
  '%0a',
  '%zz',
  '%',
  '%c0%af',
  '%u002f',
  '%ff',
  '\u00fc',
  '\u007f',
  '\t',
  ' ',
];
const queries = [
  '',
  '?',
  '??',
  '?x=1',
  '?x=/pods',
  '?x=#',
  '?/../pods',
  '?cmd=id&cmd=%2f',
  '?%',
  '?=&=&;',
  '?x=?y=?',
  "?'",
];
const tameExtras = [
  'X-Original-URL: /pods',
  'X-Rewrite-URL: /pods',
  'X-Forwarded-Host: n/pods',
  'X-Forwarded-Prefix: /pods',
  'X-HTTP-Method-Override: DELETE',
  'Forwarded: host="n/pods"',
  'Connection: Host',
  'Content-Length: 0',
];
const extras = [
  'Connection: upgrade\r\nUpgrade: SPDY/3.1',
  'Connection: close',
  'Content-Length: 0\r\nContent-Length: 0',
  'Transfer-Encoding: chunked\r\nContent-Length: 0',
  'Transfer-Encoding: identity',
  'Expect: 200-maybe',
  'Upgrade: h2c',
  'Host : n',
  'TE: trailers',
  ':path: /pods',
  'Content-Length: -1',
];

const versions = ['HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', ''];
const schemes = ['http', 'https', 'HTTP', 'ftp', 'file'];
const anyHosts = [...plainHosts, ...oddHosts];
const forms = ['other origin', 'other origin', 'other origin', 'no origin', 'no origin'] as const;
const noOrigins = ['*', 'n:443', 'no slash', '/', '?', '#', '', '\u00fc'];
/** At most one part is invalid: a request with several invalid parts would test only one of the checks. */
const badParts = ['', '', '', '', 'path', 'path', 'host', 'host', 'form', 'rest'] as const;

/**
 * Picks from lists in random order, each entry once before any of them again: few requests then show every entry, and
 * equally often.
 */
class Dealer {
  readonly #random: Random;
  readonly #left = new Map<readonly unknown[], unknown[]>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** A list is identified by reference. */
  pick<T>(list: readonly T[]): T {
    const known = this.#left.get(list) as T[] | undefined;
    const left = known === undefined || known.length === 0 ? [...list] : known;
    this.#left.set(list, left);
    return left.splice(this.below(left.length), 1)[0] as T;
  }

  /** From 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.#random.next() * count);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }
}

/**
 * `count` heads, the same for the same seed: `paths` with changes that parsers read differently, and hosts of all
 * kinds. Each head has its number as bearer token and in `X-Id`.
 */
export function oddRequests(seed: number, count: number, paths: readonly string[]): readonly OddRequest[] {
  const dealer = new Dealer(seededRandom(seed));
  return Array.from({ length: count }, (_, id) => oddRequest(dealer, id, paths));
}

function oddRequest(dealer: Dealer, id: number, paths: readonly string[]): OddRequest {
  const bad = dealer.pick(badParts);
  const method = dealer.chance(bad === 'rest' ? 0.5 : 0.9) ? 'GET' : dealer.pick(bad === 'rest' ? oddMethods : methods);
  const path = `${pathOf(dealer, dealer.pick(paths), bad === 'path')}${dealer.pick(queries)}`;
  const target = bad === 'form' ? targetOf(dealer, path) : path;
  const hosts = bad === 'host' ? oddHostsOf(dealer) : [dealer.pick(plainHosts)];
  const version = bad === 'rest' && dealer.chance(0.5) ? dealer.pick(versions) : 'HTTP/1.1';
  const extra = bad === 'rest' || dealer.chance(0.03) ? [dealer.pick(bad === 'rest' ? extras : tameExtras)] : [];
  const names = hosts.map((host) => `${dealer.chance(0.9) ? 'Host' : 'hOST'}: ${host}`);
  const lines = [
    `${method} ${target} ${version}`.trimEnd(),
    ...names,
    `Authorization: Bearer ${id}`,
    `X-Id: ${id}`,
    ...extra,
  ];
  return { id, method, target, hosts, head: `${lines.join('\r\n')}\r\n\r\n` };
}

function oddHostsOf(dealer: Dealer): readonly string[] {
  if (dealer.chance(0.85)) return [dealer.pick(oddHosts)];
  return dealer.chance(0.33) ? [] : [dealer.pick(plainHosts), dealer.pick(anyHosts)];
}

function pathOf(dealer: Dealer, path: string, isBad: boolean): string {
  let text = path;
  for (let change = dealer.below(3); change > 0; change--) {
    const at = 1 + dealer.below(text.length);
    if (dealer.chance(0.5)) text = text.slice(0, at) + dealer.pick(tame) + text.slice(at);
    else if (dealer.chance(0.6)) text = text.slice(0, at) + escaped(text.slice(at, at + 1)) + text.slice(at + 1);
    else text = text.slice(0, at) + text.slice(at, at + 1).toUpperCase() + text.slice(at + 1);
  }
  const at = dealer.below(text.length + 1);
  return isBad ? text.slice(0, at) + dealer.pick(fierce) + text.slice(at) : text;
}

const escaped = (letter: string): string =>
  letter === '' ? '' : `%${letter.charCodeAt(0).toString(16).padStart(2, '0')}`;

function targetOf(dealer: Dealer, path: string): string {
  if (dealer.pick(forms) === 'other origin') return `${dealer.pick(schemes)}://${dealer.pick(anyHosts)}${path}`;
  const start = dealer.pick(noOrigins);
  if (start === 'no slash') return path.slice(1);
  return ['/', '?', '#', '\u00fc'].includes(start) ? `${start}${path}` : start;
}
