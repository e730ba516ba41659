import type { ApiClient } from '../../../api/client/api-client.ts';
import { csiNodes, nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import { ignoreApiNotFound, isApiError } from '../../../api/status/api-status-error.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { DriverRegistry } from './driver-registry.ts';
import type { NodeInfoFacts } from './node-info.ts';
import { planCsiNode, planNodeInfo } from './node-info.ts';

/** This node's object in the API, as the node watch reads it. */
export interface OwnNode {
  current(): Node | undefined;
  onChange(listener: (node: Node | undefined) => void): () => void;
}

export interface NodeInfoKeeperOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly node: OwnNode;
  readonly registry: DriverRegistry;
  readonly objects: Pick<ClusterObjects, 'get' | 'onChange'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Called when the result of `problem` changed. */
  readonly onChange: () => void;
}

const retry = { initialMs: 200, maxMs: 60_000, factor: 2 };
/** The interval in which the published data is checked again, because another client may have changed it. */
const LOOK_AGAIN_MS = 3_600_000;
const JITTER = 0.5;

const isRefusal = (error: unknown): boolean => isApiError(error, 'Invalid') || isApiError(error, 'Forbidden');

/**
 * Publishes the CSI drivers of the node, their topology and their volume limits: the CSINode, and the node's labels and
 * annotation (upstream: nodeinfomanager.go, csi_node_updater.go). Drivers work meanwhile: an unavailable API server is
 * no reason to keep volumes from pods.
 */
export class NodeInfoKeeper {
  readonly #options: NodeInfoKeeperOptions;
  readonly #loop: Loop;
  readonly #left = new Set<string>();
  readonly #refreshes = new Map<string, { periodMs: number; timer: Timer }>();
  readonly #ends: (() => void)[] = [];
  #failures = 0;
  #isDone = false;
  /** The node that was published for. */
  #uid: string | undefined;
  #error: string | undefined;
  #saidCollisions = '';

  constructor(options: NodeInfoKeeperOptions) {
    this.#options = options;
    const { clock, random, log } = options;
    const periodMs = (): number => (this.#failures > 0 ? backoffDelayMs(retry, this.#failures) : LOOK_AGAIN_MS);
    this.#loop = createLoop({
      name: 'CSINode',
      clock,
      random,
      log,
      periodMs,
      jitterFactor: JITTER,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    const { registry, node, objects } = this.#options;
    this.#ends.push(
      registry.onChange((name, isRegistered) => {
        if (isRegistered) this.#left.delete(name);
        else this.#left.add(name);
        void this.#planRefresh(name);
        this.#loop.wake();
      }),
      node.onChange((now) => {
        // A node that registered again has lost everything that was published before.
        if (now?.metadata.uid !== this.#uid) this.#isDone = false;
        if (now !== undefined && !this.#isDone) this.#loop.wake();
      }),
      objects.onChange(({ kind, name }) => {
        if (kind === 'CSIDriver') void this.#planRefresh(name);
      }),
    );
    this.#loop.start();
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    for (const { timer } of this.#refreshes.values()) timer.cancel();
    this.#refreshes.clear();
    await this.#loop.stop();
  }

  /** Why the node may not be ready; permanently undefined once the CSINode exists (upstream: initializeCSINode). */
  problem(): string | undefined {
    if (this.#isDone) return undefined;
    return this.#error === undefined
      ? 'CSINode is not yet initialized'
      : `failed to initialize CSINode: ${this.#error}`;
  }

  async #pass(): Promise<void> {
    const { nodeName, node, registry, log, onChange } = this.#options;
    const now = node.current();
    // Notified when it is registered.
    if (now === undefined) return;
    const before = this.problem();
    const facts: NodeInfoFacts = {
      nodeName,
      nodeUid: now.metadata.uid,
      drivers: registry.nodeDrivers(),
      left: this.#left,
    };
    try {
      const refused = await this.#publish(now, facts);
      this.#failures = refused.length === 0 ? 0 : this.#failures + 1;
      this.#isDone = true;
      this.#uid = facts.nodeUid;
      this.#error = undefined;
    } catch (error) {
      this.#failures += 1;
      if (!this.#isDone) this.#error = errorMessage(error);
      log.debug(this.#failures === 1 ? 2 : 4, 'Failed to publish CSINode, retrying', {
        error: errorMessage(error),
      });
    }
    if (this.problem() !== before) onChange();
  }

  /**
   * All drivers at once; when the API server refuses that, one after the other: a refused one keeps no other from the
   * cluster. Returns the refused ones.
   */
  async #publish(now: Node, facts: NodeInfoFacts): Promise<readonly string[]> {
    const keep = async (drivers: NodeInfoFacts['drivers']): Promise<void> => {
      await this.#keepNode(now, { ...facts, drivers });
      await this.#keepCsiNode({ ...facts, drivers });
    };
    try {
      await keep(facts.drivers);
      return [];
    } catch (error) {
      if (!isRefusal(error) || facts.drivers.length < 2) throw error;
    }
    const refused: string[] = [];
    let taken: NodeInfoFacts['drivers'] = [];
    for (const driver of facts.drivers) {
      try {
        await keep([...taken, driver]);
        taken = [...taken, driver];
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refused.push(driver.name);
        this.#options.log.error('the API server refuses what a CSI driver reports about this node', {
          driver: driver.name,
          error: errorMessage(error),
        });
      }
    }
    return refused;
  }

