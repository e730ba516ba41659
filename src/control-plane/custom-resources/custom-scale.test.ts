import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import { customScale, validateScale } from './custom-scale.ts';

const scale = customScale(
  {
    specReplicasPath: '.spec.size.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
  () => [],
);
const ring = (parts: object): ApiObject =>
  ({
    apiVersion: 'shop.io/v1',
    kind: 'Ring',
    metadata: { name: 'r', namespace: 'n', uid: 'u' },
    ...parts,
  }) as ApiObject;
const body = (replicas?: number): ApiObject =>
  ({ metadata: { name: 'r' }, spec: { replicas } }) as unknown as ApiObject;
const write = (current: ApiObject, replicas?: number): unknown => scale.write(current, body(replicas), {} as never);

describe('the scale of a custom object', () => {
  it('shows the fields that the definition names', () => {
    const object = ring({ spec: { size: { replicas: 3 } }, status: { replicas: 2, selector: 'app=ring' } });
    assert.deepEqual(scale.read?.(object), {
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'r', namespace: 'n', uid: 'u' },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=ring' },
    });
  });

  it('has no replicas and no selector yet where the status is empty or holds something else', () => {
    for (const status of [undefined, {}, { replicas: '2', selector: 7 }])
      assert.deepEqual(
        (scale.read?.(ring({ spec: { size: { replicas: 3 } }, status })) as { status?: object }).status,
        {
          replicas: 0,
        },
      );
  });

  it('does not exist without the wanted number', () => {
    assert.throws(() => scale.read?.(ring({ spec: {} })), /spec replicas field ".spec.size.replicas" does not exist/);
  });

  it('writes the wanted number and leaves the other fields alone', () => {
    const spec = { size: { replicas: 3, unit: 'x' }, color: 'red' };
    assert.deepEqual(write(ring({ spec }), 5), ring({ spec: { ...spec, size: { replicas: 5, unit: 'x' } } }));
    assert.equal(spec.size.replicas, 3);
  });

  it('makes the way to the field where there is none, and takes a missing number as 0', () => {
    assert.deepEqual(write(ring({}), 1), ring({ spec: { size: { replicas: 1 } } }));
    assert.deepEqual(write(ring({ spec: { size: 'large' } })), ring({ spec: { size: { replicas: 0 } } }));
  });

  it('refuses numbers that are negative or too large, whichever way they are written', () => {
    const paths = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' };
    const problems = (n: unknown, actual?: unknown): readonly string[] =>
      validateScale(ring({ spec: { n }, status: { n: actual } }), paths).map(formatFieldError);
    assert.deepEqual(problems(-1), ['.spec.n: Invalid value: -1: should be a non-negative integer']);
    assert.deepEqual(problems(0, 2 ** 31), [
      '.status.n: Invalid value: 2147483648: should be less than or equal to 2147483647',
    ]);
    assert.deepEqual([problems(0, 2 ** 31 - 1), problems('x')], [[], []]);
  });

  it('is without a selector where the definition names none', () => {
    const plain = customScale({ specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' }, () => []);
    assert.deepEqual(
      (plain.read?.(ring({ spec: { n: 1 }, status: { n: 4, selector: 'a=b' } })) as { status?: object }).status,
      {
        replicas: 4,
      },
    );
  });
});
