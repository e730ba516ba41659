import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { printable } from '../../../base/printable.ts';
import { assetTypes } from './page-assets.ts';

const folder = path.join(import.meta.dirname, 'assets');

interface Format {
  formatBytes(bytes: number | undefined): string;
  formatCpu(millis: number | undefined): string;
  formatRate(bytes: number | undefined): string;
  formatPercent(percent: number | undefined): string;
  formatCount(count: number | undefined): string;
  formatAge(ms: number | undefined): string;
  formatTime(atMs: number, nowMs: number): string;
  printable(text: string): string;
  formatLogLine(line: string): string;
}
const format = (await import(path.join(folder, 'format.js'))) as Format;

/** The narrow space as a plain one. */
const plain = (text: string): string => text.replaceAll('\u202f', ' ');

describe('the files of the page', () => {
  it('are all listed, and nothing else is', () => {
    const files = readdirSync(folder).filter((name) => !name.endsWith('.ts') && !name.endsWith('.json'));
    const own = [...assetTypes.keys()].filter((name) => !name.startsWith('uPlot.'));
    assert.deepEqual(own.sort(), files.sort());
  });

  it('have no inline scripts, styles or handlers, which the policy would refuse', () => {
    for (const name of ['page.html', 'login.html']) {
      const html = readFileSync(path.join(folder, name), 'utf8');
      assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:/i, name);
      for (const [, url] of html.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(url ?? '', /^(\/assets\/|#)/, name);
    }
  });

  it('load only each other', () => {
    for (const name of [...assetTypes.keys()].filter((each) => each.endsWith('.js') && !each.startsWith('uPlot')))
      for (const [, from] of readFileSync(path.join(folder, name), 'utf8').matchAll(/^import .* from '([^']+)';/gm))
        assert.ok(assetTypes.has((from ?? '').replace('./', '')), `${name}: ${from}`);
  });
});

describe('texts of others', () => {
  it('are shown with the same escapes as in the output of the agent', () => {
    const every = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).join('');
    assert.equal(format.printable(every), printable(every));
    assert.equal(format.printable('\u202egpj.exe'), '\\u202egpj.exe');
  });

  it('are shown without colours and titles of a terminal in a log', () => {
    for (const [line, shown] of [
      ['\u001b[31mred\u001b[0m \u001b[38;5;9mx\u001b[K', 'red x'],
      ['\u001b]0;a title\u0007after', 'after'],
      ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
      ['100 %\r', '100 %'],
      ['tab\tstays \u001b(B', 'tab\tstays \\u001b(B'],
      ['a\u0000b', 'a\\u0000b'],
    ] as const)
      assert.equal(format.formatLogLine(line), shown);
  });
});

describe('figures', () => {
  it('have three digits at most, and a unit', () => {
    assert.deepEqual(
      [0, 999, 1000, 1536, 64 * 1024 ** 2, 23.456 * 1024 ** 3, undefined].map((bytes) =>
        plain(format.formatBytes(bytes)),
      ),
      ['0 B', '999 B', '0.98 KiB', '1.50 KiB', '64 MiB', '23.5 GiB', '–'],
    );
    assert.deepEqual(
      [0, 0.4, 12.6, 999, 1000, 2600].map((millis) => plain(format.formatCpu(millis))),
      ['0 m', '0.4 m', '13 m', '999 m', '1 core', '2.60 cores'],
    );
    assert.equal(plain(format.formatRate(2048)), '2 KiB/s');
    assert.deepEqual(
      [0, 0.04, 9.96, 42.4].map((percent) => plain(format.formatPercent(percent))),
      ['0 %', '0.0 %', '10.0 %', '42 %'],
    );
    assert.equal(plain(format.formatCount(1_234_567)), '1 234 567');
  });

  it('of ages have two units at most', () => {
    assert.deepEqual(
      [0, 59_000, 61_000, 3_600_000, 90_061_000, -5].map((ms) => format.formatAge(ms)),
      ['0s', '59s', '1m 1s', '1h', '1d 1h', '0s'],
    );
  });

  it('of times have the date on another day only', () => {
    const at = new Date(2026, 4, 7, 18, 9, 53).getTime();
    const today = format.formatTime(at, new Date(2026, 4, 7, 23, 0).getTime());
    const later = format.formatTime(at, new Date(2026, 4, 8, 1, 0).getTime());
    assert.match(today, /09.53/);
    assert.match(later, /7/);
    assert.ok(later.endsWith(` ${today}`) && later.length > today.length + 1, later);
  });
});
