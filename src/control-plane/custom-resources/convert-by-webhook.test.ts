import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { CustomResourceDefinitionSchema } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { decode } from '../../api/schema/decode.ts';
import { convertByWebhook } from './convert-by-webhook.ts';

const crd: CustomResourceDefinition = decode(CustomResourceDefinitionSchema, {
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [],
    conversion: {
      strategy: 'Webhook',
      webhook: { clientConfig: { url: 'https://a.b/c' }, conversionReviewVersions: ['v7', 'v1'] },
    },
  },
}).value;

interface Thing extends ApiObject {
  readonly spec?: object;
}
const thing = (name: string, more: object = {}): Thing => ({
  kind: 'Thing',
  apiVersion: 'example.com/v1',
  metadata: { name, namespace: 'n', uid: `uid-${name}`, resourceVersion: '7', labels: { a: 'b' } },
  ...more,
});

interface Question {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Thing[] };
}
type Answer = (question: Question) => unknown;

const success = ({ request }: Question, objects: readonly object[]): object => ({
  kind: 'ConversionReview',
  apiVersion: 'apiextensions.k8s.io/v1',
  response: { uid: request.uid, result: { status: 'Success' }, convertedObjects: objects },
});
const renamed: Answer = (question) =>
  success(
    question,
    question.request.objects.map((each) => ({ ...each, apiVersion: question.request.desiredAPIVersion })),
  );

function converter(answer: Answer): {
  readonly asked: Question[];
  readonly convert: (objects: readonly ApiObject[]) => Promise<readonly ApiObject[]>;
} {
  const asked: Question[] = [];
  const post = (_: object, review: object): Promise<unknown> => {
    asked.push(review as Question);
    return Promise.resolve(review as Question).then(answer);
  };
  const convert = convertByWebhook(crd, { post, newUid: () => 'uid' });
  return { asked, convert: (objects) => convert(objects, 'example.com/v2') };
}

const refusal = async (answer: Answer): Promise<string> => {
  const error: unknown = await converter(answer)
    .convert([thing('a')])
    .catch((thrown: unknown) => thrown);
  return error instanceof Error ? error.message : 'nothing';
};
const changed =
  (change: (object: Thing) => unknown): Answer =>
  (question) =>
    success(
      question,
      question.request.objects.map((each) => change({ ...each, apiVersion: 'example.com/v2' }) as object),
    );

