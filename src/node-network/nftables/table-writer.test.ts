import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { TableDraft } from './table-draft.ts';
import { CHECK_MS, removeTable, TableWriter } from './table-writer.ts';
import { FakeNft } from './testing/fake-nft.ts';

function fixture() {
  const [draft, nft, clock, log] = [new TableDraft('inet', 't'), new FakeNft(), new FakeClock(), recordingLog()];
  draft.putSet('s', { kind: 'set', body: 'type ipv4_addr;' });
  draft.putElement('s', '10.0.0.1');
  return { draft, nft, clock, log, writer: new TableWriter({ draft, nft, clock, log }) };
}
const elements = (nft: FakeNft): string[] => [...(nft.sets.get('s')?.keys() ?? [])];

describe('a written table', () => {
  it('replaces what an earlier run left, once, and then costs its changes alone', async () => {
    const { draft, nft, writer } = fixture();
    nft.sets.set('left', new Map());
    await writer.write();
    assert.deepEqual([[...nft.sets.keys()], elements(nft)], [['s'], ['10.0.0.1']]);
    await writer.write();
    assert.equal(nft.writes, 1);
    draft.putElement('s', '10.0.0.2');
    await writer.write();
    assert.deepEqual([nft.writes, elements(nft)], [2, ['10.0.0.1', '10.0.0.2']]);
  });

  it('is written whole after a change that was refused, and again later when that was refused too', async () => {
    const { draft, nft, log, writer } = fixture();
    await writer.write();
    draft.putElement('s', '10.0.0.2');
    nft.failures = 1;
    await writer.write();
    assert.deepEqual([nft.writes, elements(nft)], [3, ['10.0.0.1', '10.0.0.2']]);
    assert.deepEqual(
      log.lines.map(({ message }) => message),
      ['a change of a table was refused; writing it whole'],
    );
    draft.putElement('s', '10.0.0.3');
    nft.failures = 2;
    await assert.rejects(writer.write(), /nft failed/);
    nft.sets.clear();
    await writer.write();
    assert.deepEqual(elements(nft), ['10.0.0.1', '10.0.0.2', '10.0.0.3']);
  });

  it('is checked every ten seconds, and written again where another program emptied it', async () => {
    const { draft, nft, clock, log, writer } = fixture();
    await writer.write();
    nft.flush();
    await clock.advance(CHECK_MS - 1);
    await writer.write();
    assert.deepEqual(elements(nft), []);
    await clock.advance(1);
    await writer.write();
    assert.deepEqual([elements(nft), log.lines.length], [['10.0.0.1'], 1]);
    // What is not written yet is no difference.
    await clock.advance(CHECK_MS);
    draft.putSet('new', { kind: 'set', body: 'type ipv4_addr;' });
    await writer.write();
    assert.deepEqual([[...nft.sets.keys()], log.lines.length], [['s', 'new'], 1]);
    const before = nft.writes;
    await clock.advance(CHECK_MS);
    await writer.write();
    assert.equal(nft.writes, before);
  });

  it('is written whole where the change before a check is refused', async () => {
    const { draft, nft, clock, writer } = fixture();
    await writer.write();
    draft.putElement('s', '10.0.0.2');
    await clock.advance(CHECK_MS);
    nft.failures = 1;
    await writer.write();
    assert.deepEqual(elements(nft), ['10.0.0.1', '10.0.0.2']);
  });
});

it('a table is removed whether it is there or not', async () => {
  const applied: string[] = [];
  await removeTable({ apply: async (text: string) => void applied.push(text), show: async () => '' }, 'inet', 't');
  assert.deepEqual(applied, ['add table inet t\ndelete table inet t\n']);
});
