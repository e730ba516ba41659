import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { computeCrdStatus } from './compute-crd-status.ts';

const NOW = '2026-01-01T00:00:00Z';
const KINDS = ['Ring', 'Cup'];

interface Version {
  readonly revision: number;
  readonly definition: CustomResourceDefinition;
}

function wanting(name: string, kind: string): CustomResourceDefinition {
  return {
    metadata: { name, namespace: '', uid: name },
    spec: {
      group: 'shop.io',
      scope: 'Namespaced',
      names: { plural: name, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
    status: { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
  };
}

/** One store with conditional writes, and servers whose caches follow its history. */
class Servers {
  #revision = 0;
  readonly #history: Version[] = [];
  readonly #seen: number[] = [0, 0];

  write(definition: CustomResourceDefinition): void {
    const resourceVersion = String(++this.#revision);
    const metadata = { ...definition.metadata, resourceVersion };
    this.#history.push({ revision: this.#revision, definition: { ...definition, metadata } });
  }

  current(upTo = this.#revision): readonly CustomResourceDefinition[] {
    const last = new Map<string, CustomResourceDefinition>();
    for (const { revision, definition } of this.#history)
      if (revision <= upTo) last.set(definition.metadata.name, definition);
    return [...last.values()];
  }

  /** Shows more of the history to the cache of one server. */
  follow(server: number, count: number): void {
    this.#seen[server] = Math.min(this.#revision, (this.#seen[server] ?? 0) + count);
  }

  /**
   * Returns the write that a server would make according to its cache. The write is refused if the definition has
   * changed.
   */
  judge(server: number, name: string): (() => void) | undefined {
    const seen = this.current(this.#seen[server]);
    const definition = seen.find(({ metadata }) => metadata.name === name);
    if (definition === undefined) return undefined;
    const others = seen.filter(({ metadata }) => metadata.name !== name);
    const status = computeCrdStatus(definition, others, NOW);
    if (status === undefined) return undefined;
    return () => {
      const stored = this.current().find(({ metadata }) => metadata.name === name);
      if (stored?.metadata.resourceVersion === definition.metadata.resourceVersion)
        this.write({ ...definition, status });
    };
  }
}

test('two definitions never have one name accepted, whichever servers judge them and when, and one gets it', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('follow' as const), server: fc.nat(1), at: fc.integer({ min: 1, max: 3 }) }),
    fc.record({ do: fc.constant('judge' as const), server: fc.nat(1), at: fc.nat(3) }),
    fc.record({ do: fc.constant('write' as const), server: fc.nat(1), at: fc.nat(1) }),
    fc.record({ do: fc.constant('rename' as const), server: fc.nat(1), at: fc.nat(3) }),
  );
  const wantedKinds = fc.array(fc.constantFrom(...KINDS), { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(wantedKinds, fc.array(step, { minLength: 10, maxLength: 40 }), (kinds, steps) => {
      const world = new Servers();
      const names = kinds.map((_, index) => `d${index}`);
      for (const [index, kind] of kinds.entries()) world.write(wanting(`d${index}`, kind));
      for (const server of [0, 1]) world.follow(server, 2);
      const underway: (() => void)[] = [];
      const check = (): void => {
        const accepted = world.current().map(({ status }) => status?.acceptedNames.kind ?? '');
        const held = accepted.filter((kind) => kind !== '');
        assert.equal(new Set(held).size, held.length, accepted.join());
      };
      for (const each of steps) {
        const name = names[each.at % names.length] ?? '';
        if (each.do === 'follow') world.follow(each.server, each.at);
        if (each.do === 'judge') underway.push(world.judge(each.server, name) ?? (() => undefined));
        if (each.do === 'write') underway.splice(each.at, 1)[0]?.();
        const stored = world.current().find(({ metadata }) => metadata.name === name);
        if (each.do === 'rename' && stored !== undefined)
          world.write({ ...stored, spec: { ...stored.spec, names: { plural: name, kind: KINDS[each.server] ?? '' } } });
        check();
      }
      for (let turn = 0; turn < 20; turn++)
        for (const name of names) {
          world.follow(turn % 2, 1000);
          world.judge(turn % 2, name)?.();
          check();
        }
      // A name that a definition still holds is free only after it has another one, so not all are accepted.
      const after = world.current();
      for (const kind of KINDS)
        if (after.some(({ spec }) => spec.names.kind === kind))
          assert.ok(
            after.some(({ status }) => status?.acceptedNames.kind === kind),
            `${kind} is accepted for none`,
          );
    }),
    { numRuns: 300 },
  );
});
