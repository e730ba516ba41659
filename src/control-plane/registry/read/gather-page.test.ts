import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { TurnShare } from '../../../base/turn-share.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { ObjectList } from '../cache/object-list.ts';
import { CachedObject } from '../cache/stored-form.ts';
import { widgets } from '../testing/registry-fixture.ts';
import { gatherPage } from './gather-page.ts';
import type { GatheredPage, PageScope } from './gather-page.ts';
import { parseSelection } from './selection.ts';

const definition = widgets as unknown as ResourceDefinition;
const PREFIX = 'default/';
const keyOf = (index: number): string => `${PREFIX}w${String(index).padStart(5, '0')}`;

function widget(index: number, odd = index % 2 === 1): CachedObject {
  const name = keyOf(index).slice(PREFIX.length);
  const metadata = { name, namespace: 'default', uid: 'u', resourceVersion: '1', labels: { odd: String(odd) } };
  return new CachedObject(definition, { metadata, spec: { size: 1 } } as ApiObject, 1);
}

function manyWidgets(count: number): ObjectList {
  const list = new ObjectList();
  for (let index = 0; index < count; index++) list.set(keyOf(index), widget(index));
  list.set('other/w', widget(1));
  return list;
}

const page = (labelSelector: string, limit = 0, afterKey = ''): PageScope => ({
  prefix: PREFIX,
  selection: parseSelection(definition, { labelSelector }),
  limit,
  afterKey,
});
const names = ({ items }: GatheredPage): string[] => items.map(({ object }) => object.metadata.name);

/** Returns the expected page of a list that does not change. */
function wanted(list: ObjectList, { prefix, selection, limit, afterKey }: PageScope): string[] {
  const all = [...list.range(prefix, afterKey)].map(([, { object }]) => object).filter(selection.matches);
  return all.slice(0, limit === 0 ? all.length : limit).map(({ metadata }) => metadata.name);
}

describe('a page of selected objects', () => {
  /** Each check takes a millisecond, so 15 checks use up a turn's share of 15. */
  const countedTurns = (): { readonly pace: Pick<TurnShare, 'rest'>; readonly waits: () => number } => {
    let ms = 0;
    let waits = 0;
    const share = new TurnShare(() => ms++);
    const rest = (): Promise<void> | undefined => {
      const waiting = share.rest();
      if (waiting !== undefined) waits++;
      return waiting;
    };
    return { pace: { rest }, waits: () => waits };
  };

  test('takes more turns of the event loop for a longer list, and one turn if everything is selected', async () => {
    const waitsFor = async (count: number, selector: string): Promise<number> => {
      const { pace, waits } = countedTurns();
      await gatherPage(page(selector), manyWidgets(count), pace);
      return waits();
    };
    const [small, medium, large] = [
      await waitsFor(100, 'odd=true'),
      await waitsFor(5000, 'odd=true'),
      await waitsFor(20_000, 'odd=true'),
    ];
    assert.equal(small, 0);
    assert.ok(medium >= 3 && large >= 3 * medium, `${medium} and ${large} turns`);
    assert.equal(await waitsFor(20_000, ''), 0);
  });

  test('shows the list as of its beginning, whatever changes during the wait', async () => {
    const { next: random } = seededRandom(7);
    for (let run = 0; run < 30; run++) {
      const list = manyWidgets(1500);
      const afterKey = random() < 0.5 ? '' : keyOf(Math.floor(random() * 1500));
      const scope = page('odd=true', random() < 0.5 ? 0 : Math.floor(random() * 700), afterKey);
      const [expected, before] = [wanted(list, scope), [...list.keys()].filter((key) => key.startsWith(PREFIX))];
      let kept: ObjectList | undefined;
      let questions = 0;
      const pace = {
        rest: (): Promise<void> | undefined => {
          if (random() < 0.5 && questions++ > 0) return undefined;
          return Promise.resolve().then(() => {
            for (let change = 0; change < 200; change++) {
              const index = Math.floor(random() * 2000);
              if (random() < 0.5) list.delete(keyOf(index));
              else list.set(keyOf(index), widget(index, random() < 0.5));
            }
          });
        },
      };
      const gathered = await gatherPage(scope, list, pace, (take) => (kept = take()));
      assert.deepEqual(names(gathered), expected);
      assert.equal(gathered.lastKey !== undefined, kept !== undefined);
      if (kept !== undefined) assert.deepEqual(kept.keys(), before);
    }
  });
});
