import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import fc from 'fast-check';
import { htmlLinks } from './html-links.ts';

const rewrite = (url: string): string => (url.startsWith('/') ? `/proxy${url}` : url);

async function pass(...chunks: readonly (string | Buffer)[]): Promise<string> {
  const links = htmlLinks(rewrite);
  for (const chunk of chunks) links.write(chunk);
  links.end();
  return Buffer.concat(await links.toArray()).toString('utf8');
}

test('links in start tags go through the proxy', async () => {
  const cases = [
    ['<a href="/x">y</a>', '<a href="/proxy/x">y</a>'],
    ["<IMG alt='/x' SRC='/x'/>", "<IMG alt='/x' SRC='/proxy/x'/>"],
    ['<form action=/x>', '<form action=/proxy/x>'],
    ['<a href="x">', '<a href="x">'],
    ['<a title=">" href = "/x">', '<a title=">" href = "/proxy/x">'],
  ];
  for (const [given = '', expected] of cases) assert.equal(await pass(given), expected);
});

test('text that only looks like a link is not changed', async () => {
  const pages = [
    '<!-- <a href="/x"> -->',
    '<script>"<a href=\'/x\'>"</script>',
    '</a href="/x">',
    'a < b href="/x">',
    '<a href="/x"',
    'ä <p>€</p>',
  ];
  for (const page of pages) assert.equal(await pass(page), page);
  assert.equal(
    await pass('<script src="/x">"</SCRIPT><a href="/x">'),
    '<script src="/proxy/x">"</SCRIPT><a href="/proxy/x">',
  );
});

test('the result does not depend on how a page is split into chunks', async () => {
  const parts = fc.constantFrom(
    '<a href="/x">',
    '<!--',
    '-->',
    '<script>',
    '</script>',
    '<',
    '"',
    "'",
    '>',
    'é',
    'src=/y ',
  );
  await fc.assert(
    fc.asyncProperty(fc.array(parts, { maxLength: 30 }), fc.nat(7), async (pieces, size) => {
      const bytes = Buffer.from(pieces.join(''));
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size + 1) chunks.push(bytes.subarray(at, at + size + 1));
      assert.equal(await pass(...chunks), await pass(bytes));
    }),
  );
});

test('a long name in a tag has linear cost', async () => {
  const name = 'x'.repeat(60_000);
  assert.equal(await pass(`<a ${name} href="/x">`), `<a ${name} href="/proxy/x">`);
});

test('a tag without an end is buffered only up to a limit', async () => {
  const long = `<a ${'x'.repeat(100_000)} href="/x">`;
  assert.equal(await pass(long), long);
});
