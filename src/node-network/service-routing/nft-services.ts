/**
 * The table of services of one family. Invariants:
 * 1. An unchanged route costs one comparison. A changed route rewrites only its own elements and chains.
 * 2. Chains and elements that several services share stay until the last of these services is removed.
 */
import { TableDraft } from '../nftables/table-draft.ts';
import type { NftChain } from '../nftables/table-draft.ts';
import type { ServiceRoute } from './compute-routes.ts';
import type { NftServiceFacts } from './nft-base.ts';
import { baseChains, baseSets, setNames } from './nft-base.ts';
import type { NftRoute } from './nft-route.ts';
import { renderNftRoute } from './nft-route.ts';
import { nftWord } from './ip-family.ts';

interface Known {
  readonly route: ServiceRoute;
  readonly rendered: NftRoute;
}

/**
 * Services with up to this number of endpoints use chains that always exist, because nft 1.0.6 accepts new ones only
 * with the whole table.
 */
const STANDING = 16;

function* standingChains(facts: NftServiceFacts): Generator<ReadonlyMap<string, NftChain>> {
  for (let count = 1; count <= STANDING; count++)
    for (const externalLocal of [false, true]) {
      const all = Array.from({ length: count }, () => ({ ip: '', port: 1, local: true }));
      const { chains } = renderNftRoute(
        {
          name: '',
          protocol: 'tcp',
          clusterIp: '',
          port: 1,
          nodePort: 1,
          externalIps: [{ ip: '', isNodes: true }],
          affinitySeconds: undefined,
          all,
          local: all,
          internalLocal: false,
          externalLocal,
        },
        facts,
        () => false,
      );
      yield chains;
    }
}

export class NftServices {
  readonly draft: TableDraft;
  readonly #facts: NftServiceFacts;
  readonly #known = new Map<string, Known>();
  readonly #uses = new Map<string, number>();
  /** If two services claim the same key, the first owns it, and the next takes it over when the first is removed. */
  readonly #claims = new Map<string, Map<string, string>>();

  constructor(tableName: string, facts: NftServiceFacts) {
    this.#facts = facts;
    this.draft = new TableDraft(nftWord[facts.family], tableName);
    for (const [name, set] of baseSets(facts.family)) this.draft.putSet(name, set);
    for (const [name, chain] of baseChains(facts)) this.draft.putChain(name, chain);
    for (const chains of standingChains(facts))
      for (const [name, chain] of chains) {
        this.#count(`chain ${name}`, 1);
        this.draft.putChain(name, chain);
      }
    for (const { ip, protocol, port } of facts.kept)
      if (ip.includes(':') === (facts.family === 'IPv6'))
        this.draft.putElement(setNames.kept, `${ip} . ${protocol} . ${port}`);
  }

  /** Sets all current routes. Routes that are the same objects as before are not compared further. */
  setRoutes(routes: readonly ServiceRoute[]): void {
    const steps = this.steps(routes);
    while (steps.next().done !== true);
  }

  /** Does the same in steps, one for each changed route, because thousands of them take too long for one turn. */
  *steps(routes: readonly ServiceRoute[]): Generator<undefined> {
    const gone = new Set(this.#known.keys());
    for (const route of routes) {
      const key = `${route.name}/${route.protocol}`;
      gone.delete(key);
      const before = this.#known.get(key);
      if (before?.route === route) continue;
      const rendered = renderNftRoute(route, this.#facts);
      // Adds references before it removes any, so that shared parts stay.
      this.#hold(key, rendered);
      if (before !== undefined) this.#letGo(key, before.rendered, rendered);
      this.#known.set(key, { route, rendered });
      yield;
    }
    for (const key of gone) {
      const known = this.#known.get(key);
      if (known !== undefined) this.#letGo(key, known.rendered);
      this.#known.delete(key);
    }
  }

  #hold(owner: string, { sets, chains, elements }: NftRoute): void {
    for (const [name, set] of sets) {
      this.#count(`set ${name}`, 1);
      this.draft.putSet(name, set);
    }
    for (const [name, chain] of chains) {
      this.#count(`chain ${name}`, 1);
      this.draft.putChain(name, chain);
    }
    for (const { set, key, value } of elements) {
      const place = `${set} ${key}`;
      const claims = this.#claims.get(place) ?? new Map<string, string>();
      this.#claims.set(place, claims);
      claims.set(owner, value);
      this.#settle(set, key);
    }
  }

  #letGo(owner: string, { sets, chains, elements }: NftRoute, after?: NftRoute): void {
    const kept = new Set(after?.elements.map(({ set, key }) => `${set} ${key}`));
    for (const { set, key } of elements) {
      if (kept.has(`${set} ${key}`)) continue;
      this.#claims.get(`${set} ${key}`)?.delete(owner);
      this.#settle(set, key);
    }
    for (const name of chains.keys()) if (this.#count(`chain ${name}`, -1) === 0) this.draft.dropChain(name);
    for (const name of sets.keys()) if (this.#count(`set ${name}`, -1) === 0) this.draft.dropSet(name);
  }

  #settle(set: string, key: string): void {
    const claims = this.#claims.get(`${set} ${key}`);
    const [value] = claims?.values() ?? [];
    if (value === undefined) {
      this.#claims.delete(`${set} ${key}`);
      this.draft.dropElement(set, key);
    } else this.draft.putElement(set, key, value);
  }

  #count(name: string, by: 1 | -1): number {
    const uses = (this.#uses.get(name) ?? 0) + by;
    if (uses === 0) this.#uses.delete(name);
    else this.#uses.set(name, uses);
    return uses;
  }
}
