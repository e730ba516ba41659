import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isTableWhole } from './is-table-whole.ts';
import { TableDraft } from './table-draft.ts';
import { FakeNft } from './testing/fake-nft.ts';

const addresses = { kind: 'set', body: 'type ipv4_addr;' } as const;
const verdicts = { kind: 'map', body: 'type ipv4_addr : verdict;' } as const;

function written(fill: (draft: TableDraft) => void): TableDraft {
  const draft = new TableDraft('inet', 't');
  fill(draft);
  draft.takeWhole();
  return draft;
}
const lines = (text: string | undefined): string[] | undefined => text?.trimEnd().split('\n');

describe('a table that is written as a whole', () => {
  it('replaces what is there: sets, then chains, then rules, then elements', () => {
    const draft = new TableDraft('inet', 't');
    draft.putSet('empty', addresses);
    draft.putSet('pods', verdicts);
    draft.putElement('pods', '10.0.0.1', 'goto web');
    draft.putElement('pods', '10.0.0.2', 'goto web');
    draft.putChain('base', { head: 'type filter hook forward priority 0; policy accept;', rules: ['a', 'b'] });
    draft.putChain('web', { rules: [] });
    assert.deepEqual(lines(draft.takeWhole()), [
      'add table inet t',
      'delete table inet t',
      'add table inet t',
      'add set inet t empty { type ipv4_addr; }',
      'add map inet t pods { type ipv4_addr : verdict; }',
      'add chain inet t base { type filter hook forward priority 0; policy accept; }',
      'add chain inet t web',
      'add rule inet t base a',
      'add rule inet t base b',
      'add element inet t pods { 10.0.0.1 : goto web, 10.0.0.2 : goto web }',
    ]);
    assert.equal(draft.takeChanges(), undefined);
  });
});

