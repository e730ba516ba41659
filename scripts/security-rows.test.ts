// docs/security.md speaks of every advisory and every check that concerns an agent on Linux, and each row names a test, or says why there is none.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

const text = readFileSync(path.join(import.meta.dirname, '../docs/security.md'), 'utf8');
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

const advisories = [
  'CVE-2017-1002101',
  'CVE-2021-25741',
  'CVE-2017-1002102',
  'CVE-2018-1002105',
  'CVE-2018-1002102',
  'CVE-2020-8559',
  'CVE-2022-3294',
  'kubernetes 136550',
  'CVE-2019-11245',
  'CVE-2019-11248',
  'CVE-2020-8551',
  'CVE-2025-0426',
  'CVE-2020-8557',
  'CVE-2020-8558',
  'CVE-2020-10749',
  'CVE-2019-11250',
  'CVE-2020-8563',
  'CVE-2023-2431',
  'CVE-2024-10220',
  'CVE-2025-1767',
  'CVE-2019-1002100',
  'CVE-2019-11253',
  'CVE-2019-11247',
  'CVE-2022-3162',
  'CVE-2023-2727',
  'CVE-2023-2728',
  'CVE-2024-3177',
  'CVE-2025-5187',
  'CVE-2025-4563',
  'TOB-K8S-026',
  'KEP-2535',
  'CVE-2021-25749',
  'CVE-2025-59343',
];
const checks = [
  '4.1.1',
  '4.1.2',
  '4.1.3',
  '4.1.4',
  '4.1.5',
  '4.1.6',
  '4.1.7',
  '4.1.8',
  '4.1.9',
  '4.1.10',
  ...Array.from({ length: 15 }, (_, at) => `4.2.${at + 1}`),
];
/** Whose row says why there is nothing to test. */
const without = new Set(['CVE-2020-10749', 'CVE-2025-59343', '4.1.1', '4.1.2', '4.1.3', '4.1.4', '4.2.15']);

test('each advisory and each check has a row, which names a test', () => {
  const isNamed = (cell: string, id: string): boolean =>
    new RegExp(`(^|[^\\d.])${id.replaceAll('.', '\\.')}($|[^\\d.])`).test(cell);
  const wrong = [...advisories, ...checks].filter((id) => {
    const found = rows.filter(([first = '']) => isNamed(first, id));
    return without.has(id) ? found.length === 0 : !found.some((cells) => (cells.at(-1) ?? '').includes('.test.ts`'));
  });
  assert.deepEqual(wrong, []);
});

test('no row of the tables is without a test, but for those that say why', () => {
  const bare = rows.filter(
    (cells) =>
      cells.length > 2 &&
      !/^-+$/.test(cells[0] ?? '') &&
      !/^(Advisory|Check|Attack)$/.test(cells[0] ?? '') &&
      !/\.test\.ts`|-contract\.ts`/.test(cells.at(-1) ?? ''),
  );
  assert.deepEqual(
    bare.map(([first = '']) => first).filter((first) => ![...without].some((id) => first.includes(id))),
    [],
  );
});
