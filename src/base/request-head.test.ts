import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plainPath, readRequestHead } from './request-head.ts';
import type { HeadReading, SentHead } from './request-head.ts';

const read = (changes: Partial<SentHead>): HeadReading =>
  readRequestHead({ method: 'GET', target: '/', version: '1.1', rawHeaders: ['Host', 'n'], ...changes });

const outcome = (changes: Partial<SentHead>): unknown => {
  const reading = read(changes);
  return reading.outcome === 'refused'
    ? reading.status
    : [reading.head.target.rawPath, reading.head.target.search, reading.head.body];
};

describe('the head of a request', () => {
  it('has a path and a query, for any form of the target', () => {
    const targets = ['/', '/a/b?c=d?e', '//a', '/a%2Fb', 'http://n', 'HTTPS://n:1/a?b', 'http://n?b'];
    assert.deepEqual(
      targets.map((target) => outcome({ target })),
      [
        ['/', '', 0],
        ['/a/b', '?c=d?e', 0],
        ['//a', '', 0],
        ['/a%2Fb', '', 0],
        ['/', '', 0],
        ['/a', '?b', 0],
        ['/', '?b', 0],
      ],
    );
  });

  it('is rejected with an invalid target', () => {
    for (const target of [
      '',
      '*',
      'a',
      'n:443',
      '?a',
      '/a#b',
      '/a?b#c',
      '/\u00fc',
      '/a b',
      '/a\tb',
      '/a\r\nb',
      'ftp://n/a',
      'http:///a',
      'http://u@n/a',
      'http://\u00fc/a',
      'http://n\\a',
    ])
      assert.equal(outcome({ target }), 400, target);
    assert.equal(outcome({ target: 'http://n/a', version: '2.0' }), 400, 'HTTP/2 has no absolute form');
  });

  it('is rejected without exactly one well-formed host', () => {
    for (const rawHeaders of [
      [],
      ['Host', ''],
      ['Host', 'a', 'hOST', 'a'],
      ['Host', '\u00fc'],
      ['Host', 'n/a'],
      ['Host', 'a b'],
      ['Host', 'a,b'],
      ['Host', 'u@n'],
    ])
      assert.equal(outcome({ rawHeaders }), 400, rawHeaders.join(' '));
    for (const host of ['n', 'N_1.example:10250', '10.0.0.1', '[fd00::1]:443'])
      assert.deepEqual(outcome({ rawHeaders: ['host', host] }), ['/', '', 0]);
    assert.deepEqual(
      [outcome({ rawHeaders: [], version: '1.0' }), outcome({ rawHeaders: [], version: '0.9' })],
      [['/', '', 0], 400],
    );
  });

  it('has one authority in HTTP/2, which a Host header may repeat', () => {
    const h2 = (...rawHeaders: string[]): unknown => outcome({ version: '2.0', endsWithHead: true, rawHeaders });
    assert.deepEqual(
      [h2(':authority', 'n:1', 'host', 'N:1'), h2('host', 'n')],
      [
        ['/', '', 0],
        ['/', '', 0],
      ],
    );
    assert.deepEqual(
      [
        h2(),
        h2(':authority', 'n', 'host', 'm'),
        h2(':authority', 'n/pods'),
        h2(':authority', ''),
        h2(':authority', 'n', ':authority', 'n'),
      ],
      [400, 400, 400, 400, 400],
    );
  });

  it('is rejected with 405 for unsupported methods', () => {
    for (const method of ['CONNECT', 'TRACE', 'get', 'Get', 'PURGE', 'constructor', '__proto__', ''])
      assert.equal(outcome({ method }), 405, method);
  });

  it('contains the length of the body', () => {
    const body = (version: SentHead['version'], endsWithHead: boolean, ...rawHeaders: string[]): unknown => {
      const reading = read({ version, endsWithHead, rawHeaders: ['host', 'n', ...rawHeaders] });
      return reading.outcome === 'head' ? reading.head.body : reading.status;
    };
    assert.deepEqual(
      [
        body('1.1', false),
        body('1.1', false, 'Content-Length', '5'),
        body('1.1', false, 'Transfer-Encoding', 'Chunked'),
        body('2.0', true),
        body('2.0', false),
        body('2.0', false, 'content-length', '7'),
      ],
      [0, 5, 'chunked', 0, 'chunked', 7],
    );
  });

  it('is rejected if its body has two lengths, or an ambiguous one', () => {
    const unclear = [
      ['Content-Length', '5', 'Transfer-Encoding', 'chunked'],
      ['Content-Length', '5', 'Content-Length', '5'],
      ['Content-Length', '+5'],
      ['Content-Length', ''],
      ['Content-Length', '5, 5'],
      ['Content-Length', '0x5'],
      ['Content-Length', '9'.repeat(16)],
      ['Transfer-Encoding', 'gzip, chunked'],
      ['Transfer-Encoding', 'xchunked'],
      ['Transfer-Encoding', 'identity'],
      ['Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'],
      ['Transfer-Encoding', ''],
    ];
    for (const headers of unclear)
      assert.equal(outcome({ rawHeaders: ['Host', 'n', ...headers] }), 400, headers.join(' '));
    for (const version of ['1.0', '2.0'] as const)
      assert.equal(outcome({ version, rawHeaders: ['host', 'n', 'Transfer-Encoding', 'chunked'] }), 400);
  });
});

describe('an unambiguous path', () => {
  const path = (rawPath: string): string | undefined => plainPath({ rawPath, search: '' });

  it('is percent-decoded', () => {
    assert.deepEqual(['/', '/pods/', '/%65xec/a%20b', '/a;b=c', '/%C3%BC', '/a..b', '/...', "/a'%40"].map(path), [
      '/',
      '/pods/',
      '/exec/a b',
      '/a;b=c',
      '/\u00fc',
      '/a..b',
      '/...',
      "/a'@",
    ]);
  });

  it('is undefined if another parser could read a different path', () => {
    for (const raw of [
      '//',
      '/a//b',
      '/a%2fb',
      '/a%2Fb',
      '/..',
      '/a/../b',
      '/a/.',
      '/%2e%2e/b',
      '/.%2e',
      '/a\\b',
      '/a%5cb',
      '/%25',
      '/a%3fb',
      '/a%23',
      '/%00',
      '/%0a',
      '/%7f',
      '/%c2%85',
      '/%',
      '/%zz',
      '/%c0%af',
      '/%ff',
      `/${'x'.repeat(4096)}`,
    ])
      assert.equal(path(raw), undefined, raw);
  });
});