  async #keepNode(now: Node, facts: NodeInfoFacts): Promise<void> {
    const { client, nodeName, log } = this.#options;
    const { metadata, collisions } = planNodeInfo(now, facts);
    const said = collisions.join('; ');
    if (said !== '' && said !== this.#saidCollisions)
      log.error('a CSI driver reports another topology than the labels of this node; the labels stay', { error: said });
    this.#saidCollisions = said;
    // Labels and annotations are part of a status patch (upstream: PatchNodeStatus).
    if (metadata !== undefined)
      await client.patch(
        nodes,
        { namespace: '', name: nodeName },
        { type: 'strategic', body: { metadata: { uid: now.metadata.uid, ...metadata } } },
        { subresource: 'status' },
      );
  }

  async #keepCsiNode(facts: NodeInfoFacts): Promise<void> {
    const { client, nodeName, log } = this.#options;
    const key = { namespace: '', name: nodeName };
    // At most two rounds: the CSINode of an earlier node with this name is deleted first.
    for (let round = 0; round < 2; round++) {
      const plan = planCsiNode(await this.#read(), facts);
      switch (plan.kind) {
        case 'none':
          return;
        case 'create':
          await client.create(csiNodes, plan.object);
          return;
        case 'update':
          await client.update(csiNodes, plan.object);
          return;
        case 'delete':
          log.info('the CSINode belongs to an earlier node of this name; it is created again', { node: nodeName });
          await ignoreApiNotFound(client.delete(csiNodes, key));
      }
    }
  }

  async #read(): Promise<CSINode | undefined> {
    const { client, nodeName } = this.#options;
    try {
      return await client.get(csiNodes, { namespace: '', name: nodeName });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /**
   * A driver's volume limit may change while it runs: drivers that declare so are queried again (upstream:
   * MutableCSINodeAllocatableCount).
   */
  async #planRefresh(name: string): Promise<void> {
    const { objects, registry, clock } = this.#options;
    const there = (): boolean => registry.nodeDrivers().some((driver) => driver.name === name);
    const driver = there()
      ? await Promise.resolve(objects.get('CSIDriver', '', name)).catch(() => undefined)
      : undefined;
    const periodMs = there() ? Number(driver?.spec.nodeAllocatableUpdatePeriodSeconds ?? 0) * 1000 : 0;
    const known = this.#refreshes.get(name);
    if (known?.periodMs === periodMs) return;
    known?.timer.cancel();
    this.#refreshes.delete(name);
    if (periodMs <= 0 || this.#ends.length === 0) return;
    const arm = (): void => {
      const timer = clock.setTimer(periodMs, () => {
        void this.refresh(name);
        arm();
      });
      this.#refreshes.set(name, { periodMs, timer });
    };
    arm();
  }

  /** Queries the driver again. It is also called when a volume could not be attached for lack of room. */
  async refresh(name: string): Promise<void> {
    try {
      await this.#options.registry.refresh(name);
    } catch (error) {
      this.#options.log.debug(2, 'Failed to update CSIDriver', { driver: name, error: errorMessage(error) });
    }
  }
}
