import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { abortReason } from './abort-reason.ts';

describe('the reason of an abort', () => {
  let folder = '';
  before(() => void (folder = mkdtempSync(join(tmpdir(), 'kts-abort-'))));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('is the line that Node wrote in this run, however long the log is', () => {
    const log = join(folder, 'long.log');
    writeFileSync(log, 'FATAL ERROR: of an earlier run\n');
    const { size } = statSync(log);
    assert.equal(abortReason(log, size), undefined);
    appendFileSync(
      log,
      `${'a line\n'.repeat(20_000)}  #  node[7]: f() at ../src/x.cc:1\n  #  Assertion failed: !current_write_\n`,
    );
    assert.equal(abortReason(log, size), 'Assertion failed: !current_write_');
    appendFileSync(log, `${'a line\n'.repeat(20_000)}FATAL ERROR: heap limit\n\n 1: 0x840e50\n`);
    assert.equal(abortReason(log, size), 'FATAL ERROR: heap limit');
  });

  it('is unknown without a log', () => {
    assert.equal(abortReason(join(folder, 'none.log'), 0), undefined);
  });
});
