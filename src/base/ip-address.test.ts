import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  addressScope,
  formatIp,
  isOutward,
  isSameIp,
  parseHostAddress,
  parseIp,
  parseSloppyIp,
  unmapped,
} from './ip-address.ts';
import type { AddressScope } from './ip-address.ts';

const address = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
  fc.array(fc.constantFrom(0, 0, 0, 1, 255), { minLength: 16, maxLength: 16 }).map((bytes) => Uint8Array.from(bytes)),
);
const shown = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : formatIp(bytes);

describe('an address', () => {
  it('is parsed the same from each of its notations', () => {
    fc.assert(
      fc.property(address, fc.boolean(), fc.boolean(), fc.nat(7), (bytes, isUpper, isDotted, from) => {
        assert.deepEqual(parseIp(formatIp(bytes)), bytes);
        assert.notEqual(isIP(formatIp(bytes)), 0);
        if (bytes.length === 4) return;
        const groups = Array.from({ length: 8 }, (_, index) =>
          Buffer.from(bytes.subarray(2 * index, 2 * index + 2)).toString('hex'),
        );
        const tail = isDotted ? [...groups.slice(0, 6), bytes.subarray(12).join('.')] : groups;
        const run = tail.slice(from).findIndex((group) => group !== '0000');
        const zeros = run < 0 ? tail.length - from : run;
        const text =
          zeros > 0 && from < tail.length
            ? `${tail.slice(0, from).join(':')}::${tail.slice(from + zeros).join(':')}`
            : tail.join(':');
        const spelled = isUpper ? text.toUpperCase() : text;
        assert.deepEqual([parseIp(spelled), parseHostAddress(`${spelled}%eth0`)], [bytes, bytes], spelled);
      }),
    );
  });

  it('is rejected exactly if Node rejects it', () => {
    const text = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc
        .array(
          fc.constantFrom(
            ':',
            '::',
            '.',
            '0',
            '00',
            '1',
            'f',
            'ffff',
            '10',
            '255',
            '256',
            '127.0.0.1',
            'g',
            '%',
            ' ',
            '-',
          ),
          { maxLength: 12 },
        )
        .map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (each) =>
        assert.equal(parseIp(each) !== undefined, isIP(each) !== 0 && !each.includes('%'), each),
      ),
      { numRuns: 2000 },
    );
  });

  it('with numbers is parsed as the system parses them', () => {
    const hosts = [
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0X7F.1',
      '0177.0.0.1',
      '017700000001',
      '0x7f.0.0.0x1',
      '0',
      '10.0.0.010',
      '4294967295',
    ];
    assert.deepEqual(
      hosts.map((host) => shown(parseHostAddress(host))),
      [
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '127.0.0.1',
        '0.0.0.0',
        '10.0.0.8',
        '255.255.255.255',
      ],
    );
    for (const host of [
      '',
      '.',
      '127.',
      '.1',
      '1.2.3.4.5',
      '256.1',
      '1.256.1.1',
      '4294967296',
      '1.16777216',
      '08',
      '0xg',
      '-1',
      '+1',
      '1e3',
      ' 127.1',
      '127.1 ',
      'localhost',
      'a',
      '::1.2',
      '1::2::3',
      '99999999999999999999',
    ])
      assert.equal(parseHostAddress(host), undefined, host);
    // The parser of URLs has the same rules, but for dots at the end.
    const number = fc.oneof(
      fc.nat(300).map(String),
      fc.nat(300).map((value) => `0x${value.toString(16)}`),
      fc.nat(300).map((value) => `0${value.toString(8)}`),
      fc.nat().map(String),
    );
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 5 }), (numbers) => {
        const host = numbers.join('.');
        assert.equal(
          shown(parseHostAddress(host)),
          URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined,
          host,
        );
      }),
    );
  });

  it('may have leading zeros, read as decimal, in the lenient parser', () => {
    assert.deepEqual(
      [
        shown(parseSloppyIp('010.000.000.001')),
        shown(parseSloppyIp('::ffff:010.0.0.1')),
        parseIp('010.0.0.1'),
        parseIp('::ffff:010.0.0.1'),
      ],
      ['10.0.0.1', '::ffff:10.0.0.1', undefined, undefined],
    );
  });

  it('is the same whatever its notation', () => {
    const same: readonly (readonly [string, string])[] = [
      ['fd01::1234', 'FD01:0:0:0:0:0:0:1234'],
      ['10.0.0.1', '010.0.0.001'],
      ['10.0.0.1', '::ffff:a00:1'],
      ['::ffff:10.0.0.1', '0:0:0:0:0:ffff:10.0.0.1'],
    ];
    for (const [left, right] of same) assert.ok(isSameIp(left, right), left);
    for (const [left, right] of [
      ['10.0.0.1', '10.0.0.2'],
      ['::a00:1', '10.0.0.1'],
      ['x', 'x'],
      ['', ''],
    ] as const)
      assert.ok(!isSameIp(left, right), left);
    assert.equal(shown(unmapped(parseIp('::ffff:1.2.3.4') ?? new Uint8Array())), '1.2.3.4');
  });

  it('with an embedded IPv4 address has the scope of that address', () => {
    const inside = (quad: string): readonly string[] => {
      const [a = 0, b = 0, c = 0, d = 0] = quad.split('.').map(Number);
      const hex = [(a << 8) | b, (c << 8) | d].map((group) => group.toString(16)).join(':');
      const flipped = [((a ^ 255) << 8) | (b ^ 255), ((c ^ 255) << 8) | (d ^ 255)]
        .map((group) => group.toString(16))
        .join(':');
      return [
        quad,
        `::ffff:${quad}`,
        `0:0:0:0:0:ffff:${hex}`,
        `0::FFFF:${hex}`,
        `::ffff:0:${quad}`,
        `64:ff9b::${quad}`,
        `64:ff9b:1::${hex}`,
        `2002:${hex}::1`,
        `2002:${hex}:1:2:3:4:5`,
        `2001:0:${hex}::1`,
        `2001:0:808:808::${flipped}`,
        `2001:db8::5efe:${quad}`,
        `fd00::200:5efe:${hex}`,
      ];
    };
    const cases: readonly (readonly [AddressScope, readonly string[]])[] = [
      [
        'loopback',
        [
          ...inside('127.0.0.1'),
          ...inside('127.255.255.254'),
          '::127.0.0.1',
          '::7f00:1',
          '::1',
          '0:0:0:0:0:0:0:1',
          'ff01::1',
        ],
      ],
      ['link-local', [...inside('169.254.169.254'), '::a9fe:a9fe', 'fe80::1', 'febf:ffff::', 'FE90::1']],
      ['unspecified', [...inside('0.0.0.0'), ...inside('0.1.2.3'), '::', '::2', '0::0.0.0.0']],
      ['multicast', [...inside('239.1.2.3'), 'ff05::1', 'ff0e::1']],
      ['link-local-multicast', [...inside('224.0.0.1'), 'ff02::1', 'ff12::fb']],
      ['broadcast', inside('255.255.255.255')],
      [
        'other',
        [
          ...inside('10.0.0.1'),
          ...inside('8.8.8.8'),
          ...inside('126.255.255.255'),
          ...inside('169.253.0.1'),
          '::10.0.0.1',
          'fd00::1',
          'fec0::1',
          '2001:db8::1',
          'fe00::1',
        ],
      ],
    ];
    for (const [scope, texts] of cases)
      for (const text of texts)
        assert.deepEqual(
          [addressScope(parseIp(text) ?? assert.fail(text)), isOutward(text)],
          [scope, scope === 'other'],
          text,
        );
    for (const text of ['localhost', '0x7f000001', '127.1', '10.0.0.010', 'fd00::1%eth0', ''])
      assert.ok(!isOutward(text), text);
  });
});
