import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkLogQuery } from './log-query.ts';

const check = (query: string, split = false): string => {
  const checked = checkLogQuery(new URLSearchParams(query), split);
  return checked.outcome === 'query' ? JSON.stringify(checked.query) : `${checked.outcome}: ${checked.problem}`;
};
const plain = { follow: false, previous: false, timestamps: false };

describe('a log query', () => {
  it('has upstream’s names, and `tail` of old', () => {
    assert.equal(
      check(
        'follow=true&previous=1&timestamps=t&tailLines=0&limitBytes=1&sinceSeconds=5&pretty=1&insecureSkipTLSVerifyBackend=true',
      ),
      JSON.stringify({ follow: true, previous: true, timestamps: true, sinceSeconds: 5, tailLines: 0, limitBytes: 1 }),
    );
    assert.equal(check('tail=7'), JSON.stringify({ ...plain, tailLines: 7 }));
    assert.equal(check('tail=all&tailLines=3'), JSON.stringify(plain));
    assert.equal(check('sinceTime=1970-01-01T00:00:01Z'), JSON.stringify({ ...plain, sinceTimeMs: 1000 }));
  });

  it('that cannot be parsed differs from one that is not allowed', () => {
    for (const unreadable of ['tailLines=x', 'follow=maybe', 'sinceTime=then', 'limitBytes=1.5'])
      assert.match(check(unreadable), /^unreadable: /, unreadable);
    for (const invalid of [
      'tailLines=-1',
      'limitBytes=0',
      'sinceSeconds=0',
      'sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z',
      'stream=stdout',
      'stream=Stdout&tailLines=1',
    ])
      assert.match(check(invalid), /^invalid: /, invalid);
  });

  it('selects a stream only with the feature gate', () => {
    assert.equal(check('stream=All'), JSON.stringify(plain));
    assert.equal(
      check('stream=Stderr'),
      'unreadable: unable to return the given log stream: "Stderr". Please enable PodLogsQuerySplitStreams feature gate in kubelet',
    );
    assert.equal(check('stream=Stderr', true), JSON.stringify({ ...plain, stream: 'stderr' }));
  });
});
