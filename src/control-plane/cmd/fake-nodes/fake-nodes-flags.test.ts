import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFakeNodes } from './fake-nodes-flags.ts';

const errorsOf = (...args: string[]): readonly string[] => {
  const parsed = parseFakeNodes(args);
  return parsed.kind === 'error' ? parsed.errors : assert.fail(`${args.join(' ')} is taken`);
};

describe('the command line of fake nodes', () => {
  it('needs a number and nothing else', () => {
    assert.deepEqual(parseFakeNodes(['3']), {
      kind: 'run',
      options: {
        count: 3,
        prefix: 'fake',
        shape: { cpu: '8', memory: '32Gi', pods: 110, labels: {} },
        reactMs: 10,
        leaseMs: 10_000,
      },
    });
    assert.deepEqual(parseFakeNodes(['--help']), { kind: 'help' });
  });

  it('takes sizes, labels and times', () => {
    const parsed = parseFakeNodes([
      '2',
      '--cpu=500m',
      '--pods=10',
      '--labels=zone=a,eq=b=c',
      '--react-ms=0',
      '--lease-seconds=1',
      '--kubeconfig=k',
    ]);
    assert.deepEqual(parsed, {
      kind: 'run',
      options: {
        count: 2,
        kubeconfig: 'k',
        prefix: 'fake',
        shape: { cpu: '500m', memory: '32Gi', pods: 10, labels: { zone: 'a', eq: 'b=c' } },
        reactMs: 0,
        leaseMs: 1000,
      },
    });
  });

  it('says how many nodes are too few, too many or none', () => {
    assert.deepEqual(errorsOf(), ['one number of nodes is needed, as in: fake-nodes 3']);
    assert.deepEqual(errorsOf('3', '4'), ['one number of nodes is needed, as in: fake-nodes 3']);
    for (const text of ['0', '5001', 'x', '1.5', '1e3'])
      assert.deepEqual(errorsOf(text), [`N: "${text}" is not a whole number from 1 to 5000`]);
  });

  it('tells all that is wrong at once', () => {
    assert.deepEqual(errorsOf('1', '--cpu=x', '--labels=a', '--react-ms=soon', '--lease-seconds=0'), [
      '--cpu: "x" is not a quantity such as 8, 500m or 32Gi',
      '--labels: a is not of the form KEY=VALUE',
      '--react-ms: "soon" is not a whole number from 0 to 3600000',
      '--lease-seconds: "0" is not a whole number from 1 to 3600',
    ]);
  });
});
