import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { journalArguments, readNodeLogQuery } from './node-log-query.ts';

const read = (query: string): ReturnType<typeof readNodeLogQuery> => readNodeLogQuery(new URLSearchParams(query));
const refusal = (query: string): [number, string] => {
  const answer = read(query);
  assert.ok(answer.outcome === 'refused', query);
  return [answer.status, answer.problem];
};

describe('a query for logs of the node', () => {
  it('a node log query is absent without its parameters: then the path counts', () => {
    assert.deepEqual(read('x=1'), { outcome: 'none' });
  });

  it('distinguishes files from services by a slash', () => {
    assert.deepEqual(
      read(
        'query=kubelet&query=containerd&tailLines=5&pattern=a.*b&boot=-1&sinceTime=2026-01-01T00:00:00Z&untilTime=2026-01-01T01:00:00%2B01:00',
      ),
      {
        outcome: 'query',
        query: {
          services: ['kubelet', 'containerd'],
          files: [],
          tailLines: 5,
          pattern: 'a.*b',
          boot: -1,
          sinceMs: Date.UTC(2026, 0, 1),
          untilMs: Date.UTC(2026, 0, 1),
        },
      },
    );
    assert.deepEqual(read('query=%5Cfoo%5Cbar.log'), {
      outcome: 'query',
      query: { services: [], files: ['/foo/bar.log'], pattern: '' },
    });
  });

  it('a node log query that cannot be parsed is 400, one that is not allowed 406', () => {
    assert.deepEqual(refusal('query=%20'), [400, 'query: Invalid value: [" "]: query cannot be empty']);
    assert.deepEqual(refusal('query=a&sinceTime=yesterday'), [
      400,
      'sinceTime: Invalid value: "yesterday": invalid time format',
    ]);
    assert.match(
      refusal('query=a&boot=x&tailLines=y')[1],
      /^\[boot: Invalid value: "x": .*, tailLines: Invalid value: "y": .*\]$/,
    );
    assert.deepEqual(refusal('tailLines=5'), [406, 'query: Required value: cannot be empty with options']);
    assert.deepEqual(refusal('query=a;b'), [406, 'query: Invalid value: "a;b": input contains unsupported characters']);
    assert.deepEqual(refusal(`query=${'a'.repeat(257)}`)[0], 406);
    assert.deepEqual(refusal('query=a&query=b&query=c&query=d&query=e'), [
      406,
      'query: Too many: 5: must have at most 4 items',
    ]);
    assert.match(refusal('query=/a&query=b')[1], /cannot specify a file and service/);
    assert.match(refusal('query=/a&query=/b')[1], /cannot specify more than one file/);
    assert.match(refusal('query=/a&tailLines=1')[1], /cannot specify file with options/);
    assert.deepEqual(refusal('query=a&boot=1'), [406, 'boot: Invalid value: 1: must be less than 1']);
    assert.deepEqual(refusal('query=a&tailLines=100001'), [
      406,
      'tailLines: Invalid value: 100001: must be between 0 and 100000, inclusive',
    ]);
    assert.match(
      refusal('query=a&sinceTime=2026-01-02T00:00:00Z&untilTime=2026-01-01T00:00:00Z')[1],
      /must be after `sinceTime`/,
    );
    assert.match(refusal('query=a&pattern=%5B')[1], /pattern: Invalid value/);
  });

  it('never becomes an option of the program that is run', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (service, pattern) => {
        const answer = readNodeLogQuery(new URLSearchParams({ query: service, pattern }));
        if (answer.outcome !== 'query' || answer.query.services.length === 0) return;
        const words = journalArguments(answer.query, answer.query.services);
        assert.ok(
          words.every((word) =>
            /^--(utc|no-pager|unit=[\w.:@-]+|grep=[^]*|case-sensitive=false|output=short-precise)$/.test(word),
          ),
          words.join('\n'),
        );
      }),
    );
  });
});