describe('a conversion webhook', () => {
  it('is asked for all objects at once, in a version of reviews that it speaks', async () => {
    const { asked, convert } = converter(renamed);
    const answers = await convert([thing('a'), thing('b', { spec: { x: 1 } })]);
    assert.deepEqual(asked, [
      {
        kind: 'ConversionReview',
        apiVersion: 'apiextensions.k8s.io/v1',
        request: {
          uid: 'uid',
          desiredAPIVersion: 'example.com/v2',
          objects: [thing('a'), thing('b', { spec: { x: 1 } })],
        },
      },
    ]);
    assert.deepEqual(
      answers.map(({ apiVersion, metadata }) => [apiVersion, metadata.name]),
      [
        ['example.com/v2', 'a'],
        ['example.com/v2', 'b'],
      ],
    );
  });

  it('may change labels and annotations, and nothing else of metadata', async () => {
    const { convert } = converter(
      changed((object) => ({
        ...object,
        metadata: { ...object.metadata, labels: { c: 'd' }, annotations: { e: 'f' }, resourceVersion: '9' },
      })),
    );
    const [answer] = await convert([thing('a')]);
    assert.deepEqual(answer?.metadata, {
      name: 'a',
      namespace: 'n',
      uid: 'uid-a',
      resourceVersion: '7',
      labels: { c: 'd' },
      annotations: { e: 'f' },
    });
  });

  it('what else of metadata a conversion webhook changes, adds or removes is as it was', async () => {
    const original = thing('a', {
      metadata: {
        ...thing('a').metadata,
        finalizers: ['x/y'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }],
        deletionTimestamp: '2026-01-01T00:00:00Z',
        annotations: { e: 'f' },
      },
    });
    const { name, namespace, uid } = original.metadata;
    const bare = { name, namespace, uid, creationTimestamp: '1970-01-01T00:00:00Z', finalizers: ['z/z'] };
    const { convert } = converter(changed((object) => ({ ...object, metadata: bare })));
    const [answer] = await convert([original]);
    const { labels: _, annotations: __, ...kept } = original.metadata;
    assert.deepEqual(answer?.metadata, kept);
  });

  it('a field __proto__ that a conversion webhook adds is an ordinary field', async () => {
    const { convert } = converter(
      changed((object) => ({ ...object, ...(JSON.parse('{"spec":{"__proto__":{"polluted":1}}}') as object) })),
    );
    const [answer] = await convert([thing('a')]);
    assert.ok(Object.hasOwn((answer as Thing).spec ?? {}, '__proto__'));
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it('that fails for one batch of a list fails the whole list', async () => {
    let asked = 0;
    const { convert } = converter((question) => (++asked === 2 ? success(question, []) : renamed(question)));
    const large = { spec: { text: 'x'.repeat(700_000) } };
    await assert.rejects(convert([thing('a', large), thing('b', large), thing('c', large)]), {
      code: 500,
      message: 'conversion webhook for example.com/v1, Kind=Thing returned 0 objects, expected 1',
    });
    assert.equal(asked, 2);
  });

  it('is sent more than one review for what is too long for one', async () => {
    const { asked, convert } = converter(renamed);
    const large = { spec: { text: 'x'.repeat(700_000) } };
    assert.equal((await convert([thing('a', large), thing('b', large), thing('c')])).length, 3);
    assert.deepEqual(
      asked.map(({ request }) => request.objects.length),
      [1, 2],
    );
  });

  const prefix = 'conversion webhook for example.com/v1, Kind=Thing';
  const metadata = (more: object): Answer =>
    changed((object) => ({ ...object, metadata: { ...object.metadata, ...more } }));
  const cases: readonly [string, Answer, string][] = [
    [
      'another kind of answer',
      () => ({ kind: 'Status', apiVersion: 'v1' }),
      `${prefix} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got v1, Kind=Status`,
    ],
    [
      'an answer without a response',
      () => ({ kind: 'ConversionReview', apiVersion: 'apiextensions.k8s.io/v1' }),
      `${prefix} failed: no response provided`,
    ],
    [
      'an answer to another question',
      (question) => renamed({ request: { ...question.request, uid: 'x' } }),
      `${prefix} failed: expected response.uid="uid", got "x"`,
    ],
    [
      'a refusal',
      (question) => ({
        ...success(question, []),
        response: { uid: 'uid', result: { status: 'Failure', message: 'I cannot' } },
      }),
      `${prefix} failed: I cannot`,
    ],
    [
      'a refusal without words',
      (question) => ({ ...success(question, []), response: { uid: 'uid', result: { status: 'Failure' } } }),
      `${prefix} failed: response.result.status was 'Failure', not 'Success'`,
    ],
    ['too few objects', (question) => success(question, []), `${prefix} returned 0 objects, expected 1`],
    [
      'too many objects',
      (question) => success(question, [...question.request.objects, ...question.request.objects]),
      `${prefix} returned 2 objects, expected 1`,
    ],
    [
      'no list of objects',
      ({ request }) => success({ request }, null as unknown as object[]),
      `${prefix} returned 0 objects, expected 1`,
    ],
    [
      'a list',
      () => [],
      `${prefix} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got , Kind=`,
    ],
    [
      'a review of another version',
      (question) => ({ ...success(question, []), apiVersion: 'apiextensions.k8s.io/v1beta1' }),
      `${prefix} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got apiextensions.k8s.io/v1beta1, Kind=ConversionReview`,
    ],
    [
      'no result',
      ({ request: { uid } }) => ({
        ...success({ request: { uid, desiredAPIVersion: '', objects: [] } }, []),
        response: { uid },
      }),
      `${prefix} failed: response.result.status was '', not 'Success'`,
    ],
    [
      'objects of the same version',
      changed((object) => ({ ...object, apiVersion: 'example.com/v1' })),
      `${prefix} returned invalid converted object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)`,
    ],
    [
      'objects of another kind',
      changed((object) => ({ ...object, kind: 'Other' })),
      `${prefix} returned invalid converted object at index 0: invalid kind (expected Thing, received Other)`,
    ],
    [
      'objects with another name',
      metadata({ name: 'b' }),
      `${prefix} returned invalid converted object at index 0: must have the same name: a != b`,
    ],
    [
      'objects with another uid',
      metadata({ uid: 'b' }),
      `${prefix} returned invalid converted object at index 0: must have the same UID: uid-a != b`,
    ],
    [
      'objects in another namespace',
      metadata({ namespace: 'b' }),
      `${prefix} returned invalid converted object at index 0: must have the same namespace: n != b`,
    ],
    [
      'objects without metadata',
      changed(({ metadata: _, ...object }) => object),
      `${prefix} returned invalid converted object at index 0: must have the same name: a != `,
    ],
    [
      'a list of labels',
      metadata({ labels: ['a'] }),
      `${prefix} returned invalid metadata in object at index 0: invalid metadata.labels of type []interface {} in converted object`,
    ],
    [
      'labels that are not texts',
      metadata({ labels: { a: 1 } }),
      `${prefix} returned invalid metadata in object at index 0: metadata.labels[a] must be a string, but is int64 in converted object`,
    ],
    [
      'what is no object',
      (question) => success(question, [null as unknown as object]),
      `${prefix} returned invalid converted object at index 0: expected an object, got null`,
    ],
  ];
  for (const [what, answer, text] of cases)
    it(`fails the request with ${what}`, async () => assert.equal(await refusal(answer), text));

  it('fails the request with objects in another order', async () => {
    const { convert } = converter((question) => {
      const { objects, desiredAPIVersion: apiVersion } = question.request;
      return success(question, objects.map((each) => ({ ...each, apiVersion })).reverse());
    });
    await assert.rejects(convert([thing('a'), thing('b')]), {
      code: 500,
      message: `${prefix} returned invalid converted object at index 0: must have the same name: a != b`,
    });
  });

  it('fails the request with invalid labels', async () => {
    assert.match(
      await refusal(metadata({ labels: { '-': 'a', b: '-' } })),
      /^conversion webhook for example.com\/v1, Kind=Thing returned invalid metadata in object at index 0: \[metadata.labels: Invalid value: "-": name part must .*, metadata.labels: Invalid value: "-": a valid label .*\]$/,
    );
  });

  it('fails the request when it cannot be asked', async () => {
    const unreachable: Answer = () => {
      throw new Error('Post "https://a.b/c?timeout=30s": EOF');
    };
    assert.equal(await refusal(unreachable), `${prefix} failed: Post "https://a.b/c?timeout=30s": EOF`);
  });
});
