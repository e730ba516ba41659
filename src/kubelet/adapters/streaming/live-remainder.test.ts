import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LiveRemainder, overlapBytes } from './live-remainder.ts';

function remainderOf(logged: string, live: string): string | undefined {
  const remainder = new LiveRemainder();
  remainder.addLogged(Buffer.from(logged));
  remainder.addLive(Buffer.from(live));
  return remainder.compute()?.toString();
}

describe('the unlogged output', () => {
  it('is the unfinished line', () => {
    assert.equal(remainderOf('one\ntwo\n', 'two\nname: '), 'name: ');
    assert.equal(remainderOf('one\ntwo\n', 'o\nname: '), 'name: ');
    assert.equal(remainderOf('one\n', '> '), '> ');
    assert.equal(remainderOf('', ''), '');
    assert.equal(remainderOf('one\ntwo\n', 'two\n'), '');
  });

  it('is not known while the log lacks a whole line', () => {
    assert.equal(remainderOf('one\n', 'one\ntwo\nname: '), undefined);
    assert.equal(remainderOf('', 'one\n'), undefined);
  });

  it('is not known while the log has fewer of several identical lines than were sent', () => {
    assert.equal(remainderOf('y\n'.repeat(99), 'y\n'.repeat(100)), undefined);
    assert.equal(remainderOf('y\n'.repeat(100), 'y\n'.repeat(100)), '');
  });

  it('may be wrong where lines repeat, and only there', () => {
    const cases: [string, string, boolean][] = [
      ['y\n'.repeat(60), 'y\n'.repeat(50), true],
      ['y\n'.repeat(50), 'y\n'.repeat(50), true],
      ['y\ny\n', 'y\n', true],
      ['a\nb\na\nb\n', 'a\nb\n> ', true],
      ['y\n', 'y\n', false],
      ['one\ntwo\n', 'two\nname: ', false],
      ['one\n', '> ', false],
      ['', '', false],
    ];
    for (const [logged, live, expected] of cases) {
      const remainder = new LiveRemainder();
      remainder.addLogged(Buffer.from(logged));
      remainder.addLive(Buffer.from(live));
      assert.equal(remainder.isAmbiguous(), expected, JSON.stringify([logged, live]));
    }
  });

  it('is the same in whatever chunks the output comes', () => {
    const lines = Buffer.from(Array.from({ length: 8 * 140_000 }, (_, at) => (at % 977 === 976 ? 10 : 97 + (at % 23))));
    const size = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 60_000, max: 140_000 }));
    fc.assert(
      fc.property(fc.array(size, { maxLength: 8 }), fc.array(size, { maxLength: 8 }), (logged, live) => {
        const totalBytes = Math.max(
          logged.reduce((sum, each) => sum + each, 0),
          1,
        );
        const output = Buffer.from(lines.subarray(0, totalBytes));
        output[totalBytes - 1] = 10;
        const remainder = new LiveRemainder();
        for (const [name, sizes] of [
          ['addLogged', logged],
          ['addLive', live],
        ] as const) {
          let at = 0;
          for (const each of [...sizes, totalBytes]) {
            remainder[name](output.subarray(at, at + each));
            at = Math.min(at + each, totalBytes);
          }
        }
        remainder.addLive(Buffer.from('$ '));
        assert.equal(remainder.compute()?.toString(), '$ ');
      }),
      { numRuns: 30 },
    );
  });

  it('is found after more output than is kept', () => {
    const [remainder, line] = [new LiveRemainder(), 'x'.repeat(1000)];
    for (let index = 0; index < 200; index += 1) {
      remainder.addLogged(Buffer.from(`${index} ${line}\n`));
      if (index > 50) remainder.addLive(Buffer.from(`${index} ${line}\n`));
    }
    remainder.addLive(Buffer.from('$ '));
    assert.equal(remainder.compute()?.toString(), '$ ');
  });

  it('overlaps by the longest prefix that is a suffix', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 12 });
    fc.assert(
      fc.property(text, text, (earlier, later) => {
        let length = Math.min(earlier.length, later.length);
        while (!earlier.endsWith(later.slice(0, length))) length -= 1;
        assert.equal(overlapBytes(Buffer.from(earlier), Buffer.from(later)), length);
      }),
    );
  });
});