describe('a change of a table', () => {
  it('is empty when nothing changed, or when all changes were reverted', () => {
    const draft = written((table) => {
      table.putSet('s', addresses);
      table.putElement('s', '10.0.0.1');
      table.putChain('c', { rules: ['a'] });
    });
    draft.putSet('s', addresses);
    draft.putElement('s', '10.0.0.1');
    draft.putChain('c', { rules: ['a'] });
    draft.dropSet('none');
    draft.dropChain('none');
    draft.dropElement('s', '10.9.9.9');
    draft.dropElement('none', 'x');
    draft.putElement('none', 'x');
    assert.equal(draft.takeChanges(), undefined);
    draft.dropElement('s', '10.0.0.1');
    draft.putElement('s', '10.0.0.1');
    draft.putElement('s', '10.0.0.2');
    draft.dropElement('s', '10.0.0.2');
    draft.putChain('c', { rules: ['b'] });
    draft.putChain('c', { rules: ['a'] });
    draft.putChain('d', { rules: [] });
    draft.dropChain('d');
    draft.putSet('n', addresses);
    draft.dropSet('n');
    assert.equal(draft.takeChanges(), undefined);
  });

  it('has the added and removed elements, and each changed value', () => {
    const draft = written((table) => {
      table.putSet('m', verdicts);
      for (const key of ['1', '2', '3']) table.putElement('m', key, 'drop');
    });
    draft.dropElement('m', '1');
    draft.putElement('m', '2', 'accept');
    draft.putElement('m', '4', 'drop');
    assert.deepEqual(lines(draft.takeChanges()), [
      'delete element inet t m { 1, 2 }',
      'add element inet t m { 2 : accept, 4 : drop }',
    ]);
    assert.equal(draft.takeChanges(), undefined);
    assert.deepEqual(
      [...(draft.sets.get('m')?.elements ?? [])],
      [
        ['2', 'accept'],
        ['3', 'drop'],
        ['4', 'drop'],
      ],
    );
  });

  it('flushes a chain before it writes new rules, and deletes it after the last reference', () => {
    const draft = written((table) => {
      table.putChain('base', { rules: ['jump web'] });
      table.putChain('web', { rules: ['a'] });
    });
    draft.dropChain('web');
    draft.putChain('db', { rules: ['b'] });
    draft.putChain('base', { rules: ['jump db', 'x'] });
    assert.deepEqual(lines(draft.takeChanges()), [
      'add chain inet t db',
      'flush chain inet t web',
      'flush chain inet t base',
      'add rule inet t db b',
      'add rule inet t base jump db',
      'add rule inet t base x',
      'delete chain inet t web',
    ]);
  });

  it('adds a new set before the rules that use it, and deletes an old set after its rules', () => {
    const draft = written((table) => {
      table.putSet('old', verdicts);
      table.putElement('old', '1', 'drop');
      table.putChain('c', { rules: ['@old'] });
    });
    draft.putElement('old', '2', 'drop');
    draft.dropSet('old');
    draft.putSet('new', addresses);
    draft.putElement('new', '3');
    draft.putChain('c', { rules: ['@new'] });
    assert.deepEqual(lines(draft.takeChanges()), [
      'add set inet t new { type ipv4_addr; }',
      'flush chain inet t c',
      'add rule inet t c @new',
      'add element inet t new { 3 }',
      'delete map inet t old',
    ]);
  });

  it('replaces the elements of a set that was removed and added again', () => {
    const draft = written((table) => {
      table.putSet('s', addresses);
      for (const key of ['1', '2']) table.putElement('s', key);
    });
    draft.putElement('s', '3');
    draft.dropElement('s', '2');
    draft.dropSet('s');
    draft.putSet('s', addresses);
    draft.putElement('s', '4');
    assert.deepEqual(lines(draft.takeChanges()), ['delete element inet t s { 1, 2 }', 'add element inet t s { 4 }']);
  });

  it('gives the same table as writing all of it, after any changes', () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const act = fc.oneof(
      fc.record({ act: fc.constant('putSet' as const), name }),
      fc.record({ act: fc.constant('dropSet' as const), name }),
      fc.record({ act: fc.constant('putElement' as const), name, key: name, value: fc.constantFrom('accept', 'drop') }),
      fc.record({ act: fc.constant('dropElement' as const), name, key: name }),
      fc.record({
        act: fc.constant('putChain' as const),
        name,
        rules: fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }),
      }),
      fc.record({ act: fc.constant('dropChain' as const), name }),
    );
    fc.assert(
      fc.property(fc.array(fc.array(act, { maxLength: 8 }), { maxLength: 6 }), (rounds) => {
        const draft = new TableDraft('inet', 't');
        const kernel = new FakeNft();
        kernel.run(draft.takeWhole());
        for (const round of rounds) {
          for (const each of round)
            if (each.act === 'putSet') draft.putSet(each.name, verdicts);
            else if (each.act === 'dropSet') draft.dropSet(each.name);
            else if (each.act === 'putElement') draft.putElement(each.name, each.key, each.value);
            else if (each.act === 'dropElement') draft.dropElement(each.name, each.key);
            else if (each.act === 'putChain') draft.putChain(each.name, { rules: each.rules });
            else draft.dropChain(each.name);
          kernel.run(draft.takeChanges());
          const held = new Map([...draft.sets].map(([set, { elements }]) => [set, new Map(elements)]));
          const sorted = <T>(entries: Iterable<readonly [string, T]>): unknown =>
            [...entries].sort(([left], [right]) => (left < right ? -1 : 1));
          const plain = (sets: ReadonlyMap<string, ReadonlyMap<string, string>>): unknown =>
            sorted([...sets].map(([set, elements]) => [set, sorted(elements)] as const));
          assert.deepEqual(plain(kernel.sets), plain(held));
          assert.deepEqual(
            sorted(kernel.chains),
            sorted([...draft.chains].map(([chain, { rules }]) => [chain, [...rules]] as const)),
          );
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('a table as nft shows it', () => {
  const draft = written((table) => {
    table.putSet('s', addresses);
    table.putSet('m', verdicts);
    table.putChain('base', { head: 'type filter hook forward priority 0; policy accept;', rules: ['a', 'b'] });
    table.putChain('empty', { rules: [] });
  });
  const shown = [
    'table inet t {',
    '\tset s {',
    '\t\ttype ipv4_addr',
    '\t\tflags interval',
    '\t}',
    '',
    '\tmap m {',
    '\t\ttype ipv4_addr : verdict',
    '\t}',
    '',
    '\tchain base {',
    '\t\ttype filter hook forward priority filter; policy accept;',
    '\t\tip saddr @s accept',
    '\t\tdrop',
    '\t}',
    '',
    '\tchain empty {',
    '\t}',
    '}',
    '',
  ];
  const without = (...gone: string[]): string => shown.filter((line) => !gone.includes(line)).join('\n');

  it('is whole with all its sets, chains and rules', () => {
    assert.equal(isTableWhole(draft, shown.join('\n')), true);
  });

  it('is not whole where a set, a chain or a rule is missing, or one is there too many', () => {
    for (const missing of ['\tset s {', '\tmap m {', '\tchain empty {', '\t\tdrop'])
      assert.equal(isTableWhole(draft, without(missing)), false, missing);
    assert.equal(isTableWhole(draft, ''), false);
    for (const more of ['\tset other {\n\t}', '\tchain other {\n\t}', '\tchain base2 {\n\t\tdrop\n\t}'])
      assert.equal(isTableWhole(draft, [...shown.slice(0, -2), more, '}'].join('\n')), false, more);
    assert.equal(isTableWhole(draft, shown.join('\n').replace('\t\tdrop', '\t\tdrop\n\t\taccept')), false);
    assert.equal(isTableWhole(draft, shown.join('\n').replace('set s {', 'set other {')), false);
    assert.equal(isTableWhole(draft, shown.join('\n').replace('chain empty {', 'chain other {')), false);
  });
});
