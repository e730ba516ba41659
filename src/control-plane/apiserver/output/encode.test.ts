import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import type { Served } from '../../registry/registry.ts';
import { bodyText } from '../testing/fake-request.ts';
import { definition } from '../testing/fixtures.ts';
import { textTasks } from '../texts/text-tasks.ts';
import { listReply } from './encode.ts';
import type { Answer } from './encode.ts';
import { kindOf, ObjectMessages } from './messages.ts';
import type { OutputForm } from './negotiate.ts';

const pods = definition('Pod', 'pods', {});

function served(index: number): Served {
  const object = {
    metadata: {
      name: `p-${index}`,
      namespace: 'default',
      uid: `${index}`,
      resourceVersion: `${index}`,
      labels: { text: 'a\nb\n' },
    },
  };
  return { object, json: JSON.stringify({ kind: 'Pod', apiVersion: 'v1', ...object }) };
}
/** Makes each item seem to take long. */
let elapsedMs = 0;
const workedMs = (): number => (elapsedMs += 10);
const many = (count: number): readonly Served[] => Array.from({ length: count }, (_, index) => served(index));

async function written(
  form: OutputForm,
  how: { readonly encoding: 'json' | 'yaml'; readonly pretty: boolean },
  items: readonly Served[],
): Promise<string> {
  const answer: Answer = {
    status: 200,
    output: { form, ...how },
    definition: pods,
    include: 'Metadata',
    nowMs: 0,
    workedMs,
    texts: textTasks,
    answered: kindOf(pods),
    messages: new ObjectMessages(),
  };
  return bodyText(await listReply(answer, { items, resourceVersion: '9', continue: 'more', remainingItemCount: 3 }));
}

const forms: readonly OutputForm[] = [
  { as: 'object' },
  { as: 'partial', version: 'v1' },
  { as: 'table', version: 'v1' },
];

describe('lists', () => {
  it('are not completed when the client has disconnected', async () => {
    let made = 0;
    const items = many(1000).map(
      ({ object, json }): Served => ({
        object,
        get json() {
          made++;
          return json;
        },
      }),
    );
    const answer: Answer = {
      status: 200,
      output: { form: { as: 'object' }, encoding: 'json', pretty: false },
      definition: pods,
      include: 'Metadata',
      nowMs: 0,
      workedMs,
      texts: textTasks,
      answered: kindOf(pods),
      messages: new ObjectMessages(),
      isAbandoned: () => made >= 100,
    };
    await assert.rejects(listReply(answer, { items, resourceVersion: '9' }));
    assert.ok(made < 200, `${made} of 1000 were made`);
  });

  it('have the same content in JSON, pretty JSON and YAML, in all forms', async () => {
    for (const form of forms) {
      for (const items of [many(0), many(1), many(250)]) {
        const json = JSON.parse(await written(form, { encoding: 'json', pretty: false }, items)) as {
          items?: unknown[];
          rows?: unknown[];
        };
        assert.equal((json.items ?? json.rows)?.length, items.length);
        assert.equal(
          await written(form, { encoding: 'json', pretty: true }, items),
          `${JSON.stringify(json, undefined, 2)}\n`,
        );
        assert.deepEqual(parse(await written(form, { encoding: 'yaml', pretty: false }, items)), json);
      }
    }
  });

  it('are encoded over several turns of the event loop', async () => {
    for (const form of forms) {
      for (const encoding of ['json', 'yaml'] as const) {
        let turns = 0;
        let isOver = false;
        const count = (): void => {
          turns++;
          if (!isOver) setImmediate(count);
        };
        setImmediate(count);
        await written(form, { encoding, pretty: false }, many(1000));
        isOver = true;
        assert.ok(turns >= 10, `${form.as} as ${encoding}: ${turns} turns`);
      }
    }
  });

  it('need no second turn for a page as kubectl requests them, and no JSON of whole objects for a table', async () => {
    let nowMs = 0;
    let made = 0;
    const items = many(500).map(
      ({ object }): Served => ({
        object,
        get json() {
          made++;
          return '{}';
        },
      }),
    );
    const encode = async (msPerRow: number): Promise<{ readonly hasRested: boolean }> => {
      const answer: Answer = {
        status: 200,
        output: { form: { as: 'table', version: 'v1' }, encoding: 'json', pretty: false },
        definition: {
          ...pods,
          columns: [{ name: 'Cost', type: 'number', description: '', cell: () => (nowMs += msPerRow) }],
        },
        include: 'Metadata',
        nowMs: 0,
        workedMs: () => nowMs,
        texts: textTasks,
        answered: kindOf(pods),
        messages: new ObjectMessages(),
      };
      let hasRested = false;
      setImmediate(() => (hasRested = true));
      await listReply(answer, { items, resourceVersion: '9' });
      return { hasRested };
    };
    assert.deepEqual([await encode(0.02), await encode(0.05), made], [{ hasRested: false }, { hasRested: true }, 0]);
  });
});
