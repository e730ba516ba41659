import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { snapshotCommand } from './snapshot-command.ts';

const said = async (...args: string[]): Promise<{ readonly code: number; readonly text: string }> => {
  let text = '';
  const write = (part: string): void => void (text += part);
  const code = await snapshotCommand(args, { write, defaultDataDir: '/nowhere', nowMs: 0, version: 'v1' });
  return { code, text };
};

describe('the snapshot command', () => {
  it('prints its usage when asked for help', async () => {
    for (const args of [['--help'], ['save', '--help'], ['-h']]) {
      const { code, text } = await said(...args);
      assert.equal(code, 0, args.join(' '));
      assert.match(text, /^usage: kubelet-control-plane snapshot save/);
    }
  });

  it('says what is wrong with its words, and how it is used', async () => {
    for (const args of [[], ['save'], ['dump', 'file'], ['save', 'file', 'file'], ['save', 'file', '--nothing']]) {
      const { code, text } = await said(...args);
      assert.equal(code, 1, args.join(' '));
      assert.match(text, /^.+\nusage: kubelet-control-plane snapshot save/);
    }
  });
});
