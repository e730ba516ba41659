import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Endpoint, EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { identityOf, planSlices } from './plan-slices.ts';
import type { Group, SlicePlan } from './plan-slices.ts';
import { planChanges, PublishedSlices } from './published-slices.ts';

const MOST = 3;

interface Wanted {
  readonly port: number;
  readonly ready: boolean;
  readonly families: readonly ('IPv4' | 'IPv6')[];
}

const endpoint = (uid: string, family: string, ready: boolean): Endpoint => ({
  addresses: [`${family}-${uid}`],
  conditions: { ready },
  targetRef: { kind: 'Pod', namespace: 'default', name: uid, uid },
});

/** Groups endpoints as `groupEndpoints` does: a family without endpoints has one empty group. */
function groupsOf(wanted: ReadonlyMap<string, Wanted>, identities?: ReadonlySet<string>): Group[] {
  return (['IPv4', 'IPv6'] as const).flatMap((addressType): Group[] => {
    const groups = new Map<number, Endpoint[]>();
    for (const [uid, { port, ready, families }] of wanted) {
      if (identities?.has(uid) === false || !families.includes(addressType)) continue;
      groups.set(port, [...(groups.get(port) ?? []), endpoint(uid, addressType, ready)]);
    }
    return groups.size === 0
      ? [{ addressType, ports: [], endpoints: [] }]
      : [...groups].map(([port, endpoints]) => ({ addressType, ports: [{ name: '', port }], endpoints }));
  });
}

/** The slices of one service on the server. */
class Server {
  readonly slices = new Map<string, EndpointSlice>();
  #next = 0;
  readonly #published: PublishedSlices;

  constructor(published: PublishedSlices) {
    this.#published = published;
  }

  write(slice: EndpointSlice): void {
    this.slices.set(slice.metadata.name, slice);
    this.#published.put(slice);
  }

  delete(name: string): void {
    this.slices.delete(name);
    this.#published.remove(name);
  }

  /** Applies a plan. Returns the number of writes. */
  apply({ create, update, delete: gone }: SlicePlan): number {
    for (const { addressType, ports, endpoints } of create) {
      const name = `s${this.#next++}`;
      this.write({
        metadata: { name, namespace: 'default', uid: name },
        addressType,
        ports: [...ports],
        endpoints: [...endpoints],
      });
    }
    for (const { slice, endpoints } of update) this.write({ ...slice, endpoints: [...endpoints] });
    for (const { metadata } of gone) this.delete(metadata.name);
    return create.length + update.length + gone.length;
  }
}

const podArb = fc.record({
  kind: fc.constant('pod' as const),
  number: fc.nat(11),
  wanted: fc.option(
    fc.record({
      port: fc.constantFrom(80, 80, 81),
      ready: fc.boolean(),
      families: fc.constantFrom(['IPv4'] as const, ['IPv4', 'IPv6'] as const, [] as const),
    }),
    { nil: undefined },
  ),
});
/** Simulates another client that deletes a slice, empties it, or lists an endpoint twice. */
const meddleArb = fc.record({
  kind: fc.constantFrom('delete' as const, 'empty' as const, 'double' as const),
  which: fc.nat(10),
});
const stepArb = fc.record({
  step: fc.oneof({ weight: 6, arbitrary: podArb }, { weight: 1, arbitrary: meddleArb }),
  pass: fc.boolean(),
});

it('after a pass over the changes, a full pass has nothing to do', () =>
  fc.assert(
    fc.property(fc.array(stepArb, { maxLength: 60 }), (steps) => {
      const published = new PublishedSlices();
      const server = new Server(published);
      const wanted = new Map<string, Wanted>();
      let changed: Set<string> | undefined;
      const pass = (): void => {
        const given = {
          published,
          changed,
          groupsOf: (some?: ReadonlySet<string>) => groupsOf(wanted, some),
          most: MOST,
        };
        changed = new Set();
        server.apply(planChanges(given).plan);
        const slices = [...server.slices.values()];
        assert.ok(slices.every(({ endpoints }) => endpoints.length <= MOST));
        assert.deepEqual(planSlices(slices, groupsOf(wanted), MOST), { create: [], update: [], delete: [] });
      };
      for (const { step, pass: passes } of steps) {
        if (step.kind === 'pod') {
          const uid = `p${step.number}`;
          if (step.wanted === undefined) wanted.delete(uid);
          else wanted.set(uid, step.wanted);
          changed?.add(uid);
        } else {
          const slice = [...server.slices.values()][step.which];
          const other = [...server.slices.values()].find((each) => each !== slice && each.endpoints.length > 0);
          if (slice === undefined) continue;
          if (step.kind === 'delete') server.delete(slice.metadata.name);
          else if (step.kind === 'empty') server.write({ ...slice, endpoints: [] });
          else server.write({ ...slice, endpoints: [...slice.endpoints, ...(other?.endpoints ?? [])].slice(0, MOST) });
        }
        if (passes) pass();
      }
      pass();
    }),
    { numRuns: 500 },
  ));

it('a change of one endpoint of a large service reads only its slice', () => {
  const published = new PublishedSlices();
  const server = new Server(published);
  const wanted = new Map<string, Wanted>();
  for (let number = 0; number < 60; number++) wanted.set(`p${number}`, { port: 80, ready: true, families: ['IPv4'] });
  const pass = (changed: ReadonlySet<string> | undefined): string[][] => {
    const asked: string[][] = [];
    const { plan } = planChanges({
      published,
      changed,
      groupsOf: (identities) => {
        asked.push([...(identities ?? wanted.keys())]);
        return groupsOf(wanted, identities).filter(({ addressType }) => addressType === 'IPv4');
      },
      most: MOST,
    });
    assert.ok(server.apply(plan) > 0 || changed?.size === 0);
    return asked;
  };
  assert.equal(pass(undefined)[0]?.length, 60);
  // The server reports each written slice once.
  assert.deepEqual(
    pass(new Set()).map(({ length }) => length),
    [60],
  );
  wanted.set('p7', { port: 80, ready: false, families: ['IPv4'] });
  assert.deepEqual(pass(new Set(['p7'])), [['p7', 'p6', 'p8']]);
  wanted.set('new', { port: 80, ready: true, families: ['IPv4'] });
  const lists = pass(new Set(['new']));
  assert.ok(
    lists.every(({ length }) => length <= 4),
    JSON.stringify(lists),
  );
  const listed = [...server.slices.values()].flatMap(({ endpoints }) => endpoints.map(identityOf));
  assert.deepEqual(listed.toSorted(), [...wanted.keys()].toSorted());
});
